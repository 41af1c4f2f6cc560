import pytest

from nbprof.ingest.trace.program.content_cache import ContentCache


class Reader:
    """Counts how often it reads."""

    def __init__(self, room=100):
        self.read = []
        self._cache = ContentCache(room)

    def __call__(self, source):
        def read():
            self.read.append(source)
            return source.decode()

        return self._cache.get(source, read)


def test_the_same_bytes_are_read_once_and_others_for_themselves():
    reader = Reader()

    assert [reader(one) for one in (b"one", b"two", bytes(bytearray(b"one")))] == [
        *("one", "two", "one")
    ]
    assert reader.read == [b"one", b"two"]


def test_what_was_used_longest_ago_is_forgotten_where_there_is_no_room():
    reader = Reader(room=10)

    for source in (b"1234", b"abcd", b"1234", b"wxyz"):
        reader(source)
    reader.read.clear()

    reader(b"1234")
    reader(b"wxyz")
    assert reader.read == []
    reader(b"abcd")
    assert reader.read == [b"abcd"]


def test_what_is_larger_than_the_room_is_read_each_time_and_puts_nothing_out():
    reader = Reader(room=10)

    reader(b"1234")
    assert reader(b"a" * 11) == "a" * 11
    reader(b"a" * 11)
    reader(b"1234")

    assert reader.read == [b"1234", b"a" * 11, b"a" * 11]


def test_what_could_not_be_read_is_not_cache():
    cache = ContentCache()

    def fail():
        raise ValueError("damaged")

    with pytest.raises(ValueError, match="damaged"):
        cache.get(b"one", fail)

    assert cache.get(b"one", lambda: "read") == "read"
