"""Ops that have a faster alternative: tfprof's OperationChecker, and ops that could be fused."""

from typing import TYPE_CHECKING

import numpy as np

from nbprof.arrays import Floats, Rows
from nbprof.op_types import main_type
from nbprof.units import format_micros
from nbprof.views.advise.check_result import Advice, first_rows
from nbprof.views.measure import measure, nodes_as_members

if TYPE_CHECKING:
    from nbprof._profile import Profile

BATCH_NORM = "BatchNorm"
FUSED_BATCH_NORM = ("FusedBatchNorm", "_FusedBatchNorm")
FUSIBLE = ("MatMul", "Conv2D", "DepthwiseConv2dNative")
BIASES = ("BiasAdd", "BiasAddV1")
ACTIVATIONS = ("Relu", "Relu6", "Elu", "LeakyRelu", "Tanh", "Sigmoid")

UNFUSED_PERCENT = 5
"""Smallest share of the op time worth advice; fusing saves part of it."""


def batch_norm(profile: "Profile") -> list[Advice]:
    """Find a batch norm made of single ops; unlike tfprof, accept the fused V2 and V3."""
    nodes = profile.nodes
    named = [name for name in nodes["name"] if BATCH_NORM in name]
    types = map(main_type, nodes["op_type"])
    if not named or any(op_type.startswith(FUSED_BATCH_NORM) for op_type in types):
        return []
    message = (
        f"{len(named)} nodes are named {BATCH_NORM}, but none is the fused op. Use "
        "tf.keras.layers.BatchNormalization, or tf.compat.v1.nn.fused_batch_norm: one op instead "
        "of many."
    )
    return [Advice("unfused batch norm", "medium", message, first_rows(named))]


def data_format(profile: "Profile") -> list[Advice]:
    """Find ops on a GPU whose data format is channels last."""
    nodes = profile.nodes
    if "data_format" not in nodes:
        return []
    on_gpu = nodes["device"].map(lambda name: "gpu" in name.lower()).to_numpy(dtype=bool)
    chosen = on_gpu & (nodes["data_format"] == "NHWC").to_numpy(dtype=bool)
    if not chosen.any():
        return []
    micros = _micros(profile)[chosen].sum()
    message = (
        f"{int(chosen.sum())} nodes on a GPU have the data format NHWC ({format_micros(micros)}). "
        'Try NCHW (data_format="channels_first"): most GPUs are faster with it in float32.'
    )
    return [Advice("NHWC on a GPU", "low", message, first_rows(nodes["name"][chosen]))]


def unfused(profile: "Profile") -> list[Advice]:
    """Find biases and activations that ran apart from the MatMul or Conv2D before them."""
    micros = _micros(profile)
    apart = _not_fused(profile)
    spent = micros[apart].sum()
    percent = 100 * spent / max(micros.sum(), 1e-10)
    if not len(apart) or percent < UNFUSED_PERCENT:
        return []
    message = (
        f"{len(apart)} biases and activations ran apart from the {' or '.join(FUSIBLE[:2])} before "
        f"them: {format_micros(spent)}, {percent:.2f}% of the op time. Let TensorFlow fuse them: "
        "leave its remapping optimizer on, or compile with tf.function(jit_compile=True)."
    )
    names = profile.nodes["name"].to_numpy(dtype=object)[apart]
    return [Advice("unfused ops", "low", message, first_rows(names))]


def _not_fused(profile: "Profile") -> Rows:
    """Return the nodes that ran but could have been fused into the node that feeds them.

    A value that is used more than once, for instance by its gradient, cannot be fused away.
    """
    inputs = profile.inputs
    op_type = [main_type(op_type) for op_type in profile.nodes["op_type"]]
    ran = np.zeros(len(op_type) + 1, dtype=bool)
    ran[profile.events["node"].to_numpy()[profile.events["is_run"].to_numpy(bool)]] = True
    ran[-1] = False
    if "fused" in profile.nodes:
        ran[:-1] &= ~profile.nodes["fused"].to_numpy(bool)
    uses = inputs["source"].value_counts()
    found: set[int] = set()
    fed = inputs[(inputs["source"] >= 0) & (inputs["position"] == 0)]
    for heads, tails in ((FUSIBLE, BIASES), (BIASES, ACTIVATIONS)):
        for node, source in zip(fed["node"].tolist(), fed["source"].tolist(), strict=True):
            fits = op_type[source] in heads and op_type[node] in tails
            if fits and ran[node] and ran[source] and uses[source] == 1:
                found.add(node)
    return np.array(sorted(found), dtype=np.intp)


def _micros(profile: "Profile") -> Floats:
    return measure(profile, None, nodes_as_members(profile))["micros"]
