"""Where `resolute log` reads the history: a database that is named, the cluster that runs here, or a gateway."""

from __future__ import annotations

from argparse import Namespace

import pytest

from resolute.cli.commands import history
from resolute.cli.errors import CliError
from resolute.cli.parser import parse
from resolute.cli.rest_log import RestLog
from resolute.cli.session import Session
from resolute.cli.surface import RESOLUTE
from resolute.deploy import commands

HERE, DATABASE = "http://127.0.0.1:8080", "postgresql:///here"


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """No cluster runs here, nothing is said by variables, and whoever asks is signed in at once."""
    for name in ("RESOLUTE_DATABASE_URL", "DET_MASTER", "DET_MASTER_ADDR"):
        monkeypatch.delenv(name, raising=False)
    cluster_here(monkeypatch, None)
    monkeypatch.setattr("resolute.cli.login.session", lambda args: Session(args.master or "http://usual:8080"))


def cluster_here(monkeypatch: pytest.MonkeyPatch, where: str | None) -> None:
    monkeypatch.setattr(commands, "address", lambda name, data_dir: where)
    monkeypatch.setattr(commands, "database_url", lambda name, data_dir: DATABASE if where else None)


def typed(*words: str) -> Namespace:
    return parse(RESOLUTE, [*words, "log", "show", "trial-41"])


def test_the_cluster_that_runs_here_is_read_in_its_database(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster_here(monkeypatch, HERE)
    assert history.log_of(typed()) == DATABASE
    assert history.log_of(typed("-m", "localhost:8080")) == DATABASE, "it is the same cluster"
    monkeypatch.setenv("DET_MASTER", HERE)
    assert history.log_of(typed()) == DATABASE


def test_another_cluster_is_read_over_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(history.log_of(typed()), RestLog), "none runs here"
    cluster_here(monkeypatch, HERE)
    assert isinstance(history.log_of(typed("-m", "https://elsewhere.example")), RestLog)
    monkeypatch.setenv("DET_MASTER", "elsewhere:8080")
    assert isinstance(history.log_of(typed()), RestLog)


def test_a_database_that_is_named_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DET_MASTER", "elsewhere:8080")
    named = parse(RESOLUTE, ["log", "show", "trial-41", "--database-url", "postgresql:///named"])
    assert history.log_of(named) == "postgresql:///named"
    monkeypatch.setenv("RESOLUTE_DATABASE_URL", "postgresql:///by-variable")
    assert history.log_of(typed()) == "postgresql:///by-variable"


def test_a_directory_that_is_named_and_holds_no_cluster_is_no_reason_to_ask_elsewhere() -> None:
    with pytest.raises(CliError, match="no cluster found here"):
        history.log_of(parse(RESOLUTE, ["log", "show", "trial-41", "--data-dir", "/nowhere"]))
