"""The few protocol buffer messages that a scalar event needs, encoded by hand.

Event        wall_time = 1 (double), step = 2 (int64), file_version = 3 (string), summary = 5 (Summary)
Summary      value = 1 (Value, repeated)
Value        tag = 1 (string), simple_value = 2 (float)
"""

from __future__ import annotations

import struct
from collections.abc import Mapping

from determined.tensorboard._crc32c import masked_crc32c

FILE_VERSION = "brain.Event:2"


def _varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _bytes_field(number: int, value: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(value)) + value


def version_event(wall_time: float) -> bytes:
    """The event that opens every file."""
    return struct.pack("<Bd", 1 << 3 | 1, wall_time) + _bytes_field(3, FILE_VERSION.encode())


def scalar_event(wall_time: float, step: int, scalars: Mapping[str, float]) -> bytes:
    """One event with a value for each tag."""
    summary = b"".join(_bytes_field(1, _value(tag, number)) for tag, number in scalars.items())
    head = struct.pack("<Bd", 1 << 3 | 1, wall_time) + _varint(2 << 3) + _varint(step)
    return head + _bytes_field(5, summary)


def _value(tag: str, number: float) -> bytes:
    return _bytes_field(1, tag.encode()) + struct.pack("<Bf", 2 << 3 | 5, _as_float32(number))


def _as_float32(number: float) -> float:
    try:
        struct.pack("<f", number)
    except OverflowError:
        return float("inf") if number > 0 else float("-inf")
    return number


def record(event: bytes) -> bytes:
    """The TFRecord frame: length, its checksum, data, its checksum."""
    length = struct.pack("<Q", len(event))
    return b"".join(
        (
            length,
            struct.pack("<I", masked_crc32c(length)),
            event,
            struct.pack("<I", masked_crc32c(event)),
        )
    )
