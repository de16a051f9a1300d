"""The same scripts run with our SDK and with the unmodified SDK 0.38.1 against one cluster, and print the same."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.interop.conftest import MODEL, PublicClient

SCRIPTS = {
    "experiments": f"""
import pathlib
made = client.create_experiment({str(MODEL / "short.yaml")!r}, {str(MODEL)!r})
print(type(made).__name__, made.wait(interval=0.2))
made.reload()
print(made.name, made.state, made.archived, made.labels, made.config["searcher"]["metric"], made.progress)
made.set_name("renamed"); made.set_description("of digits"); made.set_notes("a note")
made.add_label("b"); made.add_label("a"); made.remove_label("b"); made.set_labels({{"x", "y"}})
made.archive()
again = client.get_experiment(made.id)
print(again.name, again.description, again.notes, sorted(again.labels), again.archived, again.project_id)
again.unarchive()
print([each.id for each in client.list_experiments(experiment_ids=[made.id])] == [made.id])
print(made.await_first_trial().id == made.list_trials()[0].id, len(list(made.iter_trials(limit=1))))
print(pathlib.Path(made.download_code("out")).stat().st_size > 0)
paused = client.create_experiment({str(MODEL / "short.yaml")!r}, {str(MODEL)!r})
paused.wait(interval=0.2)
paused.delete()
""",
    "trials": """
trial = client.get_experiment(FINISHED).list_trials()[0]
print(type(trial).__name__, trial.state, trial.hparams, trial.summary_metrics is None)
print(sorted(client.get_trial(trial.id).summary_metrics or ()))
print(trial.get_experiment().id == FINISHED, client.get_trial(trial.id).experiment_id == FINISHED)
lines = list(trial.iter_logs())
print(len(lines) > 3, any("stopping at step 3" in line for line in lines), lines[0].endswith("\\n"))
print(lines[:2] == list(trial.iter_logs(head=2)), lines[-2:] == list(trial.iter_logs(tail=2)))
try:
    list(trial.iter_logs(timestamp_before="2026-01-01"))
except ValueError:
    print("the time was refused")
for report in trial.iter_metrics("validation"):
    print(type(report).__name__, report.steps_completed, report.total_batches, report.metrics, report.group)
for report in client.iter_trials_metrics([trial.id], "training"):
    print(type(report).__name__, report.steps_completed, sorted(report.metrics), report.batch_metrics)
""",
    "checkpoints": """
import json, os
experiment = client.get_experiment(FINISHED)
best = experiment.top_checkpoint()
trial = experiment.list_trials()[0]
print(best.uuid == trial.select_checkpoint(best=True).uuid, trial.select_checkpoint(uuid=best.uuid).uuid == best.uuid)
print(len(experiment.list_checkpoints()) == len(trial.list_checkpoints()), best.state, sorted(best.resources))
print(best.training.trial_id == trial.id, best.training.experiment_id == FINISHED, best.metadata)
for mode in ("direct", "master", "auto"):
    place = best.download(os.path.join("files", mode), client.DownloadMode(mode))
    print(mode, sorted(os.listdir(place)), json.load(open(os.path.join(place, "metadata.json"))) == best.metadata)
best.add_metadata({"note": "kept"}); print(client.get_checkpoint(best.uuid).metadata["note"])
best.remove_metadata(["note"]); print("note" in client.get_checkpoint(best.uuid).metadata)
try:
    experiment.list_checkpoints(sort_by="validation_loss")
except AssertionError:
    print("an order was wanted")
""",
    "models": """
checkpoint = client.get_experiment(FINISHED).top_checkpoint()
model = client.create_model(NAME, "of people", {"accuracy": 0.9})
print(model.get_version(), model.list_versions())
version = model.register_version(checkpoint.uuid)
version.set_name("first"); version.set_notes("kept")
model.add_metadata({"by": "ann"}); model.remove_metadata(["accuracy"]); model.set_labels(["vision"])
model.set_description("of cats")
again = client.get_model(NAME)
print(again.labels, again.metadata, again.description, again.archived, again.username)
latest = again.get_version()
print(latest.model_version, latest.name, latest.notes, latest.checkpoint.uuid == checkpoint.uuid)
print([each.name for each in client.list_models(name=NAME)])
print(client.get_model_by_id(again.model_id).name == NAME)
model.archive(); print(client.get_model(NAME).archived)
model.unarchive(); latest.delete(); print(client.get_model(NAME).list_versions())
model.delete()
from determined.common.api import errors
try:
    client.get_model(NAME)
except errors.NotFoundException as error:
    print(isinstance(error, errors.APIException), error.status_code)
""",
    "people": """
from determined.common.api import errors
me = client.whoami()
print(me.username, me.admin, me.active, client.get_session_username(), client.get_user_by_id(me.user_id).username)
print(client.get_user_by_name("admin").admin, sorted(u.username for u in client.list_users(active=True))[:2])
try:
    client.create_user("eve", False, "Passw0rd-long")
except errors.ForbiddenException:
    print("forbidden")
try:
    client.login(user="admin")
except ValueError:
    print("logged in already")
""",
    "workspaces": """
from determined.common.api import errors
from determined.experimental import Determined
found = client.get_workspace("Uncategorized")
print(found.id, found.name, [each.name for each in found.list_projects()])
print("Uncategorized" in [each.name for each in client.list_workspaces()])
project = found.get_project("Uncategorized")
print(project.id, project.archived, project.workspace_id)
print(FINISHED in [each.id for each in project.list_experiments()])
try:
    client.get_workspace("nowhere")
except errors.NotFoundException:
    print("no such workspace")
""",
}


@pytest.fixture
def ours(cluster: str, tmp_path: Path) -> PublicClient:
    """The SDK of this repository, with an empty home."""
    home = tmp_path / "ours"
    home.mkdir()
    return PublicClient(Path(sys.prefix), cluster, home)


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_has_the_same_outcome_with_either_sdk(
    name: str, ours: PublicClient, public: PublicClient, finished: int
) -> None:
    script = f"FINISHED = {finished}\nNAME = 'sdk-{name}'\n{SCRIPTS[name]}"
    assert _printed(ours, script) == _printed(public, script)


def _printed(client: PublicClient, script: str) -> list[str]:
    """What the script printed; the public SDK also prints a line for each stage of reading the files."""
    lines = client.python(script).splitlines()
    return [line for line in lines if line.strip() and not line.startswith("Preparing files to send")]
