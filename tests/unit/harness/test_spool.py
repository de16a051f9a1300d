"""A queue that is bounded in memory and goes on on disk."""

from __future__ import annotations

import collections
import pathlib
import tempfile

from hypothesis import given
from hypothesis import strategies as st

from determined.core._spool import Spool

# A number appends so many bytes, None takes the oldest item out.
Script = st.lists(st.one_of(st.none(), st.integers(0, 60)), max_size=80)


@given(script=Script, memory_bytes=st.integers(1, 100))
def test_whatever_is_put_in_comes_out_in_order(script: list[int | None], memory_bytes: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        spool = Spool(pathlib.Path(folder), memory_bytes)
        expected: collections.deque[bytes] = collections.deque()
        for number, size in enumerate(script):
            if size is not None:
                item = bytes([number % 256]) * size
                spool.append(item)
                expected.append(item)
            elif expected:
                assert spool.first() == [expected.popleft()]
                spool.drop(1)
            assert len(spool) == len(expected)
        spool.close()


@given(sizes=st.lists(st.integers(0, 60), min_size=1, max_size=40), memory_bytes=st.integers(1, 100))
def test_what_is_taken_together_is_the_oldest_up_to_a_size_and_always_something(
    sizes: list[int], memory_bytes: int
) -> None:
    items = [bytes([number]) * size for number, size in enumerate(sizes)]
    with tempfile.TemporaryDirectory() as folder:
        spool, taken = Spool(pathlib.Path(folder), memory_bytes), []
        for item in items:
            spool.append(item)
        while len(spool):
            together = spool.first(items_max=7, size_bytes_max=100)
            assert 1 <= len(together) <= 7
            assert len(together) == 1 or sum(map(len, together)) <= 100
            assert spool.first(7, 100) == together, "looking takes nothing away"
            spool.drop(len(together))
            taken += together
        spool.close()
    assert taken == items


def test_memory_stays_bounded_and_the_file_leaves_no_name(tmp_path: pathlib.Path) -> None:
    folder = tmp_path / "spool"
    spool = Spool(folder, memory_bytes=1000)
    for _ in range(100):
        spool.append(b"x" * 100)
    assert spool.on_disk == 90
    assert list(folder.iterdir()) == []
