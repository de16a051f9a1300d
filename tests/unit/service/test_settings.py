"""Settings: from a file and the environment, with a word for everything that cannot be used."""

from __future__ import annotations

from pathlib import Path

import pytest

from resolute.proto.errors import InvalidConfig
from resolute.service import settings


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    file = tmp_path / "resolute.yaml"
    file.write_text("database_url: postgresql://from-file\nlog_level: debug\n")
    monkeypatch.setenv("RESOLUTE_CONFIG", str(file))
    return file


def test_a_file_is_read_and_the_environment_stands_above_it(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RESOLUTE_LOG_LEVEL", "error")
    known = settings.load()
    assert (known.database_url, known.log_level) == ("postgresql://from-file", "error")


def test_a_missing_setting_is_named_with_both_ways_to_give_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RESOLUTE_DATABASE_URL", raising=False)
    with pytest.raises(InvalidConfig, match="database_url is not set: give RESOLUTE_DATABASE_URL, or database_url in"):
        settings.load()


def test_an_unknown_setting_in_the_file_is_named(file: Path) -> None:
    file.write_text("database_url: postgresql://x\nnats_ulr: nats://x\n")
    with pytest.raises(InvalidConfig, match="nats_ulr: there is no such setting; known are agent, api, cluster_id"):
        settings.load()


def test_a_wrong_value_is_named(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RESOLUTE_HEALTH_PORT", "eighty")
    with pytest.raises(InvalidConfig, match="health_port: Input should be a valid integer"):
        settings.load()


def test_a_file_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("RESOLUTE_CONFIG", str(tmp_path / "gone.yaml"))
    with pytest.raises(InvalidConfig, match=r"gone\.yaml, which is not a file"):
        settings.load()


def test_secrets_do_not_show_when_settings_are_printed(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RESOLUTE_CLUSTER_SECRET", "hush-1")
    monkeypatch.setenv("RESOLUTE_NATS_SEED", "hush-2")
    monkeypatch.setenv("RESOLUTE_DATABASE_URL", "postgresql://me:hush-3@host/db")
    assert "hush" not in repr(settings.load())
