"""Lines of output: cut by the shim, read by the agent."""

from __future__ import annotations

from datetime import UTC, datetime

import hypothesis
import pytest
from hypothesis import strategies as st

from resolute.agent.ledger import Entry
from resolute.agent.log_lines import last_words, read_lines, sequence, understand
from resolute.agent.runtime import WITH_ITS_CLUSTER, Exit, Line
from resolute.agent.shim import LINE_BYTES_MAX, Lines

AT = datetime(2026, 1, 2, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "understood"),
    [
        ("hello", (None, None, "hello")),
        ("", (None, None, "")),
        ("ERROR: no space", (None, "ERROR", "no space")),
        ("[WARNING] slow", (None, "WARNING", "slow")),
        ("WARN: slow", (None, "WARNING", "slow")),
        ("FATAL: gone", (None, "CRITICAL", "gone")),
        ("[rank=3] hello", (3, None, "hello")),
        ("[rank=0] DEBUG: deep", (0, "DEBUG", "deep")),
        ("ERRORS: 5", (None, None, "ERRORS: 5")),
        ("an ERROR: in the middle", (None, None, "an ERROR: in the middle")),
        ("[rank=x] hello", (None, None, "[rank=x] hello")),
    ],
)
def test_a_line_says_its_rank_and_level(
    text: str, understood: tuple[str | None, ...] | tuple[int | str | None, ...] | tuple[int | str, ...]
) -> None:
    assert understand(text) == understood


ENTRY = Entry("r", "4.1", "4", 1, 0, (0,))


def leveled(*texts: str) -> list[str]:
    """The texts of the lines that are errors."""
    read, _ = read_lines(ENTRY, "agent-0", 0, [Line(AT, "stderr", text) for text in texts])
    return [line.text for line in read if line.level == "ERROR"]


def test_every_line_of_a_traceback_is_an_error_and_what_follows_is_not() -> None:
    first = ["Traceback (most recent call last):", '  File "train.py", line 7, in f', "    g()", "KeyError: 'lr'"]
    between = ["During handling of the above exception, another exception occurred:"]
    second = ["Traceback (most recent call last):", '  File "train.py", line 9, in <module>', "ValueError: no lr"]
    said = leveled("  indented", *first, "", *between, "", *second, "goes on", "  indented")
    assert said == [*first, *between, *second]


def test_a_traceback_of_one_rank_is_not_ended_by_a_line_of_another() -> None:
    texts = [
        "[rank=1] Traceback (most recent call last):",
        "[rank=0] step 7",
        "[rank=1]   File x",
        "[rank=1] OSError: no",
    ]
    assert leveled(*texts) == ["Traceback (most recent call last):", "  File x", "OSError: no"]


def test_a_traceback_goes_on_where_the_lines_before_left_it() -> None:
    head, tail = Line(AT, "stderr", "Traceback (most recent call last):"), Line(AT, "stderr", "  File x")
    _, open_ = read_lines(ENTRY, "agent-0", 0, [head])
    (line,), still_open = read_lines(ENTRY, "agent-0", 1, [tail], open_)
    assert (line.level, still_open) == ("ERROR", open_)
    (said,), _ = read_lines(ENTRY, "agent-0", 2, [Line(AT, "stdout", "step 7")], open_)
    assert said.level == "INFO"


@hypothesis.given(
    st.tuples(st.integers(0, 2**14 - 1), st.integers(0, 1023), st.integers(0, 2**28 - 1)),
    st.tuples(st.integers(0, 2**14 - 1), st.integers(0, 1023), st.integers(0, 2**28 - 1)),
)
def test_lines_of_a_task_are_numbered_by_run_then_share_then_line(
    one: tuple[int, int, int], other: tuple[int, int, int]
) -> None:
    assert (sequence(*one) < sequence(*other)) == (one < other)
    assert sequence(*one) < 2**53


def cut(*parts: bytes) -> list[bytes]:
    lines = Lines(b"o")
    records = b"".join([*(lines.split(part) for part in parts), lines.rest()])
    return [record.split(b" ", 2)[2] for record in records.split(b"\n")[:-1]]


def test_however_the_pieces_fall_the_lines_are_the_same() -> None:
    text = b"one\ntwo\r\nthree\rfour\n\nlast"
    whole = cut(text)
    assert whole == [b"one", b"two", b"three", b"four", b"", b"last"]
    for at in range(len(text)):
        assert cut(text[:at], text[at:]) == whole
    assert cut(*(text[i : i + 1] for i in range(len(text)))) == whole


@hypothesis.given(st.binary(max_size=200).map(lambda b: b.replace(b"\r", b".")))
def test_nothing_is_added_and_nothing_is_lost(text: bytes) -> None:
    assert b"\n".join(cut(text)) == text.removesuffix(b"\n")


def test_a_line_too_long_comes_in_pieces() -> None:
    assert [len(piece) for piece in cut(b"x" * (LINE_BYTES_MAX + 5), b"\n")] == [LINE_BYTES_MAX, 5]


@pytest.mark.parametrize(
    ("found", "stop_reason", "said"),
    [
        (Exit(0), "", ""),
        (Exit(0), "the experiment was paused", ""),
        (Exit(1), "", "ERROR: the task ended with exit code 1"),
        (Exit(137), "", "ERROR: the task ended with exit code 137 (SIGKILL)"),
        (Exit(125, "no space left"), "", "ERROR: the task ended with exit code 125: no space left"),
        (Exit(None, WITH_ITS_CLUSTER), "", "INFO: the task was stopped: its cluster or its agent was taken down"),
        (Exit(None, "gone"), "", "ERROR: the task ended, and its exit code is not known: gone"),
        (Exit(143), "killed", "INFO: the task was stopped (killed) and ended with exit code 143 (SIGTERM)"),
    ],
)
def test_the_log_of_a_task_that_did_not_end_well_says_so_last(found: Exit, stop_reason: str, said: str) -> None:
    assert last_words(found, stop_reason) == said
