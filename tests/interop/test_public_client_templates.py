"""The public client's configuration templates."""

from __future__ import annotations

from pathlib import Path

from tests.interop.conftest import PublicClient


def test_it_keeps_templates_and_submits_on_one(public: PublicClient, tmp_path: Path) -> None:
    file = tmp_path / "template.yaml"
    file.write_text("description: from template\nmax_restarts: 3\nlabels: [from-template]\n")
    assert "Created template interop" in public.det("template", "create", "interop", str(file))
    assert "interop" in public.det("template", "list")
    assert "max_restarts: 3" in public.det("template", "list", "--details")
    experiment_id = public.submit("--template", "interop", "--paused")
    config = public.experiment(experiment_id)["config"]
    assert (config["description"], config["labels"]) == ("from template", ["from-template"])
    assert config["max_restarts"] == 0, "what the submission says itself wins"
    public.det("experiment", "kill", str(experiment_id))
    file.write_text("max_restarts: 4\n")
    assert "Updated template interop" in public.det("template", "set-value", "config", "interop", str(file))
    assert "Set template interop" in public.det("template", "set", "interop", str(file))
    assert public.det("template", "describe", "interop").strip() == "max_restarts: 4"
    assert "Removed template interop" in public.det("template", "remove", "interop")
    assert "interop" not in public.det("template", "list")
