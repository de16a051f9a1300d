"""Records of a task's output, read back."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resolute.agent import spool
from resolute.agent.spool import End


def texts(file: Path) -> list[str]:
    return [line.text for line in spool.read(file, 0, 100).lines]


def test_a_mark_says_where_to_read_on(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"".join(b"17.5 o line %d\n" % n for n in range(5)))
    first = spool.read(log, 0, 2)
    assert [line.text for line in first.lines] == ["line 0", "line 1"]
    assert [line.text for line in spool.read(log, first.mark, 9).lines] == ["line 2", "line 3", "line 4"]


def test_a_record_that_is_not_whole_yet_waits(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"17.5 o whole\n17.6 e ha")
    chunk = spool.read(log, 0, 9)
    assert [(line.text, line.stdtype) for line in chunk.lines] == [("whole", "stdout")]
    assert chunk.mark == len(b"17.5 o whole\n")


def test_records_cut_off_by_a_full_disk_are_read_all_the_same(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"17.5 o whole\n1700000000" + b"1700000001.123456 o two in one\n1e999 o never\nnan e\n\n")
    assert len(texts(log)) == 5
    assert texts(log)[0] == "whole"


def test_signs_of_a_shim_are_no_lines(tmp_path: Path) -> None:
    log = tmp_path / "log"
    assert not spool.is_up(log)
    log.write_bytes(b"17.5 s 7")
    assert not spool.is_up(log)
    log.write_bytes(b"17.5 s 7\n17.6 o x 3 1\n17.7 x 137 1\n")
    assert spool.is_up(log)
    assert texts(log) == ["x 3 1"]
    assert spool.end(log) == End(137, asked=True)


def test_a_task_cannot_pretend_that_its_shim_has_told_the_end(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"17.5 s 7\n17.6 o 17.7 x 0 0\n")
    assert spool.end(log) is None


def test_our_own_lines_stand_among_the_others(tmp_path: Path) -> None:
    spool.note(tmp_path / "notes", ["INFO: pulling", "two\nlines"])
    assert texts(tmp_path / "notes") == ["INFO: pulling", "two lines"]


@pytest.mark.parametrize(
    "line",
    [
        b"A" * 5000 + b" x y z",
        b"A" * 5000 + b" x 0 0",
        b"A" * (spool.TAIL_BYTES - len(b"17.5 o " + b" x 0 0\n")) + b" x 0 0",
        b"A" * (spool.TAIL_BYTES - len(b"17.5 x 0 0\n")) + b"17.5 x 0 0",
    ],
)
def test_the_end_of_a_long_line_is_no_end_of_a_task(tmp_path: Path, line: bytes) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"17.4 s 7\n17.5 o " + line + b"\n")
    assert spool.end(log) is None
    log.write_bytes(log.read_bytes() + b"17.6 x 3 0\n")
    assert spool.end(log) == End(3, asked=False)


@pytest.mark.parametrize(
    "record",
    [
        b"17.5 x y 0", b"17.5 x 0 z", b"17.5 x 256 0", b"17.5 x -1 0", b"17.5 x 1_0 0", b"17.5 x 0 7", b"x x 0 0",
        b" x 0 0", b"17.5 x 0", b"17.5 x 0 0 0", b"17.5 o \r17.5 x 0 0", b"17.5  x 0 0", b"1 x \xc2\xb2 0",
    ],
)  # fmt: skip
def test_what_is_only_like_an_end_is_none(tmp_path: Path, record: bytes) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"17.4 s 7\n" + record + b"\n")
    assert spool.end(log) is None


def test_instants_that_no_clock_shows_are_read_all_the_same(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"1e17 o text\n-1e17 o text\n1e300 e text\n1e999 o text\nnan o text\n")
    assert len(texts(log)) == 5


def test_what_is_longer_than_any_line_does_not_hold_up_what_follows(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"A" * (spool.CHUNK_BYTES_MAX + 7) + b"\n17.5 o after\n")
    found: list[Any] = []
    mark = 0
    while (chunk := spool.read(log, mark, 9)).lines:
        found, mark = found + [line.text for line in chunk.lines], chunk.mark
    assert found[-1] == "after"


PIECES = st.one_of(
    st.binary(max_size=40),
    st.sampled_from([b"17.5", b"1e17", b"nan", b" ", b" o ", b" e ", b" s ", b" x ", b"0", b"1", b"300", b"\r", b"\n"]),
    st.integers(4080, 4110).map(lambda n: b"A" * n),
)


@given(st.lists(PIECES, max_size=20).map(b"".join), st.integers(1, 5))
def test_nothing_a_task_can_write_is_beyond_reading(data: bytes, limit: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        log.write_bytes(data)
        spool.is_up(log)
        end = spool.end(log)
        assert end is None or (0 <= end.code <= 255 and re.search(rb"(^|\n)[0-9.]+ x \d+ [01]\n\Z", data))
        mark, chunk = 0, spool.read(log, 0, limit)
        while chunk.mark > mark:
            mark, chunk = chunk.mark, spool.read(log, chunk.mark, limit)
        assert mark == data.rfind(b"\n") + 1
