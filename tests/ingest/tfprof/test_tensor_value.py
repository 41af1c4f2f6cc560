"""Values of variables from a checkpoint, as tfprof's command line printed them."""

import numpy as np
import pytest
from support.paths import DATA as TEST_DATA

import nbprof
from nbprof.display import html
from nbprof.ingest.tfprof.checkpoint import LONGEST, spell_value

DATA = TEST_DATA / "tfprof"


@pytest.fixture(scope="module")
def profile():
    paths = (DATA / "graph.pbtxt", [DATA / "run_meta"], DATA / "tfprof_log", DATA / "ckpt")
    return nbprof.load_tfprof(*paths)


def test_a_value_is_written_in_nested_brackets():
    values = np.array([[1.0, 2.5], [-3.0, 0.126]])

    assert spell_value(values) == "[[1.00 2.50 ],\n[-3.00 0.13 ],\n],\n"
    assert spell_value(np.array([1, 2])) == "[1 2 ],\n"
    assert spell_value(np.array(7.0)) == "7.00 "


def test_a_long_value_is_cut_with_a_remark():
    text = spell_value(np.zeros((5000, 40)))

    assert text.endswith("...omitted from display\n\n")
    assert len(text) < LONGEST + 50


def test_the_value_of_a_variable_is_printed_below_its_row(profile):
    text = profile.scope(select="params,tensor_value").text

    assert "  ScalarW (1, 1/1 params)\n0.00 \n" in text


def test_a_column_without_a_title_in_tfprof_is_shown_by_its_name(profile):
    view = profile.scope(select="tensor_value")

    assert "\ntensor_value: the value of a variable" in view.text
    assert "\nProfile:\nnode name | \n" in view.text  # exactly as tfprof prints it
    assert ">tensor_value</th>" in html.report(view)


def test_variables_of_the_checkpoint_can_be_accounted_by_type(profile):
    frame = profile.scope(
        select="params", account_type_regexes="_checkpoint_variables", max_depth=2
    ).frame

    assert set(frame["name"]) == {"_TFProfRoot", "DW", "DW2", "ScalarW"}
    assert frame["total_params"][0] == 451


def test_a_note_says_that_values_need_a_checkpoint():
    profile = nbprof.load_tfprof(DATA / "graph.pbtxt")

    assert any("checkpoint" in note for note in profile.scope(select="tensor_value").notes)


def test_notes_name_the_missing_inputs():
    notes = " ".join(nbprof.load_tfprof(DATA / "graph.pbtxt").notes)

    assert "no run metadata" in notes
    assert "no op log" in notes


def test_memory_over_time_of_tfprofs_inputs_is_empty(profile):
    assert len(profile.memory()) == 0
    assert len(profile.live_at_peak()) == 0
