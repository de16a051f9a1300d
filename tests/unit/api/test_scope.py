"""What a scope leaves of what a user may do, and that nothing is looked up while everybody's scope is everything."""

from __future__ import annotations

from typing import Any

import pytest

from resolute.api import access
from resolute.api.access import Named
from resolute.api.kernel.listing import Where
from resolute.api.routing import OWNERS, SIGNED_IN, Owned, Principal, Route, TaskClaims, Verdict, decide
from resolute.api.scope import EVERYWHERE, UNLIMITED, AllEverywhere, Held, Outside, Rights, Scope
from resolute.api.table import PERMISSIONS, ROUTES

USER, ADMIN = Principal(2, "ada"), Principal(1, "admin", admin=True)
HERE, ELSEWHERE = 7, 8
EDIT = SIGNED_IN.to("experiment.edit").about("experiment", "experimentId")


def rights(*, by_roles: bool = False, **held: Held) -> Rights:
    """In workspace 7 everything, unless `held` says otherwise of a permission."""
    scopes: dict[str, Held] = dict.fromkeys(PERMISSIONS, frozenset({HERE}))
    scopes.update({name.replace("_", "."): where for name, where in held.items()})
    return Rights({name: Scope(where) for name, where in scopes.items()}, by_roles)


def experiment(workspace_id: int | None, owner_id: int = 2) -> Owned:
    return Owned("experiment", "3", owner_id=owner_id, workspace_id=workspace_id)


def test_what_lies_outside_of_the_scope_does_not_exist() -> None:
    assert decide(EDIT, USER, [experiment(HERE)], rights()) is Verdict.ALLOWED
    for elsewhere in (ELSEWHERE, None):
        assert decide(EDIT, USER, [experiment(HERE), experiment(elsewhere)], rights()) is Verdict.MISSING
        assert decide(EDIT, USER, [experiment(elsewhere)]) is Verdict.ALLOWED, "the scope of everything"


def test_one_who_may_see_a_thing_and_not_change_it_is_told_which_permission_that_takes() -> None:
    viewer = rights(experiment_edit=frozenset())
    assert decide(EDIT, USER, [experiment(HERE)], viewer) is Verdict.NOT_GRANTED
    answer = access.refusal(Verdict.NOT_GRANTED, "PauseExperiment", EDIT, USER)
    assert answer.message == "access denied; required permissions: PERMISSION_TYPE_UPDATE_EXPERIMENT"


def test_a_move_takes_a_permission_at_either_end() -> None:
    there = Owned("project", "5", workspace_id=ELSEWHERE, permission="experiment.create")
    move = EDIT.about("project", "body.destinationProjectId", to="experiment.create")
    seen = frozenset({HERE, ELSEWHERE})
    assert decide(move, USER, [experiment(HERE), there], rights()) is Verdict.MISSING
    assert decide(move, USER, [experiment(HERE), there], rights(experiment_view=seen)) is Verdict.NOT_GRANTED
    both = rights(experiment_view=seen, experiment_create=seen)
    assert decide(move, USER, [experiment(HERE), there], both) is Verdict.ALLOWED


def test_owners_and_administrators_count_until_roles_decide() -> None:
    delete = OWNERS.to("experiment.delete").about("experiment", "experimentId")
    others = [experiment(HERE, owner_id=9)]
    assert decide(delete, USER, others, rights()) is Verdict.DENIED
    assert decide(delete, ADMIN, others, rights()) is Verdict.ALLOWED
    assert decide(delete, USER, others, rights(by_roles=True)) is Verdict.ALLOWED
    nothing = rights(by_roles=True, experiment_delete=frozenset())
    assert decide(delete, ADMIN, others, nothing) is Verdict.NOT_GRANTED
    secrets = OWNERS.about("experiment", "experimentId")
    assert decide(secrets, USER, others, rights(by_roles=True)) is Verdict.DENIED, "no permission opens it"


def test_what_lies_outside_of_workspaces_takes_a_permission_everywhere() -> None:
    logs = SIGNED_IN.to("cluster.logs.view").outside()
    assert decide(logs, USER, [], rights()) is Verdict.NOT_GRANTED
    assert decide(logs, USER, [], rights(cluster_logs_view=EVERYWHERE)) is Verdict.ALLOWED


def test_scopes_are_combined_to_what_both_cover() -> None:
    here, both = Scope(frozenset({HERE})), Scope(frozenset({HERE, ELSEWHERE}))
    assert here & both == both & here == here
    assert UNLIMITED & here == here & UNLIMITED == here
    assert UNLIMITED.covers(None)
    assert not both.covers(None)


def test_a_list_begins_with_its_scope_and_without_one_there_is_no_list() -> None:
    where = Where(Scope(frozenset({8, 7})), "p.workspace_id", ["first"])
    where.add("p.name = ?", "n")
    assert where.sql == " WHERE p.workspace_id = ANY($2::int[]) AND p.name = $3"
    assert where.args == ["first", [7, 8], "n"]
    assert Where(UNLIMITED, "p.workspace_id").sql == ""
    assert Where(Outside()).sql == ""
    for bounds, workspace in ((UNLIMITED, ""), (Outside(), "p.workspace_id")):
        with pytest.raises(AssertionError):
            Where(bounds, workspace)


class NoTables:
    """Fails the test when anything is looked up."""

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"{name}: looked up")


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.operation)
async def test_a_user_whose_scope_is_everything_costs_no_query_where_only_that_counts(route: Route) -> None:
    if decide(route.access, USER, ()) is not Verdict.ALLOWED:
        return
    granted_rights = await access.rights_of(AllEverywhere(), route, USER)
    path = {subject.where.partition(".")[2]: "3" for subject in route.access.subjects}
    places: Any = NoTables()
    granted = await access.check(places, route, USER, granted_rights, Named(path, {"trialIds": ["3"]}, {}))
    assert isinstance(granted.bounds, Outside) or granted.bounds.is_everything
    await access.check_again(places, AllEverywhere(), granted, USER)


async def test_a_task_is_held_to_what_is_its_own_and_to_no_scope() -> None:
    task = Principal(2, "ada", task=TaskClaims("task-4", "task-4.1", trial_id=4, experiment_id=3))
    places: Any = NoTables()
    [route] = [route for route in ROUTES if route.operation == "ReportTrialProgress"]
    task_rights = await access.rights_of(AllEverywhere(), route, task)
    granted = await access.check(places, route, task, task_rights, Named({"trialId": "4"}, {}, {}))
    assert granted.bounds == UNLIMITED
