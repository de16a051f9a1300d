"""Records of a task's output, read back."""

from __future__ import annotations

from pathlib import Path

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
