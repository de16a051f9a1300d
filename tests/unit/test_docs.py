"""What is generated from the code is current, and what the pages link to exists."""

from __future__ import annotations

import importlib.util
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from resolute.cli.parser import parse
from resolute.cli.surface import DET, RESOLUTE
from resolute.config.unsupported import RENAMED

ROOT = Path(__file__).parents[2]
PROGRAMS = {"det": DET, "resolute": RESOLUTE}
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "changes").glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def generator(name: str) -> Any:
    """A program under docs/, which writes a page."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["decisions", "lifecycles", "master_config", "roles", "streams"])
def test_a_page_is_drawn_from_todays_tables(name: str) -> None:
    module = generator(name)
    assert module.PAGE.read_text() == module.page(), f"run: python docs/{name}.py"


@pytest.mark.parametrize(
    "head",
    [
        "# 0007. A title\n\n- Date: 2026-11-22\n- Status: accepted\n\nText",
        "# 0007: A title\n\nDate: 2026-11-22. Status: accepted.\n\nText",
        "# 0007. A title\n\nDate: 2026-11-22. Status: decided.\n\nText",
        "# 0008. A title\n\nDate: 2026-11-22. Status: accepted.\n\nText",
        "# 0007. A title\n\n## Context\n\nText",
    ],
    ids=["a list", "a colon", "an unknown status", "another number", "nothing"],
)
def test_a_decision_without_date_and_status_in_the_usual_form_is_refused(head: str) -> None:
    with pytest.raises(ValueError, match=r"0007-a-title\.md has to begin like this"):
        generator("decisions").decision("0007-a-title.md", head)


def test_every_key_of_the_master_configuration_either_works_or_is_refused() -> None:
    master = generator("master_config")
    assert len(master.KEYS) == 273
    unclear = [key for key in master.KEYS if (master.refused(key) is None) != (master.known(key) or key in RENAMED)]
    assert unclear == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)", page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.relative_to(ROOT)} links to {target}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_what_a_page_says_to_type_is_understood(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "is_file", lambda path: True)  # the files are the reader's
    for language, text in re.findall(r"^```(\w*)\n(.*?)^```$", page.read_text(), re.M | re.S):
        for line in () if language else text.splitlines():
            program, _, words = line.partition(" ")
            if program in PROGRAMS and "──" not in line:  # a drawing is not to be typed
                assert parse(PROGRAMS[program], shlex.split(words, comments=True)).command.run, line


TERM = re.compile(r"^\| (?!term |-)([^|]+) \| ([^|]+) \| ([^|]+) \|$", re.M)
GLOSSARY = TERM.findall((ROOT / "docs/glossary.md").read_text())


def test_the_glossary_explains_each_term_once() -> None:
    terms = [term for terms, _, _ in GLOSSARY for term in terms.split(", ")]
    assert len(terms) > 100
    assert sorted(terms) == sorted(set(terms))


@pytest.mark.parametrize(("term", "meaning", "where"), GLOSSARY, ids=[term for term, _, _ in GLOSSARY])
def test_a_term_of_the_glossary_names_the_modules_where_it_lives(term: str, meaning: str, where: str) -> None:
    modules = re.findall(r"\[`([^`]+)`\]\(\.\./([^)]+\.py)\)", where)
    assert modules, f"{term}: no module"
    for shown, path in modules:
        assert (ROOT / path).is_file(), f"{term}: {path} does not exist; change docs/glossary.md"
        assert path.removesuffix("__init__.py").endswith(shown), f"{term}: {shown} leads to {path}"
    assert meaning.endswith((".", "…")), f"{term}: its meaning is no sentence"


def test_no_page_holds_both_sides_of_a_merge() -> None:
    pages = [
        *PAGES,
        *(ROOT / "services").rglob("*.md"),
        *(ROOT / "libs").rglob("*.md"),
        *(ROOT / "tests").rglob("*.md"),
    ]
    unmerged = [page for page in pages if re.search("^(<{7}|>{7}) ", page.read_text(), re.M)]
    assert unmerged == []


def test_the_words_of_make_are_in_the_makefile() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M))
    for page in PAGES:
        for word in re.findall(r"(?:`|^)make ([a-z-]+)", page.read_text(), re.M):
            assert word in targets, f"{page.relative_to(ROOT)} says make {word}"
