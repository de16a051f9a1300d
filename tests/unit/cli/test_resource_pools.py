"""`det resource-pool bindings`: which workspaces alone may use a pool."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.unit.cli.conftest import FakeMaster

Det = Callable[..., Any]


@pytest.mark.parametrize(
    ("word", "method", "said"),
    [
        ("add", "POST", "is bound to: vision, audio"),
        ("remove", "DELETE", "is no longer bound to: vision, audio"),
        ("replace", "PUT", "is bound to these workspaces only: vision, audio"),
    ],
)
def test_a_pool_is_bound_to_workspaces_by_their_names(
    master: FakeMaster, det: Det, word: str, method: str, said: str
) -> None:
    path = "/api/v1/resource-pools/gpu/workspace-bindings"
    master.on(f"{method} {path}", {})
    assert det(f"rp bindings {word} gpu vision audio").out == f"Resource pool 'gpu' {said}\n"
    assert master.last(f"{method} {path}").body == {"resourcePoolName": "gpu", "workspaceNames": ["vision", "audio"]}


def test_the_workspaces_of_a_pool_are_listed_by_name(master: FakeMaster, det: Det) -> None:
    master.on("GET /api/v1/resource-pools/gpu/workspace-bindings", {"workspaceIds": [2, 4]})
    master.on("GET /api/v1/workspaces", {"workspaces": [{"id": 4, "name": "vision"}]})
    [header, _, row] = det("resource-pool bindings list-workspaces gpu").out.splitlines()
    assert [cell.strip() for cell in header.split("|")] == ["resource pool", "workspaces"]
    assert [cell.strip() for cell in row.split("|")] == ["gpu", "2, vision"]
