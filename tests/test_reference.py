"""docs/reference.md is generated; it must not go stale."""

import re
import runpy

from support.paths import TOP

from nbprof.flag_values import OUTPUTS, PRESETS
from nbprof.flags import flags_of
from nbprof.magics.magic_table import MAGICS

PAGE = TOP / "docs" / "reference.md"
reference_page = runpy.run_path(str(TOP / "docs" / "make_reference.py"))["reference_page"]


def test_the_reference_page_is_up_to_date(request):
    if request.config.getoption("--update-golden"):
        PAGE.write_text(reference_page(), encoding="utf-8")

    assert PAGE.read_text(encoding="utf-8") == reference_page()


def test_the_reference_has_every_word_flag_and_preset():
    text = reference_page()
    typed = {
        word.lstrip("-%")
        for code in re.findall(r"(?:`|<code>)([^`<]+)", text)
        for word in code.split()
    }

    for name, magic in MAGICS.items():
        assert {name, *magic.words, *flags_of(name)} <= typed
    assert set(PRESETS) <= typed
    assert all(output in text for output in OUTPUTS)
