"""TensorFlow's element types by their numbers in traces (`DataType` of types.proto)."""

NAMES = {
    **{1: "float32", 2: "float64", 3: "int32", 4: "uint8", 5: "int16", 6: "int8", 7: "string"},
    **{8: "complex64", 9: "int64", 10: "bool", 11: "qint8", 12: "quint8", 13: "qint32"},
    **{14: "bfloat16", 15: "qint16", 16: "quint16", 17: "uint16", 18: "complex128"},
    **{19: "float16", 20: "resource", 21: "variant", 22: "uint32", 23: "uint64"},
    **{24: "float8_e5m2", 25: "float8_e4m3fn", 29: "int4", 30: "uint4"},
}

SIZES = {
    **dict.fromkeys(("float", "int32", "uint32", "qint32"), 4),
    **dict.fromkeys(("double", "int64", "uint64", "complex64"), 8),
    **dict.fromkeys(("half", "bfloat16", "int16", "uint16", "qint16", "quint16"), 2),
    **dict.fromkeys(("int8", "uint8", "bool", "qint8", "quint8"), 1),
    **{"complex128": 16, "string": 24},
}
"""Bytes of an element, by the names that the shapes in traces have."""
