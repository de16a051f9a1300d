"""What is typed into a shell's own terminal: the escape that leaves it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resolute.cli.viewer import Keys


@pytest.mark.parametrize(
    ("typed", "sent", "left"),
    [
        (b"ls\r", b"ls\r", False),
        (b"~.", b"", True),
        (b"ls\r~.", b"ls\r", True),
        (b"a~.", b"a~.", False),
        (b"\r~~.", b"\r~.", False),
        (b"\r~x", b"\r~x", False),
        (b"cd ~\r~.", b"cd ~\r", True),
        (b"~\r~.", b"~\r", True),
    ],
)
def test_an_escape_at_the_beginning_of_a_line_leaves(typed: bytes, sent: bytes, left: bool) -> None:
    assert Keys().feed(typed) == (sent, left)
    keys, got, has_left = Keys(), b"", False
    for place in range(len(typed)):
        data, has_left = keys.feed(typed[place : place + 1])
        got += data
        if has_left:
            break
    assert (got, has_left) == (sent, left), "however it is cut into pieces"


@given(st.binary().filter(lambda data: b"~" not in data))
def test_everything_else_is_sent_as_it_is(data: bytes) -> None:
    assert Keys().feed(data) == (data, False)
