"""The runtime of processes as the registry has it: the features that it gives, and how an order becomes a launch."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass, replace

import structlog

from resolute.agent import accounts, environment, isolation
from resolute.agent.environment import Site
from resolute.agent.inherited_variables import inheritable
from resolute.agent.isolation import NOT_ISOLATED, NOTE, Isolation
from resolute.agent.process_launch import ProcessLaunch
from resolute.agent.process_runtime import ProcessRuntime
from resolute.agent.process_settings import ProcessSettings
from resolute.agent.registry import OpenRuntime
from resolute.agent.runtime import Launch
from resolute.agent.warm import WarmParents, WarmSettings
from resolute.proto.needs import Feature
from resolute.proto.pool import Slot, StartTask

log_ = structlog.get_logger()

NAME = "process"
GIVES = frozenset({Feature.HOST_ENVIRONMENT})


class Processes:
    """Tasks are processes of this host, with its programs, its files and its network."""

    name = NAME
    gives = GIVES

    def prepare(self, settings: ProcessSettings, confine: bool) -> PreparedProcesses:
        return PreparedProcesses(settings, isolation.establish(settings) if confine else NOT_ISOLATED)


@dataclass(frozen=True, slots=True)
class PreparedProcesses:
    settings: ProcessSettings
    isolated: Isolation

    def announce(self) -> None:
        found = self.isolated
        say = log_.info if found.level == "users" else log_.warning
        say("isolation of tasks", level=found.level, what=found.sentence)
        with suppress(OSError):  # a full disk is no reason to stop
            (self.settings.work_dir / NOTE).write_text(f"{found.level}: {found.sentence}\n")

    def open(self, slots: tuple[Slot, ...]) -> OpenRuntime:
        settings = self.settings
        tasks = ProcessRuntime(settings.work_dir.absolute() / "tasks", settings.grace_s, _warm_parents(settings))
        site = _site(settings, slots)
        own_users = self.isolated.level == "users"
        return OpenRuntime(NAME, GIVES, tasks, lambda order: launch(order, settings, site, tasks, own_users))


def launch(order: StartTask, settings: ProcessSettings, site: Site, tasks: ProcessRuntime, own_users: bool) -> Launch:
    """`own_users`: whether the tasks of each owner run as a user of their own."""
    resources_id = order.placement.resources_id
    account = None
    if own_users:
        homes = settings.work_dir.absolute() / "homes"
        account = accounts.of(order.spec.owner, order.spec.agent_user, site.cluster_id, homes)
        site = replace(site, inherited=account.inherited(site.inherited))
    folder = tasks.folder(resources_id)
    variables, files = environment.by_file(environment.environment(order, site, folder), folder)
    return ProcessLaunch(resources_id, (settings.python, *environment.BOOTSTRAP), variables, files, account)


def _site(settings: ProcessSettings, slots: tuple[Slot, ...]) -> Site:
    cert = settings.master_cert_file
    return environment.site_of(
        settings,
        slots,
        inherited=inheritable(os.environ, settings.task_variables),
        harness=environment.harness_directory(),
        programs=os.path.dirname(settings.python),
        master_cert="" if cert is None else str(cert.absolute()),
    )


def _warm_parents(settings: ProcessSettings) -> WarmParents | None:
    if not settings.warm_start:
        return None
    folder = settings.work_dir.absolute() / "warm"
    return WarmParents(WarmSettings(settings.python, settings.warm_imports, settings.warm_idle_s, folder))
