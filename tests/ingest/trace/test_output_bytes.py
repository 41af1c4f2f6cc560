import math

import pytest

from nbprof.ingest.trace.shapes.output_bytes import output_bytes, parse_typed


@pytest.mark.parametrize(
    ("op_type", "inputs", "size"),
    [
        ("Identity", b"(float[32,64])", 32 * 64 * 4),
        ("Reshape", b"(half[32,64];int32[2])", 32 * 64 * 2),
        ("Mul", b"(float[32,1];float[64])", 32 * 64 * 4),
        ("AssignVariableOp", b"(;float[3])", 0),
        ("ResourceApplyAdam", b"(;;;float[])", 0),
        ("Identity", b"()", math.nan),
        ("Identity", b"(what[32])", math.nan),
        ("SomethingNew", b"(float[32])", math.nan),
    ],
)
def test_output_bytes_follow_from_the_inputs_of_ops_that_allocate_nothing(op_type, inputs, size):
    found = output_bytes(op_type, parse_typed(inputs), lambda _: None)

    assert found == size or (math.isnan(found) and math.isnan(size))
