"""Live updates as plain functions: what an event touches, what a listener is sent, and what a client may say."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import orjson
import pytest

from resolute.api.scope import UNLIMITED, Scope
from resolute.api.stream.asking import read_sync
from resolute.api.stream.differences import Changes, Subscription, news, sequenced
from resolute.api.stream.kinds import CHECKPOINTS, KINDS, MODELS, Row
from resolute.api.stream.limits import StreamLimits
from resolute.api.stream.ranges import Id, read_ids, written_ids
from resolute.api.stream.recent import Recent
from resolute.api.stream.touched import Touch, rights_touched, touched
from resolute.eventlog import MemoryEventLog
from resolute.proto import checkpoint, experiment, identity, interactive, models, pool, rbac, spaces
from resolute.proto.errors import InvalidConfig
from resolute.proto.message import Cause, Event, Recorded

AT = datetime(2026, 1, 31, tzinfo=UTC)

LIMITS = StreamLimits(values=3, objects=10)


def model(id_: int, workspace_id: int = 1, **columns: Any) -> Row:
    return Row(MODELS, {"id": id_, "workspace_id": workspace_id, "user_id": 2, **columns})


def changes(changed: Mapping[Id, int], *rows: Row, rechecked: frozenset[Id] | None = None) -> Changes:
    end = max(changed.values(), default=9)
    return Changes(MODELS, end, changed, {row.id: row for row in rows}, rechecked)


def subscribed(known: set[Id], scope: Scope = UNLIMITED, **wanted: frozenset[Id]) -> Subscription:
    return Subscription(MODELS, scope, wanted, everything=not wanted, known=known, shown=2)


def sent(subscription: Subscription, happened: Changes) -> list[Any]:
    """Deletions, and the id and the seq of what there is."""
    found = [orjson.loads(message) for message in news(subscription, happened)]
    return [(one["model"]["id"], one["model"]["seq"]) if "model" in one else one["models_deleted"] for one in found]


def test_what_matches_is_sent_and_what_does_not_is_deleted_if_the_client_knows_it() -> None:
    of_first = subscribed({1, 2, 3}, workspace_ids=frozenset({1}))
    happened = changes({1: 3, 2: 4, 3: 5, 7: 6, 8: 7}, model(1), model(2, 9), model(7), model(8, 9))
    assert sent(of_first, happened) == ["2-3", (1, 3), (7, 6)]
    assert (of_first.known, of_first.shown) == ({1, 7}, 7)


def test_what_lies_outside_of_the_scope_is_deleted_and_never_sent() -> None:
    narrow = subscribed({1}, Scope(frozenset({1})))
    assert sent(narrow, changes({1: 3, 2: 4}, model(1, 2), model(2, 2))) == ["1"]
    assert sent(narrow, changes({5: 5}, Row(MODELS, {"id": 5, "workspace_id": None}))) == []


def test_what_the_client_was_shown_is_not_sent_twice() -> None:
    again = subscribed({1})
    assert sent(again, changes({1: 2, 2: 3}, model(1), model(2))) == [(2, 3)]
    assert sent(again, changes({1: 2, 2: 3}, model(1), model(2))) == []


def test_what_was_looked_up_and_is_not_there_is_gone() -> None:
    of_all = subscribed({1, 2})
    assert sent(of_all, changes({}, model(1), rechecked=frozenset({1, 2, 3}))) == ["2"]
    assert of_all.known == {1}


def test_only_the_last_of_what_one_event_changed_has_its_position() -> None:
    assert list(sequenced([(3, 7), (1, 5), (2, 7), (4, 8)])) == [(1, 5), (2, 6), (3, 7), (4, 8)]
    assert list(sequenced([])) == []


@pytest.mark.parametrize(
    ("event", "key", "found"),
    [
        (models.ModelArchived(4), "directory", [Touch("models", "id", 4)]),
        (models.ModelDeleted(4), "directory", [Touch("models", "id", 4), Touch("modelversions")]),
        (
            models.ModelVersionChanged(4, 2, {}),
            "directory",
            [Touch("models", "id", 4), Touch("modelversions", "numbers", "4.2")],
        ),
        (spaces.ProjectArchived(3), "directory", [Touch("projects", "id", 3)]),
        (spaces.WorkspaceArchived(3), "directory", []),
        (
            spaces.ProjectMoved(3, 2),
            "directory",
            [
                Touch("projects", "id", 3),
                Touch("experiments", "project_ids", 3),
                Touch("trials", "project_ids", 3),
                Touch("checkpoints", "projects", 3),
                Touch("tasks", "projects", 3),
            ],
        ),
        (experiment.ExperimentArchived(), "7", [Touch("experiments", "id", 7)]),
        (experiment.TrialRunStarted(41, 1), "7", [Touch("trials", "id", 41)]),
        (
            experiment.TrialEnded(41, "COMPLETED", ""),
            "7",
            [Touch("trials", "id", 41), Touch("experiments", "id", 7)],
        ),
        (
            experiment.ExperimentDeleted(),
            "7",
            [Touch("experiments", "id", 7), Touch("trials"), Touch("checkpoints"), Touch("tasks")],
        ),
        (
            experiment.ExperimentMoved(2),
            "7",
            [
                Touch("experiments", "id", 7),
                *(Touch(kind, "experiment_ids", 7) for kind in ("trials", "checkpoints", "tasks")),
            ],
        ),
        (checkpoint.CheckpointDeleted("u"), "7", [Touch("checkpoints", "id", "u")]),
        (pool.AgentLost("a", ""), "default", [Touch("agents", "id", "a")]),
        (pool.AllocationStarted("t.1"), "default", [Touch("tasks", "allocations", "t.1")]),
        (pool.JobChanged("j", {}), "default", [Touch("tasks", "job_ids", "j")]),
        (interactive.TaskReady(), "n-1", [Touch("tasks", "id", "n-1")]),
    ],
)
def test_an_event_names_what_it_changes(event: Event, key: str, found: list[Touch]) -> None:
    recorded = Recorded(1, f"{event.category}-{key}", 1, event, Cause("c"), AT)
    assert list(touched(recorded)) == found
    for touch in found:
        assert not touch.by or touch.by in KINDS[touch.kind].lookups


@pytest.mark.parametrize(
    ("event", "users"),
    [
        (identity.SessionClosed(2, 1), {2}),
        (identity.UserChanged(3, {"active": False}), {3}),
        (identity.SessionOpened(2, 1, AT), set()),
        (models.ModelArchived(4), set()),
        (rbac.GroupDeleted(1), {2, 3}),
    ],
)
def test_only_those_are_looked_at_again_whose_rights_may_have_changed(event: Event, users: set[int]) -> None:
    rights = rights_touched(event)
    assert {user_id for user_id in (2, 3) if rights is not None and rights.concern(user_id)} == users


def test_ids_are_ranges_on_the_wire_and_texts_are_a_list() -> None:
    assert written_ids({3, 1, 2, 7}, numbered=True) == "1-3,7"
    assert read_ids("known.models", "1-3,7", numbered=True, most=4) == {1, 2, 3, 7}
    assert read_ids("known.models", "", numbered=True, most=4) == frozenset()
    assert (written_ids(set(), numbered=True), written_ids({"b", "a"}, numbered=False)) == ("", ["a", "b"])
    assert read_ids("known.tasks", ["a"], numbered=False, most=4) == {"a"}


@pytest.mark.parametrize(
    "said", ["1-5", "5-1", "-1", "1-", "1,,2", "x", "1-2-3", "99999999999999999999", "٣", ["1"], {}]
)
def test_other_ranges_are_refused_with_their_field(said: Any) -> None:
    with pytest.raises(InvalidConfig, match=r"^known\.models: "):
        read_ids("known.models", said, numbered=True, most=4)


@pytest.mark.parametrize("said", ["a", [1], [""], ["x" * 257], ["a\0"], [None], ["a"] * 5])
def test_other_lists_of_texts_are_refused_with_their_field(said: Any) -> None:
    with pytest.raises(InvalidConfig, match=r"^known\.tasks: "):
        read_ids("known.tasks", said, numbered=False, most=4)


def test_a_message_says_what_is_wanted_and_what_is_known() -> None:
    said = {
        "sync_id": "s",
        "known": {"models": "1-2", "checkpoints": ["u"]},
        "subscribe": {"models": {"model_ids": [1], "since": 4}, "checkpoints": {"all": True}, "projects": None},
    }
    sync = read_sync(orjson.dumps(said).decode(), LIMITS)
    of_models, of_checkpoints = sync.wishes
    assert (sync.sync_id, of_models.kind, of_checkpoints.kind) == ("s", MODELS, CHECKPOINTS)
    assert (of_models.wanted, of_models.known, of_models.since) == ({"model_ids": frozenset({1})}, frozenset({1, 2}), 4)
    assert (of_checkpoints.everything, of_checkpoints.known) == (True, frozenset({"u"}))
    assert read_sync("{}", LIMITS).wishes == ()


def test_a_list_that_is_too_long_is_refused() -> None:
    with pytest.raises(InvalidConfig, match=r"subscribe\.models\.model_ids: 4 values are more than 3"):
        read_sync('{"subscribe": {"models": {"model_ids": [1, 2, 3, 4]}}}', LIMITS)


async def written(count: int) -> MemoryEventLog:
    log = MemoryEventLog()
    for number in range(count):
        event = models.ModelArchived(number + 1)
        cause = Cause(f"c{number}", actor="a test")
        await log.append("models-directory", [event], expected_version=number, cause=cause)
    return log


async def test_what_happened_lately_is_read_back_once() -> None:
    recent = Recent(await written(8), reach=5)
    recent.begin(6)
    assert await recent.between(6, 6, "models") == []
    assert await recent.between(3, 6, "models") == [(n, Touch("models", "id", n)) for n in (4, 5, 6)]
    assert await recent.between(3, 8, "models") == [(n, Touch("models", "id", n)) for n in (4, 5, 6, 7, 8)]
    assert await recent.between(3, 6, "projects") == []
    assert (recent.floor, await recent.between(0, 6, "models")) == (3, None)


def test_what_happened_long_ago_is_forgotten() -> None:
    recent = Recent(MemoryEventLog(), reach=5)
    for position in range(1, 30):
        recent.add(position, [(position, Touch("models", "id", position))])
        recent.add(position, [(position, Touch("models", "id", position))])  # the follower came again
    assert recent.end == 29
    assert recent.floor >= 29 - 2 * 5
