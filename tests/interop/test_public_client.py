"""The public client, unmodified, drives our cluster: command line and SDK."""

from __future__ import annotations

import csv
import io
import json
import uuid
from pathlib import Path

from tests.interop.conftest import ENDED, MODEL, PublicClient

LASTING = ("--config", "hyperparameters.steps=2000", "--config", "hyperparameters.pause_s=0.05")


def trials_of(public: PublicClient, experiment_id: int) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(public.det("e", "list-trials", str(experiment_id), "--csv"))))


def checkpoints_of(public: PublicClient, experiment_id: int) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(public.det("e", "list-checkpoints", str(experiment_id), "--csv"))))


def test_it_logs_in_and_knows_who_it_is(public: PublicClient) -> None:
    assert public.det("user", "whoami") == "You are logged in as user 'determined'\n"
    assert "'admin'" in public.det("user", "whoami", DET_USER="admin", DET_PASS="")


def test_it_meets_no_warning_about_versions(public: PublicClient) -> None:
    assert "version" not in public.run("user", "whoami").stderr.lower()


def test_a_wrong_password_is_refused(public: PublicClient) -> None:
    ended = public.run("user", "whoami", DET_USER="determined", DET_PASS="wrong")
    assert ended.returncode == 1


def test_it_submits_an_experiment_and_follows_its_first_trial_to_the_end(public: PublicClient) -> None:
    out = public.det("experiment", "create", str(MODEL / "short.yaml"), str(MODEL), "-f")
    assert "Created experiment " in out
    assert "Following first trial with ID " in out
    assert "starting at step 0" in out
    assert "stopping at step 3" in out


def test_it_lists_and_describes_an_experiment(public: PublicClient, finished: int) -> None:
    listed = {row["ID"]: row for row in csv.DictReader(io.StringIO(public.det("e", "list", "--csv")))}
    assert listed[str(finished)]["State"] == "COMPLETED"
    described = public.experiment(finished)
    assert described["state"] == "STATE_COMPLETED"
    assert described["config"]["hyperparameters"]["steps"] in (3, {"type": "const", "val": 3})
    assert "COMPLETED" in public.det("e", "describe", str(finished), "--metrics")
    assert "validation_loss" in public.det("e", "config", str(finished))


def test_it_reads_the_log_of_a_trial_from_either_end(public: PublicClient, finished: int) -> None:
    trial = trials_of(public, finished)[0]["Trial ID"]
    whole = public.det("trial", "logs", trial).splitlines()
    assert any("starting at step 0" in line for line in whole)
    first = public.det("trial", "logs", trial, "--head", "1").splitlines()
    last = public.det("trial", "logs", trial, "--tail", "1").splitlines()
    assert first[0] == whole[0]
    assert last[0] == whole[-2]  # the last line of all is the client's own remark
    lines = public.det("trial", "logs", trial, "--json")
    assert '"trialId"' in lines


def test_it_describes_a_trial(public: PublicClient, finished: int) -> None:
    trial = trials_of(public, finished)[0]["Trial ID"]
    described = json.loads(public.det("trial", "describe", trial, "--json"))
    assert described["trial"]["state"] == "STATE_COMPLETED"
    assert "validation_loss" in public.det("trial", "describe", trial)


def test_it_downloads_a_checkpoint_directly_and_through_the_master(
    public: PublicClient, finished: int, tmp_path: Path
) -> None:
    found = [row for row in checkpoints_of(public, finished) if row["State"] == "COMPLETED"]
    for mode in ("auto", "master"):
        target = tmp_path / mode
        public.det("checkpoint", "download", found[0]["UUID"], "-o", str(target), "--mode", mode)
        assert (target / "steps.txt").read_text() == "3"
        assert (target / "metadata.json").exists()
    assert found[0]["UUID"] in public.det("checkpoint", "describe", found[0]["UUID"])


def test_it_deletes_the_tensorboard_files_and_nothing_else(public: PublicClient, finished: int) -> None:
    public.det("experiment", "delete-tb-files", str(finished))
    assert any(row["State"] == "COMPLETED" for row in checkpoints_of(public, finished))


def test_it_pauses_activates_and_kills(public: PublicClient) -> None:
    experiment_id = public.submit(*LASTING)
    assert f"Paused experiment {experiment_id}" in public.det("e", "pause", str(experiment_id))
    assert public.until(experiment_id, lambda state: state == "STATE_PAUSED")
    assert f"Activated experiment {experiment_id}" in public.det("e", "activate", str(experiment_id))
    assert public.until(experiment_id, lambda state: state != "STATE_PAUSED")
    assert f"Killed experiment {experiment_id}" in public.det("e", "kill", str(experiment_id))
    assert public.until(experiment_id, lambda state: state in ENDED) == "STATE_CANCELED"


def test_a_paused_trial_goes_on_where_it_stopped(public: PublicClient) -> None:
    experiment_id = public.submit(*LASTING)
    public.until(experiment_id, lambda state: bool(trials_of(public, experiment_id)))
    trial = trials_of(public, experiment_id)[0]["Trial ID"]
    public.until(experiment_id, lambda state: "starting at step 0" in public.det("t", "logs", trial))
    public.det("e", "pause", str(experiment_id))
    public.until(experiment_id, lambda state: "stopping at step" in public.det("t", "logs", trial))
    public.det("e", "activate", str(experiment_id))
    public.until(experiment_id, lambda state: public.det("t", "logs", trial).count("starting at step") == 2)
    resumed = public.det("t", "logs", trial).split("starting at step ")[2]
    assert int(resumed.split()[0]) > 0
    public.det("e", "kill", str(experiment_id))


def test_what_it_changes_about_an_experiment_is_kept(public: PublicClient, finished: int) -> None:
    public.det("e", "label", "add", str(finished), "kept")
    public.det("e", "set", "description", str(finished), "by the public client")
    public.det("e", "set", "name", str(finished), "renamed")
    described = public.experiment(finished)
    assert "kept" in described["labels"]
    assert (described["name"], described["description"]) == ("renamed", "by the public client")
    public.det("e", "archive", str(finished))
    assert public.experiment(finished)["archived"]
    public.det("e", "unarchive", str(finished))


def test_it_continues_a_single_trial_further_from_where_it_ended(public: PublicClient) -> None:
    experiment_id = public.submit()
    assert public.until(experiment_id, lambda state: state in ENDED) == "STATE_COMPLETED"
    trial = trials_of(public, experiment_id)[0]["Trial ID"]
    longer = "searcher.max_length.batches=6"
    said = public.det("e", "continue", str(experiment_id), "--config", longer)
    assert said == f"Continued experiment {experiment_id}\n"
    public.until(experiment_id, lambda state: "starting at step 3" in public.det("t", "logs", trial))
    assert public.until(experiment_id, lambda state: state in ENDED) == "STATE_COMPLETED"
    assert [row["Trial ID"] for row in trials_of(public, experiment_id)] == [trial]
    assert public.experiment(experiment_id)["config"]["searcher"]["max_length"] == {"batches": 6}


def test_a_canceled_experiment_is_continued_and_what_cannot_be_is_refused_in_words(public: PublicClient) -> None:
    experiment_id = public.submit(*LASTING)
    refused = public.run("e", "continue", str(experiment_id))
    assert refused.returncode == 1
    assert "wait until it has ended, or cancel it first" in refused.stderr
    public.det("e", "cancel", str(experiment_id))
    assert public.until(experiment_id, lambda state: state in ENDED) == "STATE_CANCELED"
    refused = public.run("e", "continue", str(experiment_id), "--config", "searcher.metric=other")
    assert "searcher.metric: cannot change" in refused.stderr
    public.det("e", "continue", str(experiment_id))
    assert public.until(experiment_id, lambda state: state not in ENDED)
    public.det("e", "kill", str(experiment_id))


def test_a_trial_of_another_experiment_begins_where_this_one_ended(public: PublicClient, finished: int) -> None:
    source = trials_of(public, finished)[0]["Trial ID"]
    experiment_id = public.submit(
        "--config", f"searcher.source_trial_id={source}", "--config", "hyperparameters.steps=5"
    )
    assert public.until(experiment_id, lambda state: state in ENDED) == "STATE_COMPLETED"
    log = public.det("trial", "logs", trials_of(public, experiment_id)[0]["Trial ID"])
    assert "starting at step 3" in log
    assert "stopping at step 5" in log


def test_a_line_that_a_log_policy_looks_for_ends_the_retries(public: PublicClient, tmp_path: Path) -> None:
    config = tmp_path / "hopeless.yaml"
    config.write_text(
        (MODEL / "short.yaml")
        .read_text()
        .replace("entrypoint: python3 train.py", "entrypoint: 'echo all hope is gone; exit 3'")
        .replace("max_restarts: 0", "max_restarts: 5")
        + "log_policies: [{name: hopeless, pattern: 'hope is gone$', action: cancel_retries}]\n"
    )
    out = public.det("experiment", "create", str(config), str(MODEL))
    experiment_id = int(out.split("Created experiment ")[1].split()[0])
    assert public.until(experiment_id, lambda state: state in ENDED) == "STATE_ERROR"
    trial = json.loads(public.det("trial", "describe", trials_of(public, experiment_id)[0]["Trial ID"], "--json"))[
        "trial"
    ]
    assert (trial["restarts"], trial["logPolicyMatched"]) == (0, "hopeless")


def test_what_it_sets_of_a_running_experiment_reaches_it_and_nonsense_does_not(public: PublicClient) -> None:
    experiment_id = public.submit(*LASTING)
    one = str(experiment_id)
    for words in (["priority", one, "7"], ["weight", one, "2.5"], ["max-slots", one, "3"]):
        public.det("e", "set", *words)
    kept = ("--save-experiment-best", "2", "--save-trial-best", "3", "--save-trial-latest", "4")
    public.det("e", "set", "gc-policy", one, "--yes", *kept)
    public.det("e", "set", "log-retention", one, "--days", "9")
    for words, field in ((["priority", one, "100"], "resources.priority"), (["weight", one, "0"], "resources.weight")):
        refused = public.run("e", "set", *words)
        assert (refused.returncode, field in refused.stderr) == (1, True), refused.stderr
    config = public.experiment(experiment_id)["config"]
    assert {name: config["resources"][name] for name in ("priority", "weight", "max_slots")} == {
        "priority": 7,
        "weight": 2.5,
        "max_slots": 3,
    }
    assert config["checkpoint_storage"]["save_trial_latest"] == 4
    assert config["retention_policy"] == {"log_retention_days": 9}
    public.det("e", "kill", one)


def test_an_administrator_makes_a_user_who_can_log_in(public: PublicClient) -> None:
    name, password = f"user-{uuid.uuid4().hex[:8]}", "Interop-4-ever"
    admin = {"DET_USER": "admin", "DET_PASS": ""}
    public.det("user", "create", name, "--password", password, **admin)
    assert f"'{name}'" in public.det("user", "whoami", DET_USER=name, DET_PASS=password)
    assert name in public.det("user", "list", **admin)


def test_a_bad_configuration_is_refused_with_the_path_of_the_field(public: PublicClient) -> None:
    ended = public.run(
        "e", "create", str(MODEL / "short.yaml"), str(MODEL), "--config", "searcher.max_length.batches=-1"
    )
    assert ended.returncode == 1
    assert "searcher.max_length" in ended.stdout + ended.stderr


def test_it_looks_at_the_cluster(public: PublicClient, finished: int) -> None:
    agents = list(csv.DictReader(io.StringIO(public.det("agent", "list", "--csv"))))
    assert [agent["Slots"] for agent in agents] == ["1"]
    assert len(list(csv.DictReader(io.StringIO(public.det("slot", "list", "--csv"))))) == 1
    public.det("task", "list")
    public.det("job", "list")
    public.det("master", "info")
    assert "version: 0.38.1" in public.det("version")


def test_the_sdk_creates_an_experiment_and_waits_for_it(public: PublicClient, tmp_path: Path) -> None:
    out = public.python(f"""
experiment = client.create_experiment({str(MODEL / "short.yaml")!r}, {str(MODEL)!r})
print("state", experiment.wait(interval=0.5).value)
trial = experiment.list_trials()[0]
print("losses", [report.metrics["validation_loss"] for report in trial.iter_metrics("validation")])
print("steps", [report.steps_completed for report in trial.iter_metrics("training")])
checkpoint = experiment.list_checkpoints(max_results=1)[0]
print("read", open(checkpoint.download({str(tmp_path / "sdk")!r}) + "/steps.txt").read())
print("known", experiment.id in [each.id for each in client.list_experiments()])
""")
    lines = dict(line.split(" ", 1) for line in out.splitlines() if " " in line)
    assert lines["state"] == "STATE_COMPLETED"
    assert lines["losses"] == f"[{1 / 3}]"
    assert lines["steps"] == "[1, 2, 3]"
    assert (lines["read"], lines["known"]) == ("3", "True")


def test_it_previews_a_search(public: PublicClient, tmp_path: Path) -> None:
    (tmp_path / "asha.yaml").write_text(
        "searcher: {name: adaptive_asha, metric: loss, max_trials: 64, max_length: {batches: 256}}\n"
        "hyperparameters: {lr: {type: log, base: 10, minval: -4, maxval: -1}}\n"
    )
    told = public.det("preview-search", str(tmp_path / "asha.yaml"))
    assert "train to completion" in told
    assert "train for 16 batches" in told
