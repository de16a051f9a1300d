"""The base classes of trials, their contexts and their controllers, for every framework."""

from __future__ import annotations

import abc
import pathlib
import tempfile
from typing import Any

from determined import core
from determined._env_context import EnvContext


class TrialContext:
    """The context of a trial of any framework: its configuration, hyperparameters and ids."""

    def __init__(self, core_context: core.Context, env: EnvContext) -> None:
        self._core = core_context
        self.env = env
        self.distributed = core_context.distributed
        self._stop_requested = False

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> TrialContext:
        """A context off the cluster, for trying a trial out."""
        hparams = any_choice(config.get("hyperparameters") or {})
        place = tempfile.mkdtemp(prefix="determined-")
        return cls(core.init(checkpoint_storage=place), local_env(config, hparams))

    def get_experiment_config(self) -> dict[str, Any]:
        return self.env.experiment_config

    def get_data_config(self) -> dict[str, Any]:
        return dict(self.env.experiment_config.get("data") or {})

    def get_experiment_id(self) -> int:
        return int(self.env.det_experiment_id)

    def get_trial_id(self) -> int:
        return int(self.env.det_trial_id)

    def get_trial_seed(self) -> int:
        return self.env.trial_seed

    def get_hparams(self) -> dict[str, Any]:
        return self.env.hparams

    def get_hparam(self, name: str) -> Any:
        if name not in self.env.hparams:
            raise ValueError(f"there is no hyperparameter {name!r}; there are: {sorted(self.env.hparams)}")
        return self.env.hparams[name]

    def get_stop_requested(self) -> bool:
        return self._stop_requested

    def set_stop_requested(self, stop_requested: bool) -> None:
        assert isinstance(stop_requested, bool), f"stop_requested: expected a bool, found {stop_requested!r}"
        self._stop_requested = stop_requested

    def get_initial_batch(self) -> int:
        return self.env.steps_completed

    def get_tensorboard_path(self) -> pathlib.Path:
        return self._core.train.get_tensorboard_path()


class TrialController(abc.ABC):
    """A training loop around a trial."""

    def __init__(self, context: Any, env: EnvContext) -> None:
        self.context = context
        self.env = env
        self.scheduling_unit = env.experiment_config.scheduling_unit()
        self.profiling_enabled = env.experiment_config.profiling_enabled()
        self.is_chief = context.distributed.rank == 0

    @abc.abstractmethod
    def run(self) -> None:
        """Train to the end."""

    @classmethod
    def supports_mixed_precision(cls) -> bool:
        return False


class LegacyTrial:
    """The base of all trial classes. `trial_controller_class` is the training loop for the class."""

    trial_controller_class: type[TrialController] | None = None
    trial_context_class: type[Any] = TrialContext

    def __init__(self, context: Any) -> None:
        return


def any_choice(value: Any) -> Any:
    """One value of a hyperparameter, the same each time: the constant, or the first value of its range. For trying a
    trial out without a search."""
    match value:
        case {"type": "const", "val": chosen}:
            return chosen
        case {"type": "categorical", "vals": [first, *_]}:
            return first
        case {"type": "log", "minval": least}:
            return float(value.get("base", 10.0)) ** float(least)
        case {"type": "int" | "double", "minval": least}:
            return least
        case dict():
            return {name: any_choice(item) for name, item in value.items()}
    return value


def local_env(config: dict[str, Any], hparams: dict[str, Any]) -> EnvContext:
    """The `EnvContext` of a trial that runs off the cluster."""
    return EnvContext(
        master_url="",
        master_cert_file=None,
        master_cert_name=None,
        experiment_config=config,
        hparams=hparams,
        latest_checkpoint=None,
        steps_completed=0,
        use_gpu=False,
        container_gpus=[],
        slot_ids=[],
        debug=bool(config.get("debug", False)),
        det_trial_id="1",
        det_experiment_id="1",
        det_agent_id="",
        det_cluster_id="",
        trial_seed=int((config.get("reproducibility") or {}).get("experiment_seed") or 0),
        trial_run_id=1,
        allocation_id="",
        managed_training=False,
        test_mode=True,
        on_cluster=False,
    )
