"""What all launchers have in common, from the command line to the exit code. They differ in how workers are started."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, NoReturn

from determined._info import ClusterInfo, get_cluster_info
from determined.common.api.errors import BadRequestException, BadResponseException
from determined.exec import _entrypoint, _hopeless
from determined.launch import _command_line
from determined.launch._command_line import Job
from determined.launch._conduct import conduct
from determined.launch._gang import Gang, GangFailed, Refused, meet
from determined.launch._workers import Worker

Facts = dict[str, Any]


class Framework(NamedTuple):
    """What differs between launchers. `prepare` runs in every launcher once all of them are connected, and may raise
    Refused; every launcher gets the facts that the chief's returned. `workers` returns the workers of this
    container."""

    name: str
    prepare: Callable[[Gang, Job], Facts]
    workers: Callable[[Gang, Job, Facts], Sequence[Worker]]
    alone: Callable[[Job], bool] = lambda job: False
    """Whether a trial with a single slot runs without the framework."""
    flags: tuple[str, ...] = ()


def start(framework: Framework, words: Sequence[str] | None = None) -> int:
    """Runs the launcher; returns the exit code of the gang: 0, or that of the rank that failed first."""
    info = get_cluster_info()
    try:
        job = _command_line.parse(framework.name, sys.argv[1:] if words is None else words, framework.flags)
    except SystemExit as ended:
        if ended.code and info is not None:
            _hopeless.report(info)
        raise
    if info is None or info.task_type != "TRIAL":
        raise SystemExit(f"determined.launch.{framework.name} starts the workers of a trial on a cluster")
    if sum(info.container_slot_counts) <= 1 and framework.alone(job):
        return _alone(job, info)
    try:
        return _together(framework, job, info)
    except Refused as reason:
        return give_up(info, str(reason))
    except (GangFailed, BadRequestException, BadResponseException) as reason:
        print(f"ERROR: {reason}", file=sys.stderr, flush=True)
        return 1


def _together(framework: Framework, job: Job, info: ClusterInfo) -> int:
    with contextlib.closing(meet(info)) as gang:
        facts: Facts = {}
        refusal = None
        try:
            if job.trial is None and (what := _entrypoint.missing(job.script)):
                raise Refused(f"entrypoint: {what}")
            facts = framework.prepare(gang, job)
        except Refused as reason:
            refusal = f"{reason} (on {gang.here.name})"
        found = conduct(gang, framework.workers(gang, job, gang.agree(facts, refusal)))
        # In the log view every line has a rank: here the first one of this container.
        line = found.line and f"[rank={gang.ranks_here[0].rank}] {found.line}"
    if found.hopeless:
        _hopeless.report(info)
    if line:
        print(line, file=sys.stderr, flush=True)
    return found.code


def give_up(info: ClusterInfo, reason: str) -> int:
    """Prints why this trial cannot run, and reports to the cluster that it never can. Returns the exit code."""
    _hopeless.report(info)
    print(f"ERROR: {reason}", file=sys.stderr, flush=True)
    return 1


def _alone(job: Job, info: ClusterInfo) -> int:
    if job.trial is None and (what := _entrypoint.missing(job.script)):
        return give_up(info, f"entrypoint: {what}")
    if job.trial is None:
        _become(job.script)
    from determined.exec import harness

    sys.path.insert(0, os.getcwd())
    return harness.main(["--trial", job.trial])


def _become(script: Sequence[str]) -> NoReturn:
    try:
        os.execvp(script[0], list(script))
    except OSError as problem:
        raise SystemExit(f"entrypoint: cannot run {script[0]!r}: {problem.strerror}") from problem
