"""Configuration templates: named parts of configurations that submissions are built on. The directory owns them.

All templates are one stream, `templates-directory`: their names are unique in the cluster. Secrets in a configuration
are sealed before they come here, as in the configurations of experiments.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from resolute.proto import streams
from resolute.proto.message import Command, Event, Object


class TemplateEvent(Event):
    __slots__ = ()
    category: ClassVar[str] = streams.TEMPLATES.name


class TemplateCommand(Command):
    __slots__ = ()
    service: ClassVar[str] = "directory"


@dataclass(frozen=True, slots=True)
class TemplateCreated(TemplateEvent):
    sentence: ClassVar[str] = "template {template_id} ({name}) was created in workspace {workspace_id}"
    template_id: int
    name: str
    workspace_id: int
    owner_id: int
    """The user who created it."""
    config: Object


@dataclass(frozen=True, slots=True)
class TemplateConfigReplaced(TemplateEvent):
    sentence: ClassVar[str] = "template {template_id} got another configuration"
    template_id: int
    config: Object


@dataclass(frozen=True, slots=True)
class TemplateRenamed(TemplateEvent):
    sentence: ClassVar[str] = "template {template_id} was renamed to {name}"
    template_id: int
    name: str


@dataclass(frozen=True, slots=True)
class TemplateDeleted(TemplateEvent):
    """Experiments that were built on it keep their configurations."""

    sentence: ClassVar[str] = "template {template_id} was deleted"
    template_id: int


# ---------------------------------------------------------------- commands


@dataclass(frozen=True, slots=True)
class CreateTemplate(TemplateCommand):
    """The reply's data has `template_id`."""

    name: str
    workspace_id: int
    owner_id: int
    config: Object


@dataclass(frozen=True, slots=True)
class ReplaceTemplateConfig(TemplateCommand):
    template_id: int
    config: Object


@dataclass(frozen=True, slots=True)
class RenameTemplate(TemplateCommand):
    template_id: int
    name: str


@dataclass(frozen=True, slots=True)
class DeleteTemplate(TemplateCommand):
    template_id: int


@dataclass(frozen=True, slots=True)
class DeleteTemplatesOfWorkspace(TemplateCommand):
    """Part of deleting the workspace."""

    workspace_id: int
