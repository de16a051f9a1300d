"""Sets of ids as the wire has them: `1-3,7` for numbers, a list of texts for others."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Set
from itertools import groupby
from typing import Any

from resolute.proto.errors import InvalidConfig

Id = int | str

ID_MAX = 2**63 - 1

ID_LENGTH_MAX = 256


def read_ids(where: str, said: Any, *, numbered: bool, most: int) -> frozenset[Id]:
    """The ids that a client says. Raises InvalidConfig, which names `where` they stand, also for more than `most`."""
    if numbered and isinstance(said, str):
        return _read_ranges(where, said, most)
    return read_list(where, said, numbered=numbered, most=most)


def read_list(where: str, said: Any, *, numbered: bool, most: int) -> frozenset[Id]:
    """The same of a list."""
    if not isinstance(said, list):
        raise InvalidConfig(
            f"{where}: expected a list of {'whole numbers' if numbered else 'texts'}; found {said!r:.80}"
        )
    if len(said) > most:
        raise InvalidConfig(f"{where}: {len(said)} values are more than {most}; name fewer")
    for value in said:
        if not (_is_number(value) if numbered else _is_text(value)):
            wanted = f"whole numbers from 0 to {ID_MAX}" if numbered else f"texts of 1 to {ID_LENGTH_MAX} characters"
            raise InvalidConfig(f"{where}: expected {wanted}; found {value!r:.80}")
    return frozenset(said)


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= ID_MAX


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and 0 < len(value) <= ID_LENGTH_MAX and "\0" not in value


def _read_ranges(where: str, said: str, most: int) -> frozenset[Id]:
    found = set[Id]()
    for part in said.split(",") if said else ():
        first, dash, last = part.partition("-")
        if not (_is_digits(first) and (not dash or _is_digits(last))):
            raise InvalidConfig(f"{where}: expected ranges of ids such as 1-3,7; found {part!r:.80}")
        begin, end = int(first), int(last or first)
        if end < begin or end > ID_MAX:
            raise InvalidConfig(f"{where}: {part!r:.80} is no range of ids; the smaller id comes first")
        if len(found) + end - begin + 1 > most:
            raise InvalidConfig(f"{where}: more than {most} ids; subscribe to fewer objects")
        found.update(range(begin, end + 1))
    return frozenset(found)


def _is_digits(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= len(str(ID_MAX))


def written_ids(ids: Collection[Id], *, numbered: bool) -> str | list[Id]:
    """As a deletion message has them: empty text, or an empty list, for none."""
    return ",".join(_ranges({int(one) for one in ids})) if numbered else sorted(ids, key=str)


def _ranges(ids: Set[int]) -> Iterator[str]:
    for _, run in groupby(enumerate(sorted(ids)), key=lambda pair: pair[1] - pair[0]):
        within = [id_ for _, id_ in run]
        yield f"{within[0]}-{within[-1]}" if len(within) > 1 else str(within[0])
