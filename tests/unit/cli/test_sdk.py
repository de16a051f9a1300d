"""What the Python SDK asks of a master, and what scripts get: over real HTTP, with a made-up master."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from determined.common.api import errors
from determined.experimental import Determined, client
from determined.experimental.client import ExperimentState, TrainingMetrics, TrialMetrics, ValidationMetrics
from tests.unit.cli.conftest import FakeMaster, refusal, results

EXPERIMENT: dict[str, Any] = {
    "id": 7, "config": {}, "state": "STATE_RUNNING", "archived": False, "name": "n", "projectId": 1, "labels": ["a"],
}  # fmt: skip
AT = "2026-01-31T12:00:00.5Z"


@pytest.fixture
def sdk(master: FakeMaster) -> Determined:
    master.on("GET /api/v1/experiments/7", {"experiment": EXPERIMENT})
    return Determined(master.url)


def test_a_kept_token_comes_before_a_wrong_password(master: FakeMaster, sdk: Determined) -> None:
    assert Determined(master.url, user="determined", password="wrong").whoami().username == "determined"
    assert len([each for each in master.asked if each.path.endswith("/login")]) == 1
    with pytest.raises(errors.InvalidCredentialsException):
        Determined(master.url, user="eve", password="wrong")


def test_det_and_the_sdk_share_their_logins(master: FakeMaster, sdk: Determined, det: Any) -> None:
    assert det("user whoami").out == "You are logged in as user 'determined'\n"
    assert len([each for each in master.asked if each.path.endswith("/login")]) == 1
    sdk.logout()
    with pytest.raises(errors.UnauthenticatedException):
        sdk.get_experiment(7)


def test_the_functions_log_in_when_the_first_is_called_and_login_then_comes_too_late(
    master: FakeMaster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "_determined", None)
    assert master.asked == []
    assert client.get_session_username() == "determined"
    with pytest.raises(ValueError, match="once, before every other function"):
        client.login(master.url)


def test_an_experiment_is_submitted_with_its_files(master: FakeMaster, sdk: Determined, tmp_path: Path) -> None:
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "train.py").write_text("pass")
    (tmp_path / "lib.py").write_text("pass")
    master.on("POST /api/v1/experiments", {"experiment": EXPERIMENT})
    made = sdk.create_experiment({"name": "n"}, tmp_path / "code", [tmp_path / "lib.py"], project_id=3)
    body = master.last("POST /api/v1/experiments").body
    assert (made.id, made.labels, made.state) == (7, {"a"}, ExperimentState.RUNNING)
    assert json.loads(body["config"]) == {"name": "n"}
    assert [each["path"] for each in body["modelDefinition"]] == ["train.py", "lib.py"]
    assert (body["activate"], body["projectId"]) == (True, 3)
    assert "template" not in body


def test_waiting_ends_with_the_experiment_and_refuses_a_paused_one(master: FakeMaster, sdk: Determined) -> None:
    states = iter(["STATE_ACTIVE", "STATE_RUNNING", "STATE_COMPLETED", "STATE_PAUSED", "STATE_ERROR"])
    master.on("GET /api/v1/experiments/7", lambda _: {"experiment": {**EXPERIMENT, "state": next(states)}})
    master.on("GET /api/v1/experiments/7/trials", {"trials": []})
    experiment = sdk.get_experiment(7)
    assert experiment.wait(interval=0.01) is ExperimentState.COMPLETED
    with pytest.raises(ValueError, match="paused"):
        experiment.wait(interval=0.01)
    with pytest.raises(RuntimeError, match="ended without a trial"):
        experiment.await_first_trial(interval=0.01)


def test_trials_are_read_page_by_page_and_no_sooner_than_needed(master: FakeMaster, sdk: Determined) -> None:
    def page(asked: Any) -> Any:
        offset = int(dict(asked.query)["offset"])
        trial = {"id": offset + 1, "experimentId": 7, "state": "STATE_RUNNING"}
        return {"trials": [trial], "pagination": {"endIndex": offset + 1, "total": 3}}

    master.on("GET /api/v1/experiments/7/trials", page)
    found = sdk.get_experiment(7).iter_trials(limit=1)
    assert next(found).id == 1
    assert len([each for each in master.asked if each.path.endswith("/trials")]) == 1
    assert [each.id for each in found] == [2, 3]


def test_reports_come_with_the_values_of_their_group(master: FakeMaster, sdk: Determined) -> None:
    report = {"trialId": 1, "trialRunId": 1, "totalBatches": 5, "endTime": AT}
    training = {**report, "group": "training", "metrics": {"avg_metrics": {"loss": 1}, "batch_metrics": [{"loss": 2}]}}
    validation = {**report, "group": "validation", "metrics": {"validation_metrics": {"loss": 3}}}
    master.on(
        "GET /api/v1/trials/metrics/trial_metrics",
        lambda _: results(*({"metrics": [each]} for each in (training, validation))),
    )
    first, second = sdk.iter_trials_metrics([1, 2], "training")
    assert type(first) is type(second) is TrialMetrics
    assert (first.metrics, first.batch_metrics, first.total_batches) == ({"loss": 1}, [{"loss": 2}], 5)
    assert second.metrics == {"loss": 3}
    query = master.last("GET /api/v1/trials/metrics/trial_metrics").query
    assert query == (("trialIds", "1"), ("trialIds", "2"), ("group", "training"))
    assert isinstance(next(iter(sdk.stream_trials_training_metrics([1]))), TrainingMetrics)
    assert isinstance(next(iter(sdk.stream_trials_validation_metrics([1]))), ValidationMetrics)


def test_a_log_is_read_forwards_and_its_end_in_order(master: FakeMaster, sdk: Determined) -> None:
    master.on("GET /api/v1/trials/1", {"trial": {"id": 1, "experimentId": 7, "state": "STATE_RUNNING"}})
    master.on("GET /api/v1/trials/1/logs", lambda _: results({"message": "a"}, {"message": "b"}))
    trial = sdk.get_trial(1)
    assert list(trial.iter_logs(head=2, timestamp_after=0)) == ["a", "b"]
    assert ("timestampAfter", "1970-01-01T00:00:00Z") in master.last("GET /api/v1/trials/1/logs").query
    assert list(trial.logs(tail=2)) == ["b", "a"]
    with pytest.raises(ValueError, match="ends in Z"):
        list(trial.iter_logs(timestamp_before="2026-01-31"))


def test_an_attribute_changes_only_once_the_master_agreed(master: FakeMaster, sdk: Determined) -> None:
    experiment = sdk.get_experiment(7)
    master.on("PATCH /api/v1/experiments/7", refusal(400, "archived"))
    with pytest.raises(errors.APIException, match="archived") as refused:
        experiment.set_name("better")
    assert (refused.value.status_code, experiment.name) == (400, "n")
    master.on("PATCH /api/v1/experiments/7", {})
    experiment.set_name("better")
    assert experiment.name == "better"
    assert master.last("PATCH /api/v1/experiments/7").body == {"id": 7, "name": "better"}


def test_refusals_are_a_tree_of_exceptions(master: FakeMaster, sdk: Determined) -> None:
    with pytest.raises(errors.NotFoundException) as missing:
        sdk.get_experiment(8)
    assert isinstance(missing.value, errors.APIException)
    assert isinstance(missing.value, errors.BadRequestException)
    master.on("GET /api/v1/experiments/9", refusal(403, "not yours"))
    with pytest.raises(errors.ForbiddenException, match="not yours"):
        sdk.get_experiment(9)


def test_reads_are_tried_again_while_the_master_is_away_and_changes_are_not(
    master: FakeMaster, sdk: Determined
) -> None:
    answers = iter([refusal(503, "away"), {"experiment": EXPERIMENT}])
    master.on("GET /api/v1/experiments/7", lambda _: next(answers))
    assert sdk.get_experiment(7).id == 7
    master.on("POST /api/v1/experiments/7/kill", refusal(503, "away"))
    with pytest.raises(errors.APIException):
        client.Experiment(7, sdk._session).kill()
    assert len([each for each in master.asked if each.path.endswith("/kill")]) == 1
