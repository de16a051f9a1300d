"""The cluster's state as series for Prometheus: which container belongs to which allocation, job and experiment, as
Determined names them; and of each pool, how much it has and how much of that is used.

A `det_…` series is 1 while its allocation or experiment lives, and 0 for ten minutes after its end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.exposition import generate_latest
from prometheus_client.registry import Collector, CollectorRegistry

from resolute.api.monitoring.queries import AllocationRow, ContainerRow, ExperimentRow, Slot
from resolute.api.pools.queries import PoolRow
from resolute.proto.states import ExperimentState


@dataclass(frozen=True, slots=True)
class State:
    """What is known of the cluster now."""

    allocations: Sequence[AllocationRow] = ()
    containers: Sequence[ContainerRow] = ()
    gpus: Mapping[Slot, str] = field(default_factory=dict)
    experiments: Sequence[ExperimentRow] = ()
    counts: Mapping[ExperimentState, int] = field(default_factory=dict)
    pools: Sequence[PoolRow] = ()
    log_position: int = 0
    shown_position: int = 0
    asides: Mapping[str, int] = field(default_factory=dict)
    """How many events are set aside, by consumer."""

    def text(self) -> bytes:
        """In Prometheus' text format."""
        registry = CollectorRegistry(auto_describe=False)
        registry.register(Series(self))
        return generate_latest(registry)


class Series(Collector):
    """The state as families of series."""

    def __init__(self, state: State) -> None:
        self._state = state

    def collect(self) -> Iterator[Metric]:
        yield from self._of_allocations()
        yield from self._of_containers()
        yield from self._of_experiments()
        yield from self._of_pools()
        yield from self._of_the_log()

    def _of_allocations(self) -> Iterator[Metric]:
        task = _family(
            "det_allocation_id_task_id_task_actor",
            "The task and the job of an allocation",
            ("allocation_id", "task_id", "task_actor", "job_id"),
        )
        for row in self._state.allocations:
            task.add_metric((row.allocation_id, row.task_id, row.name, row.job_id), row.lives)
        yield task

    def _of_containers(self) -> Iterator[Metric]:
        container = _family(
            "det_container_id_allocation_id", "The allocation of a container", ("container_id", "allocation_id")
        )
        gpu = _family("det_gpu_uuid_container_id", "The container on a GPU", ("gpu_uuid", "container_id"))
        for row in self._state.containers:
            container.add_metric((row.resources_id, row.allocation_id), row.lives)
            for slot_id in row.slot_ids:
                if (uuid := self._state.gpus.get((row.agent_id, slot_id))) is not None:
                    gpu.add_metric((uuid, row.resources_id), row.lives)
        yield container
        yield gpu

    def _of_experiments(self) -> Iterator[Metric]:
        job = _family("det_job_id_experiment_id", "The experiment of a job", ("job_id", "experiment_id"))
        label = _family("det_experiment_id_label", "A label of an experiment", ("experiment_id", "label"))
        for row in self._state.experiments:
            job.add_metric((row.job_id, str(row.id)), row.lives)
            for name in row.labels:
                label.add_metric((str(row.id), name), row.lives)
        yield job
        yield label
        count = _family("resolute_experiments", "Experiments there are, by state", ("state",))
        for state, experiments in self._state.counts.items():
            count.add_metric((state,), experiments)
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
            for row in self._state.pools:
                family.add_metric((row.name,), float(getattr(row, column)))
            yield family

    def _of_the_log(self) -> Iterator[Metric]:
        yield GaugeMetricFamily(
            "resolute_log_position", "The position of the last event of the log", self._state.log_position
        )
        yield GaugeMetricFamily(
            "resolute_shown_position",
            "Up to which position the gateway's tables show the log",
            self._state.shown_position,
        )
        asides = _family(
            "resolute_events_aside",
            "Events that are set aside now, by the consumer that could not handle them",
            ("consumer",),
        )
        for consumer, count in sorted(self._state.asides.items()):
            asides.add_metric((consumer,), count)
        yield asides


def _family(name: str, help_: str, labels: Sequence[str]) -> GaugeMetricFamily:
    return GaugeMetricFamily(name, help_, labels=labels)
