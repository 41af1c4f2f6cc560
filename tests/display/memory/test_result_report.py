"""A MemoryResult as text and HTML."""

from dataclasses import replace

from support.memory_cases import result_by_hand, run_script
from support.memory_spikes import MIB

from nbprof.memory.result import MemoryResult


def test_the_text_has_only_what_is_known(golden):
    golden.check("memit.txt", result_by_hand(notes=("a <note>.",)).text)


def test_the_html_escapes_notes():
    html = result_by_hand(notes=("a <note>.",))._repr_html_()

    assert "a &lt;note&gt;." in html


def test_reusable_memory_is_mentioned_if_it_could_hide_an_increment():
    (run,) = result_by_hand().runs

    much = MemoryResult((replace(run, reusable=250 * MIB),)).text
    little = MemoryResult((replace(run, reusable=150 * MIB),)).text

    assert "up to 250.0 MiB was free for reuse before" in much
    assert "reuse" not in little


def test_memory_that_may_have_been_kept_is_an_upper_bound():
    (run,) = result_by_hand().runs

    text = MemoryResult((replace(run, kept=0.0, perhaps_kept=76 * MIB),)).text

    assert "freed but kept by the allocator up to 76.0 MiB" in text


def test_a_report_does_not_import_pandas():
    done = run_script(
        "import sys\nfrom nbprof.memory import measure\nwith measure() as run:\n    pass\n"
        "run.result.text, run.result._repr_html_(), run.result.summary\n"
        "print('pandas' in sys.modules)"
    )

    assert done.stdout.strip() == "False", done.stderr
