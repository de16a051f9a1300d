"""What is generated from the code is current, and what the pages link to exists."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])


def test_the_lives_are_drawn_from_todays_tables() -> None:
    spec = importlib.util.spec_from_file_location("lifecycles", ROOT / "docs" / "lifecycles.py")
    assert spec is not None
    assert spec.loader is not None
    lifecycles = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(lifecycles)
    assert lifecycles.PAGE.read_text() == lifecycles.page(), "run: python docs/lifecycles.py"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)", page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.relative_to(ROOT)} links to {target}"
