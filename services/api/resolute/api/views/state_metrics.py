"""The cluster's state as series for Prometheus: which container belongs to which allocation, job and experiment, as
Determined names them; and of each pool, how much it has and how much of that is used.

A `det_…` series is 1 while its allocation or experiment lives, and 0 for ten minutes after its end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.exposition import generate_latest
from prometheus_client.registry import Collector, CollectorRegistry

from resolute.api.shown_states import ShareState

ROWS_MOST = 20_000

ALLOCATIONS = f"""SELECT allocation_id, task_id, name, job_id, (ended_at IS NULL)::int AS lives
FROM read_tasks.allocations
WHERE ended_at IS NULL OR ended_at > now() - interval '10 minutes'
ORDER BY lives DESC, requested_at DESC, allocation_id LIMIT {ROWS_MOST}"""

CONTAINERS = f"""SELECT p.resources_id, p.allocation_id, p.agent_id, p.slot_ids,
    (a.ended_at IS NULL AND p.state <> '{ShareState.EXITED}')::int AS lives
FROM read_tasks.placements p JOIN read_tasks.allocations a USING (allocation_id)
WHERE a.ended_at IS NULL OR a.ended_at > now() - interval '10 minutes'
ORDER BY lives DESC, a.requested_at DESC, p.resources_id LIMIT {ROWS_MOST}"""

# Of an agent that was in several pools, the last row of a slot is that of the pool that it joined last.
GPUS = """SELECT s.agent_id, s.slot_id, s.uuid FROM read_pools.slots s JOIN read_pools.agents a USING (agent_id, pool)
WHERE s.kind IN ('cuda', 'rocm') AND s.uuid <> '' ORDER BY a.joined_at, a.pool"""

EXPERIMENTS = f"""SELECT id, job_id, labels, (ended_at IS NULL)::int AS lives FROM read_experiments.experiments
WHERE ended_at IS NULL OR ended_at > now() - interval '10 minutes' ORDER BY lives DESC, id DESC LIMIT {ROWS_MOST}"""

COUNTS = "SELECT state, count(*) AS experiments FROM read_experiments.experiments GROUP BY state ORDER BY state"

Rows = Sequence[Mapping[str, Any]]


class State(Collector):
    """Rows of the read model as families of series."""

    def __init__(
        self,
        *,
        allocations: Rows = (),
        containers: Rows = (),
        gpus: Rows = (),
        experiments: Rows = (),
        counts: Rows = (),
        pools: Rows = (),
        log_position: int = 0,
        shown_position: int = 0,
        asides: Mapping[str, int] | None = None,
    ) -> None:
        self._allocations, self._containers, self._gpus = allocations, containers, gpus
        self._experiments, self._counts, self._pools = experiments, counts, pools
        self._log_position, self._shown_position, self._asides = log_position, shown_position, asides or {}

    def text(self) -> bytes:
        registry = CollectorRegistry(auto_describe=False)
        registry.register(self)
        return generate_latest(registry)

    def collect(self) -> Iterator[Metric]:
        yield from self._of_allocations()
        yield from self._of_experiments()
        yield from self._of_pools()
        yield from self._of_the_log()

    def _of_allocations(self) -> Iterator[Metric]:
        task = _family(
            "det_allocation_id_task_id_task_actor",
            "The task and the job of an allocation",
            ("allocation_id", "task_id", "task_actor", "job_id"),
        )
        for row in self._allocations:
            task.add_metric((row["allocation_id"], row["task_id"], row["name"], row["job_id"]), row["lives"])
        yield task
        container = _family(
            "det_container_id_allocation_id", "The allocation of a container", ("container_id", "allocation_id")
        )
        gpu = _family("det_gpu_uuid_container_id", "The container on a GPU", ("gpu_uuid", "container_id"))
        uuids = {(row["agent_id"], row["slot_id"]): row["uuid"] for row in self._gpus}
        for row in self._containers:
            container.add_metric((row["resources_id"], row["allocation_id"]), row["lives"])
            for slot_id in row["slot_ids"]:
                if (uuid := uuids.get((row["agent_id"], slot_id))) is not None:
                    gpu.add_metric((uuid, row["resources_id"]), row["lives"])
        yield container
        yield gpu

    def _of_experiments(self) -> Iterator[Metric]:
        job = _family("det_job_id_experiment_id", "The experiment of a job", ("job_id", "experiment_id"))
        label = _family("det_experiment_id_label", "A label of an experiment", ("experiment_id", "label"))
        for row in self._experiments:
            job.add_metric((row["job_id"], str(row["id"])), row["lives"])
            for name in row["labels"]:
                label.add_metric((str(row["id"]), name), row["lives"])
        yield job
        yield label
        count = _family("resolute_experiments", "Experiments there are, by state", ("state",))
        for row in self._counts:
            count.add_metric((row["state"],), row["experiments"])
        yield count

    def _of_pools(self) -> Iterator[Metric]:
        families = (
            ("resolute_pool_agents", "Agents of a pool that are there", "agents"),
            ("resolute_pool_slots", "Slots of a pool's agents", "slots"),
            ("resolute_pool_slots_used", "Slots of a pool that allocations hold", "used"),
            ("resolute_pool_jobs_queued", "Jobs that wait for slots of a pool", "queued"),
            ("resolute_pool_jobs_scheduled", "Jobs that hold slots of a pool", "scheduled"),
        )
        for name, help_, column in families:
            family = _family(name, help_, ("pool",))
            for row in self._pools:
                family.add_metric((row["name"],), float(row[column]))
            yield family

    def _of_the_log(self) -> Iterator[Metric]:
        yield GaugeMetricFamily(
            "resolute_log_position", "The position of the last event of the log", self._log_position
        )
        yield GaugeMetricFamily(
            "resolute_shown_position", "Up to which position the gateway's tables show the log", self._shown_position
        )
        asides = _family(
            "resolute_events_aside",
            "Events that are set aside now, by the consumer that could not handle them",
            ("consumer",),
        )
        for consumer, count in sorted(self._asides.items()):
            asides.add_metric((consumer,), count)
        yield asides


def _family(name: str, help_: str, labels: Sequence[str]) -> GaugeMetricFamily:
    return GaugeMetricFamily(name, help_, labels=labels)
