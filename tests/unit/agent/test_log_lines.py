"""Lines of output: cut by the shim, read by the agent."""

from __future__ import annotations

import hypothesis
import pytest
from hypothesis import strategies as st

from resolute.agent.log_lines import last_words, sequence, understand
from resolute.agent.runtime import Exit
from resolute.agent.shim import LINE_BYTES_MAX, Lines


@pytest.mark.parametrize(
    ("text", "understood"),
    [
        ("hello", (None, "INFO", "hello")),
        ("", (None, "INFO", "")),
        ("ERROR: no space", (None, "ERROR", "no space")),
        ("[WARNING] slow", (None, "WARNING", "slow")),
        ("WARN: slow", (None, "WARNING", "slow")),
        ("FATAL: gone", (None, "CRITICAL", "gone")),
        ("[rank=3] hello", (3, "INFO", "hello")),
        ("[rank=0] DEBUG: deep", (0, "DEBUG", "deep")),
        ("ERRORS: 5", (None, "INFO", "ERRORS: 5")),
        ("an ERROR: in the middle", (None, "INFO", "an ERROR: in the middle")),
        ("[rank=x] hello", (None, "INFO", "[rank=x] hello")),
    ],
)
def test_a_line_says_its_rank_and_level(text, understood):
    assert understand(text) == understood


@hypothesis.given(
    st.tuples(st.integers(0, 2**14 - 1), st.integers(0, 1023), st.integers(0, 2**28 - 1)),
    st.tuples(st.integers(0, 2**14 - 1), st.integers(0, 1023), st.integers(0, 2**28 - 1)),
)
def test_lines_of_a_task_are_numbered_by_run_then_share_then_line(one, other):
    assert (sequence(*one) < sequence(*other)) == (one < other)
    assert sequence(*one) < 2**53


def cut(*parts: bytes) -> list[bytes]:
    lines = Lines(b"o")
    records = b"".join([*(lines.split(part) for part in parts), lines.rest()])
    return [record.split(b" ", 2)[2] for record in records.split(b"\n")[:-1]]


def test_however_the_pieces_fall_the_lines_are_the_same():
    text = b"one\ntwo\r\nthree\rfour\n\nlast"
    whole = cut(text)
    assert whole == [b"one", b"two", b"three", b"four", b"", b"last"]
    for at in range(len(text)):
        assert cut(text[:at], text[at:]) == whole
    assert cut(*(text[i : i + 1] for i in range(len(text)))) == whole


@hypothesis.given(st.binary(max_size=200).map(lambda b: b.replace(b"\r", b".")))
def test_nothing_is_added_and_nothing_is_lost(text):
    assert b"\n".join(cut(text)) == text.removesuffix(b"\n")


def test_a_line_too_long_comes_in_pieces():
    assert [len(piece) for piece in cut(b"x" * (LINE_BYTES_MAX + 5), b"\n")] == [LINE_BYTES_MAX, 5]


@pytest.mark.parametrize(
    ("found", "stop_reason", "said"),
    [
        (Exit(0), "", ""),
        (Exit(0), "the experiment was paused", ""),
        (Exit(1), "", "ERROR: the task ended with exit code 1"),
        (Exit(137), "", "ERROR: the task ended with exit code 137 (SIGKILL)"),
        (Exit(125, "no space left"), "", "ERROR: the task ended with exit code 125: no space left"),
        (Exit(None, "gone"), "", "ERROR: the task ended, and nobody can know how: gone"),
        (Exit(143), "killed", "INFO: the task was stopped (killed) and ended with exit code 143 (SIGTERM)"),
    ],
)
def test_the_log_of_a_task_that_did_not_end_well_says_so_last(found, stop_reason, said):
    assert last_words(found, stop_reason) == said
