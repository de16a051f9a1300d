"""The runtime of containers as the registry has it: the features that it gives, and how an order becomes a launch."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from functools import partial

from resolute.agent import container_spec, environment
from resolute.agent.container_spec import RUN_DIR, ContainerLaunch
from resolute.agent.docker_settings import DockerSettings
from resolute.agent.environment import Site
from resolute.agent.registry import OpenRuntime
from resolute.agent.runtime import CannotStart, Launch
from resolute.proto.needs import Feature
from resolute.proto.pool import Slot, StartTask

NAME = "docker"
GIVES = frozenset(Feature) - {Feature.HOST_ENVIRONMENT}
PYTHON = "python3"
"""The interpreter that the image finds in its PATH."""


class Containers:
    """Tasks are containers of this host's Docker engine."""

    name = NAME
    gives = GIVES

    def prepare(self, settings: DockerSettings, confine: bool) -> PreparedContainers:
        return PreparedContainers(settings)


@dataclass(frozen=True, slots=True)
class PreparedContainers:
    settings: DockerSettings

    def announce(self) -> None:
        """Logs nothing: containers keep tasks apart, so there is nothing to warn of."""

    def open(self, slots: tuple[Slot, ...]) -> OpenRuntime:
        from resolute.agent.docker_engine import Engine  # imports Docker's library, which other runtimes do not need
        from resolute.agent.docker_runtime import DockerRuntime

        settings = self.settings
        engine = Engine(str(settings.docker_logins) if settings.docker_logins else None)
        owner = container_spec.owner(settings.id, settings.cluster_id)
        folder = settings.work_dir.absolute() / "tasks"
        tasks = DockerRuntime(folder, engine, owner, settings.grace_s, settings.keep_finished)
        return OpenRuntime(NAME, GIVES, tasks, partial(launch, settings=settings, site=_site(settings, slots)))


def launch(order: StartTask, settings: DockerSettings, site: Site) -> Launch:
    """Raises CannotStart."""
    variables, files = environment.by_file(environment.environment(order, site, RUN_DIR), RUN_DIR)
    real = partial(os.path.realpath, strict=True)
    try:
        container = container_spec.container(order, settings.id, site.cluster_id, site.slots, settings, real)
    except container_spec.NotAllowed as error:
        raise CannotStart(error.message, hopeless=True) from error
    except OSError as error:
        raise CannotStart(f"bind_mounts, checkpoint_storage: {error}") from error
    return ContainerLaunch(
        order.placement.resources_id,
        (PYTHON, *environment.BOOTSTRAP),
        variables,
        files,
        container=replace(container, trusted=site.trusted),
    )


def _site(settings: DockerSettings, slots: tuple[Slot, ...]) -> Site:
    """A container inherits no variables of the host, and its image sets PATH."""
    return environment.site_of(
        settings,
        slots,
        inherited={},
        harness=container_spec.HARNESS_DIR,
        default_path="",
        master_cert="" if settings.master_cert_file is None else container_spec.MASTER_CERT,
    )
