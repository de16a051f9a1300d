"""Configuration templates: what may be done with them."""

from __future__ import annotations

from functools import reduce
from typing import Any

import pytest

from resolute.directory import templates
from resolute.directory.templates import Templates, decide
from resolute.proto.errors import InvalidConfig, NotFound, Refused
from resolute.proto.message import Event
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

SMALL = TemplateCreated(1, "small", 1, 2, {"max_restarts": 1})
LARGE = TemplateCreated(2, "large", 3, 2, {})


def after(*events: Event) -> Templates:
    return reduce(templates.evolve, events, Templates())


def create(name: str, *before: Event) -> list[Event]:
    return decide(CreateTemplate(name, 1, 2, {"max_restarts": 1}), after(*before))


def test_templates_are_numbered_and_no_number_is_given_twice() -> None:
    assert create("small") == [SMALL]
    [third] = create("new", SMALL, LARGE, TemplateDeleted(2))
    assert third == TemplateCreated(3, "new", 1, 2, {"max_restarts": 1})


def test_a_name_is_unique_in_the_cluster_and_free_again_once_its_template_is_gone() -> None:
    with pytest.raises(Refused, match="a template of that name exists"):
        create("large", LARGE)
    with pytest.raises(Refused, match="cannot rename template 'small'"):
        decide(RenameTemplate(1, "large"), after(SMALL, LARGE))
    assert create("small", SMALL, TemplateDeleted(1))
    assert create("small", SMALL, TemplateRenamed(1, "tiny"))
    assert create("Small", SMALL), "names are told apart by case"


@pytest.mark.parametrize("name", ["", "  ", "a/b", ".", "..", "n" * 256])
def test_a_name_can_stand_in_a_path(name: str) -> None:
    with pytest.raises(InvalidConfig, match=r"^name: "):
        create(name)
    with pytest.raises(InvalidConfig, match=r"^name: "):
        decide(RenameTemplate(1, name), after(SMALL))


def test_a_configuration_is_replaced_as_a_whole_and_the_same_one_changes_nothing() -> None:
    assert decide(ReplaceTemplateConfig(1, {"debug": True}), after(SMALL)) == [
        TemplateConfigReplaced(1, {"debug": True})
    ]
    again = after(SMALL, TemplateConfigReplaced(1, {"debug": True}))
    assert decide(ReplaceTemplateConfig(1, {"debug": True}), again) == []


def test_a_template_is_renamed_and_deleted() -> None:
    assert decide(RenameTemplate(1, "tiny"), after(SMALL)) == [TemplateRenamed(1, "tiny")]
    assert decide(RenameTemplate(1, "small"), after(SMALL)) == []
    assert decide(DeleteTemplate(1), after(SMALL)) == [TemplateDeleted(1)]


@pytest.mark.parametrize(
    "command",
    [ReplaceTemplateConfig(9, {}), RenameTemplate(9, "n"), DeleteTemplate(9)],
    ids=lambda command: type(command).__name__,
)
def test_what_does_not_exist_is_not_found(command: Any) -> None:
    with pytest.raises(NotFound, match="template 9 not found"):
        decide(command, after(SMALL))


def test_templates_are_deleted_with_their_workspace() -> None:
    assert decide(DeleteTemplatesOfWorkspace(3), after(SMALL, LARGE)) == [TemplateDeleted(2)]
    assert decide(DeleteTemplatesOfWorkspace(3), after(SMALL, LARGE, TemplateDeleted(2))) == []
