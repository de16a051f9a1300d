"""What a task wrote comes back as it was, whatever characters it wrote; ordinary lines are stored as they are."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resolute.api.measures.log_text import all_stored, printed, stored, stored_pattern

RESERVED = "\U0010ffff\U0010fffe\U000fffff\U000ffffe"
ODD = st.text(st.sampled_from("a0.\0\\é█" + RESERVED), max_size=12)


@given(ODD)
def test_every_line_comes_back_as_it_was_printed(text: str) -> None:
    assert "\0" not in stored(text)
    assert printed(stored(text)) == text


@given(st.lists(ODD, max_size=4))
def test_lines_are_stored_together_as_they_are_one_by_one(texts: list[str]) -> None:
    assert list(all_stored(texts)) == [stored(text) for text in texts]


@given(ODD, ODD)
def test_a_text_is_found_in_stored_lines_exactly_where_it_was_printed(line: str, sought: str) -> None:
    assert (stored(sought) in stored(line)) == (sought in line)


@pytest.mark.parametrize("text", ["", "step 7: loss 0.25", "50% |█████     | 5/10", "✓ saved 🎉"])
def test_an_ordinary_line_is_stored_as_it_is(text: str) -> None:
    assert stored(text) is text
    assert printed(text) is text


@pytest.mark.parametrize("pattern", ["a.b", r"a\x00b", r"a\x{0}b", r"a\0b", r"a\000b", "a\0b", "a[^c]b"])
def test_a_pattern_finds_the_nul_that_it_writes_in_one_of_its_ways(pattern: str) -> None:
    assert re.search(stored_pattern(pattern), stored("a\0b"))


def test_a_backslash_before_a_zero_is_no_nul() -> None:
    assert stored_pattern(r"C:\\0") == r"C:\\0"


def test_a_row_of_an_earlier_release_is_answered_as_it_is() -> None:
    assert printed("a�b \U0010fffe") == "a�b \U0010fffe"
