"""A script that runs outside of the cluster and reports by the unmodified `core_v2` of Determined 0.38.1."""

from __future__ import annotations

from tests.interop.conftest import PublicClient

SCRIPT = """
from determined.experimental import core_v2
core_v2.init(
    defaults=core_v2.DefaultConfig(name="outside", searcher={"name": "single", "metric": "loss", "max_length": 1}),
    unmanaged=core_v2.UnmanagedConfig(external_experiment_id="interop", external_trial_id="first"),
    checkpoint_storage=__import__("os").path.abspath("kept"),
    tensorboard_mode=core_v2.TensorboardMode.MANUAL,
)
print("from", core_v2.info.latest_checkpoint is not None)
for step in (1, 2, 3):
    core_v2.train.report_training_metrics(steps_completed=step, metrics={"loss": 1 / step})
core_v2.train.report_validation_metrics(steps_completed=3, metrics={"loss": 0.25})
with core_v2.checkpoint.store_path({"steps_completed": 3}) as (path, uuid):
    (path / "model.txt").write_text("three")
core_v2.close()
found = client.get_experiment(core_v2.info.trial.experiment_id)
found.reload()
[trial] = found.list_trials()
reports = [report.steps_completed for report in trial.iter_metrics("training")]
print(found.state.name, trial.state.name, reports, len(trial.list_checkpoints()))
"""


def test_a_script_outside_reports_and_goes_on_under_the_same_external_ids(public: PublicClient) -> None:
    first, second = public.python(SCRIPT), public.python(SCRIPT)
    assert first.splitlines()[-2:] == ["from False", "COMPLETED COMPLETED [1, 2, 3] 1"]
    assert second.splitlines()[-2:] == ["from True", "COMPLETED COMPLETED [1, 2, 3] 2"]


GUIDE = """
from determined.experimental import core_v2

core_v2.init(
    config=core_v2.Config(name="outside", external_experiment_id="mine", external_trial_id="first"),
    tensorboard_mode=core_v2.TensorboardMode.MANUAL,
)
core_v2.train.report_training_metrics(steps_completed=1, metrics={"loss": 0.5})
core_v2.close()
print(client.get_experiment(core_v2.info.trial.experiment_id).list_trials()[0].state.name)
"""


def test_the_example_of_the_guide_completes_its_trial(public: PublicClient) -> None:
    assert public.python(GUIDE).splitlines()[-1] == "COMPLETED"
