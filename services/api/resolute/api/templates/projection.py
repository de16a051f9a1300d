"""Configuration templates: which rows the log comes to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from resolute.api.kernel.rows import Document, Place, Projection, Rows, Table, Thing, WholeRows
from resolute.proto import streams
from resolute.proto.message import Event, Recorded
from resolute.proto.templates import TemplateConfigReplaced, TemplateCreated, TemplateDeleted, TemplateRenamed


@dataclass(frozen=True, slots=True)
class Template:
    id: int
    name: str
    workspace_id: int
    owner_id: int
    config: Document


TEMPLATES = Table("templates", Template, key=("id",))


def project(recorded: Recorded, rows: Rows) -> None:
    if shows := SHOWS.get(type(recorded.event)):
        shows(recorded.event, rows)


def _created(created: TemplateCreated, rows: Rows) -> None:
    template = Template(created.template_id, created.name, created.workspace_id, created.owner_id, created.config)
    rows.put(TEMPLATES, template)


def _replaced(replaced: TemplateConfigReplaced, rows: Rows) -> None:
    rows.change(TEMPLATES, replaced.template_id, config=replaced.config)


def _renamed(renamed: TemplateRenamed, rows: Rows) -> None:
    rows.change(TEMPLATES, renamed.template_id, name=renamed.name)


def _deleted(deleted: TemplateDeleted, rows: Rows) -> None:
    rows.remove(TEMPLATES, deleted.template_id)


SHOWS: Mapping[type[Event], Callable[[Any, Rows], None]] = {
    TemplateCreated: _created,
    TemplateConfigReplaced: _replaced,
    TemplateRenamed: _renamed,
    TemplateDeleted: _deleted,
}


def _whose_template(rows: WholeRows, name: str) -> Place | None:
    row = next((row for row in rows.all(TEMPLATES) if row.name == name), None)
    return None if row is None else Place(row.owner_id, row.workspace_id)


PROJECTION = Projection(
    slice="templates",
    version=1,
    tables=(TEMPLATES,),
    ddl=Path(__file__).with_name("tables.sql"),
    categories=frozenset({streams.TEMPLATES.name}),
    project=project,
    things={
        "template": Thing(
            "SELECT owner_id, workspace_id FROM read_templates.templates WHERE name = $1", twin=_whose_template
        ),
    },
    ids={"templateName": (TEMPLATES, "name")},
)
