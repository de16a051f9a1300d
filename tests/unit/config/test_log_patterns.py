"""Patterns of log policies: what is found, what is refused, and what an evil one costs."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resolute.config.log_patterns import LARGEST, LONGEST, Patterns, problem_with, problem_with_all

WORDS = st.text(alphabet="abAB1 .", max_size=8)
SIMPLE = st.sampled_from([".*a.*", "^a", "b$", "^$", "[^a]+b", "(?i)AB", "a b", r"\d", r"\Aa", r"b\z", "a|^1", "B."])


@given(st.lists(SIMPLE, min_size=1, max_size=4), st.lists(WORDS, max_size=6))
def test_looking_at_lines_together_finds_what_looking_at_each_alone_finds(
    patterns: list[str], lines: list[str]
) -> None:
    expected: dict[int, int] = {}
    for place, line in enumerate(lines):
        for number, pattern in enumerate(patterns):
            if re.search(pattern.replace(r"\z", r"\Z"), line):
                expected.setdefault(number, place)
    assert Patterns(patterns).first_matches(lines) == expected


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("(a", "missing )"),
        ("(?=a)b", "invalid perl operator"),
        (r"(a)\1", "invalid escape sequence"),
        ("a" * (LONGEST + 1), f"at most {LONGEST}"),
        (".{900}", f"of {LARGEST} instructions"),
    ],
)
def test_what_cannot_be_used_says_why(pattern: str, why: str) -> None:
    assert why in (problem_with(pattern) or "")


def test_patterns_that_are_too_many_or_too_large_together_say_so() -> None:
    assert "there are 101 patterns; at most 100" in (problem_with_all(["a"] * 101) or "")
    assert "of 20000 instructions" in (problem_with_all([f"a{n}.{{200}}b" for n in range(20)]) or "")


def test_the_largest_patterns_that_are_taken_are_found_together() -> None:
    patterns = [f"a{n}.{{200}}b" for n in range(12)]
    assert problem_with_all(patterns) is None
    lines = ["ab" * 500, f"a11{'x' * 200}b"]
    assert Patterns(patterns).first_matches(lines) == {11: 1}


def test_a_pattern_that_takes_other_engines_minutes_takes_none_here() -> None:
    evil = "(a+)+$|(a|aa)+b|(.*)*x"
    assert problem_with(evil) is None
    began = time.process_time()
    assert Patterns([evil]).first_matches(["a" * 5000 + "!"] * 20) == {}
    assert time.process_time() - began < 10


def test_patterns_of_the_older_engine_keep_their_meaning() -> None:
    lines = ["step 1", "RuntimeError: CUDA out of memory. Tried to allocate 2 GiB", "bye"]
    assert Patterns([".*CUDA out of memory.*", ".*ECC.*"]).first_matches(lines) == {0: 1}
