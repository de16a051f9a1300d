"""Tables for people and forms for programs."""

from __future__ import annotations

import io
import sys
import time
from typing import Any

import hypothesis
import pytest
from hypothesis import strategies as st

from resolute.cli import output, terminal, times

ROWS: list[list[Any]] = [
    [1, "mnist", None, 0.5, {"lr": 0.1}],
    [12, "a longer name", True, 1e-7, {}],
]


def test_a_table_aligns_words_to_the_left_numbers_to_the_right_and_grows_for_tall_cells() -> None:
    assert output.table(["ID", "Name", "Archived", "Metric", "H-Params"], ROWS) == [
        "   ID | Name          | Archived   |   Metric | H-Params",
        "------+---------------+------------+----------+---------------",
        "    1 | mnist         |            |      0.5 | {",
        '      |               |            |          |     "lr": 0.1',
        "      |               |            |          | }",
        "   12 | a longer name | True       |    1e-07 | {}",
    ]


def test_a_table_without_rows_still_shows_its_headers() -> None:
    assert output.table(["ID", "State"], []) == [" ID   | State", "------+---------"]


CELLS = st.one_of(st.none(), st.integers(), st.text(st.characters(codec="ascii", exclude_characters="|\r\x0b\x0c")))


@hypothesis.given(st.lists(st.lists(CELLS, min_size=3, max_size=3)))
def test_the_columns_of_every_line_stand_below_one_another(rows: list[list[Any]]) -> None:
    header, rule, *body = output.table(["a", "b", "c"], rows)
    places = [n for n, sign in enumerate(rule) if sign == "+"]
    assert len(places) == 2
    for line in (header, *body):
        padded = line.ljust(len(rule))
        assert [n for n, sign in enumerate(padded) if sign == "|"] in (places, places[:1], [])


def test_csv_quotes_what_needs_it(capsys: pytest.CaptureFixture[str]) -> None:
    output.show_table(["ID", "Name"], [[1, "a, b"], [2, None]], as_csv=True)
    assert capsys.readouterr().out == 'ID,Name\n1,"a, b"\n2,\n'


def test_json_is_sorted_and_keeps_every_letter(capsys: pytest.CaptureFixture[str]) -> None:
    output.show_json({"b": "é", "a": 1})
    assert capsys.readouterr().out == '{\n  "a": 1,\n  "b": "é"\n}\n'


def test_colours_are_for_terminals_only(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.delenv("DET_CLI_COLORIZE", raising=False)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert terminal.colour("x", "red", io.StringIO()) == "x"
    assert terminal.colour("x", "red", Terminal()) == "\033[31mx\033[0m"
    monkeypatch.setenv("NO_COLOR", "1")
    assert terminal.colour("x", "red", Terminal()) == "x"
    monkeypatch.setenv("DET_CLI_COLORIZE", "1")
    assert terminal.colour("x", "red", io.StringIO()) == "\033[31mx\033[0m"


@pytest.mark.parametrize(
    ("sent", "shown"),
    [
        ("2026-01-02T03:04:05Z", "2026-01-02 03:04:05+0000"),
        ("2026-01-02T03:04:05.123Z", "2026-01-02 03:04:05+0000"),
        ("2026-01-02T03:04:05.123456789Z", "2026-01-02 03:04:05+0000"),
        ("2026-01-02T03:04:05+02:00", "2026-01-02 01:04:05+0000"),
        (None, ""),
    ],
)
def test_instants_are_shown_in_utc(sent: str | None, shown: str) -> None:
    assert times.shown(sent) == shown


@pytest.mark.parametrize(("count", "text"), [(0, "0.0B"), (117, "117.0B"), (1536, "1.5KB"), (99614720, "95.0MB")])
def test_sizes_have_a_unit(count: int, text: str) -> None:
    assert times.size(count) == text


def test_progress_is_a_percentage() -> None:
    assert (times.percent(0.1234), times.percent(None), times.percent(1.0)) == ("12.3%", "", "100.0%")


def test_whoever_waits_at_a_terminal_is_told_what_for_and_the_line_goes_away(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    written = Terminal()
    monkeypatch.setattr(sys, "stderr", written)
    monkeypatch.setattr(terminal, "_QUIET_S", 0.0)
    monkeypatch.setattr(terminal, "_TICK_S", 0.01)
    with terminal.Progress("Downloading") as progress, terminal.Progress("something within"):
        progress.say_size(2048)
        deadline = time.monotonic() + 60
        while "2.0KB" not in written.getvalue() and time.monotonic() < deadline:
            time.sleep(0.01)
    assert "\rDownloading 2.0KB [" in written.getvalue()
    *_, blank, end = written.getvalue().split("\r")
    assert (blank.strip(), end) == ("", "")
    assert "within" not in written.getvalue()


def test_away_from_a_terminal_waiting_is_silent(capsys: pytest.CaptureFixture[str]) -> None:
    with terminal.Progress("Downloading") as progress:
        progress.say("far")
    assert capsys.readouterr().err == ""
