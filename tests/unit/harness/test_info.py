"""What a task knows of itself."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from determined import _info
from tests.unit.harness.conftest import Master


def test_off_the_cluster_there_is_no_cluster_info(tmp_path: Path) -> None:
    assert _info.read_cluster_info({"DET_RUN_DIR": str(tmp_path)}) is None


def test_a_trial_reads_itself_from_its_environment(on_cluster: Callable[..., Master]) -> None:
    on_cluster("5f3c", data={"url": "x"})
    info = _info.get_cluster_info()
    assert info is not None
    assert (info.trial.trial_id, info.trial.experiment_id, info.trial._trial_run_id) == (41, 7, 2)
    assert info.latest_checkpoint == "5f3c"
    assert info.user_data == {"url": "x"}
    assert (info.container_addrs, info.container_rank, info.container_slot_counts) == (["127.0.0.1"], 0, [1])


def test_without_an_environment_the_info_files_speak(on_cluster: Callable[..., Master], tmp_path: Path) -> None:
    on_cluster()
    import os

    (tmp_path / "files" / "info").mkdir(parents=True)
    cluster, trial = _info.cluster_from_env(os.environ), _info.trial_from_env(os.environ)
    (tmp_path / "files" / "info" / "cluster.json").write_text(json.dumps(cluster))
    (tmp_path / "files" / "info" / "trial.json").write_text(json.dumps(trial))
    rendezvous = {"container_addrs": ["a", "b"], "container_rank": 1, "container_slot_counts": [2, 2]}
    (tmp_path / "files" / "info" / "rendezvous.json").write_text(json.dumps(rendezvous))
    info = _info.read_cluster_info({"DET_RUN_DIR": str(tmp_path / "files")})
    assert info is not None
    assert info.trial.hparams == {"global_batch_size": 2}
    assert info.container_addrs == ["a", "b"]


def test_the_session_token_is_not_in_the_repr(on_cluster: Callable[..., Master]) -> None:
    on_cluster()
    info = _info.get_cluster_info()
    assert info is not None
    assert info.session_token not in repr(info)


def test_a_missing_variable_is_named() -> None:
    env = {"DET_MASTER": "http://h:1", "DET_SESSION_TOKEN": "t"}
    with pytest.raises(RuntimeError, match="DET_CLUSTER_ID"):
        _info.read_cluster_info(env)


def test_other_tasks_have_no_trial(on_cluster: Callable[..., Master], monkeypatch: pytest.MonkeyPatch) -> None:
    on_cluster()
    monkeypatch.setenv("DET_TASK_TYPE", "COMMAND")
    monkeypatch.delenv("DET_TRIAL_ID")
    info = _info.get_cluster_info()
    assert info is not None
    with pytest.raises(RuntimeError, match="COMMAND task has no trial"):
        _ = info.trial
