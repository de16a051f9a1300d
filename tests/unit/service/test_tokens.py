"""Task tokens open what they were made for, and cannot be made over."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resolute.service.tokens import TaskClaims, mint, verify

SECRET = b"a cluster's own"
TOKEN = mint(SECRET, "1.2f-0", "1.2f-0.1")


def test_a_token_says_whose_it_is() -> None:
    assert verify(SECRET, TOKEN) == TaskClaims("1.2f-0", "1.2f-0.1")


def test_another_clusters_token_says_nothing() -> None:
    assert verify(b"another", TOKEN) is None


@given(st.integers(0, len(TOKEN) - 1), st.sampled_from("Aa0.-_é"))
def test_a_token_changed_anywhere_says_nothing_new(place: int, letter: str) -> None:
    assert verify(SECRET, TOKEN[:place] + letter + TOKEN[place + 1 :]) in (None, TaskClaims("1.2f-0", "1.2f-0.1"))


@pytest.mark.parametrize("text", ["", ".", "...", "rt1.a.b", "rt1.a.b.c", "é", "x" * 10_000])
def test_what_is_no_token_says_nothing(text: str) -> None:
    assert verify(SECRET, text) is None
