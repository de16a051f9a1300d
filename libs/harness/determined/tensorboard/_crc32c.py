"""CRC-32C (Castagnoli), and its masked form for TFRecord files."""

from __future__ import annotations

_POLYNOMIAL = 0x82F63B78
_MASK_DELTA = 0xA282EAD8


def _entry(index: int) -> int:
    for _ in range(8):
        index = (index >> 1) ^ (_POLYNOMIAL if index & 1 else 0)
    return index


_TABLE = tuple(_entry(index) for index in range(256))


def crc32c(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _TABLE[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    return crc ^ 0xFFFFFFFF


def masked_crc32c(data: bytes) -> int:
    """The checksum as TFRecord stores it. It is masked, because the CRC of data that contains a CRC is a poor check."""
    crc = crc32c(data)
    return (((crc >> 15) | (crc << 17)) + _MASK_DELTA) & 0xFFFFFFFF
