"""`det experiment create`: what travels, what is printed, what happens when somebody stops watching."""

from __future__ import annotations

import base64
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest
import yaml
from hypothesis import strategies as st

from resolute.cli import local_test, logs, overrides
from resolute.cli.commands import experiment_create
from resolute.cli.errors import CliError

CONFIG = """\
# as written by hand
name: mnist
entrypoint: model_def:Trial
searcher: {name: single, metric: loss, max_length: {batches: 100}}
"""


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A directory to submit: a configuration, a model, and a file that must stay at home."""
    root = tmp_path / "model"
    root.mkdir()
    (root / "const.yaml").write_text(CONFIG)
    (root / "model_def.py").write_text("class Trial: ...\n")
    (root / "notes.txt").write_text("private")
    (root / ".detignore").write_text("*.txt\n")
    return root


@pytest.fixture
def created(master: Any, experiment: Callable[..., Any]) -> Any:
    """A master that takes every experiment in as number 7."""
    master.on("POST /api/v1/experiments", {"experiment": experiment(), "config": {}})
    return master


def test_configuration_and_files_travel_as_they_are(created: Any, det: Callable[..., Any], model: Path) -> None:
    outcome = det(f"e create {model}/const.yaml {model}")
    assert outcome.status == 0, outcome.err
    sent = created.last("POST /api/v1/experiments").body
    assert sent["config"] == CONFIG
    assert sent["activate"] is True
    files = {file["path"]: file for file in sent["modelDefinition"]}
    assert sorted(files) == [".detignore", "const.yaml", "model_def.py"]
    assert base64.b64decode(files["model_def.py"]["content"]) == b"class Trial: ...\n"
    assert files["model_def.py"]["type"] == ord("0")


def test_the_messages_are_those_that_scripts_look_for(created: Any, det: Callable[..., Any], model: Path) -> None:
    preparing, done = det(f"e create {model}/const.yaml {model}").out.splitlines()
    assert preparing.startswith("Preparing files to send to master... ")
    assert preparing.endswith("B and 3 files")
    assert done == "Created experiment 7"


def test_settings_without_an_effect_are_warned_of_by_name(
    master: Any, experiment: Callable[..., Any], det: Callable[..., Any], model: Path
) -> None:
    told = ["environment.image: has no effect: trials run as processes here, and not in containers"]
    answer = {"experiment": experiment(), "config": {}, "warnings": [], "configWarnings": told}
    master.on("POST /api/v1/experiments", answer)
    outcome = det(f"e create {model}/const.yaml {model}")
    assert outcome.err.splitlines()[-1] == f"Warning: {told[0]}"
    assert outcome.status == 0


def test_options_reach_the_master(created: Any, det: Callable[..., Any], model: Path) -> None:
    det(f"e create {model}/const.yaml {model} --paused --project_id 3 --template t --config name=other")
    sent = created.last("POST /api/v1/experiments").body
    assert (sent["activate"], sent["projectId"], sent["template"]) == (False, 3, "t")
    assert yaml.safe_load(sent["config"])["name"] == "other"
    assert yaml.safe_load(sent["config"])["searcher"]["metric"] == "loss"


def test_included_files_and_directories_go_to_the_root_under_their_own_names(
    created: Any, det: Callable[..., Any], model: Path, tmp_path: Path
) -> None:
    (tmp_path / "extra").mkdir()
    (tmp_path / "extra" / "a.py").write_text("a")
    (tmp_path / "one.py").write_text("1")
    det(f"e create {model}/const.yaml {model} -i {tmp_path}/extra -i {tmp_path}/one.py")
    paths = [file["path"] for file in created.last("POST /api/v1/experiments").body["modelDefinition"]]
    assert paths[-2:] == ["extra/a.py", "one.py"]


def test_a_file_sent_twice_is_refused_before_anything_travels(
    created: Any, det: Callable[..., Any], model: Path
) -> None:
    outcome = det(f"e create {model}/const.yaml {model} -i {model}/model_def.py")
    assert outcome.status == 1
    assert outcome.err == (
        "Failed to create experiment: model_def.py is sent 2 times; leave it out of the directory or of --include\n"
    )


@pytest.mark.parametrize("name", ["determined/__init__.py", "determined.py"])
def test_a_context_that_hides_the_harness_is_refused_before_anything_travels(
    created: Any, det: Callable[..., Any], model: Path, name: str
) -> None:
    (model / name).parent.mkdir(exist_ok=True)
    (model / name).write_text("")
    outcome = det(f"e create {model}/const.yaml {model}")
    assert outcome.status == 1
    assert f"{name.partition('/')[0]} would hide the package `determined`" in outcome.err


def test_yaml_that_is_not_yaml_is_refused_with_its_line(created: Any, det: Callable[..., Any], model: Path) -> None:
    (model / "const.yaml").write_text("name: [unfinished\n")
    outcome = det(f"e create {model}/const.yaml {model}")
    assert outcome.status == 1
    assert outcome.err.startswith(f"Failed to create experiment: {model}/const.yaml: line 2, column 1")


def test_a_directory_in_place_of_a_configuration_says_what_is_missing(det: Callable[..., Any], model: Path) -> None:
    outcome = det(f"e create {model}")
    assert outcome.status == 2
    assert f"it is a directory: name a configuration file in it, then the directory: {model}/<name>.yaml" in outcome.err


def test_a_large_context_travels_only_once_the_configuration_was_found_right(
    created: Any, det: Callable[..., Any], model: Path, refuse: Callable[..., Any]
) -> None:
    (model / "weights.bin").write_bytes(bytes(300_000))
    det(f"e create {model}/const.yaml {model}")
    first, second = (each.body for each in created.asked if str(each) == "POST /api/v1/experiments")
    assert first["validateOnly"] is True
    assert all(not file["content"] for file in first["modelDefinition"])
    assert "validateOnly" not in second
    assert any(len(file["content"]) > 300_000 for file in second["modelDefinition"])


def test_an_experiment_that_fails_while_it_is_followed_is_a_failure_of_the_command(
    created: Any, det: Callable[..., Any], model: Path, stream: Callable[..., Any], experiment: Callable[..., Any]
) -> None:
    created.on("GET /api/v1/experiments/7/trials", {"trials": [{"id": 11}]})
    created.on("GET /api/v1/trials/11/logs", lambda asked: stream())
    states = iter(["STATE_ACTIVE", "STATE_ERROR"])
    created.on(
        "GET /api/v1/experiments/7",
        lambda asked: {"experiment": experiment(state=next(states), numTrials=1, stateReason="exit code 1")},
    )
    outcome = det(f"e create {model}/const.yaml {model} -f")
    assert outcome.status == 1
    assert "Experiment 7 ended in state ERROR: exit code 1" in outcome.err


def test_what_the_master_finds_wrong_is_shown(
    created: Any, det: Callable[..., Any], model: Path, refuse: Callable[..., Any]
) -> None:
    created.on("POST /api/v1/experiments", refuse(400, "searcher.max_length: expected an object, found 3"))
    outcome = det(f"e create {model}/const.yaml {model}")
    assert outcome.err == "Failed to create experiment: searcher.max_length: expected an object, found 3\n"
    assert "Created" not in outcome.out


def test_following_waits_for_the_first_trial_and_prints_its_log(
    created: Any,
    det: Callable[..., Any],
    model: Path,
    stream: Callable[..., Any],
    experiment: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(experiment_create, "_END_S", 0.1)  # the experiment goes on
    trials: Iterator[Any] = iter([[], [{"id": 12}, {"id": 11}]])
    created.on("GET /api/v1/experiments/7/trials", lambda asked: {"trials": next(trials)})
    created.on("GET /api/v1/experiments/7", {"experiment": experiment()})
    line = {"id": "1", "message": "[rank=0] hello\n", "timestamp": "2026-01-02T03:04:05Z"}
    created.on("GET /api/v1/trials/11/logs", lambda asked: stream(line))
    outcome = det(f"e create {model}/const.yaml {model} -f")
    assert outcome.status == 0
    assert outcome.out.splitlines()[1:] == [
        "Created experiment 7",
        "Waiting for first trial to begin...",
        "Following first trial with ID 11",
        "[rank=0] hello",
    ]
    assert "det trial logs -f 11" in outcome.err


def test_an_experiment_that_ends_without_a_trial_is_not_waited_for(
    created: Any, det: Callable[..., Any], model: Path, experiment: Callable[..., Any]
) -> None:
    created.on("GET /api/v1/experiments/7/trials", {"trials": []})
    created.on("GET /api/v1/experiments/7", {"experiment": experiment(state="STATE_ERROR")})
    outcome = det(f"e create {model}/const.yaml {model} -f")
    assert outcome.status == 1
    assert "ended in state ERROR before a trial began" in outcome.err


def test_stopping_to_follow_leaves_the_experiment_alone_and_says_so(
    created: Any, det: Callable[..., Any], model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    created.on("GET /api/v1/experiments/7/trials", {"trials": [{"id": 11}]})
    monkeypatch.setattr(logs, "show", interrupt)
    outcome = det(f"e create {model}/const.yaml {model} -f")
    assert outcome.status == 3
    assert "experiment 7 goes on" in outcome.err
    assert "det experiment kill 7" in outcome.err
    assert not any(each.path.endswith("/kill") for each in created.asked)


def test_test_mode_validates_and_then_runs_one_batch(
    created: Any, det: Callable[..., Any], model: Path, experiment: Callable[..., Any]
) -> None:
    created.on("GET /api/v1/experiments/7", {"experiment": experiment(state="STATE_COMPLETED")})
    outcome = det(f"e create {model}/const.yaml {model} --test-mode")
    assert outcome.status == 0
    assert outcome.out.endswith("Model definition test succeeded\n")
    first, second = (each.body for each in created.asked if str(each) == "POST /api/v1/experiments")
    assert first["validateOnly"] is True
    config = yaml.safe_load(second["config"])
    assert config["searcher"] == {"name": "single", "metric": "loss", "max_length": {"batches": 1}}
    assert config["max_restarts"] == 0


def test_local_test_mode_runs_a_trial_class_and_refuses_a_script(det: Callable[..., Any], model: Path) -> None:
    (model / "const.yaml").write_text(CONFIG.replace("model_def:Trial", "python3 train.py"))
    refused = det(f"e create {model}/const.yaml {model} --local --test-mode")
    assert refused.status == 1
    assert "is a script" in refused.err
    unfinished = det(f"e create {model}/const.yaml {model} --local")
    assert "--local --test-mode" in unfinished.err


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ("name=x", {"name": "x"}),
        ("searcher.max_length.batches=5", {"searcher": {"name": "s", "max_length": {"batches": 5}}}),
        ("searcher.name=random", {"searcher": {"name": "random"}}),
        ("labels=a,b", {"labels": ["a", "b"]}),
        ('labels=["a"]', {"labels": ["a"]}),
        ('resources={"slots": 2}', {"resources": {"slots": 2}}),
        ("lr={type: log, base: 10, minval: 1e-4}", {"lr": {"type": "log", "base": 10, "minval": 0.0001}}),
        ("optimizers=[adam, sgd]", {"optimizers": ["adam", "sgd"]}),
        ("debug=true", {"debug": True}),
        ("debug=True", {"debug": True}),
        ("ratio=1e-3", {"ratio": 0.001}),
        ("text=a=b", {"text": "a=b"}),
        ("empty=", {"empty": ""}),
    ],
)
def test_overrides_set_single_fields(change: str, expected: dict[str, Any]) -> None:
    base = {"searcher": {"name": "s"}}
    assert overrides.apply(base, [change]) == {**base, **expected}
    assert base == {"searcher": {"name": "s"}}


@pytest.mark.parametrize("change", ["name", "=x", "name.deeper=1", "lr={type: log", "a={b: 1, b: 2}"])
def test_an_override_that_sets_nothing_is_refused(change: str) -> None:
    with pytest.raises(CliError, match="--config"):
        overrides.apply({"name": "text"}, [change])


KEYS = st.lists(st.text("abc", min_size=1, max_size=3), min_size=1, max_size=4)


@hypothesis.given(KEYS, st.one_of(st.integers(), st.booleans(), st.text("xyz", min_size=1)))
def test_what_an_override_sets_is_what_is_read_back(path: list[str], value: Any) -> None:
    text = str(value).lower() if isinstance(value, bool) else str(value)
    found: Any = overrides.apply({}, [f"{'.'.join(path)}={text}"])
    for key in path:
        found = found[key]
    assert found == value


def test_the_smallest_experiment_keeps_what_matters() -> None:
    config = yaml.safe_load(
        textwrap.dedent("""
            searcher: {name: adaptive_asha, metric: loss, smaller_is_better: false, max_trials: 9}
            resources: {slots_per_trial: 8, shm_size: 1}
            checkpoint_storage: {type: shared_fs, host_path: /s}
        """)
    )
    short = experiment_create.for_test(config)
    assert short["searcher"] == {
        "name": "single", "metric": "loss", "smaller_is_better": False, "max_length": {"batches": 1},
    }  # fmt: skip
    assert short["resources"] == {"slots_per_trial": 1, "shm_size": 1}
    assert short["checkpoint_storage"]["host_path"] == "/s"


TRIAL = """
import torch
from determined.pytorch import DataLoader, PyTorchTrial

class Trial(PyTorchTrial):
    def __init__(self, context):
        self.context = context
        self.model = context.wrap_model(torch.nn.Linear(2, 1))
        self.optimizer = context.wrap_optimizer(torch.optim.SGD(self.model.parameters(), context.get_hparam("lr")))

    def build_training_data_loader(self):
        return DataLoader(torch.utils.data.TensorDataset(torch.rand(8, 2)), batch_size=4)

    build_validation_data_loader = build_training_data_loader

    def train_batch(self, batch, epoch_idx, batch_idx):
        loss = self.model(batch[0]).square().mean()
        self.context.backward(loss)
        self.context.step_optimizer(self.optimizer)
        return {"loss": loss}

    def evaluate_batch(self, batch):
        return {"loss": self.model(batch[0]).square().mean()}
"""


def test_a_trial_class_that_works_passes_its_local_test(
    model: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("torch")
    (model / "model_def.py").write_text(TRIAL)
    config = yaml.safe_load(CONFIG) | {"hyperparameters": {"lr": {"type": "double", "minval": 0.1, "maxval": 0.2}}}
    assert local_test.run(config, model) == 0
    assert capfd.readouterr().out.endswith("Model definition test succeeded\n")


def test_a_trial_class_that_raises_shows_its_traceback_and_fails(
    model: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (model / "model_def.py").write_text("raise RuntimeError('broken at import')\n")
    with pytest.raises(CliError, match="model_def:Trial failed with status 1"):
        local_test.run(yaml.safe_load(CONFIG), model)
    assert "RuntimeError: broken at import" in capfd.readouterr().err
