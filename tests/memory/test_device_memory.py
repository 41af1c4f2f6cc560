"""Peak memory of accelerators, from counters that are never reset."""

from nbprof.memory.device_memory import DeviceMemory, device_runs


def test_the_peak_of_a_device_is_exact_only_if_it_rose():
    before = (DeviceMemory("GPU:0", 10, 50), DeviceMemory("GPU:1", 10, 50))
    after = (DeviceMemory("GPU:0", 20, 90), DeviceMemory("GPU:1", 30, 50))

    risen, not_risen = device_runs(before, after)

    assert (risen.peak, risen.exact) == (90, True)
    assert (not_risen.peak, not_risen.exact) == (30, False)
