"""What the searcher reads of an experiment's configuration, and which parts of it may be edited later."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from resolute.config import Length, SearcherConfig, Space, parse_space, slots_of
from resolute.proto.errors import InvalidConfig
from resolute.proto.queue import WANTED, JobSetting, may_be

_PREEMPTION_TIMEOUT_S = 3600


@dataclass(frozen=True, slots=True)
class Settings:
    """The typed part of a merged configuration. Logs of older releases may lack fields that came later, so each
    has the default it had when it did not exist."""

    searcher: SearcherConfig
    space: Space
    length_batches: int | None
    """How far a trial trains, where that can be converted to batches before it starts."""
    records_per_epoch: int
    max_restarts: int
    preemption_timeout_s: int
    slots: int
    slots_min: int | None
    """Where a run takes any number of slots from this up to `slots`."""
    single_agent: bool
    pool: str
    priority: int | None
    weight: float
    max_slots: int | None

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> Settings:
        resources = config.get("resources") or {}
        slots = slots_of(resources)
        searcher = SearcherConfig.of(config["searcher"])
        return cls(
            searcher=searcher,
            space=parse_space(config.get("hyperparameters") or {}),
            length_batches=_length_batches(searcher, config),
            records_per_epoch=config.get("records_per_epoch") or 0,
            max_restarts=config.get("max_restarts", 5),
            preemption_timeout_s=_or(config.get("preemption_timeout"), _PREEMPTION_TIMEOUT_S),
            slots=slots.most,
            slots_min=None if slots.least == slots.most else slots.least,
            single_agent=bool(resources.get("is_single_node")),
            pool=resources.get("resource_pool") or "default",
            priority=resources.get("priority"),
            weight=_or(resources.get("weight"), 1.0),
            max_slots=resources.get("max_slots"),
        )

    @property
    def max_target(self) -> int | None:
        """How far a trial trains at most, in the unit of `searcher.max_length`; None where there are no targets."""
        return self.searcher.max_length.value if self.searcher.max_length else None

    def batches(self, length: int, hparams: Mapping[str, Any]) -> int | None:
        """A length in the unit of `searcher.max_length`, in batches of a trial with `hparams`.

        None where the configuration does not say how large a batch or how long an epoch is.
        """
        size = hparams.get("global_batch_size")
        try:
            return Length(self.searcher.unit, length).to_batches(size, self.records_per_epoch)
        except (ValueError, TypeError):
            return None


def _or(value: Any, default: Any) -> Any:
    return default if value is None else value


def _length_batches(searcher: SearcherConfig, config: Mapping[str, Any]) -> int | None:
    batch = (config.get("hyperparameters") or {}).get("global_batch_size")
    size = batch.get("val") if isinstance(batch, Mapping) else batch
    if searcher.max_length is None:
        return None
    try:
        return searcher.max_length.to_batches(size, config.get("records_per_epoch"))
    except (ValueError, TypeError):  # the batch size is searched for, or the configuration has no records_per_epoch
        return None


@dataclass(frozen=True, slots=True)
class Editable:
    """One value that may change after submission: where it stands in the configuration, and what will do."""

    path: tuple[str, ...]
    """Empty when it is no part of the configuration."""
    wanted: str
    fits: Callable[[Any], bool]


MOST = 2**31 - 1
"""What every table that shows such a number can hold."""

_COUNT = f"a whole number from 0 to {MOST}"


def _is_int(least: int, most: int = MOST, *, optional: bool = False) -> Callable[[Any], bool]:
    def fits(value: Any) -> bool:
        if value is None:
            return optional
        return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most

    return fits


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _of_job(setting: JobSetting) -> Editable:
    """A setting of the experiment's job in the queue."""
    return Editable(("resources", setting.value), WANTED[setting], partial(may_be, setting))


def _are_labels(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(label, str) and label for label in value)


QUEUE_FIELDS = tuple(setting.value for setting in JobSetting)
"""The settings that the searcher sends to the scheduler."""

EDITABLE: Mapping[str, Editable] = {
    "name": Editable(("name",), "text, not empty", lambda value: _is_text(value) and bool(value.strip())),
    "description": Editable(("description",), "text", _is_text),
    "notes": Editable((), "text", _is_text),
    "labels": Editable(("labels",), "a list of words", _are_labels),
    "max_restarts": Editable(("max_restarts",), _COUNT, _is_int(0)),
    **{setting.value: _of_job(setting) for setting in JobSetting},
    "resource_pool": Editable(("resources", "resource_pool"), "the name of a resource pool", _is_text),
    "log_retention_days": Editable(
        ("retention_policy", "log_retention_days"), "days from -1 (for ever) to 32767", _is_int(-1, 32767)
    ),
    **{
        name: Editable(("checkpoint_storage", name), _COUNT, _is_int(0))
        for name in ("save_experiment_best", "save_trial_best", "save_trial_latest")
    },
}
"""By the names that `ExperimentEdited` uses."""


def check_log_retention(days: int) -> None:
    """Raises InvalidConfig for what is no number of days to keep logs for."""
    check_edits({"log_retention_days": days})


def check_edits(changes: Mapping[str, Any]) -> None:
    """Raises InvalidConfig, naming the field, for a change that cannot be made."""
    for name, value in changes.items():
        editable = EDITABLE.get(name)
        if editable is None:
            raise InvalidConfig(f"{name}: cannot be edited. What can: {', '.join(EDITABLE)}.")
        if not editable.fits(value):
            path = ".".join(editable.path) or name
            raise InvalidConfig(f"{path}: expected {editable.wanted}; found {value!r}. The experiment stays as it is.")


def edited(config: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """`config` with `changes` in their places; `config` itself stays as it is."""
    changed = dict(config)
    for name, value in changes.items():
        _put(changed, EDITABLE[name].path, value)
    return changed


def _put(config: dict[str, Any], path: tuple[str, ...], value: Any) -> None:
    match path:
        case (name,):
            config[name] = value
        case (section, name):
            config[section] = {**(config.get(section) or {}), name: value}
