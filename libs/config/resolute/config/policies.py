"""Configuration policies: what administrators set for every submission, and the limits that submissions keep to.

Policies are those of the cluster and those of a workspace. What both set, the cluster's wins: an invariant
configuration of the cluster is laid on last, and a limit of the cluster takes the place of the workspace's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from resolute.proto.errors import InvalidConfig
from resolute.proto.queue import MAX_SLOTS_MOST, PRIORITY_FIRST, PRIORITY_LAST

from .fields import EXPERIMENT, places
from .merge import Config, merge, value_at
from .nodes import Field, FreeObject, Int, Object
from .problems import Problems
from .slots import slots_of

_CONSTRAINTS = Object(
    {
        "resources": Field(Object({"max_slots": Field(Int(0, MAX_SLOTS_MOST))})),
        "priority_limit": Field(Int(PRIORITY_FIRST, PRIORITY_LAST)),
    }
)
_POLICY = Object({"invariant_config": Field(FreeObject()), "constraints": Field(_CONSTRAINTS)})

MAX_SLOTS = ("resources", "max_slots")
PRIORITY_LIMIT = ("priority_limit",)

_NOT_INVARIANT = ("workspace", "project")
"""Where an experiment goes is known before the policies that hold there."""

_ADDED = frozenset({("labels",)})
"""What an invariant configuration adds to, so that it does not stand against a change."""

_CANNOT: Mapping[tuple[str, ...], str] = {
    ("resources", "priority"): "priority set by invariant config: priority cannot be modified",
    ("resources", "max_slots"): "max slots is already set in an invariant config policy",
}


@dataclass(frozen=True, slots=True)
class Policy:
    """What is set in one place for one kind of workload."""

    where: str
    """Whose it is: `the cluster`, or `workspace 'vision'`."""
    invariant_config: Config = field(default_factory=dict, repr=False)
    """As it was written. It may hold secrets."""
    constraints: dict[str, Any] = field(default_factory=dict)

    def written(self) -> dict[str, Any]:
        """As the wire has it: only the parts that say something."""
        parts = {"invariant_config": self.invariant_config, "constraints": self.constraints}
        return {name: dict(part) for name, part in parts.items() if part}


def read_policy(given: Mapping[str, Any], where: str, *, invariants: bool) -> Policy:
    """What an administrator wrote. `invariants`: whether workloads of this kind have an invariant configuration.

    Raises InvalidConfig with the path, what was found and what would do.
    """
    if not invariants and given.get("invariant_config") is not None:
        raise InvalidConfig("invariant_config: not supported: tasks have constraints only; leave it out")
    problems = Problems(places=places())
    read = _POLICY.read(given, "", problems)
    invariant = given.get("invariant_config") or {}
    if isinstance(invariant, Mapping):
        EXPERIMENT.read(invariant, "invariant_config", problems)
        for name in _NOT_INVARIANT:
            if invariant.get(name) is not None:
                problems.add(f"invariant_config.{name}", "not supported: a policy moves no experiments; leave it out")
    problems.raise_if_any()
    return Policy(where, invariant, _said(read.get("constraints") or {}))


def _said(constraints: Mapping[str, Any]) -> dict[str, Any]:
    """Without what is null."""
    kept = {name: _said(one) if isinstance(one, Mapping) else one for name, one in constraints.items()}
    return {name: one for name, one in kept.items() if one is not None and one != {}}


@dataclass(frozen=True, slots=True)
class Policies:
    """All that holds for a submission, the cluster's first."""

    found: Sequence[Policy] = ()

    @property
    def invariants(self) -> tuple[Config, ...]:
        """In the order in which they are laid over a configuration."""
        return tuple(one.invariant_config for one in reversed(self.found) if one.invariant_config)

    def check(self, resources: Config) -> None:
        """Raises InvalidConfig where merged `resources`, complete with their priority, break a constraint."""
        for line in self._broken(resources):
            raise InvalidConfig(line)

    def check_invariants(self) -> None:
        """Raises InvalidConfig where what is set for every submission breaks a constraint that holds for it."""
        merged: dict[str, Any] = {}
        for invariant in self.invariants:
            merged = merge(_read(invariant), merged)
        for line in self._broken(_resources(merged), sets_slots="slots_per_trial" in _resources(merged)):
            raise InvalidConfig(f"invalid experiment config policy: {line}")

    def check_change(self, path: tuple[str, ...], value: Any, field: str) -> None:
        """Raises InvalidConfig where a value at `path` of an experiment's configuration may not become `value`.
        `field`: how the request names it."""
        for one in self.found:
            set_there = value_at(_read(one.invariant_config), path) if path not in _ADDED else None
            if set_there is not None and set_there != value:
                why = _CANNOT.get(path, f"{path[-1]} set by invariant config: {path[-1]} cannot be modified")
                raise InvalidConfig(
                    f"{field}: {why}: invariant_config.{'.'.join(path)} in the config policies of {one.where} is "
                    f"{set_there!r}; found {value!r}; leave it as it is, or ask an administrator"
                )
        if path[0] == "resources" and value is not None:
            for line in self._broken({path[-1]: value}, sets_slots=False, named=field):
                raise InvalidConfig(line)

    def _broken(self, resources: Config, *, sets_slots: bool = True, named: str = "") -> Iterator[str]:
        limit, where = self._limit(MAX_SLOTS)
        asked = {"slots_per_trial": slots_of(resources).most if sets_slots else None}
        asked["max_slots"] = resources.get("max_slots")
        for name, found in asked.items():
            if limit is not None and found is not None and found > limit:
                yield (
                    f"{named or f'resources.{name}'}: {found} exceeds limit set by admin [{limit}]: submitted workload "
                    f"failed a resource constraint: constraints.resources.max_slots in the config policies of {where}; "
                    f"ask for at most {limit}"
                )
        least, where = self._limit(PRIORITY_LIMIT)
        priority = resources.get("priority")
        if least is not None and priority is not None and priority < least:
            yield (
                f"{named or 'resources.priority'}: {priority} is below the limit {least}: submitted workload failed "
                f"priority constraint: constraints.priority_limit in the config policies of {where}; choose "
                f"{least} to {PRIORITY_LAST}"
            )

    def _limit(self, path: tuple[str, ...]) -> tuple[Any, str]:
        """The limit that counts, and whose it is."""
        limits = ((value_at(one.constraints, path), one.where) for one in self.found)
        return next((found for found in limits if found[0] is not None), (None, ""))


def _read(invariant: Config) -> dict[str, Any]:
    """In the canonical form. What is wrong in it was refused when it was saved."""
    read: dict[str, Any] = EXPERIMENT.read(invariant, "", Problems())
    return read


def _resources(merged: Config) -> Config:
    return merged.get("resources") or {}
