"""The list of runtimes, with the settings of all of them. No other module of the agent names a runtime."""

from __future__ import annotations

from resolute.agent import settings
from resolute.agent.docker_settings import DockerSettings
from resolute.agent.docker_setup import Containers
from resolute.agent.process_settings import ProcessSettings
from resolute.agent.process_setup import Processes
from resolute.agent.registry import Prepared, Registry


class Settings(ProcessSettings, DockerSettings):
    """All settings `RESOLUTE_AGENT_*`, of the agent and of every runtime."""


REGISTRY: Registry[Settings] = Registry((Processes(), Containers()))
"""The first one is the default."""


def load(**given: object) -> Settings:
    """`given` overrides the environment. Raises InvalidConfig, naming the setting and its variable."""
    found = settings.read(Settings, given)
    REGISTRY.named(found.runtime)
    return found


def prepare(settings: Settings, confine: bool) -> Prepared:
    """The runtime that the settings choose; `confine` as in `RuntimeKind.prepare`. Raises InvalidConfig."""
    return REGISTRY.named(settings.runtime).prepare(settings, confine)
