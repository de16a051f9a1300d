"""The unmodified client reports system metrics and what a trial uses, and reads both back."""

from __future__ import annotations

from tests.interop.conftest import PublicClient

SCRIPT = """
from datetime import datetime, timezone
from determined.common.api import bindings as b
from determined.experimental import core_v2

core_v2.init(
    defaults=core_v2.DefaultConfig(name="profiled", searcher={"name": "single", "metric": "loss", "max_length": 1}),
    unmanaged=core_v2.UnmanagedConfig(external_experiment_id="profiled", external_trial_id="first"),
    checkpoint_storage=__import__("os").path.abspath("kept"),
    tensorboard_mode=core_v2.TensorboardMode.MANUAL,
)
trial, session = core_v2.info.trial.trial_id, client._determined._session
now = datetime.now(timezone.utc).isoformat()
for agent in ("one", "two"):
    metrics = b.v1Metrics(avgMetrics={agent: {"cpu_util_simple": 50.0}})
    report = b.v1TrialMetrics(trialId=trial, trialRunId=1, metrics=metrics, reportTime=now)
    b.post_ReportTrialMetrics(
        session, metrics_trialId=trial, body=b.v1ReportTrialMetricsRequest(group="cpu", metrics=report)
    )
labels = b.v1TrialProfilerMetricLabels(
    trialId=trial, name="gpu_util", agentId="one", gpuUuid="GPU-1",
    metricType=b.TrialProfilerMetricLabelsProfilerMetricType.SYSTEM,
)
posted = b.v1TrialProfilerMetricsBatch(labels=labels, batches=[3], values=[0.5], timestamps=[now])
b.post_PostTrialProfilerMetricsBatch(session, body=b.v1PostTrialProfilerMetricsBatchRequest(batches=[posted]))
for page in b.get_GetTrialProfilerAvailableSeries(session, trialId=trial):
    print(sorted((one.name, one.agentId, one.gpuUuid) for one in page.labels if one.name != "gpu_util"))
for page in b.get_GetTrialProfilerMetrics(session, labels_trialId=trial, labels_name="gpu_util"):
    print(page.batch.labels.gpuUuid, page.batch.values, page.batch.batches)
core_v2.close()
"""


def test_system_metrics_are_reported_in_both_forms_and_read_as_series(public: PublicClient) -> None:
    series, points = public.python(SCRIPT).splitlines()[-2:]
    assert series == "[('cpu_util_simple', 'one', None), ('cpu_util_simple', 'two', None)]"
    assert points == "GPU-1 [0.5] [3]"


SOURCES = """
from determined.common.api import bindings as b
from determined.experimental import core_v2

core_v2.init(
    defaults=core_v2.DefaultConfig(name="used", searcher={"name": "single", "metric": "loss", "max_length": 1}),
    unmanaged=core_v2.UnmanagedConfig(external_experiment_id="used", external_trial_id="first"),
    checkpoint_storage=__import__("os").path.abspath("kept"),
    tensorboard_mode=core_v2.TensorboardMode.MANUAL,
)
trial, session = core_v2.info.trial.trial_id, client._determined._session
core_v2.train.report_metrics(group="inference", steps_completed=1, metrics={"hits": 3.0})
with core_v2.checkpoint.store_path({"steps_completed": 1}) as (path, uuid):
    (path / "model.txt").write_text("one")
core_v2.close()
model = client.create_model("used")
version = model.register_version(uuid)
info = b.v1TrialSourceInfo(
    trialId=trial, checkpointUuid=uuid, trialSourceInfoType=b.v1TrialSourceInfoType.INFERENCE,
    modelId=model.model_id, modelVersion=version.model_version,
)
b.post_ReportTrialSourceInfo(session, body=b.v1ReportTrialSourceInfoRequest(trialSourceInfo=info))
for used in (client.get_checkpoint(uuid), version):
    print([(one.trial_id == trial, one.group, one.metrics) for one in used.get_metrics("inference")])
"""


def test_the_metrics_of_trials_that_use_a_checkpoint_are_found_by_it(public: PublicClient) -> None:
    for line in public.python(SOURCES).splitlines()[-2:]:
        assert line == "[(True, 'inference', {'hits': 3.0})]"
