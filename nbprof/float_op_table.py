"""How to count the float operations of each op type, as far as that is known.

`COUNTED` names a formula for op types that compute, `NO_WORK` matches those that compute nothing.
The float operations of all other types are unknown. `ingest/trace/shapes/flops.py` has the
formulas. To count another op type, add its name to a row, or a row with a formula of its own.
"""

import re
from dataclasses import dataclass
from functools import cache

from nbprof.op_types import main_type


@dataclass(frozen=True, kw_only=True)
class Counted:
    """Op types whose float operations one formula counts."""

    formula: str
    """Name of the formula."""
    types: tuple[str, ...]
    says: str
    """What is counted, for the docs."""
    times: int = 1
    """The factor by which the formula's result is multiplied."""
    attributes: tuple[str, ...] = ()
    """Names of the attributes that the formula needs."""


_COMPARISONS = (
    *("Equal", "NotEqual", "Greater", "GreaterEqual", "Less", "LessEqual", "ApproximateEqual"),
    *("IsFinite", "IsInf", "IsNan", "CheckNumerics", "CheckNumericsV2"),
)
_ARITHMETIC = (
    *("Add", "AddV2", "Sub", "Mul", "MulNoNan", "Div", "RealDiv", "DivNoNan", "FloorDiv"),
    *("TruncateDiv", "FloorMod", "Mod", "TruncateMod", "Maximum", "Minimum", "Pow", "Atan2"),
    *("Reciprocal", "Inv", "Square", "Sqrt", "Neg", "Abs", "ComplexAbs", "Angle", "Sign"),
    *("Floor", "Ceil", "Round", "Rint", "BiasAdd", "BiasAddV1"),
)
_FUNCTIONS = (
    *("Exp", "Expm1", "Log", "Log1p", "Erf", "Erfc", "Erfinv", "Ndtri", "Lgamma", "Digamma"),
    *("Sin", "Cos", "Tan", "Asin", "Acos", "Atan", "Sinh", "Cosh", "Tanh"),
    *("Asinh", "Acosh", "Atanh", "Sigmoid"),
    *("Relu", "Relu6", "LeakyRelu", "Elu", "Selu", "Softplus", "Softsign"),
)
_POOLS = ("AvgPool", "AvgPool3D", "MaxPool", "MaxPool3D", "MaxPoolWithArgmax")
_BATCH_NORMS = ("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3")
_BATCH_NORM_GRADIENTS = ("FusedBatchNormGrad", "FusedBatchNormGradV2", "FusedBatchNormGradV3")

COUNTED = (
    Counted(
        formula="elements of the output",
        types=(*_ARITHMETIC, *_COMPARISONS, *_FUNCTIONS),
        says="1 per element of the output, for a function such as `Tanh`, too",
    ),
    Counted(
        formula="elements of the output",
        types=("Rsqrt", "SquaredDifference", "ClipByValue", "Xdivy", "Xlogy", "Xlog1py"),
        says="2 per element of the output",
        times=2,
    ),
    Counted(
        formula="elements of the output",
        types=("ReluGrad", "Relu6Grad", "LeakyReluGrad"),
        says="1 per element of the output",
    ),
    Counted(
        formula="elements of the output",
        types=("EluGrad", "SeluGrad", "SqrtGrad"),
        says="2 per element of the output",
        times=2,
    ),
    Counted(
        formula="elements of the output",
        types=("TanhGrad", "SigmoidGrad", "ReciprocalGrad", "InvGrad"),
        says="3 per element of the output",
        times=3,
    ),
    Counted(
        formula="elements of the output",
        types=("RsqrtGrad", "SoftplusGrad", "SoftsignGrad"),
        says="4 per element of the output",
        times=4,
    ),
    Counted(
        formula="elements of the first input",
        types=("Mean", "Cumsum", "Cumprod", "AssignAdd", "AssignSub"),
        says="1 per element of the first input",
    ),
    Counted(
        formula="elements of the first input",
        types=(
            *("SegmentSum", "SegmentMean", "SegmentMax", "SegmentMin", "SegmentProd"),
            *("UnsortedSegmentSum", "UnsortedSegmentMax", "UnsortedSegmentMin"),
            *("SegmentSumV2", "SegmentMaxV2", "SegmentMinV2", "SegmentProdV2"),
            "UnsortedSegmentProd",
        ),
        says="1 per element of the first input",
    ),
    Counted(
        formula="elements of the first input",
        types=("EuclideanNorm",),
        says="2 per element of the first input",
        times=2,
    ),
    Counted(
        formula="elements of the first input",
        types=(
            *("Softmax", "LogSoftmax", "SparseSoftmaxCrossEntropyWithLogits"),
            "SoftmaxCrossEntropyWithLogits",
        ),
        says="5 per element of the first input",
        times=5,
    ),
    Counted(
        formula="squares and their sum",
        types=("L2Loss",),
        says="3 per element of the input, less 1",
    ),
    Counted(
        formula="reduction",
        types=("Sum", "Max", "Min", "Prod", "ArgMax", "ArgMin", "BiasAddGrad"),
        says="elements of the input less those of the output",
    ),
    Counted(
        formula="sum of tensors",
        types=("AddN", "AccumulateNV2"),
        says="elements of an input, times the number of inputs less 1",
    ),
    Counted(
        formula="elements of the second input",
        types=("AssignAddVariableOp", "AssignSubVariableOp"),
        says="1 per element that is added",
    ),
    Counted(
        formula="elements of the third input",
        types=(
            *("ResourceScatterAdd", "ResourceScatterSub", "ResourceScatterMul"),
            *("ResourceScatterDiv", "ResourceScatterMax", "ResourceScatterMin"),
            *("ScatterAdd", "ScatterSub", "ScatterMul", "ScatterDiv", "ScatterMax", "ScatterMin"),
            *("TensorScatterAdd", "TensorScatterSub", "TensorScatterMax", "TensorScatterMin"),
            *("ResourceScatterNdAdd", "ResourceScatterNdSub", "ScatterNdAdd", "ScatterNdSub"),
            *("InplaceAdd", "InplaceSub"),
        ),
        says="1 per element that is scattered",
    ),
    Counted(
        formula="matrix product",
        types=("MatMul", "SparseMatMul", "BatchMatMul", "BatchMatMulV2", "BatchMatMulV3"),
        says="2 × elements of the output × length of the dimension summed over",
    ),
    Counted(
        formula="sparse matrix product",
        types=("SparseTensorDenseMatMul",),
        says="2 × values of the sparse matrix × columns of the output",
    ),
    Counted(
        formula="einsum",
        types=("Einsum", "XlaEinsum"),
        says="2 × product of the sizes of all indices; without an index that is summed over, 1 ×. "
        "An index that only one operand has, and not the output, is summed over first",
        attributes=("equation",),
    ),
    Counted(
        formula="convolution",
        types=("Conv", "Conv2D", "Conv3D"),
        says="2 × elements of the output × height × width × input channels of the kernel",
    ),
    Counted(
        formula="gradient to the convolved",
        types=(
            *("Conv2DBackpropInput", "Conv2DBackpropInputV2"),
            *("Conv3DBackpropInput", "Conv3DBackpropInputV2"),
        ),
        says="as many as the convolution it is the gradient of; also for `Conv2DTranspose`",
    ),
    Counted(
        formula="gradient to the kernel",
        types=(
            *("Conv2DBackpropFilter", "Conv2DBackpropFilterV2"),
            *("Conv3DBackpropFilter", "Conv3DBackpropFilterV2"),
        ),
        says="as many as the convolution it is the gradient of",
    ),
    Counted(
        formula="depthwise convolution",
        types=("DepthwiseConv2dNative", "Dilation2D"),
        says="2 × elements of the output × height × width of the kernel",
    ),
    Counted(
        formula="depthwise gradient to the convolved",
        types=("DepthwiseConv2dNativeBackpropInput",),
        says="as many as the convolution it is the gradient of",
    ),
    Counted(
        formula="depthwise gradient to the kernel",
        types=("DepthwiseConv2dNativeBackpropFilter",),
        says="as many as the convolution it is the gradient of",
    ),
    Counted(
        formula="pool",
        types=_POOLS,
        says="elements of the output × elements of the window",
        attributes=("ksize",),
    ),
    Counted(
        formula="gradient of an average",
        types=("AvgPoolGrad", "AvgPool3DGrad"),
        says="2 × elements of the incoming gradient × elements of the window",
        attributes=("ksize",),
    ),
    Counted(
        formula="gradient of a maximum",
        types=("MaxPoolGrad", "MaxPool3DGrad"),
        says="elements of the incoming gradient × (elements of the window + 1)",
        attributes=("ksize",),
    ),
    Counted(
        formula="batch normalization",
        types=_BATCH_NORMS,
        says="6 per element of the input in training, otherwise 3",
        attributes=("is_training",),
    ),
    Counted(
        formula="gradient of batch normalization",
        types=_BATCH_NORM_GRADIENTS,
        says="8 per element of the input in training, otherwise 5",
        attributes=("is_training",),
    ),
    Counted(
        formula="LSTM",
        types=("BlockLSTM", "BlockLSTMV2"),
        says="the matrix products of all steps: "
        "2 × steps × batch × 4 × units × (input size + units)",
    ),
    Counted(
        formula="LSTM",
        types=("BlockLSTMGrad", "BlockLSTMGradV2"),
        says="twice the matrix products of the forward pass",
        times=2,
    ),
    Counted(
        formula="LSTM cell",
        types=("LSTMBlockCell",),
        says="the matrix products: 2 × batch × 4 × units × (input size + units)",
    ),
    Counted(
        formula="GRU cell",
        types=("GRUBlockCell",),
        says="the matrix products: 2 × batch × 3 × units × (input size + units)",
    ),
    Counted(
        formula="GRU cell",
        types=("GRUBlockCellGrad",),
        says="the matrix products: 2 × batch × 3 × units × (input size + units)",
    ),
    Counted(
        formula="CuDNN",
        types=("CudnnRNN", "CudnnRNNV2", "CudnnRNNV3"),
        says="the matrix products of all steps, layers and directions, as if all sequences were "
        "of full length",
        attributes=("rnn_mode", "direction", "num_proj"),
    ),
    Counted(
        formula="CuDNN",
        types=("CudnnRNNBackprop", "CudnnRNNBackpropV2", "CudnnRNNBackpropV3"),
        says="twice the matrix products of the forward pass",
        times=2,
        attributes=("rnn_mode", "direction", "num_proj"),
    ),
    *(
        Counted(
            formula=f"update by input {place}",
            types=types,
            says=f"{times} per element of the gradient",
            times=times,
        )
        for place, times, types in (
            (2, 2, ("ResourceApplyGradientDescent", "ApplyGradientDescent")),
            (3, 4, ("ResourceApplyMomentum", "ResourceApplyKerasMomentum", "ApplyMomentum")),
            (3, 6, ("ResourceApplyAdagrad", "ApplyAdagrad")),
            (4, 7, ("ResourceApplyAdagradV2",)),
            (6, 16, ("ResourceApplyAdadelta", "ApplyAdadelta")),
            (7, 11, ("ResourceApplyRMSProp", "ApplyRMSProp")),
            (9, 12, ("ResourceApplyAdam", "ApplyAdam")),
            (10, 13, ("ResourceApplyAdamWithAmsgrad",)),
        )
    ),
)
"""How float operations are counted; the docs have these rows as a table."""

NO_WORK = {
    "values that exist already": """
        _?Arg _?DeviceArg _?DeviceRetval _?Retval (Host|Immutable|_Eager)?Const
        Placeholder(V2|WithDefault)? FakeParam GuaranteeConst _HostCast Identity(N)?
        Snapshot StopGradient PreventGradient EnsureShape DeepCopy _?Copy(Host|From.*)?
        Debug.*Identity.* Fill Empty (Ones|Zeros)Like OneHot Range Bitcast Cast Real Imag
        Complex Conj
    """,
    "shapes": """
        (Variable)?Shape(N)? Size Rank SetSize BroadcastGradientArgs BroadcastArgs
        ConcatOffset UnravelIndex InvertPermutation DataFormat.*
    """,
    "data that is moved": """
        Reshape Squeeze ExpandDims (Conjugate)?Transpose Reverse(V2|Sequence)?
        (Parallel)?Concat(V2)? Split(V)? (Un)?[Pp]ack Tile BroadcastTo Roll
        (Mirror)?Pad(V2)? Slice (Resource|Tensor)?StridedSlice(Assign|Grad|Update)?
        (Resource)?Gather(V2|Nd)? Select(V2)? Where (Parallel)?DynamicStitch
        DynamicPartition (Batch)?MatrixDiag.* (Batch)?MatrixSetDiag.* Diag(Part)?
        (Batch)?MatrixBandPart (Space|Batch)To(Batch|Space)(ND)? DepthToSpace SpaceToDepth
        Extract(Image|Volume)Patches InplaceUpdate Memcpy.* Memset.*
        Ragged(Cross|FillEmptyRows|Gather|Range|Tensor.*) ResizeNearestNeighbor
        (Un)?[Bb]atch
        Sparse(Reorder|Reshape|Slice|Concat|Split|ToDense|FillEmptyRows|Cross.*|Transpose)
        ScatterNd (Resource|Tensor)?Scatter(Nd)?Update _?ScopedAllocator.*
    """,
    "truth values and whole numbers": """
        Logical(And|Or|Not) Bitwise.* Invert (Left|Right)Shift PopulationCount All Any
        ToBool Unique.* ListDiff InTopK(V2)? DenseBincount Bincount Bucketize
        (Lower|Upper)Bound Random(Shuffle|UniformInt|Crop)
        Random(IndexShuffle|SeedGenerator) Stateless(Shuffle|RandomUniform(Full)?Int(V2)?)
        StatefulUniform(Full)?Int NonDeterministicInts (Resource)?CountUpTo
    """,
    "variables and other resources": """
        _?VarHandle(s)?Op Variable(V2)? _?ReadVariable(s)?Op Assign(VariableOp)?
        (Var)?Is(Variable)?Initialized(Op)? DestroyResourceOp DestroyTemporaryVariable
        TemporaryVariable DisableCopyOnRead Mutex.* ConsumeMutexLock Anonymous.*
        (Empty)?TensorList.* TensorArray.* TensorMap.* Stack.* (Ordered)?Map[A-Z].*
        .*Queue.* Stage.* Unstage Barrier.* Delete.* Lookup.* .*Table.*
    """,
    "calls, whose ops are counted by themselves, and control flow": """
        (Stateful|Stateless)?PartitionedCall (Stateless)?(_?If|_?While|Case) For RemoteCall
        SymbolicGradient MapDefun BatchFunction (Ref)?_?Switch(N)?
        _?(Ref)?(Merge|Enter|Exit|NextIteration|Select) LoopCond ControlTrigger NoOp Assert
        Abort Print(V2)? _?(Host)?(Send|Recv) _?Xla(Send|Recv).*
        Collective(Bcast|Gather|AllToAll|Permute|AssignGroup|InitializeCommunicator).*
        _?NcclBroadcast.* SyncDevice _XlaCompile DummyMemoryCache DummySeedGenerator
        (Device|Global)(Index|IterId) Timestamp Sleep.* _ListToArray _ArrayToList
    """,
    "input pipelines, files and texts": """
        .*Dataset.* .*Iterator.* Optional.* (Un)?[Cc]ompressElement ParseExample.* Parse.*
        .*Reader.* (Read|Write)File MatchingFiles (Restore|Save)(V2|Slices?)?
        MergeV2Checkpoints Sharded.* .*Summary.* (Unsorted)?(Segment|Reduce)Join String.*
        AsString (Static)?Regex.* Unicode.* Substr EncodeBase64 DecodeBase64 DecodeRaw
        DecodePaddedRaw DecodeCSV DecodeJSON.* DecodeCompressed (Des|S)erialize.*
        Fingerprint .*HashBucket.* WriteSummary RngReadAndSkip RngSkip Stateless.*GetKey.*
        StatelessRandomGetAlg
    """,
}
"""Patterns of the op types that compute nothing with floats, by what they do instead."""


NEEDED_ATTRIBUTES = {
    op_type: row.attributes for row in COUNTED for op_type in row.types if row.attributes
}
"""The attributes that the float operations of op types depend on."""

_BY_TYPE = {op_type: row for row in COUNTED for op_type in row.types}
_NO_WORK = re.compile("|".join(" ".join(NO_WORK.values()).split()))


def counted(op_type: str) -> Counted | None:
    """Return how float operations of an op type, or of a kernel for it, are counted."""
    return _BY_TYPE.get(main_type(op_type))


def is_known(op_type: str) -> bool:
    """Return whether it is known how to count the float operations of an op type."""
    return counted(op_type) is not None or computes_nothing(op_type)


@cache
def computes_nothing(op_type: str) -> bool:
    """Return whether an op type has no float operations by what it does."""
    return _NO_WORK.fullmatch(main_type(op_type)) is not None
