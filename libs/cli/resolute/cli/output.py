"""Answers on standard output: tables for people, JSON, YAML and CSV for programs."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from resolute.cli import terminal
from resolute.proto.states import ExperimentState

Row = Sequence[Any]

WELL = frozenset(
    {
        *(ExperimentState.ACTIVE, ExperimentState.STOPPING_COMPLETED, ExperimentState.COMPLETED),
        *("QUEUED", "PULLING", "STARTING", "RUNNING"),
    }
)
"""States that need no explanation."""


def show_table(headers: Sequence[str], rows: Iterable[Row], *, as_csv: bool = False) -> None:
    """Print rows under their headers, aligned for people or as CSV."""
    if as_csv:
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(headers)
        writer.writerows([_text(cell) for cell in row] for row in rows)
        return
    for number, line in enumerate(table(headers, list(rows))):
        print(terminal.colour(line, "bold", sys.stdout) if number == 0 else _tinted(line))


def show_json(document: Any) -> None:
    print(json.dumps(document, indent=2, sort_keys=True, ensure_ascii=False))


def show_yaml(document: Any) -> None:
    import yaml

    print(yaml.safe_dump(document, default_flow_style=False, allow_unicode=True), end="")


def table(headers: Sequence[str], rows: Sequence[Row]) -> list[str]:
    """The lines of a table: columns parted by ` | `, a rule of dashes below the header.

    Columns of numbers keep to the right; a cell of several lines makes its row taller.
    """
    cells = [[_text(cell).split("\n") for cell in row] for row in rows]
    titles = [header.split("\n") for header in headers]
    right = [_is_numeric([row[column] for row in rows]) for column in range(len(headers))]
    widths = [
        max(2 + _width(titles[column]), *(_width(row[column]) for row in cells), 0) for column in range(len(headers))
    ]
    rule = "+".join("-" * (width + 2) for width in widths)
    body = [line for row in cells for line in _lines(row, widths, right)]
    return [*_lines(titles, widths, right), rule, *body]


def counted(count: int, what: str) -> str:
    """`1 slot`, `1,000 slots`."""
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"


def state(name: str) -> str:
    """`STATE_STOPPING_CANCELED` as people say it."""
    return name.removeprefix("STATE_")


def why(what: str, shown: dict[str, Any]) -> str:
    """What became of `what`, and why, where it did not go well; empty otherwise."""
    said, reason = state(shown["state"]), shown.get("stateReason")
    return f"{what} is {said}: {reason}" if reason and said not in WELL else ""


def _lines(row: Sequence[Sequence[str]], widths: Sequence[int], right: Sequence[bool]) -> list[str]:
    height = max((len(cell) for cell in row), default=0)
    return [
        "|".join(
            f" {_part(cell, n).rjust(width) if to_right else _part(cell, n).ljust(width)} "
            for cell, width, to_right in zip(row, widths, right, strict=True)
        ).rstrip()
        for n in range(height)
    ]


def _part(cell: Sequence[str], number: int) -> str:
    return cell[number] if number < len(cell) else ""


def _width(lines: Sequence[str]) -> int:
    return max(map(len, lines), default=0)


def _text(cell: Any) -> str:
    match cell:
        case None:
            return ""
        case float():
            return f"{cell:g}"
        case dict() | list():
            return json.dumps(cell, indent=4)
        case _:
            return str(cell)


def _is_numeric(column: Sequence[Any]) -> bool:
    present = [cell for cell in column if cell is not None and cell != ""]
    return bool(present) and all(isinstance(c, int | float) and not isinstance(c, bool) for c in present)


def _tinted(line: str) -> str:
    """States in their colours; widths are unchanged, so that the columns stay aligned."""
    if not terminal.is_colourful(sys.stdout):
        return line
    parts = line.split("|")
    return "|".join(
        part.replace(word, terminal.colour(word, terminal.STATES[word], sys.stdout))
        if (word := part.strip()) in terminal.STATES
        else part
        for part in parts
    )
