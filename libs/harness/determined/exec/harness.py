"""Trains a trial class: `python -m determined.exec.harness module:Class`, or `--trial module:Class`."""

from __future__ import annotations

import argparse
import importlib
import json
import logging
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from determined import constants, errors, util
from determined._info import ClusterInfo, get_cluster_info
from determined._invalid_hp import InvalidHP
from determined.exec import _hopeless
from determined.exec._leave import FreshStart

if TYPE_CHECKING:
    from determined.pytorch import PyTorchTrial

logger = logging.getLogger("determined.exec.harness")

DEPRECATED = (
    "entrypoint %s: naming a trial class is deprecated since Determined 0.38; it goes on working here. A script that "
    "calls pytorch.init() and pytorch.Trainer(...).fit() does the same"
)


class NoSuchTrial(Exception):
    """The entrypoint names no trial class; the message says what it names instead."""


def main(words: Sequence[str] | None = None) -> int:
    """Trains the class; returns the exit code. 0: trained, preempted, or ended early. 1: an error, which is in the log,
    or one rank of several has ended the trial early."""
    parser = argparse.ArgumentParser(prog="determined.exec.harness")
    named = parser.add_mutually_exclusive_group(required=True)
    named.add_argument("--trial", metavar="module:Class")
    named.add_argument("entrypoint", nargs="?", metavar="module:Class")
    arguments = parser.parse_args(words)
    spec = arguments.trial or arguments.entrypoint
    info = get_cluster_info()
    if info is None or info.task_type != "TRIAL":
        parser.error("this trains a trial on a cluster; try `det experiment create --local --test-mode` here")
    logging.basicConfig(level=logging.DEBUG if info.trial._debug else logging.INFO, format=constants.LOG_FORMAT)
    if (rank := util.rank_of_environment()) == 0:
        logger.debug("configuration: %s", json.dumps(printable(info.trial._config)))
        logger.warning(DEPRECATED, spec)
    else:
        logger.info("rank %d begins", rank)
    try:
        _train(load_trial_class(spec), info)
    except NoSuchTrial as problem:
        _hopeless.report(info)
        logger.error("%s", problem)
        return 1
    except errors.InvalidExperimentException:
        _hopeless.report(info)
        logger.exception("the trial and its configuration do not fit")
        return 1
    except InvalidHP:  # on one of several ranks, of which the launcher ends the others
        logger.exception("the trial ends early")
        return 1
    except Exception:
        logger.exception("the trial failed")
        return 1
    return 0


def printable(config: dict[str, Any]) -> dict[str, Any]:
    """The configuration for the trial's log, without secrets and environment variables, since users without access to
    those may read the log, and without log policies: a line with their patterns would match them."""
    shown = {name: value for name, value in util.masked(config).items() if name != "log_policies"}
    environment = shown.get("environment")
    if isinstance(environment, dict):
        environment.pop("environment_variables", None)
    return shown


def load_trial_class(spec: str) -> type[PyTorchTrial]:
    """Import module:Class from the working directory. Raises NoSuchTrial with the reason."""
    module_name, _, qualified = spec.partition(":")
    try:
        found: Any = importlib.import_module(module_name)
    except ModuleNotFoundError as problem:
        if problem.name and (module_name == problem.name or module_name.startswith(problem.name + ".")):
            raise NoSuchTrial(f"entrypoint {spec}: there is no module {problem.name!r} here") from problem
        raise
    for name in qualified.split("."):
        if not hasattr(found, name):
            raise NoSuchTrial(f"entrypoint {spec}: {module_name} has no {qualified!r}")
        found = getattr(found, name)
    from determined.pytorch import PyTorchTrial

    if not (isinstance(found, type) and issubclass(found, PyTorchTrial)):
        raise NoSuchTrial(f"entrypoint {spec}: expected a subclass of PyTorchTrial, found {found!r}")
    return found


def _train(trial_class: type[PyTorchTrial], info: ClusterInfo) -> None:
    from determined import pytorch
    from determined.pytorch._from_config import fit_arguments

    config = info.trial._config
    optimizations = config.get("optimizations") or {}
    with pytorch.init(
        hparams=info.trial.hparams,
        exp_conf=config,
        aggregation_frequency=int(optimizations.get("aggregation_frequency") or 1),
    ) as context:
        trainer = pytorch.Trainer(trial_class(context), context)
        trainer._is_trainer = False
        trainer.fit(**fit_arguments(config, context), latest_checkpoint=info.latest_checkpoint)


def _exit_with_its_code() -> NoReturn:
    sys.exit(main())


if __name__ == "__main__":
    sys.path.insert(0, os.getcwd())
    FreshStart().leave_after(_exit_with_its_code)
