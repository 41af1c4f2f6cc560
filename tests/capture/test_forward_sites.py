"""The line of an eager op is found again when a tape computes its gradient."""

import pytest

from nbprof.capture import forward_sites
from nbprof.capture.compat import tensor_shapes
from nbprof.capture.forward_sites import ForwardSites


class Tensor:
    """Stands in for an eager tensor, which has a number of its own."""

    def __init__(self, number):
        self._id = number


A, B, C, D, E = map(Tensor, range(5))


@pytest.fixture(autouse=True)
def tensors(monkeypatch):
    monkeypatch.setattr(tensor_shapes, "eager_tensor", lambda: Tensor)


def gradient_of(sites, op, inputs=(), outputs=None):
    """Return what is found for the local names of TensorFlow's gradient function."""
    return sites.of_gradient({"op_name": op, "inputs": list(inputs), "outputs": outputs})


def test_an_op_is_known_by_a_tensor_it_returned_or_took():
    sites = ForwardSites()
    sites.remember("MatMul", (A, B, "transpose_a", False), C, 7)
    sites.remember("Split", ([C, D], 2), [E, D], 8)

    assert gradient_of(sites, "MatMul", [A, B]) == 7
    assert gradient_of(sites, "MatMul", [], [C]) == 7
    assert gradient_of(sites, "Split", [C, D]) == 8
    assert gradient_of(sites, "Split", outputs=[None, D]) == 8


def test_another_op_that_took_the_same_tensor_is_not_meant():
    sites = ForwardSites()
    sites.remember("MatMul", (A, B), C, 7)

    assert gradient_of(sites, "Add", [A, B]) == -1
    assert gradient_of(sites, "MatMul") == -1


def test_a_tensor_that_two_lines_gave_to_such_an_op_says_nothing():
    sites = ForwardSites()
    sites.remember("MatMul", (A, B), D, 7)
    sites.remember("MatMul", (A, C), E, 8)

    assert gradient_of(sites, "MatMul", [A]) == -1
    assert gradient_of(sites, "MatMul", [A, B]) == 7
    assert gradient_of(sites, "MatMul", [A, C]) == 8


def test_what_does_not_agree_is_not_certain():
    sites = ForwardSites()
    sites.remember("MatMul", (A,), C, 7)
    sites.remember("MatMul", (B,), D, 8)

    assert gradient_of(sites, "MatMul", [A, B]) == -1


def test_only_the_latest_calls_are_remembered(monkeypatch):
    monkeypatch.setattr(forward_sites, "MOST_CALLS", 2)
    sites = ForwardSites()
    for number, tensor in enumerate((A, B, C, D, E)):
        sites.remember("Relu", (), tensor, number)

    found = [gradient_of(sites, "Relu", outputs=[tensor]) for tensor in (A, B, C, D, E)]

    assert found == [-1, -1, 2, 3, 4]
