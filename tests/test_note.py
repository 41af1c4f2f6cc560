"""A note is a text that knows the columns it is about."""

import pickle

from support.by_hand import node, profile

import nbprof
from nbprof.note import Note, columns_of, joined, reworded

MEMORY = Note("memory was not recorded", ("bytes", "live_bytes"))


def test_a_note_is_a_text_and_survives_pickling():
    again = pickle.loads(pickle.dumps(MEMORY))

    assert again == MEMORY == "memory was not recorded"
    assert columns_of(again) == columns_of(MEMORY) == ("bytes", "live_bytes")
    assert columns_of("a plain text") == ()


def test_a_note_can_be_reworded():
    assert columns_of(reworded(MEMORY, "host 1: it was not")) == ("bytes", "live_bytes")
    assert reworded("plain", "other") == "other"
    assert columns_of(reworded("plain", "other")) == ()


def test_equal_notes_are_joined_in_any_order():
    other = Note(MEMORY, ("peak_bytes", "bytes"))

    for notes in ((MEMORY, "plain", other), (other, MEMORY, "plain", "plain")):
        found = joined(notes)
        assert sorted(found) == ["memory was not recorded", "plain"]
        about = {note: columns_of(note) for note in found}
        assert about == {MEMORY: ("bytes", "live_bytes", "peak_bytes"), "plain": ()}
    assert columns_of(joined((MEMORY, str(MEMORY)))[0]) == ()
    assert columns_of(joined((str(MEMORY), MEMORY))[0]) == ()


def test_a_note_stands_only_where_one_of_its_columns_is_shown():
    cell = profile(node("a/MatMul", "MatMul", micros=5, size=8), notes=("always", MEMORY))

    assert cell.notes == ("always", MEMORY)
    assert cell.op().notes == ("always", MEMORY)
    assert cell.layer(select="bytes").notes == ("always", MEMORY)
    assert cell.op(select="micros").notes == ("always",)
    assert "memory was not recorded" not in cell.scope(select="micros,occurrence").text


def test_a_note_on_columns_is_left_out_if_nothing_ran():
    assert profile(notes=("always", MEMORY)).op().notes == ("always",)


def test_saved_notes_know_their_columns(tmp_path):
    cell = profile(node("a", micros=5), notes=("always", MEMORY))
    cell.save(tmp_path / "x.nbprof")

    loaded = nbprof.load(tmp_path / "x.nbprof")

    assert loaded.notes == cell.notes
    assert loaded.op().notes == ("always", MEMORY)
    assert loaded.op(select="micros").notes == ("always",)
