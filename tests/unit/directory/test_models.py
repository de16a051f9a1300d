"""The model registry: what may be done with models and their versions."""

from __future__ import annotations

from functools import reduce
from typing import Any

import pytest

from resolute.directory import models
from resolute.directory.models import Models, decide
from resolute.proto.errors import InvalidConfig, NotFound, Refused
from resolute.proto.message import Event
from resolute.proto.models import (
    ArchiveModel,
    ChangeModel,
    ChangeModelVersion,
    CreateModel,
    DeleteModel,
    DeleteModelVersion,
    ModelArchived,
    ModelChanged,
    ModelCreated,
    ModelDeleted,
    ModelUnarchived,
    ModelVersionChanged,
    ModelVersionDeleted,
    ModelVersionRegistered,
    RegisterModelVersion,
    UnarchiveModel,
)

DIGITS = ModelCreated(1, "digits", 1, 2, "of people", ("vision",), {"accuracy": 0.9})
LETTERS = ModelCreated(2, "letters", 1, 2)
FIRST = ModelVersionRegistered(1, 1, 1, "uuid-a", 2, "first")
OF_LETTERS = ModelVersionRegistered(2, 1, 2, "uuid-b", 2)


def after(*events: Event) -> Models:
    return reduce(models.evolve, events, Models())


def create(name: str, *before: Event) -> list[Event]:
    return decide(CreateModel(name, 1, 2), after(*before))


def test_models_and_versions_are_numbered_and_no_number_is_given_twice() -> None:
    assert create("digits") == [ModelCreated(1, "digits", 1, 2)]
    assert create("new", DIGITS, LETTERS, ModelDeleted(2)) == [ModelCreated(3, "new", 1, 2)]
    registered = after(DIGITS, FIRST, LETTERS, OF_LETTERS, ModelVersionDeleted(1, 1))
    [version] = decide(RegisterModelVersion(1, "uuid-c", 3, labels=("best",)), registered)
    assert version == ModelVersionRegistered(1, 2, 3, "uuid-c", 3, labels=("best",))


@pytest.mark.parametrize("name", ["", "  ", "a/b", "a\\b", "a  b", "12", "n" * 256])
def test_a_name_can_stand_in_a_path_and_is_never_taken_for_an_id(name: str) -> None:
    with pytest.raises(InvalidConfig, match=r"^name: "):
        create(name)
    with pytest.raises(InvalidConfig, match=r"^name: "):
        decide(ChangeModel(1, {"name": name}), after(DIGITS))


def test_no_two_models_have_the_same_name_and_one_that_is_free_again_may_be_given() -> None:
    with pytest.raises(Refused, match="of that name exists"):
        create("digits", DIGITS)
    with pytest.raises(Refused, match="cannot rename model 'letters'"):
        decide(ChangeModel(2, {"name": "digits"}), after(DIGITS, LETTERS))
    assert create("Digits", DIGITS), "names are told apart by case"
    assert create("digits", DIGITS, ModelDeleted(1))
    assert create("digits", DIGITS, ModelChanged(1, {"name": "numbers"}))


def test_only_what_changes_is_written() -> None:
    same: dict[str, Any] = {"name": "digits", "labels": ["vision"], "metadata": {"accuracy": 0.9}, "workspace_id": 1}
    assert decide(ChangeModel(1, same), after(DIGITS)) == []
    moved = ChangeModel(1, {**same, "workspace_id": 3, "labels": []})
    assert decide(moved, after(DIGITS)) == [ModelChanged(1, {"workspace_id": 3, "labels": []})]
    renamed = ChangeModelVersion(1, 1, {"name": "first", "comment": "good"})
    assert decide(renamed, after(DIGITS, FIRST)) == [ModelVersionChanged(1, 1, {"comment": "good"})]
    commented = after(DIGITS, FIRST, ModelVersionChanged(1, 1, {"comment": "good"}))
    assert decide(renamed, commented) == []


@pytest.mark.parametrize(
    "command",
    [ChangeModel(1, {"notes": "n"}), RegisterModelVersion(1, "uuid-c", 2), ChangeModelVersion(1, 1, {"notes": "n"})],
    ids=lambda command: type(command).__name__,
)
def test_an_archived_model_is_left_as_it_is_until_it_is_taken_out_of_the_archive(command: Any) -> None:
    archived = after(DIGITS, FIRST, ModelArchived(1))
    with pytest.raises(Refused, match="the model is archived; take it out of the archive first"):
        decide(command, archived)
    assert decide(command, models.evolve(archived, ModelUnarchived(1)))


def test_archiving_twice_is_archiving_once() -> None:
    assert decide(ArchiveModel(1), after(DIGITS)) == [ModelArchived(1)]
    assert decide(ArchiveModel(1), after(DIGITS, ModelArchived(1))) == []
    assert decide(UnarchiveModel(1), after(DIGITS, ModelArchived(1))) == [ModelUnarchived(1)]
    assert decide(UnarchiveModel(1), after(DIGITS)) == []


def test_an_archived_model_and_its_versions_may_be_deleted() -> None:
    archived = after(DIGITS, FIRST, ModelArchived(1))
    assert decide(DeleteModelVersion(1, 1), archived) == [ModelVersionDeleted(1, 1)]
    assert models.evolve(archived, ModelVersionDeleted(1, 1)).by_id[1].versions == {}
    assert decide(DeleteModel(1), archived) == [ModelDeleted(1)]
    assert models.evolve(archived, ModelDeleted(1)).by_id == {}


@pytest.mark.parametrize(
    "command",
    [
        ChangeModel(9, {"notes": "n"}),
        ArchiveModel(9),
        UnarchiveModel(9),
        DeleteModel(9),
        RegisterModelVersion(9, "uuid", 2),
        ChangeModelVersion(1, 9, {"notes": "n"}),
        DeleteModelVersion(1, 9),
    ],
    ids=lambda command: type(command).__name__,
)
def test_what_does_not_exist_is_not_found(command: Any) -> None:
    with pytest.raises(NotFound, match="9"):
        decide(command, after(DIGITS, FIRST))
