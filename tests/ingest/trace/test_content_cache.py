import pytest

from nbprof.ingest.trace.program.content_cache import ContentCache


class Reader:
    """Record every source that the cache did not have."""

    def __init__(self, capacity=100):
        self.read = []
        self._cache = ContentCache(capacity)

    def __call__(self, source):
        def read():
            self.read.append(source)
            return source.decode()

        return self._cache.get(source, read)


def test_equal_bytes_are_read_once():
    reader = Reader()

    assert [reader(source) for source in (b"one", b"two", bytes(bytearray(b"one")))] == [
        *("one", "two", "one")
    ]
    assert reader.read == [b"one", b"two"]


def test_the_least_recently_used_entry_is_evicted():
    reader = Reader(capacity=10)

    for source in (b"1234", b"abcd", b"1234", b"wxyz"):
        reader(source)
    reader.read.clear()

    reader(b"1234")
    reader(b"wxyz")
    assert reader.read == []
    reader(b"abcd")
    assert reader.read == [b"abcd"]


def test_a_source_beyond_the_capacity_is_not_cached_and_evicts_nothing():
    reader = Reader(capacity=10)

    reader(b"1234")
    assert reader(b"a" * 11) == "a" * 11
    reader(b"a" * 11)
    reader(b"1234")

    assert reader.read == [b"1234", b"a" * 11, b"a" * 11]


def test_a_failed_read_is_not_cached():
    cache = ContentCache()

    def fail():
        raise ValueError("damaged")

    with pytest.raises(ValueError, match="damaged"):
        cache.get(b"one", fail)

    assert cache.get(b"one", lambda: "read") == "read"
