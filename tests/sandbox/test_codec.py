"""Plain data cross the border exactly; bytes that nobody has written are refused and cost little."""

from __future__ import annotations

import math
import struct
import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memkit.sandbox.bare.codec import DEEPEST, LARGEST_KEY, Malformed, NotPlain, decode, encode

keys = st.text(max_size=5) | st.integers(-LARGEST_KEY + 1, LARGEST_KEY - 1)
leaves = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.binary(max_size=8)
values = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=5)
        | st.lists(inner, max_size=5).map(tuple)
        | st.dictionaries(keys, inner, max_size=5)
        | st.lists(st.floats(), max_size=5)
        | st.lists(st.integers(), max_size=5).map(tuple)
    ),
    max_leaves=20,
)


def same(one: Any, other: Any) -> bool:
    """Tell whether two values are equal in type, sign of zero and not-a-number as well."""
    if type(one) is not type(other):
        return False
    if isinstance(one, float):
        return struct.pack("d", one) == struct.pack("d", other) or (math.isnan(one) and math.isnan(other))
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    return bool(one == other)


@given(values)
def test_what_was_written_is_read(value: Any) -> None:
    """Every value comes back as it was, with its types and the order of its keys."""
    assert same(decode(encode(value)), value)


@given(st.binary(max_size=200))
def test_any_bytes_are_a_value_or_malformed(data: bytes) -> None:
    """No bytes raise anything else."""
    try:
        decode(data)
    except Malformed:
        return


@given(values, st.data())
def test_damaged_bytes_are_a_value_or_malformed(value: Any, data: st.DataObject) -> None:
    """Cut or changed at any place, what is read is plain or nothing."""
    written = bytearray(encode(value))
    place = data.draw(st.integers(0, len(written) - 1))
    written[place] = data.draw(st.integers(0, 255))
    for damaged in (bytes(written), bytes(written[:place])):
        try:
            decode(damaged)
        except Malformed:
            continue


@pytest.mark.parametrize("tag", [b"l", b"t", b"m", b"D", b"Q", b"E", b"R", b"s", b"b", b"I"])
def test_a_length_that_is_not_there_makes_nothing(tag: bytes) -> None:
    """A few bytes that claim gigabytes are refused before anything of that size is made."""
    tracemalloc.start()
    with pytest.raises(Malformed):
        decode(tag + b"\xff\xff\xff\x7f")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert peak < 100_000


def test_nesting_is_bounded_on_both_sides() -> None:
    """Depth is counted; the interpreter's own limit is never met."""
    value: Any = 1
    for _ in range(DEEPEST):
        value = [value, "x"]
    assert decode(encode(value)) == value

    with pytest.raises(NotPlain, match="nested deeper"):
        encode([value, "x"])
    with pytest.raises(Malformed, match="nested deeper"):
        decode(b"l\x01\x00\x00\x00" * 100_000 + b"N")


@pytest.mark.parametrize(
    "data",
    [
        b"m\x01\x00\x00\x00NN",
        b"m\x01\x00\x00\x00" + b"d" + bytes(8) + b"N",
        b"m\x02\x00\x00\x00" + 2 * (b"s\x01\x00\x00\x00aN"),
        b"m\x01\x00\x00\x00" + b"i" + struct.pack("<q", 2**61 - 1) + b"N",
        b"s\x02\x00\x00\x00\xff\xfe",
        b"s\x03\x00\x00\x00\xed\xa0\x80",
        b"NN",
        b"",
        b"z",
        b"a\x02O8\x01\x01\x00\x00\x00\x08\x00\x00\x00" + bytes(8),
        b"a\x02f8\x01\x02\x00\x00\x00\x08\x00\x00\x00" + bytes(8),
        b"a\x02f8\xff",
    ],
)
def test_forged_bytes_are_malformed(data: bytes) -> None:
    """Keys that collide, keys twice, objects in arrays, shapes that do not fit, text that is none."""
    with pytest.raises(Malformed):
        decode(data)


def test_arrays_cross_with_type_and_shape() -> None:
    """Numeric arrays of any order and shape arrive as arrays of their own memory."""
    numpy = pytest.importorskip("numpy")
    for dtype in ("?", "i1", "u8", "f2", "f4", "f8", "c16", ">f8", ">i4"):
        for shape in ((), (0, 3), (2, 3), (2, 1, 2)):
            array = numpy.ones(shape, dtype=dtype)
            for given_ in (array, array.T, array[::2] if shape else array):
                back = decode(encode(given_))
                assert back.shape == given_.shape
                assert back.dtype == given_.dtype.newbyteorder("=")
                assert (back == given_).all()
                assert back.flags.writeable

    for refused in (numpy.array([object()]), numpy.array(["a"]), numpy.ma.array([1]), numpy.zeros(1, "M8[s]")):
        with pytest.raises(NotPlain):
            encode(refused)


def test_numbers_of_numpy_arrive_as_pythons() -> None:
    """A scalar is plain data once it is one of the interpreter's own."""
    numpy = pytest.importorskip("numpy")
    back = decode(encode([numpy.float64(0.5), numpy.int32(3), numpy.bool_(True), numpy.float32(0.25)]))

    assert [(type(item), item) for item in back] == [(float, 0.5), (int, 3), (bool, True), (float, 0.25)]


def test_a_truth_value_that_is_neither_is_read_as_true() -> None:
    """Bytes of a boolean array are made 0 or 1, so that nothing behind the border meets a third."""
    numpy = pytest.importorskip("numpy")
    back = decode(b"a\x02?1\x01\x02\x00\x00\x00\x02\x00\x00\x00\x00\x07")

    assert back.view("u1").tolist() == [0, 1]
    assert back.dtype == numpy.dtype("?")
