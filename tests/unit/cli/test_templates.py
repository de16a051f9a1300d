"""Configuration templates on the command line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

SMALL = {"name": "small", "workspaceId": 2, "config": {"max_restarts": 1, "resources": {"slots_per_trial": 2}}}
PATH = "/api/v1/templates/small"

Det = Callable[..., Any]


@pytest.fixture
def known(master: Any) -> Any:
    page = {"endIndex": 1, "total": 1}
    master.on("GET /api/v1/templates", {"templates": [SMALL], "pagination": page})
    master.on("GET /api/v1/workspaces", {"workspaces": [{"id": 2, "name": "vision"}], "pagination": page})
    master.on(f"GET {PATH}", {"template": SMALL})
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        master.on(f"{method} {PATH}", {"template": SMALL})
    return master


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "small.yaml"
    file.write_text("max_restarts: 1\nlabels: [a]\n")
    return file


def test_templates_are_listed_with_the_names_of_their_workspaces(known: Any, det: Det) -> None:
    lines = [[cell.strip() for cell in line.split("|")] for line in det("template list").out.splitlines()]
    assert (lines[0], lines[2]) == (["Name", "Workspace"], ["small", "vision"])
    detailed = det("tpl ls -d").out
    assert "slots_per_trial: 2" in detailed


def test_a_template_is_described_as_yaml(known: Any, det: Det) -> None:
    assert det("tpl describe small").out.startswith("max_restarts: 1\nresources:\n  slots_per_trial: 2\n")


def test_a_template_is_created_in_a_workspace(known: Any, det: Det, file: Path) -> None:
    assert det(f"template create small {file} -w vision").out == "Created template small\n"
    config = {"max_restarts": 1, "labels": ["a"]}
    assert known.last(f"POST {PATH}").body == {"name": "small", "config": config, "workspaceId": 2}
    assert "workspace 'Vision' not found" in det(f"template create small {file} -w Vision").err


def test_a_template_is_set_updated_and_removed(known: Any, det: Det, file: Path) -> None:
    assert det(f"template set small {file}").out == "Set template small\n"
    assert known.last(f"PUT {PATH}").body["config"] == {"max_restarts": 1, "labels": ["a"]}
    assert det(f"template set-value config small {file}").out == "Updated template small\n"
    assert known.last(f"PATCH {PATH}").body == {"max_restarts": 1, "labels": ["a"]}
    assert det("template rm small").out == "Removed template small\n"


def test_what_is_no_yaml_and_no_name_is_refused(known: Any, det: Det, file: Path) -> None:
    file.write_text("a: [")
    assert str(file) in det(f"template create small {file}").err
    assert "have no slash" in det("template rm a/b").err
