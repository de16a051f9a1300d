"""Configuration templates: what may be done with them, and what is true afterwards.

All templates are one stream, `templates-directory`: a name is unique in the cluster, so that a decision must see all of
them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import get_args

from resolute.directory.part import Part
from resolute.proto import streams
from resolute.proto.errors import InvalidConfig, NotFound, refuse
from resolute.proto.message import Event, Object
from resolute.proto.templates import (
    CreateTemplate,
    DeleteTemplate,
    DeleteTemplatesOfWorkspace,
    RenameTemplate,
    ReplaceTemplateConfig,
    TemplateConfigReplaced,
    TemplateCreated,
    TemplateDeleted,
    TemplateRenamed,
)

NAME_CHARS_MAX = 255

State = Enum("State", "ABSENT PRESENT DELETED")

FLOW: Mapping[tuple[State, type[Event]], State] = {
    (State.ABSENT, TemplateCreated): State.PRESENT,
    (State.PRESENT, TemplateConfigReplaced): State.PRESENT,
    (State.PRESENT, TemplateRenamed): State.PRESENT,
    (State.PRESENT, TemplateDeleted): State.DELETED,
}
"""Of one template. A deleted one is forgotten, but for its number."""

TemplateCommand = CreateTemplate | ReplaceTemplateConfig | RenameTemplate | DeleteTemplate | DeleteTemplatesOfWorkspace


@dataclass(slots=True)
class Template:
    """Owned by the fold that grows it."""

    name: str
    config: Object
    workspace_id: int


@dataclass(slots=True)
class Templates:
    """Every template that was not deleted, by id. Owned by the fold that grows it."""

    by_id: dict[int, Template] = field(default_factory=dict)
    last_id: int = 0


def decide(command: TemplateCommand, templates: Templates) -> list[Event]:
    """Raises InvalidConfig for a name that will not do, NotFound, and Refused for a name that is taken."""
    match command:
        case CreateTemplate(name, workspace_id, owner_id, config):
            _check_name(name, templates, f"create template {name!r}")
            return [TemplateCreated(templates.last_id + 1, name, workspace_id, owner_id, config)]
        case ReplaceTemplateConfig(template_id, config):
            same = _known(templates, template_id).config == config
            return [] if same else [TemplateConfigReplaced(template_id, config)]
        case RenameTemplate(template_id, name):
            return _rename(templates, template_id, name)
        case DeleteTemplate(template_id):
            _known(templates, template_id)
            return [TemplateDeleted(template_id)]
        case DeleteTemplatesOfWorkspace(workspace_id):
            within = (key for key, template in templates.by_id.items() if template.workspace_id == workspace_id)
            return [TemplateDeleted(template_id) for template_id in within]


def _rename(templates: Templates, template_id: int, name: str) -> list[Event]:
    before = _known(templates, template_id).name
    if name == before:
        return []
    _check_name(name, templates, f"rename template {before!r}")
    return [TemplateRenamed(template_id, name)]


def _known(templates: Templates, template_id: int) -> Template:
    """Raises NotFound."""
    if (template := templates.by_id.get(template_id)) is None:
        raise NotFound(f"template {template_id} not found")
    return template


def _check_name(name: str, templates: Templates, what: str) -> None:
    """Names stand in paths, so that a slash would make another path of them."""
    if not name.strip() or len(name) > NAME_CHARS_MAX or "/" in name or name in (".", ".."):
        raise InvalidConfig(
            f"name: expected 1 to {NAME_CHARS_MAX} characters without a slash, and not only spaces or dots; "
            f"found {name!r}"
        )
    if any(template.name == name for template in templates.by_id.values()):
        raise refuse(what, "a template of that name exists", "choose another name")


def evolve(templates: Templates, event: Event) -> Templates:
    match event:
        case TemplateCreated(template_id, name, workspace_id, _, config):
            assert FLOW[_state(templates, template_id), type(event)] is State.PRESENT
            templates.last_id = template_id
            templates.by_id[template_id] = Template(name, config, workspace_id)
            return templates
        case TemplateConfigReplaced(template_id, config):
            assert FLOW[_state(templates, template_id), type(event)] is State.PRESENT
            templates.by_id[template_id].config = config
            return templates
        case TemplateRenamed(template_id, name):
            assert FLOW[_state(templates, template_id), type(event)] is State.PRESENT
            templates.by_id[template_id].name = name
            return templates
        case TemplateDeleted(template_id):
            assert FLOW[_state(templates, template_id), type(event)] is State.DELETED
            del templates.by_id[template_id]
            return templates
    raise AssertionError(f"not an event of templates: {event}")


def _state(templates: Templates, template_id: int) -> State:
    return State.PRESENT if template_id in templates.by_id else State.ABSENT


PART = Part(
    commands=frozenset(get_args(TemplateCommand)),
    stream_of=lambda command: streams.TEMPLATE_DIRECTORY,
    initial=Templates,
    decide=decide,
    evolve=evolve,
    ids={TemplateCreated: "template_id"},
    of_workspace=DeleteTemplatesOfWorkspace,
)
