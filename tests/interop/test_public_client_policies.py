"""The public client's configuration policies."""

from __future__ import annotations

from pathlib import Path

from tests.interop.conftest import PublicClient


def test_it_sets_shows_and_deletes_policies(public: PublicClient, tmp_path: Path) -> None:
    file = tmp_path / "policies.yaml"
    file.write_text("constraints:\n  resources:\n    max_slots: 7\n")
    public.det("workspace", "create", "policed")
    of_workspace = ("-w", "policed")
    assert "max_slots: 7" in public.det("config-policies", "set", "experiment", str(file), *of_workspace)
    assert "max_slots: 7" in public.det("config-policies", "describe", "experiment", *of_workspace)
    assert "max_slots: 7" in public.det("config-policies", "set", "tasks", str(file), *of_workspace)
    assert "Successfully deleted" in public.det("config-policies", "delete", "tasks", *of_workspace)
    assert "max_slots" not in public.det("config-policies", "describe", "tasks", *of_workspace)
