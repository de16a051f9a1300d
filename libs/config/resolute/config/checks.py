"""Checks of a merged configuration that concern several fields."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .entrypoint import is_trial_class
from .environment_fields import require
from .hyperparameters import parse_space
from .log_patterns import problem_with_all
from .problems import Problems
from .searcher import check_searcher
from .slots import slots_of
from .storage_fields import check_storage

Config = Mapping[str, Any]


def check_merged(merged: Config, problems: Problems, *, managed: bool) -> None:
    """Report what is missing or contradictory once all layers are in."""
    _check_searcher(merged, problems)
    _check_checkpoint_storage(merged, problems)
    _check_resources(merged["resources"], problems)
    _check_profiling(merged["profiling"], problems)
    _check_placement(merged, problems)
    _check_entrypoint(merged["entrypoint"], managed, problems)
    _check_integrations(merged["integrations"] or {}, problems)
    _check_log_policies(merged["log_policies"], problems)
    for i, port in enumerate(merged["environment"]["proxy_ports"]):
        require(port, ("proxy_port",), f"environment.proxy_ports[{i}]", problems)


def _check_searcher(merged: Config, problems: Problems) -> None:
    if merged["searcher"] is None:
        text = "missing. Say at least its name and metric, as {name: single, metric: validation_loss}."
        problems.add("searcher", text)
    else:
        check_searcher(merged["searcher"], parse_space(merged["hyperparameters"]), problems)


def _check_checkpoint_storage(merged: Config, problems: Problems) -> None:
    if merged["checkpoint_storage"] is None:
        text = "missing. The cluster has no storage of its own; name one, as {type: shared_fs, host_path: /shared}."
        problems.add("checkpoint_storage", text)
    else:
        check_storage(merged["checkpoint_storage"], problems)


def _check_resources(resources: Config, problems: Problems) -> None:
    most, needed = resources["max_slots"], slots_of(resources).least
    if most is not None and most < needed:
        wanted = f"at least resources.slots_per_trial ({needed}), or no trial can ever start"
        problems.expected("resources.max_slots", wanted, most)


def _check_profiling(profiling: Config, problems: Problems) -> None:
    begin, end = profiling["begin_on_batch"], profiling["end_after_batch"]
    if end is not None and begin > end:
        problems.expected("profiling.begin_on_batch", f"at most profiling.end_after_batch ({end})", begin)


def _check_placement(merged: Config, problems: Problems) -> None:
    for given, missing in (("workspace", "project"), ("project", "workspace")):
        if merged[given] and not merged[missing]:
            problems.add(missing, f"missing. It goes together with {given} ({merged[given]!r}), or leave both out.")


def _check_entrypoint(entrypoint: Any, managed: bool, problems: Problems) -> None:
    if entrypoint is None and managed:
        problems.add("entrypoint", "missing. Write the command that starts training, as python3 train.py.")
    elif is_trial_class(entrypoint):
        text = "is a legacy trial class; write python3 -m determined.launch.torch_distributed --trial"
        problems.warn("entrypoint", f"{text} {entrypoint}")


def _check_log_policies(policies: Sequence[Config], problems: Problems) -> None:
    """Those of the cluster's and the pool's defaults are among them."""
    patterns = [policy["pattern"] for policy in policies if policy.get("pattern")]
    if problems.none_at("log_policies") and (problem := problem_with_all(patterns)):
        problems.add("log_policies", f"{problem}.")


def _check_integrations(integrations: Config, problems: Problems) -> None:
    pachyderm = integrations.get("pachyderm")
    if pachyderm is None:
        return
    for part, names in _PACHYDERM.items():
        path = f"integrations.pachyderm.{part}"
        if pachyderm.get(part) is None:
            problems.add(path, "missing.")
        else:
            require(pachyderm[part], names, path, problems)


_PACHYDERM: Mapping[str, tuple[str, ...]] = {
    "pachd": ("host", "port"),
    "proxy": ("scheme", "host", "port"),
    "dataset": ("project", "repo", "commit", "branch", "token"),
}
