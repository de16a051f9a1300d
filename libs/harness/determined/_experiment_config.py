"""An experiment's configuration, with methods for the fields that training loops need."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class ExperimentConfig(dict[str, Any]):
    """The merged configuration. The methods return a default when the section is missing."""

    def debug_enabled(self) -> bool:
        return bool(self.get("debug", False))

    def scheduling_unit(self) -> int:
        return int(self.get("scheduling_unit") or 100)

    def native_parallel_enabled(self) -> bool:
        return bool(self._section("resources").get("native_parallel", False))

    def average_training_metrics_enabled(self) -> bool:
        return bool(self.get_optimizations_config().get("average_training_metrics", True))

    def slots_per_trial(self) -> int:
        """The upper end, when it is a range. How many slots a run has is in `ClusterInfo.container_slot_counts`."""
        asked = self._section("resources").get("slots_per_trial", 1)
        return int(asked["max"] if isinstance(asked, Mapping) else asked)

    def experiment_seed(self) -> int:
        return int(self._section("reproducibility").get("experiment_seed") or 0)

    def profiling_enabled(self) -> bool:
        return bool(self._section("profiling").get("enabled", False))

    def profiling_interval(self) -> tuple[int, int | None]:
        profiling = self._section("profiling")
        return int(profiling.get("begin_on_batch") or 0), profiling.get("end_after_batch")

    def profiling_sync_timings(self) -> bool:
        return bool(self._section("profiling").get("sync_timings", True))

    def get_records_per_epoch(self) -> int | None:
        return self.get("records_per_epoch") or None

    def get_min_validation_period(self) -> dict[str, Any]:
        return self._section("min_validation_period")

    def get_searcher_metric(self) -> str:
        return str(self._section("searcher").get("metric", "val_loss"))

    def get_min_checkpoint_period(self) -> dict[str, Any]:
        return self._section("min_checkpoint_period")

    def get_optimizations_config(self) -> dict[str, Any]:
        return self._section("optimizations")

    def get_checkpoint_storage(self) -> dict[str, Any]:
        return self._section("checkpoint_storage")

    def get_entrypoint(self) -> str | list[str]:
        entrypoint = self.get("entrypoint")
        if not isinstance(entrypoint, str | list):
            raise ValueError(f"entrypoint: expected a command (a string or a list of strings), found {entrypoint!r}")
        return entrypoint

    def _section(self, name: str) -> dict[str, Any]:
        section = self.get(name)
        return section if isinstance(section, dict) else {}
