"""What `cluster-up` says to do next can be typed as it stands."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from resolute.cli.parser import parse
from resolute.cli.surface import DET
from resolute.deploy.args import ClusterUp
from resolute.deploy.cluster import Cluster
from resolute.deploy.next_steps import next_steps

HERE = Cluster("determined")


def typed(text: str) -> list[list[str]]:
    """The commands that a shell would see."""
    return [words for line in text.splitlines()[1:] if (words := shlex.split(line, comments=True))]


def test_it_names_three_commands_that_det_understands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "is_file", lambda path: True)  # the configuration is the reader's
    words = typed(next_steps(HERE, ClusterUp()))
    assert [line[0] for line in words] == ["det"] * 3
    assert [parse(DET, line[1:]).command.run for line in words] == [
        "user:login_",
        "experiment_create:create",
        "deploy:status_",
    ]


def test_a_cluster_elsewhere_is_named_in_what_is_typed() -> None:
    asked = ClusterUp(data_dir=Path("/a b/data"))
    words = typed(next_steps(Cluster("other", port=9000), asked))
    assert words[0] == ["export", "DET_MASTER=http://127.0.0.1:9000"]
    assert words[-1] == ["det", "deploy", "local", "status", "--data-dir", "/a b/data"]
    assert typed(next_steps(HERE, ClusterUp("other")))[-1][-2:] == ["--cluster-name", "other"]


def test_it_says_where_the_web_ui_is() -> None:
    assert "http://127.0.0.1:8080/det/ " in next_steps(HERE, ClusterUp()).splitlines()[0]
    assert "http://[::1]:9000/det/ " in next_steps(Cluster("other", port=9000, host="::"), ClusterUp()).splitlines()[0]
