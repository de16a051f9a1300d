"""Puts what the benches found into docs/performance.md, each bench's table where its marker stands.

`python -m bench.report`, after `python -m bench`: so no figure is copied by hand, and every table says when it was
measured and how busy the machine was.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from bench.harness import RESULTS

PAGE = Path(__file__).parent.parent / "docs" / "performance.md"
MARKED = re.compile(r"<!-- bench: (\w+) -->\n.*?<!-- end -->", re.DOTALL)


def table(result: dict[str, Any]) -> str:
    """A bench's figures as a table, with the bar beside each."""
    rows = [
        f"| {one['what'].strip()} | {shown(one['value'], one['unit'])} | {_bar(one)} |" for one in result["figures"]
    ]
    load = result.get("load_average_1min")
    busy = "" if load is None else f"; load average {load:.1f}"
    said = f"`python -m bench.{result['bench']}`, {result['measured_at'][:10]}, {result['machine']}{busy}"
    return "\n".join([said, "", "| | measured | bar |", "|---|---|---|", *rows])


def shown(value: float, unit: str) -> str:
    digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2
    return f"{value:,.{digits}f} {unit}"


def _bar(one: dict[str, Any]) -> str:
    if one["bar"] is None:
        return ""
    side = "at most" if one["at_most"] else "at least"
    return f"{side} {one['bar']:,g} {one['unit']}: {'met' if one['met'] else '**missed**'}"


def filled(page: str) -> str:
    def one(found: re.Match[str]) -> str:
        file = RESULTS / f"{found[1]}.json"
        if not file.exists():
            return found[0]
        return f"<!-- bench: {found[1]} -->\n{table(json.loads(file.read_text()))}\n<!-- end -->"

    return MARKED.sub(one, page)


if __name__ == "__main__":
    PAGE.write_text(filled(PAGE.read_text()))
