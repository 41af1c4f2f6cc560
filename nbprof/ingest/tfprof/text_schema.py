"""Fields of the messages that tfprof reads from text: GraphDef, RunMetadata, OpLogProto.

The tables are written for people and parsed by `messages()`: each message is followed by its
fields, each with name, number and type; `{key value}` is a map. Whether a field is repeated does
not matter here. Fields that newer releases of TensorFlow dropped stay: files of older ones have
them. A test compares the tables with TensorFlow's own.
"""

from functools import cache
from typing import NamedTuple

MESSAGES = """
GraphDef: node 1 NodeDef, library 2 FunctionDefLibrary, version 3 int32, versions 4 VersionDef,
    debug_info 5 GraphDebugInfo
NodeDef: name 1 string, op 2 string, input 3 string, device 4 string, attr 5 {string AttrValue},
    experimental_debug_info 6 NodeDef.ExperimentalDebugInfo, experimental_type 7 FullTypeDef
AttrValue: list 1 AttrValue.ListValue, s 2 bytes, i 3 int64, f 4 float, b 5 bool, type 6 DataType,
    shape 7 TensorShapeProto, tensor 8 TensorProto, placeholder 9 string, func 10 NameAttrList
TensorShapeProto: dim 2 TensorShapeProto.Dim, unknown_rank 3 bool
TensorShapeProto.Dim: size 1 int64, name 2 string
TensorProto: dtype 1 DataType, tensor_shape 2 TensorShapeProto, version_number 3 int32,
    tensor_content 4 bytes, float_val 5 float, double_val 6 double, int_val 7 int32, string_val 8
    bytes, scomplex_val 9 float, int64_val 10 int64, bool_val 11 bool, dcomplex_val 12 double,
    half_val 13 int32, resource_handle_val 14 ResourceHandleProto, variant_val 15
    VariantTensorDataProto, uint32_val 16 uint32, uint64_val 17 uint64, float8_val 18 bytes
ResourceHandleProto: device 1 string, container 2 string, name 3 string, hash_code 4 uint64,
    maybe_type_name 5 string, dtypes_and_shapes 6 ResourceHandleProto.DtypeAndShape
ResourceHandleProto.DtypeAndShape: dtype 1 DataType, shape 2 TensorShapeProto
VariantTensorDataProto: type_name 1 string, metadata 2 bytes, tensors 3 TensorProto
AttrValue.ListValue: s 2 bytes, i 3 int64, f 4 float, b 5 bool, type 6 DataType, shape 7
    TensorShapeProto, tensor 8 TensorProto, func 9 NameAttrList
NameAttrList: name 1 string, attr 2 {string AttrValue}
NodeDef.ExperimentalDebugInfo: original_node_names 1 string, original_func_names 2 string
FullTypeDef: type_id 1 FullTypeId, args 2 FullTypeDef, s 3 string, i 4 int64
VersionDef: producer 1 int32, min_consumer 2 int32, bad_consumers 3 int32
FunctionDefLibrary: function 1 FunctionDef, gradient 2 GradientDef, registered_gradients 3
    RegisteredGradient
FunctionDef: signature 1 OpDef, node_def 3 NodeDef, ret 4 {string string}, attr 5 {string
    AttrValue}, control_ret 6 {string string}, arg_attr 7 {uint32 FunctionDef.ArgAttrs},
    resource_arg_unique_id 8 {uint32 uint32}
FunctionDef.ArgAttrs: attr 1 {string AttrValue}
OpDef: name 1 string, input_arg 2 OpDef.ArgDef, output_arg 3 OpDef.ArgDef, attr 4 OpDef.AttrDef,
    summary 5 string, description 6 string, deprecation 8 OpDeprecation, is_aggregate 16 bool,
    is_stateful 17 bool, is_commutative 18 bool, allows_uninitialized_input 19 bool,
    control_output 20 string, is_distributed_communication 21 bool
OpDef.ArgDef: name 1 string, description 2 string, type 3 DataType, type_attr 4 string,
    number_attr 5 string, type_list_attr 6 string, handle_data 7
    ResourceHandleProto.DtypeAndShape, is_ref 16 bool, experimental_full_type 17 FullTypeDef
OpDef.AttrDef: name 1 string, type 2 string, default_value 3 AttrValue, description 4 string,
    has_minimum 5 bool, minimum 6 int64, allowed_values 7 AttrValue
OpDeprecation: version 1 int32, explanation 2 string
GradientDef: function_name 1 string, gradient_func 2 string
RegisteredGradient: gradient_func 1 string, registered_op_type 2 string
GraphDebugInfo: files 1 string, traces 2 {string GraphDebugInfo.StackTrace}, frames_by_id 4
    {fixed64 GraphDebugInfo.FileLineCol}, name_to_trace_id 5 {string fixed64}, traces_by_id 6
    {fixed64 GraphDebugInfo.StackTrace}
GraphDebugInfo.StackTrace: file_line_cols 1 GraphDebugInfo.FileLineCol, frame_id 2 fixed64
GraphDebugInfo.FileLineCol: file_index 1 int32, line 2 int32, col 3 int32, func 4 string, code 5
    string
RunMetadata: step_stats 1 StepStats, cost_graph 2 CostGraphDef, partition_graphs 3 GraphDef,
    function_graphs 4 RunMetadata.FunctionGraphs, session_metadata 5 SessionMetadata
StepStats: dev_stats 1 DeviceStepStats
DeviceStepStats: device 1 string, node_stats 2 NodeExecStats, thread_names 3 {uint32 string}
NodeExecStats: node_name 1 string, all_start_micros 2 int64, op_start_rel_micros 3 int64,
    op_end_rel_micros 4 int64, all_end_rel_micros 5 int64, memory 6 AllocatorMemoryUsed, output 7
    NodeOutput, timeline_label 8 string, scheduled_micros 9 int64, thread_id 10 uint32,
    referenced_tensor 11 AllocationDescription, memory_stats 12 MemoryStats, all_start_nanos 13
    int64, op_start_rel_nanos 14 int64, op_end_rel_nanos 15 int64, all_end_rel_nanos 16 int64,
    scheduled_nanos 17 int64
AllocatorMemoryUsed: allocator_name 1 string, total_bytes 2 int64, peak_bytes 3 int64, live_bytes
    4 int64, allocator_bytes_in_use 5 int64, allocation_records 6 AllocationRecord
AllocationRecord: alloc_micros 1 int64, alloc_bytes 2 int64
NodeOutput: slot 1 int32, tensor_description 3 TensorDescription
TensorDescription: dtype 1 DataType, shape 2 TensorShapeProto, allocation_description 4
    AllocationDescription
AllocationDescription: requested_bytes 1 int64, allocated_bytes 2 int64, allocator_name 3 string,
    allocation_id 4 int64, has_single_reference 5 bool, ptr 6 uint64
MemoryStats: temp_memory_size 1 int64, device_temp_memory_size 2 int64, persistent_memory_size 3
    int64, device_persistent_memory_size 4 int64, persistent_tensor_alloc_ids 5 int64,
    device_persistent_tensor_alloc_ids 6 int64
CostGraphDef: node 1 CostGraphDef.Node, cost 2 CostGraphDef.AggregatedCost
CostGraphDef.Node: name 1 string, device 2 string, id 3 int32, input_info 4
    CostGraphDef.Node.InputInfo, output_info 5 CostGraphDef.Node.OutputInfo, temporary_memory_size
    6 int64, is_final 7 bool, control_input 8 int32, compute_cost 9 int64, host_temp_memory_size
    10 int64, device_temp_memory_size 11 int64, persistent_memory_size 12 int64, compute_time 14
    int64, memory_time 15 int64, device_persistent_memory_size 16 int64, inaccurate 17 bool
CostGraphDef.Node.InputInfo: preceding_node 1 int32, preceding_port 2 int32
CostGraphDef.Node.OutputInfo: size 1 int64, alias_input_port 2 int64, shape 3 TensorShapeProto,
    dtype 4 DataType
CostGraphDef.AggregatedCost: cost 1 float, dimension 2 string
RunMetadata.FunctionGraphs: partition_graphs 1 GraphDef, pre_optimization_graph 2 GraphDef,
    post_optimization_graph 3 GraphDef
SessionMetadata: name 1 string, version 2 int64
OpLogProto: log_entries 1 OpLogEntry, id_to_string 2 {int64 string}
OpLogEntry: name 1 string, float_ops 2 int64, types 3 string, code_def 4 CodeDef
CodeDef: traces 1 CodeDef.Trace
CodeDef.Trace: file 1 string, lineno 2 int32, function 3 string, line 4 string, func_start_line 5
    int32, file_id 6 int64, function_id 7 int64, line_id 8 int64
"""

ENUMS = """
DataType: DT_INVALID 0, DT_FLOAT 1, DT_DOUBLE 2, DT_INT32 3, DT_UINT8 4, DT_INT16 5, DT_INT8 6,
    DT_STRING 7, DT_COMPLEX64 8, DT_INT64 9, DT_BOOL 10, DT_QINT8 11, DT_QUINT8 12, DT_QINT32 13,
    DT_BFLOAT16 14, DT_QINT16 15, DT_QUINT16 16, DT_UINT16 17, DT_COMPLEX128 18, DT_HALF 19,
    DT_RESOURCE 20, DT_VARIANT 21, DT_UINT32 22, DT_UINT64 23, DT_FLOAT8_E5M2 24, DT_FLOAT8_E4M3FN
    25, DT_FLOAT8_E4M3FNUZ 26, DT_FLOAT8_E4M3B11FNUZ 27, DT_FLOAT8_E5M2FNUZ 28, DT_INT4 29,
    DT_UINT4 30, DT_INT2 31, DT_UINT2 32, DT_FLOAT4_E2M1FN 33
FullTypeId: TFT_UNSET 0, TFT_VAR 1, TFT_ANY 2, TFT_PRODUCT 3, TFT_NAMED 4, TFT_FOR_EACH 20,
    TFT_CALLABLE 100, TFT_TENSOR 1000, TFT_ARRAY 1001, TFT_OPTIONAL 1002, TFT_LITERAL 1003,
    TFT_ENCODED 1004, TFT_SHAPE_TENSOR 1005, TFT_BOOL 200, TFT_UINT8 201, TFT_UINT16 202,
    TFT_UINT32 203, TFT_UINT64 204, TFT_INT8 205, TFT_INT16 206, TFT_INT32 207, TFT_INT64 208,
    TFT_HALF 209, TFT_FLOAT 210, TFT_DOUBLE 211, TFT_BFLOAT16 215, TFT_COMPLEX64 212,
    TFT_COMPLEX128 213, TFT_STRING 214, TFT_DATASET 10102, TFT_RAGGED 10103, TFT_ITERATOR 10104,
    TFT_MUTEX_LOCK 10202, TFT_LEGACY_VARIANT 10203
"""

REFERENCE = 100
"""Offset from the number of a DataType to that of its reference type."""


class Field(NamedTuple):
    """A field of a message."""

    number: int
    kind: str
    """A protobuf scalar type, or the name of an enum, a message or a map entry."""


@cache
def messages() -> dict[str, dict[bytes, Field]]:
    """Return the fields of each message, and of each map entry, by name."""
    table: dict[str, dict[bytes, Field]] = {}
    for name, items in _lines(MESSAGES):
        table[name] = {}
        for item in items:
            field, number, kind = item.split(" ", 2)
            table[name][field.encode()] = Field(int(number), kind)
            if kind.startswith("{"):
                key, value = kind.strip("{}").split()
                table[kind] = {b"key": Field(1, key), b"value": Field(2, value)}
    return table


@cache
def enums() -> dict[str, dict[bytes, int]]:
    """Return the numbers of each enum by name."""
    table = {
        name: {text.encode(): int(number) for text, number in map(str.split, items)}
        for name, items in _lines(ENUMS)
    }
    types = table["DataType"]
    types |= {text + b"_REF": number + REFERENCE for text, number in types.items() if number}
    return table


def _lines(table: str) -> list[tuple[str, list[str]]]:
    """Split a table into the name before each colon and the comma-separated items after it."""
    lines = table.replace("\n    ", " ").strip().splitlines()
    parts = [line.partition(": ") for line in lines]
    return [(name, items.split(", ")) for name, _, items in parts]
