"""How the command line says how far something long is."""

from __future__ import annotations

import io

from resolute.cli.progress import LINE_EVERY_S, Lines, progress


def test_off_a_terminal_a_line_comes_at_the_beginning_now_and_then_and_at_the_end() -> None:
    out, now = io.StringIO(), 0.0
    note = Lines(out, lambda: now)
    for done in range(5):
        note("events told again", done, 5)
    now = LINE_EVERY_S
    note("events told again", 4, 5)
    note("events told again", 5, 5)
    note("tables compared", 0, 3)
    assert out.getvalue().splitlines() == [
        "events told again: 0 of 5",
        "events told again: 4 of 5",
        "events told again: 5 of 5",
        "tables compared: 0 of 3",
    ]


def test_on_a_terminal_each_step_has_a_bar() -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    out = Terminal()
    with progress(out) as note:
        note("events told again", 10, 10)
        note("tables compared", 1, 3)
    assert "events told again" in out.getvalue()
    assert "10/10" in out.getvalue()
    assert "1/3" in out.getvalue()
