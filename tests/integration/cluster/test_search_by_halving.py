"""Adaptive searches end to end, in both dialects: trials follow their search on a whole cluster of two slots."""

from __future__ import annotations

import hashlib
import itertools
import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.integration.cluster.local import ROOT, LocalCluster, local_cluster

pytestmark = pytest.mark.timeout(900)

MODEL = Path(__file__).parent / "searched"
SLOTS = 2

BY_LENGTH: dict[str, Any] = {
    "name": "by length",
    "entrypoint": "python3 train.py",
    "hyperparameters": {"x": {"type": "double", "minval": 1, "maxval": 2}, "step_s": 0.002},
    "searcher": {
        "name": "adaptive_asha",
        "metric": "loss",
        "mode": "aggressive",
        "max_trials": 8,
        "max_rungs": 3,
        "divisor": 2,
        "max_length": {"batches": 16},
    },
    "reproducibility": {"experiment_seed": 7},
    "max_restarts": 0,
}
RUNGS = (4, 8, 16)

BY_TIME = {
    **BY_LENGTH,
    "name": "by time",
    "searcher": {
        **{key: value for key, value in BY_LENGTH["searcher"].items() if key != "max_length"},
        "time_metric": "steps",
        "max_time": 16,
    },
}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    with local_cluster(tmp_path_factory.mktemp("search"), slots=SLOTS) as cluster:
        yield cluster


def completed(cluster: LocalCluster, config: dict[str, Any], folder: Path = MODEL) -> int:
    """Run the search to its end, which must be a good one; its number."""
    experiment_id = cluster.create(config, folder)
    if cluster.ended(experiment_id, within_s=200) != "STATE_COMPLETED":
        logs = "\n".join(cluster.logs(int(trial["id"])) for trial in cluster.trials(experiment_id))
        raise AssertionError(cluster.story(experiment_id) + logs)
    return experiment_id


def told(cluster: LocalCluster, stream: str) -> list[dict[str, Any]]:
    """Every event of a stream, in order."""
    return [json.loads(line) for line in cluster.resolute("log", "show", stream, "--json").splitlines()]


def of_kind(events: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [event["data"] for event in events if event["type"] == kind]


def steps_said(cluster: LocalCluster, trial_id: int) -> list[int]:
    return [int(step) for step in re.findall(r"root: step (\d+)$", cluster.logs(trial_id), re.MULTILINE)]


def check_slots(cluster: LocalCluster, experiment_id: int) -> None:
    held: set[str] = set()
    for event in told(cluster, "pool-default"):
        allocation = event["data"].get("allocation_id", "")
        if not allocation.startswith(f"{experiment_id}."):
            continue
        if event["type"] == "SlotsAssigned":
            held.add(allocation)
        elif event["type"] == "AllocationExited":
            held.discard(allocation)
        assert len(held) <= SLOTS
    assert held == set()


def test_a_search_by_length_promotes_the_better_trials_and_repeats_no_step(cluster: LocalCluster) -> None:
    experiment_id = completed(cluster, BY_LENGTH)
    trials = {int(trial["id"]): trial["hparams"]["x"] for trial in cluster.trials(experiment_id)}
    events = told(cluster, f"experiment-{experiment_id}")
    assert len(trials) == 8
    assert {trial["state"] for trial in cluster.trials(experiment_id)} == {"STATE_COMPLETED"}

    reached = Counter(event["length"] for event in of_kind(events, "TrialTargetReached"))
    assert set(reached) == set(RUNGS)
    assert reached[RUNGS[0]] == 8, "everyone trains to the first rung"
    for lower, upper in itertools.pairwise(RUNGS):
        assert reached[lower] // 2 <= reached[upper] < reached[lower], "about half of a rung goes on"

    far = {trial_id: max(steps_said(cluster, trial_id)) for trial_id in trials}
    assert set(far.values()) <= set(RUNGS)
    best, worst = min(trials, key=trials.__getitem__), max(trials, key=trials.__getitem__)
    assert far[best] == RUNGS[-1]
    assert far[worst] < RUNGS[-1], "a poor trial trains fewer batches"
    for trial_id, steps in far.items():
        assert steps_said(cluster, trial_id) == list(range(1, steps + 1)), "a promoted trial repeats nothing"
    check_slots(cluster, experiment_id)


def test_a_trial_that_is_promoted_after_it_gave_its_slots_back_resumes_from_its_checkpoint(
    cluster: LocalCluster,
) -> None:
    experiment_id = completed(cluster, {**BY_LENGTH, "name": "resumed"})
    runs = of_kind(told(cluster, f"experiment-{experiment_id}"), "TrialRunRequested")
    later = [run for run in runs if run["run_id"] > 1]
    assert later, "with two slots somebody waits to be promoted"
    for run in later:
        assert run["steps_completed"] in RUNGS[:-1]
        assert run["checkpoint"] is not None
    for trial in cluster.trials(experiment_id):
        assert trial["restarts"] == 0


def test_a_search_by_time_stops_the_poorer_trials(cluster: LocalCluster) -> None:
    experiment_id = completed(cluster, BY_TIME)
    trials = cluster.trials(experiment_id)
    assert len(trials) == 8
    assert {trial["state"] for trial in trials} == {"STATE_COMPLETED"}
    events = told(cluster, f"experiment-{experiment_id}")
    validated = of_kind(events, "TrialValidated")
    assert all(event["time"] == event["steps_completed"] for event in validated)
    assert of_kind(events, "TrialTargetSet") == []
    far = {int(trial["id"]): max(cluster.validations(int(trial["id"]))) for trial in trials}
    assert max(far.values()) == 16
    assert min(far.values()) < 16, "a poor trial is stopped early"
    stopped = of_kind(events, "TrialStopRequested")
    for trial_id in {event["trial_id"] for event in stopped}:
        decided = max(event["steps_completed"] for event in validated if event["trial_id"] == trial_id)
        assert max(steps_said(cluster, trial_id)) == decided, "it trains no further than the validation that decided"
    check_slots(cluster, experiment_id)


def test_hyperparameters_that_a_trial_finds_invalid_are_replaced(cluster: LocalCluster) -> None:
    hparams = {**BY_LENGTH["hyperparameters"], "invalid_above": 1.5}
    experiment_id = completed(cluster, {**BY_LENGTH, "name": "invalid", "hyperparameters": hparams})
    events = told(cluster, f"experiment-{experiment_id}")
    refused = {event["trial_id"] for event in of_kind(events, "TrialEarlyExitReported")}
    xs = {event["trial_id"]: event["hparams"]["x"] for event in of_kind(events, "TrialCreated")}
    assert refused == {trial_id for trial_id, x in xs.items() if x > 1.5}
    assert refused, "of eight points between 1 and 2 some are above 1.5"
    assert len(xs) - len(refused) == 8


def test_a_metric_that_no_trial_reports_is_named_in_its_log_and_tried_once(cluster: LocalCluster) -> None:
    hparams = {"x": 1.0, "step_s": 0.0, "metric": "accuracy"}
    config = {**BY_LENGTH, "name": "unnamed", "hyperparameters": hparams, "max_restarts": 5}
    experiment_id = cluster.create({**config, "searcher": {**BY_LENGTH["searcher"], "max_trials": 1}}, MODEL)
    assert cluster.ended(experiment_id) == "STATE_ERROR"
    (trial,) = cluster.trials(experiment_id)
    log = cluster.logs(int(trial["id"]))
    assert "searcher.metric is 'loss', and this validation reports only accuracy, steps" in log
    assert trial["restarts"] == 0
    (ended,) = of_kind(told(cluster, f"experiment-{experiment_id}"), "TrialEnded")
    assert "it is not restarted: its code and its configuration do not fit" in ended["reason"]


LARGE = """
import hashlib, os
import determined as det

info = det.get_cluster_info()
files = [os.environ["DET_EXPERIMENT_CONFIG_FILE"], os.environ["DET_HPARAMS_FILE"]]
assert not {"DET_EXPERIMENT_CONFIG", "DET_HPARAMS"} & os.environ.keys(), "they are too large for variables"
digest = hashlib.sha256("".join(info.trial.hparams["words"]).encode()).hexdigest()
print("sizes:", *(os.path.getsize(file) > 128 * 1024 for file in files), "words:", digest)
with det.core.init() as core:
    core.train.report_validation_metrics(1, {"loss": float(len(info.trial._config["data"]["text"][3]))})
"""


def test_a_trial_whose_configuration_and_hyperparameters_fill_no_variable_finds_them_whole(
    cluster: LocalCluster, tmp_path: Path
) -> None:
    """Linux takes 128 KiB in one variable of a process; what is larger comes as a file."""
    (tmp_path / "large.py").write_text(LARGE)
    words = [f"{number:04}" + "x" * 1000 for number in range(200)]
    config = {
        "name": "large",
        "entrypoint": "python3 large.py",
        "hyperparameters": {"words": words},
        "data": {"text": ["y" * 50_000] * 4},
        "searcher": {"name": "single", "metric": "loss", "max_length": {"batches": 1}},
    }
    experiment_id = completed(cluster, config, tmp_path)
    (trial,) = cluster.trials(experiment_id)
    digest = hashlib.sha256("".join(words).encode()).hexdigest()
    assert f"sizes: True True words: {digest}" in cluster.logs(int(trial["id"]))
    assert trial["bestValidation"]["metrics"]["avgMetrics"]["loss"] == 50_000


def example(name: str, file: str, **changes: Any) -> tuple[dict[str, Any], Path]:
    folder = ROOT / "examples" / name
    config: dict[str, Any] = yaml.safe_load((folder / file).read_text())
    return {**config, **changes}, folder


def test_the_core_api_example_searches_by_time(cluster: LocalCluster) -> None:
    experiment_id = completed(cluster, *example("core_api", "adaptive.yaml"))
    trials = cluster.trials(experiment_id)
    assert len(trials) == 16
    far = [max(cluster.validations(int(trial["id"]))) for trial in trials]
    assert max(far) == 256
    assert sum(far) < 16 * 256 / 2, "most of the work of poor trials is saved"


def test_the_mnist_example_searches_by_length(cluster: LocalCluster) -> None:
    config, folder = example("mnist_pytorch", "adaptive.yaml")
    config["searcher"] = {**config["searcher"], "max_trials": 4, "max_length": {"batches": 32}, "max_rungs": 2}
    experiment_id = completed(cluster, config, folder)
    events = told(cluster, f"experiment-{experiment_id}")
    lengths = Counter(event["length"] for event in of_kind(events, "TrialTargetReached"))
    assert lengths[32] >= 1
    for trial in cluster.trials(experiment_id):
        steps = cluster.validations(int(trial["id"]))
        assert steps == sorted(set(steps) & set(lengths)), "it validates at each of its targets, once"
        assert trial["checkpointCount"] >= 1
