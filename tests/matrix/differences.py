"""What differs between releases, one entry each; docs/compatibility.md and `make matrix` read them.

An entry that says in which programs of `tests/core/programs.py` it shows allows just these rows to
differ from those of REFERENCE. Any other difference is an error of nbprof, or a new entry.
"""

import re
from dataclasses import dataclass

REFERENCE = "tf221"
"""The environment whose numbers the others must have."""

BEFORE_2_18 = ("tf215", "tf216", "tf217")
KERAS_2 = ("tf215",)
KERAS_OF_2_22 = ("tf222", "nightly")
FITS = ("fit", "warm_fit")
COMPILED = ("compiled", "cold_compiled", "compiled_inside")
OPS = ("run_count", "float_ops")
LAYERS = ("layers", "layer_float_ops", "params")
WRITTEN = r"Conv2D.*|MatMul|BiasAdd.*"
"""Op types of the model itself, which no release of Keras may change."""
PARTS = r"_TFProfRoot|outside layers|(optimizer|loss|metrics|input pipeline)(/.*)?"
"""Rows of the layer view that are not layers of the model."""


@dataclass(frozen=True, kw_only=True)
class Rows:
    """Numbers of programs that may differ."""

    programs: tuple[str, ...]
    facts: tuple[str, ...]
    rows: str = ".*"
    """A regular expression for the names of the rows."""
    but: str = "(?!)"
    """One for those that must not differ all the same."""

    def include(self, program, fact, row):
        return (
            program in self.programs
            and fact in self.facts
            and re.fullmatch(self.rows, row) is not None
            and re.fullmatch(self.but, row) is None
        )


@dataclass(frozen=True, kw_only=True)
class Difference:
    """Something that differs between releases, and why."""

    where: str
    what: str
    why: str
    environments: tuple[str, ...] = ()
    """Those in which it shows; empty with `shown`: by chance, in any."""
    shown: tuple[Rows, ...] = ()
    """Where the programs show it; empty: nowhere."""

    def explains(self, environment, program, fact, row):
        return environment in (self.environments or (environment,)) and any(
            rows.include(program, fact, row) for rows in self.shown
        )


DIFFERENCES = (
    Difference(
        where="Keras 2: `tf.keras` of TensorFlow 2.15, `tf_keras` in any release",
        what="`optimizer`, `loss` and `metrics` have other runs, flops and parameters. A step is "
        "the block `train`, in Keras 3 the function `multi_step_on_iterator`",
        why="Keras 2 computes them with other ops than Keras 3, and its SGD keeps a momentum for "
        "each weight",
        environments=KERAS_2,
        shown=(
            Rows(programs=FITS, facts=OPS, but=WRITTEN),
            Rows(programs=FITS, facts=LAYERS, rows=PARTS),
            Rows(programs=FITS, facts=("steps",)),
        ),
    ),
    Difference(
        where="Keras of TensorFlow 2.22",
        what="batches come from other ops (`IteratorGetNextAsOptional`, `StatelessShuffle`), and a "
        "step is the function `one_step_on_data`",
        why="Keras fetches and shuffles differently",
        environments=KERAS_OF_2_22,
        shown=(
            Rows(programs=FITS, facts=OPS, but=WRITTEN),
            Rows(programs=FITS, facts=("layers", "layer_float_ops"), rows=PARTS),
            Rows(programs=FITS, facts=("steps",)),
        ),
    ),
    Difference(
        where="TensorFlow 2.15 – 2.17",
        what="calls of threads that have ended are missing, and counts of an input pipeline's "
        "stages are lower bounds; a note counts the missing calls",
        why="what a thread recorded is lost once it has ended",
        environments=BEFORE_2_18,
        shown=(
            Rows(programs=("threads",), facts=(*OPS, *LAYERS)),
            Rows(
                programs=FITS,
                facts=OPS,
                rows=".*Dataset.*|.*Iterator.*|.*Shuffle.*|.*Random.*|Range.*|GatherV2|Slice",
            ),
            Rows(programs=FITS, facts=("layers", "layer_float_ops"), rows=PARTS),
        ),
    ),
    Difference(
        where="TensorFlow 2.15 – 2.17",
        what="a call of a function that XLA compiled is one op, and one that traced its function "
        "counts as compiling",
        why="nothing inside such a function is recorded",
        environments=BEFORE_2_18,
        shown=(Rows(programs=COMPILED, facts=(*OPS, *LAYERS), but="XlaLaunch|Mul"),),
    ),
    Difference(
        where="XLA",
        what="the ops inside a compiled function have other names: `dot` and `fusion` in 2.18, "
        "`dot` and `add_reduce_fusion` in 2.20, `MatMul` in 2.21, `ynn_fusion` in 2.22",
        why="each release of XLA names and fuses them in its own way",
        environments=("colab", "kaggle", "tf218", "tf220", *KERAS_OF_2_22),
        shown=(Rows(programs=COMPILED, facts=(*OPS, *LAYERS), but="XlaLaunch|Mul"),),
    ),
    Difference(
        where="any release",
        what="one call fewer of a function that a function calls",
        why="a trace may end before an executor has written its last event",
        shown=(
            Rows(programs=("compiled_inside",), facts=OPS, rows="PartitionedCall"),
            Rows(programs=("compiled_inside",), facts=LAYERS, rows=PARTS),
        ),
    ),
    Difference(
        where="TensorFlow 2.15 – 2.20",
        what="graph ops made while code from a file whose name is not UTF-8 is loaded have the "
        "line that ran them, not the one that made them",
        why="TensorFlow would crash if asked for it",
    ),
    Difference(
        where="IPython 7",
        what="a line of a bare cell that was run more than once, unchanged, is named after the "
        "last of these runs (`In [7]:2`)",
        why="IPython 7 gives equal cells one name",
    ),
)
