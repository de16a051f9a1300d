"""Patterns that choose files of a checkpoint: what they mean, and that no pattern takes long over any name."""

from __future__ import annotations

import fnmatch
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resolute.storage import globs


def test_a_pattern_full_of_stars_is_answered_at_once_over_a_name_full_of_its_letter() -> None:
    began = time.process_time()
    assert globs.matching(["*a" * 12 + "b", "**/" * 100 + "b", "[a-z]*" * 100 + "b"], ["a" * 200, "a/" * 2000]) == set()
    assert time.process_time() - began < 10


@given(pattern=st.text("ab*?[]!-^", max_size=12), name=st.text("ab]-!^", min_size=1, max_size=8))
def test_within_one_directory_a_pattern_means_what_it_means_to_a_shell(pattern: str, name: str) -> None:
    if pattern == "**" or "[^" in pattern:
        return  # the one is a wildcard of its own, the other a negation that only some shells know
    assert (name in globs.matching([pattern], [name])) == fnmatch.fnmatchcase(name, pattern)


@pytest.mark.parametrize(
    ("pattern", "matched"),
    [
        ("x[+-~]y", {"xay"}),  # a range may reach over the slash, and the slash still separates directories
        ("x[!b]y", {"xay"}),
        ("[]", {"[]"}),
        ("a\n*", {"a\nb"}),
        ("odd-*", {"odd-\udcff"}),
        ("x", {"x/y", "x/y/z"}),
        ("[z-a]", set()),
    ],
)
def test_special_characters_keep_to_the_rules(pattern: str, matched: set[str]) -> None:
    paths = {"a", "xay", "x/y", "x/y/z", "[]", "a\nb", "odd-\udcff"}
    assert globs.matching([pattern], paths) == matched


@pytest.mark.parametrize(
    ("patterns", "why"),
    [
        (["*"] * 101, "101 patterns; send at most 100"),
        (["a" * 501], "501 characters; use at most 500"),
        ([f"{n}" + "?" * 490 for n in range(5)], "too large together"),
    ],
)
def test_patterns_have_bounds_that_are_named(patterns: list[str], why: str) -> None:
    assert why in (globs.problem_with(patterns) or "")
    assert globs.matching(patterns, ["nothing/of/the/kind"]) in (set(), {"nothing/of/the/kind"}), "old requests work"


def test_ordinary_patterns_have_no_problem() -> None:
    assert globs.problem_with(["**/*.pt", "events.*", "checkpoint-[0-9]*/**", "optimizer?.bin"]) is None
