"""Writes docs/decisions/README.md: the list of decisions, from the head of each page. `python docs/decisions.py`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).parent / "decisions"
PAGE = FOLDER / "README.md"

FORM = """\
# 0000. The decision, in a sentence

Date: 2026-11-22. Status: accepted."""
"""What a page begins with. The number is that of the file; sentences about other decisions may follow the status."""

HEAD = re.compile(
    r"# (?P<number>\d{4})\. (?P<title>.+)\n\n"
    r"Date: (?P<date>\d{4}-\d\d-\d\d)\. Status: (?P<status>proposed|accepted|superseded)\.(?: (?P<relations>.+))?\n\n"
)


class Decision(NamedTuple):
    file: str
    number: str
    title: str
    date: str
    status: str
    relations: str


def decision(file: str, text: str) -> Decision:
    """What the head of a page says; ValueError for a page that does not begin as `FORM` shows."""
    head = HEAD.match(text)
    if head is None or head["number"] != file[:4]:
        raise ValueError(f"docs/decisions/{file} has to begin like this, with the number of its file:\n\n{FORM}\n")
    return Decision(file, head["number"], head["title"], head["date"], head["status"], head["relations"] or "")


def page() -> str:
    decisions = [decision(path.name, path.read_text()) for path in sorted(FOLDER.glob("[0-9]*.md"))]
    parts = [
        "# Decisions",
        "",
        "Decisions that were worth arguing about: what was known then, what was decided, and what follows. A later",
        "decision may amend or supersede an earlier one; the earlier page stays and says so at its top. This list is",
        "written by `python docs/decisions.py` from the first lines of each page, which have this form:",
        "",
        "```markdown",
        FORM,
        "```",
        "",
        "| | decision | date | status |",
        "|---|---|---|---|",
        *map(_row, decisions),
    ]
    return "\n".join(parts) + "\n"


def _row(decision: Decision) -> str:
    status = f"{decision.status}. {decision.relations}" if decision.relations else decision.status
    return f"| [{decision.number}]({decision.file}) | {decision.title} | {decision.date} | {status} |"


if __name__ == "__main__":
    PAGE.write_text(page())
