import pytest

from nbprof.errors import NbprofError
from nbprof.options import ViewOptions
from nbprof.view_kinds import VIEWS


def test_defaults_fit_a_captured_cell():
    options = ViewOptions.parse({})

    assert options == ViewOptions()
    assert options.max_depth == 100
    assert options.order_by == ""
    assert options.select is None
    assert VIEWS["op"].order_by == "micros"
    assert VIEWS["op"].select == ("micros", "live_bytes", "occurrence")
    assert options.step is None


def test_values_may_be_text_or_python_objects():
    typed = ViewOptions.parse({"max_depth": "3", "select": "micros, occurrence", "min_micros": "5"})

    assert typed == ViewOptions.parse(
        {"max_depth": 3, "select": ["micros", "occurrence"], "min_micros": 5}
    )


@pytest.mark.parametrize(
    ("option", "value", "sentence"),
    [
        ("max_depth", "three", "-max_depth takes a number, not 'three'."),
        ("max_depth", "2.5", "-max_depth takes a whole number, not '2.5'."),
        ("max_depth", "nan", "-max_depth takes a number, not 'nan'."),
        ("max_depth", "inf", "-max_depth takes a whole number, not 'inf'."),
        ("max_depth", "-5", "-max_depth takes a whole number of at least 0, not '-5'."),
        ("order_by", "size", "-order_by takes one of name, wall_micros"),
        ("order_by", "tensor_value", "takes one of name, wall_micros"),
        ("select", "", "-select needs at least one of wall_micros"),
        ("select", 7, "-select takes column names, not 7."),
        ("select", "micros,tensor", "-select takes one of wall_micros, "),
        ("step", "-2", "-step takes a step's number"),
        ("step", "last", "-step takes a step's number, -1 (the average) or all, not 'last'."),
        ("show_name_regexes", "a,(", "'(' is not a valid RE2 regular expression"),
        ("output", "xml:outfile=x", "takes one of stdout, none, file, timeline, pprof"),
        ("output", "none:outfile=x", "writes no file"),
        ("output", "file:name=x", "has no setting 'name', only outfile"),
        ("account_displayed_op_only", "perhaps", "takes true or false"),
        ("preset", "fast", "takes one of trainable_variables_parameter"),
        ("output", "file", "needs a file: file:outfile=PATH"),
        ("ordr_by", "micros", "did you mean -order_by?"),
        ("zzz", "1", "there is no option -zzz; known options: -preset, -max_depth"),
    ],
)
def test_a_bad_value_is_refused_in_a_sentence(option, value, sentence):
    with pytest.raises(NbprofError) as refused:
        ViewOptions.parse({option: value})

    assert sentence in str(refused.value)


def test_whole_numbers_of_any_size_are_kept_exactly():
    assert ViewOptions.parse({"step": "99999999999999999999"}).step == 99999999999999999999
    assert ViewOptions.parse({"max_depth": "1e3"}).max_depth == 1000
