"""What names hold, as tables like Pympler's and as HTML."""

from support.memory_cases import OBJECTS_AFTER, OBJECTS_BEFORE


def test_the_text_has_tables_like_pymplers(golden):
    golden.check("memobj.txt", OBJECTS_BEFORE.text + "\n\n" + OBJECTS_AFTER.text)


def test_the_html_escapes_names():
    html = OBJECTS_AFTER._repr_html_()

    assert "&lt;x&gt;" in html
    assert "<x>" not in html
    assert "… and 1 more name:" in html
