"""Write docs/float-ops.md from `COUNTED`: `python docs/make_float_ops.py`."""

import sys
from pathlib import Path

PAGE = Path(__file__).parent / "float-ops.md"

ABOVE = """\
# What float_ops counts

Additions, multiplications and other operations on numbers, counted on the shapes of each run and
summed over all runs. A multiplication and the addition of its product count as two. This page is
written by `python docs/make_float_ops.py`.

- The count is that of the arithmetic, not of a processor's instructions: it is the same eager and
  in a graph, with oneDNN and without, fused and not. What a program computes can differ, though:
  eager code also computes gradients that nobody uses, which a graph leaves out.
- An op that computes nothing has **0**: it moves data (`Reshape`, `Transpose`, `GatherV2`), reads
  or sets a variable, calls a function whose ops are counted by themselves, or works on
  booleans, integers or strings.
- An op that computes something but is in neither list is **`n/a`**, never 0, and a note names it
  with its share of the op time: `Cholesky`, `FFT`, random numbers, ops of your own. Totals then
  leave it out.
- Where a shape or an attribute of a run was not recorded, the run is `n/a`, too, and a note says
  so.

## Where this departs from TensorFlow

Most formulas are those that TensorFlow registers for tfprof, and **profiles of tfprof's own files
keep TensorFlow's numbers**. In profiled cells and traces these differ, because TensorFlow's
formulas do not count what is computed:

{departures}

A convolution counts the elements of its kernel that lie on padding, too, as TensorFlow does: 2 ×
output × kernel. Grouped convolutions count the channels of a group.

## Formulas

"""

DEPARTURES = (
    (
        "gradients of a convolution (`Conv2DBackpropInput`, `Conv2DBackpropFilter`)",
        "from the size of the image and the stride: too high with `VALID` padding, since it also "
        "counts places that the kernel never reached",
        "exactly the products of the convolution that it is the gradient of, whatever the padding, "
        "stride and dilation; so also for `Conv2DTranspose`, which runs `Conv2DBackpropInput`",
    ),
    ("gradients of `Conv3D` and of depthwise convolutions", "none", "as those of `Conv2D`"),
    (
        "`BatchMatMulV2` with the left side transposed",
        "multiplied by the wrong dimension",
        "by the one summed over",
    ),
    ("`Einsum`, so also `MultiHeadAttention`", "none", "from its equation and shapes"),
    (
        "activations and other functions, their gradients, batch normalization, optimizers, RNN "
        "kernels",
        "none",
        "as below",
    ),
)

BELOW = """
## Recurrent layers

On the CPU, Keras' LSTM and GRU layers are loops of `MatMul` and elementwise ops, each counted
as above; on a GPU they are one `CudnnRNNV3`. oneDNN changes nothing there: TensorFlow 2 has no
RNN kernel of oneDNN's, only its kernels for the `MatMul`s inside. `LSTMBlockCellGrad`, which
no layer of Keras' uses, is `n/a`.

## Functions that XLA compiled

A trace holds the program that XLA made of a function (its HLO). Each HLO op is counted on it:
`dot` and `convolution` as above, elementwise ops 1 per element, reductions the elements of the
input less those of the output, and a `fusion` everything inside it. What is inside a loop or a
branch is counted when it runs. Ops that call a library, sort or draw random numbers are `n/a`.
Keras runs grouped convolutions this way on the CPU. TensorFlow before 2.18 does not record HLO
ops; what its modules tell is counted for the `XlaLaunch` as a whole. On TPUs the trace states the
float operations itself.
"""


def float_ops_page():
    """Return the page as Markdown."""
    from nbprof.float_op_table import COUNTED

    types_of = {}
    for row in COUNTED:
        types_of.setdefault(row.says, []).extend(row.types)
    formulas = [(", ".join(map(code, types)), says) for says, types in types_of.items()]
    departures = table(("op", "TensorFlow", "here"), DEPARTURES)
    counted = table(("op types", "float_ops of one run"), formulas)
    return f"{ABOVE.format(departures=departures)}{counted}\n{BELOW}"


def table(titles, rows):
    """Return a table as Markdown."""
    ruled = (titles, ("---",) * len(titles), *rows)
    return "\n".join(f"| {' | '.join(cells)} |" for cells in ruled)


def code(name):
    """Format a name as code."""
    return f"`{name}`"


if __name__ == "__main__":
    sys.path.insert(0, str(PAGE.parent.parent))
    PAGE.write_text(float_ops_page(), encoding="utf-8")
