"""`det experiment` against a master: what is asked of it, and what people read."""

from __future__ import annotations

import base64
import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

EXPERIMENT = "/api/v1/experiments/7"


def page(start: int, end: int, total: int) -> dict[str, int]:
    return {"offset": start, "limit": 2, "startIndex": start, "endIndex": end, "total": total}


def test_the_list_shows_ones_own_experiments_page_by_page(
    master: Any, det: Callable[..., Any], experiment: Callable[..., Any]
) -> None:
    everything = [experiment(id=n, progress=n / 10, resourcePool="default") for n in (1, 2, 3)]

    def answer(asked: Any) -> Any:
        start = int(dict(asked.query)["offset"])
        return {"experiments": everything[start : start + 2], "pagination": page(start, min(start + 2, 3), 3)}

    master.on("GET /api/v1/experiments", answer)
    assert det("e ls --limit 2").out == (
        "   ID | Owner      | Name   | Parent ID   | State   | Progress   | Started                  | Ended   "
        "| Resource Pool\n"
        "------+------------+--------+-------------+---------+------------+--------------------------+---------"
        "+-----------------\n"
        "    1 | determined | mnist  |             | ACTIVE  | 10.0%      | 2026-01-02 03:04:05+0000 |         "
        "| default\n"
        "    2 | determined | mnist  |             | ACTIVE  | 20.0%      | 2026-01-02 03:04:05+0000 |         "
        "| default\n"
        "    3 | determined | mnist  |             | ACTIVE  | 30.0%      | 2026-01-02 03:04:05+0000 |         "
        "| default\n"
    )
    assert dict(master.asked[-2].query) == {"archived": "false", "users": "determined", "limit": "2", "offset": "0"}


def test_with_all_the_list_shows_everybodys_and_says_which_are_archived(
    master: Any, det: Callable[..., Any], experiment: Callable[..., Any]
) -> None:
    master.on("GET /api/v1/experiments", {"experiments": [experiment(archived=True)], "pagination": page(0, 1, 1)})
    header, _, row = det("e ls --all").out.splitlines()
    assert header.endswith("| Archived")
    assert row.endswith("| True")
    assert dict(master.last("GET /api/v1/experiments").query) == {"limit": "200", "offset": "0"}


@pytest.mark.parametrize(
    ("verb", "done"),
    [
        ("activate", "Activated"),
        ("pause", "Paused"),
        ("cancel", "Canceled"),
        ("kill", "Killed"),
        ("archive", "Archived"),
        ("unarchive", "Unarchived"),
    ],
)
def test_a_verb_is_sent_and_reported(master: Any, det: Callable[..., Any], verb: str, done: str) -> None:
    master.on(f"POST {EXPERIMENT}/{verb}", {})
    assert det(f"e {verb} 7").out == f"{done} experiment 7\n"


def test_several_experiments_are_killed_at_once(master: Any, det: Callable[..., Any]) -> None:
    master.on("POST /api/v1/experiments/7/kill", {})
    master.on("POST /api/v1/experiments/8/kill", {})
    assert det("e kill 7,8").out == "Killed experiment 7\nKilled experiment 8\n"


def test_a_refusal_is_passed_on_with_the_name_of_the_deed(
    master: Any, det: Callable[..., Any], refuse: Callable[..., Any]
) -> None:
    master.on(f"POST {EXPERIMENT}/pause", refuse(409, "experiment 7 is COMPLETED and cannot be paused"))
    outcome = det("e pause 7")
    assert (outcome.status, outcome.out) == (1, "")
    assert outcome.err == "Failed to pause experiment: experiment 7 is COMPLETED and cannot be paused\n"


def test_an_experiment_that_is_not_there_is_reported(master: Any, det: Callable[..., Any]) -> None:
    outcome = det("e describe 7")
    assert outcome.status == 1
    assert outcome.err.startswith("Failed to describe experiment: nothing at GET /api/v1/experiments/7")


def test_deleting_needs_a_yes(master: Any, det: Callable[..., Any]) -> None:
    master.on(f"DELETE {EXPERIMENT}", {})
    refused = det("e delete 7")
    assert refused.status == 1
    assert "--yes" in refused.err
    assert det("e delete 7 --yes").out == "Deletion of experiment 7 is in progress\n"


@pytest.mark.parametrize(("end", "status"), [("COMPLETED", 0), ("CANCELED", 1), ("ERROR", 1)])
def test_waiting_ends_with_the_experiment_and_its_status_says_how(
    master: Any, det: Callable[..., Any], experiment: Callable[..., Any], end: str, status: int
) -> None:
    states = iter(["STATE_ACTIVE", f"STATE_{end}"])
    master.on(f"GET {EXPERIMENT}", lambda asked: {"experiment": experiment(state=next(states))})
    outcome = det("e wait 7 --polling-interval 0")
    assert outcome.out == f"Experiment 7 ended in state {end}\n"
    assert outcome.status == status


def test_labels_are_put_on_and_taken_off(master: Any, det: Callable[..., Any]) -> None:
    master.on(f"PUT {EXPERIMENT}/labels/best", {})
    master.on(f"DELETE {EXPERIMENT}/labels/best", {})
    assert det("e label add 7 best").out == "Added label 'best' to experiment 7\n"
    assert det("e label remove 7 best").out == "Removed label 'best' from experiment 7\n"


@pytest.mark.parametrize(
    ("words", "body"),
    [
        ("name 7 new", {"name": "new"}),
        ("description 7 text", {"description": "text"}),
        ("max-slots 7 4", {"resources": {"maxSlots": 4}}),
        ("max-slots 7 none", {"resources": {"maxSlots": None}}),
        ("weight 7 0.5", {"resources": {"weight": 0.5}}),
        ("priority 7 3", {"resources": {"priority": 3}}),
        ("max-restarts 7 2", {"maxRestarts": 2}),
        (
            "gc-policy 7 --yes --save-experiment-best 1 --save-trial-best 2 --save-trial-latest 3",
            {"checkpointStorage": {"saveExperimentBest": 1, "saveTrialBest": 2, "saveTrialLatest": 3}},
        ),
    ],
)
def test_setting_an_attribute_sends_that_attribute_alone(
    master: Any, det: Callable[..., Any], words: str, body: dict[str, Any]
) -> None:
    master.on(f"PATCH {EXPERIMENT}", {})
    assert det(f"e set {words}").status == 0
    assert master.last(f"PATCH {EXPERIMENT}").body == {"id": 7, **body}


@pytest.mark.parametrize(("words", "days"), [("--days 3", 3), ("--forever", -1)])
def test_logs_are_kept_for_days_or_for_ever(master: Any, det: Callable[..., Any], words: str, days: int) -> None:
    master.on(f"PUT {EXPERIMENT}/retain_logs", {})
    assert det(f"e set log-retention 7 {words}").status == 0
    assert master.last(f"PUT {EXPERIMENT}/retain_logs").body == {"experimentId": 7, "numDays": days}


@pytest.mark.parametrize(("words", "days", "said"), [("--days 1", 1, "for 1 day"), ("--forever", -1, "for ever")])
def test_the_log_of_one_trial_is_kept_for_days_or_for_ever(
    master: Any, det: Callable[..., Any], words: str, days: int, said: str
) -> None:
    master.on("PUT /api/v1/trials/1/retain_logs", {})
    assert det(f"t set log-retention 1 {words}").out == f"Logs of trial 1 are kept {said}\n"
    assert master.last("PUT /api/v1/trials/1/retain_logs").body == {"trialId": 1, "numDays": days}


def test_logs_that_were_kept_for_long_enough_are_removed_on_demand(master: Any, det: Callable[..., Any]) -> None:
    master.on("POST /api/v1/cleanup_logs", {"removedCount": "1200"})
    assert det("task cleanup-logs").out == "Removed 1,200 lines of logs that were kept for long enough\n"


@pytest.mark.parametrize(
    ("trial", "remaining", "said"),
    [
        ({}, {"remainingDays": -1}, "Log: kept for ever\n"),
        ({"logRetentionDays": 3}, {"remainingDays": 2}, "Log: kept for 2 days more\n"),
        ({"logRetentionDays": 3}, {}, "Log: kept while the trial runs, and after its end for 3 days\n"),
        ({"logsRemovedAt": "2026-01-02T03:04:05Z"}, {}, "Log: what was printed before 2026-01-02 03:04:05+0000 was "),
    ],
)
@pytest.mark.usefixtures("story")
def test_a_trials_description_says_for_how_long_its_log_is_kept(
    master: Any, det: Callable[..., Any], trial: dict[str, Any], remaining: dict[str, Any], said: str
) -> None:
    shown = {"id": 1, "experimentId": 7, "state": "STATE_COMPLETED", **trial}
    master.on("GET /api/v1/trials/1", {"trial": shown})
    master.on("GET /api/v1/trials/1/remaining_log_retention_days", remaining)
    assert said in det("t describe 1").out


def test_continuing_sends_what_is_overridden_alone(master: Any, det: Callable[..., Any], tmp_path: Path) -> None:
    master.on("POST /api/v1/experiments/continue", {})
    assert det("e continue 7").out == "Continued experiment 7\n"
    assert master.last("POST /api/v1/experiments/continue").body == {"id": 7, "overrideConfig": "{}\n"}
    longer = tmp_path / "longer.yaml"
    longer.write_text("searcher: {max_length: {batches: 200}}")
    assert det(f"e continue 7 --config-file {longer} --config max_restarts=1").status == 0
    sent = yaml.safe_load(master.last("POST /api/v1/experiments/continue").body["overrideConfig"])
    assert sent == {"searcher": {"max_length": {"batches": 200}}, "max_restarts": 1}


def test_the_model_definition_is_written_to_a_file(master: Any, det: Callable[..., Any], tmp_path: Path) -> None:
    master.on(f"GET {EXPERIMENT}/model_def", {"b64Tgz": base64.b64encode(b"tgz").decode()})
    outcome = det(f"e download-model-def 7 --output-dir {tmp_path}/new")
    written = tmp_path / "new" / "experiment_7_model_def.tgz"
    assert outcome.out == f"{written}\n"
    assert written.read_bytes() == b"tgz"


@pytest.fixture
def story(master: Any, experiment: Callable[..., Any]) -> None:
    """Experiment 7 with one trial that trained, validated and left a checkpoint at 100 batches."""
    at = {"totalBatches": 100, "numInputs": 0, "endTime": "2026-01-02T04:00:00Z"}
    workloads = [
        {"training": {**at, "metrics": {"avgMetrics": {"loss": 0.25}}}},
        {"validation": {**at, "metrics": {"avgMetrics": {"accuracy": 0.97}}}},
        {"checkpoint": {**at, "state": "STATE_COMPLETED", "uuid": "u-1"}},
    ]
    trial = {
        "id": 1,
        "experimentId": 7,
        "state": "STATE_COMPLETED",
        "hparams": {"lr": 0.1},
        "restarts": 0,
        "startTime": "2026-01-02T03:05:00Z",
        "totalBatchesProcessed": 100,
    }
    master.on(f"GET {EXPERIMENT}", {"experiment": experiment(state="STATE_COMPLETED", labels=["b", "a"])})
    master.on(f"GET {EXPERIMENT}/trials", {"trials": [trial], "pagination": page(0, 1, 1)})
    master.on("GET /api/v1/trials/1", {"trial": trial})
    master.on("GET /api/v1/trials/1/workloads", {"workloads": workloads, "pagination": page(0, 3, 3)})


@pytest.mark.usefixtures("story")
def test_a_description_tells_of_the_experiment_its_trials_and_their_steps(det: Callable[..., Any]) -> None:
    out = det("e describe 7 --metrics").out
    experiment, trials, steps = out.split("\n\n")
    assert experiment.splitlines()[0] == "Experiment:"
    assert experiment.splitlines()[-1].endswith("| a, b")
    assert trials.splitlines()[0] == "Trials:"
    assert [cell.strip() for cell in steps.splitlines()[1].split("|")] == [
        "Trial ID", "# of Batches", "State", "Report Time", "Training Metric: loss", "Checkpoint State",
        "Checkpoint Report Time", "Validation State", "Validation Report Time", "Validation Metric: accuracy",
    ]  # fmt: skip
    assert [cell.strip() for cell in steps.splitlines()[3].split("|")] == [
        "1", "100", "COMPLETED", "2026-01-02 04:00:00+0000", "0.25", "COMPLETED", "2026-01-02 04:00:00+0000",
        "COMPLETED", "2026-01-02 04:00:00+0000", "0.97",
    ]  # fmt: skip


@pytest.mark.usefixtures("story")
def test_for_programs_a_description_is_json_or_csv(det: Callable[..., Any], tmp_path: Path) -> None:
    assert json.loads(det("e describe 7 --json").out)[0]["experiment"]["id"] == 7
    rows = list(csv.reader(io.StringIO(det("e describe 7 --csv").out)))
    assert rows[0] == ["Experiment:"]
    det(f"e describe 7 --outdir {tmp_path}")
    written = sorted(file.name for file in tmp_path.glob("*.csv"))
    assert written == ["experiment.csv", "trials.csv", "workloads.csv"]


@pytest.mark.usefixtures("story")
def test_a_trial_is_described_with_its_checkpoint_and_validation(det: Callable[..., Any]) -> None:
    out = det("t describe 1").out
    assert "Workloads:" in out
    assert "u-1" in out
    assert '"accuracy": 0.97' in out
    assert json.loads(det("t describe 1 --json").out)["trial"]["id"] == 1


@pytest.mark.usefixtures("story")
def test_the_configuration_is_shown_as_yaml_or_json(det: Callable[..., Any]) -> None:
    assert det("e config 7").out == "name: mnist\nsearcher:\n  metric: loss\n  name: single\n"
    assert json.loads(det("e config 7 --json").out)["name"] == "mnist"


def test_checkpoints_are_listed_with_their_metric_and_size(master: Any, det: Callable[..., Any]) -> None:
    checkpoint = {
        "uuid": "u-1",
        "state": "STATE_COMPLETED",
        "metadata": {"steps_completed": 100},
        "resources": {"model.pt": "2048", "metadata.json": "10"},
        "training": {"trialId": 1, "searcherMetric": 0.03},
    }
    master.on(f"GET {EXPERIMENT}/checkpoints", {"checkpoints": [checkpoint], "pagination": page(0, 1, 1)})
    assert (
        det("c ls 7").out
        == det("e lc 7").out
        == (
            "   Trial ID |   # of Batches | State     |   Validation Metric | UUID   | Resources     | Size\n"
            "------------+----------------+-----------+---------------------+--------+---------------+--------\n"
            "          1 |            100 | COMPLETED |                0.03 | u-1    | metadata.json | 2.0KB\n"
            "            |                |           |                     |        | model.pt      |\n"
        )
    )
    det("e lc 7 --best 1")
    assert ("sortByAttr", "SORT_BY_SEARCHER_METRIC") in master.asked[-1].query
    assert ("limit", "1") in master.asked[-1].query


def test_a_stricter_policy_shows_what_it_deletes_before_it_asks(master: Any, det: Callable[..., Any]) -> None:
    doomed = {"uuid": "u-1", "state": "STATE_COMPLETED", "training": {"trialId": 1}, "resources": {"model.pt": "1"}}
    master.on("GET /experiments/7/preview_gc", {"checkpoints": [doomed], "metric_name": "loss"})
    outcome = det("e set gc-policy 7 --save-experiment-best 1 --save-trial-best 2 --save-trial-latest 3")
    assert outcome.status == 1
    assert outcome.out.startswith("The new policy deletes 1 checkpoints:")
    assert "u-1" in outcome.out
    assert "--yes" in outcome.err
    assert dict(master.asked[-1].query) == {
        "save_experiment_best": "1", "save_trial_best": "2", "save_trial_latest": "3",
    }  # fmt: skip


@pytest.mark.usefixtures("story")
def test_what_did_not_go_well_says_why_to_people(
    master: Any, det: Callable[..., Any], experiment: Callable[..., Any]
) -> None:
    why = "run 6 failed with exit code 1; max_restarts is 5"
    failed = {"state": "STATE_ERROR", "stateReason": why}
    master.on(f"GET {EXPERIMENT}", {"experiment": experiment(**failed)})
    master.on("GET /api/v1/trials/1", {"trial": {"id": 1, "experimentId": 7, **failed}})
    told = det("e describe 7").out
    assert f"Experiment 7 is ERROR: {why}\n" in told
    assert "`det trial logs 1`" in told
    assert f"Trial 1 is ERROR: {why}\n" in det("t describe 1").out
    assert det("e wait 7").out == f"Experiment 7 ended in state ERROR: {why}\n"
    assert why not in det("e describe 7 --csv").out
