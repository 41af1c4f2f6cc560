"""Ten thousand damaged inputs give a Profile or an NbprofError, quickly."""

import random
import time

import pytest
from support.paths import DATA as TEST_DATA

import nbprof
from nbprof.ingest.tfprof.text_format import to_binary

DATA = TEST_DATA / "tfprof"
ROUNDS, A_ROUND = 10, 1000
LONGEST = 1.0
"""CPU seconds allowed per case; a slow case is retried once, as garbage may have been collected."""


@pytest.fixture(scope="module")
def whole():
    graph = to_binary((DATA / "graph.pbtxt").read_bytes(), "GraphDef", "graph")
    return [graph, (DATA / "run_meta").read_bytes(), (DATA / "tfprof_log").read_bytes()]


def damaged(data, chance):
    """Cut, flip, insert, drop or repeat some bytes."""
    data = bytearray(data)
    for _ in range(chance.choice((1, 1, 2, 8))):
        place = chance.randrange(len(data) + 1)
        length = chance.choice((1, 2, 10, 200))
        match chance.randrange(5):
            case 0:
                del data[place:]
            case 1:
                data[place : place + 1] = bytes([chance.randrange(256)])
            case 2:
                data[place:place] = chance.randbytes(length)
            case 3:
                del data[place : place + length]
            case 4:
                data[place:place] = data[place : place + length]
    return bytes(data)


def read(inputs):
    """Read the inputs; return whether a view came out, and the CPU seconds it took."""
    began = time.thread_time()
    try:
        profile = nbprof.load_tfprof(inputs[0], [inputs[1]], inputs[2])
        profile.scope(select="bytes,micros,params,float_ops,input_shapes")
        shown = True
    except nbprof.NbprofError:
        shown = False
    return shown, time.thread_time() - began


@pytest.mark.parametrize("round_", range(ROUNDS))
def test_damaged_inputs_are_read_or_refused_in_a_sentence(whole, round_):
    chance = random.Random(round_)
    shown = 0
    for number in range(A_ROUND):
        inputs = list(whole)
        which = number % len(inputs)
        inputs[which] = damaged(inputs[which], chance)
        came_out, took = read(inputs)
        assert took < LONGEST or read(inputs)[1] < LONGEST, inputs[which]
        shown += came_out
    assert 0.05 * A_ROUND < shown < 0.95 * A_ROUND
