"""What a notebook is started with."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from determined.exec import notebook


@pytest.fixture
def with_lab(tmp_path: Path) -> dict[str, str]:
    """An environment whose PATH has a JupyterLab, and the port that an agent gave."""
    lab = tmp_path / "jupyter-lab"
    lab.write_text("#!/bin/sh\n")
    lab.chmod(0o755)
    return {"PATH": str(tmp_path), "NOTEBOOK_PORT": "2901"}


def test_it_is_served_below_its_path_on_the_port_that_the_agent_gave(with_lab: dict[str, str]) -> None:
    words = notebook.command(with_lab, "0f8fad5b")
    assert words[0].endswith("/jupyter-lab")
    assert {"--ServerApp.port=2901", "--ServerApp.port_retries=0", "--ServerApp.base_url=/proxy/0f8fad5b/"} <= {*words}
    assert not any("token" in word for word in words), "arguments are seen by everybody on the host"


def test_an_image_without_jupyterlab_is_told_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jupyterlab", None)
    with pytest.raises(notebook.CannotServe, match="needs JupyterLab"):
        notebook.command({"PATH": str(tmp_path), "NOTEBOOK_PORT": "2901"}, "0f8fad5b")


def test_an_agent_that_gave_no_port_is_named(with_lab: dict[str, str]) -> None:
    with pytest.raises(notebook.CannotServe, match="NOTEBOOK_PORT"):
        notebook.command({**with_lab, "NOTEBOOK_PORT": ""}, "0f8fad5b")
