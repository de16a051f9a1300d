"""Users, agents, slots, tasks, jobs, checkpoints, the master itself."""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from resolute.cli.password import on_the_wire

AGENT = {
    "id": "agent-1",
    "version": "0.38.1",
    "registeredTime": "2026-01-02T03:04:05Z",
    "slotStats": {},
    "enabled": True,
    "draining": False,
    "resourcePools": ["default"],
    "addresses": ["127.0.0.1"],
    "slots": {
        "0": {"id": "0", "enabled": True, "draining": False, "device": {"type": "TYPE_CPU", "brand": "x86"}},
        "1": {"id": "1", "enabled": True, "container": {"id": "c-1"}, "device": {"type": "TYPE_CPU"}},
    },
}
ALLOCATION = {
    "taskId": "7.1",
    "allocationId": "7.1.0",
    "name": "Trial 1 (Experiment 7)",
    "slotsNeeded": 1,
    "registeredTime": "2026-01-02T03:04:05Z",
    "resourcePool": "default",
    "resources": [{"containerId": "c-1", "agentDevices": {"agent-1": {}}}],
}


@pytest.fixture
def cluster(master: Any) -> Any:
    master.on("GET /api/v1/agents", {"agents": [AGENT]})
    master.on("GET /api/v1/tasks", {"allocationIdToSummary": {"7.1.0": ALLOCATION}})
    return master


def test_agents_are_listed_with_what_they_offer(cluster: Any, det: Callable[..., Any]) -> None:
    assert det("agent list").out == (
        " Agent ID   | Version   | Registered Time          |   Slots |   Containers | Resource Pool   | Enabled   "
        "| Draining   | Addresses\n"
        "------------+-----------+--------------------------+---------+--------------+-----------------+-----------"
        "+------------+-------------\n"
        " agent-1    | 0.38.1    | 2026-01-02 03:04:05+0000 |       2 |            0 | default         | True      "
        "| False      | 127.0.0.1\n"
    )
    assert json.loads(det("a ls --json").out) == [AGENT]


def test_slots_say_who_holds_them(cluster: Any, det: Callable[..., Any]) -> None:
    free, held = json.loads(det("slot list --json").out)
    assert (free["slot_id"], free["allocation_id"], free["task_name"]) == ("0", "FREE", "FREE")
    assert (held["slot_id"], held["allocation_id"]) == ("1", "7.1.0")
    assert held["task_name"] == "Trial 1 (Experiment 7)"
    assert free["type"] == "cpu"


def test_an_agent_is_disabled_by_name_or_all_of_them(cluster: Any, det: Callable[..., Any]) -> None:
    cluster.on("POST /api/v1/agents/agent-1/disable", {})
    assert det("a disable agent-1 --drain").out == "Disabled agent agent-1.\n"
    assert cluster.last("POST /api/v1/agents/agent-1/disable").body == {"drain": True}
    assert json.loads(det("a disable --all --json").out) == [AGENT]
    assert "or --all" in det("a disable").err


def test_slots_are_enabled_one_by_one(cluster: Any, det: Callable[..., Any]) -> None:
    cluster.on("POST /api/v1/agents/agent-1/slots/1/enable", {})
    assert det("s enable agent-1 1").out == "Enabled slot 1 of agent agent-1\n"


def test_tasks_are_listed_with_where_they_run(cluster: Any, det: Callable[..., Any]) -> None:
    cells = [cell.strip() for cell in det("task").out.splitlines()[-1].split("|")]
    assert cells == [
        "7.1", "7.1.0", "Trial 1 (Experiment 7)", "1", "2026-01-02 03:04:05+0000", "agent-1", "N/A", "default", "",
    ]  # fmt: skip


def test_jobs_are_listed_in_the_words_of_the_pools_scheduler(master: Any, det: Callable[..., Any]) -> None:
    pool = {"name": "default", "defaultComputePool": True, "schedulerType": "SCHEDULER_TYPE_PRIORITY"}
    job = {
        "jobId": "j-1",
        "type": "TYPE_EXPERIMENT",
        "name": "mnist",
        "entityId": "7",
        "priority": 42,
        "submissionTime": "2026-01-02T03:04:05Z",
        "allocatedSlots": 1,
        "requestedSlots": 2,
        "username": "ada",
        "summary": {"jobsAhead": 0, "state": "STATE_SCHEDULED"},
    }
    master.on("GET /api/v1/resource-pools", {"resourcePools": [pool]})
    master.on("GET /api/v1/job-queues-v2", {"jobs": [{"full": job}], "pagination": {"endIndex": 1, "total": 1}})
    header, _, row = det("job list").out.splitlines()
    assert [cell.strip() for cell in header.split("|")][4] == "Priority"
    assert [cell.strip() for cell in row.split("|")] == [
        "0", "j-1", "TYPE_EXPERIMENT", "mnist (7)", "42", "2026-01-02 03:04:05+0000", "1/2", "STATE_SCHEDULED", "ada",
    ]  # fmt: skip
    assert "no resource pool 'other'" in det("job list -p other").err


def test_users_are_listed(master: Any, det: Callable[..., Any]) -> None:
    users = [{"id": 1, "username": "admin", "admin": True, "active": True, "displayName": ""}]
    master.on("GET /api/v1/users", {"users": users, "pagination": {"endIndex": 1, "total": 1}})
    cells = [cell.strip() for cell in det("user list").out.splitlines()[-1].split("|")]
    assert cells == ["1", "admin", "N/A", "True", "True", "False", "N/A", "N/A", "N/A", "N/A"]


def test_a_new_user_gets_a_password_that_was_never_sent_in_clear(master: Any, det: Callable[..., Any]) -> None:
    master.on("POST /api/v1/users", {"user": {"id": 5}})
    assert det("user create ada --password Secret12").out == "Created user 'ada' (ID 5)\n"
    assert master.last("POST /api/v1/users").body == {
        "user": {"username": "ada", "admin": False, "active": True, "remote": False},
        "password": on_the_wire("Secret12"),
        "isHashed": True,
    }


@pytest.mark.parametrize(
    ("words", "change"),
    [
        ("activate ada", {"active": True}),
        ("deactivate ada", {"active": False}),
        ("rename ada eve", {"username": "eve"}),
        (
            "link-with-agent-user ada --agent-uid 1001 --agent-gid 2001 --agent-user ada",
            {"agentUserGroup": {"agentUid": 1001, "agentUser": "ada", "agentGid": 2001}},
        ),
        ("edit ada --admin true --display-name Ada", {"admin": True, "displayName": "Ada"}),
    ],
)
def test_a_user_is_changed_by_id(master: Any, det: Callable[..., Any], words: str, change: dict[str, Any]) -> None:
    master.on("GET /api/v1/users/ada/by-username", {"user": {"id": 5}})
    master.on("PATCH /api/v1/users/5", {})
    assert det(f"user {words}").status == 0
    assert master.last("PATCH /api/v1/users/5").body == change


def test_an_agent_user_has_both_numbers(det: Callable[..., Any]) -> None:
    answer = det("user link-with-agent-user ada --agent-uid 1001")
    assert answer.status != 0
    assert "--agent-uid N --agent-gid N" in answer.err


def test_the_version_is_told_with_and_without_a_master(
    master: Any, det: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    out = det("version").out
    assert "version: 0.38.1" in out
    assert f"master_address: {master.url}" in out
    assert "cluster_id: c" in out


def test_a_master_of_another_version_is_worked_with_under_a_warning(master: Any, det: Callable[..., Any]) -> None:
    master.on("GET /info", {"version": "0.99.0"})
    outcome = det("user whoami")
    assert outcome.status == 0
    assert outcome.err == "Warning: the master speaks 0.99.0, this client 0.38.1\n"


def checkpoint(**changes: Any) -> dict[str, Any]:
    return {
        "uuid": "u-1",
        "state": "STATE_COMPLETED",
        "metadata": {"steps_completed": 100},
        "resources": {"model.pt": "5"},
        "reportTime": "2026-01-02T03:04:05Z",
        "training": {
            "experimentId": 7,
            "trialId": 1,
            "validationMetrics": {"avgMetrics": {"loss": 0.1}},
            "experimentConfig": {"checkpoint_storage": {"type": "shared_fs", "host_path": "/nowhere"}},
        },
        **changes,
    }


def archive() -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        entry = tarfile.TarInfo("model.pt")
        entry.size = 5
        tar.addfile(entry, io.BytesIO(b"model"))
    return buffer.getvalue()


@pytest.mark.parametrize(
    "storage",
    [
        {"type": "shared_fs", "host_path": "/nowhere"},
        {"type": "directory", "container_path": "/nowhere"},
        {"type": "s3"},
        {},
    ],
)
def test_a_checkpoint_comes_through_the_master_when_its_storage_is_elsewhere(
    master: Any, det: Callable[..., Any], tmp_path: Path, storage: dict[str, str]
) -> None:
    training = {"trialId": 1, "experimentConfig": {"checkpoint_storage": storage}}
    master.on("GET /api/v1/checkpoints/u-1", {"checkpoint": checkpoint(training=training)})
    master.on("GET /checkpoints/u-1", web.Response(body=archive(), content_type="application/gzip"))
    outcome = det(f"c download u-1 -o {tmp_path}/ck")
    assert outcome.out.startswith(f"Local checkpoint path:\n{tmp_path}/ck\n")
    assert (tmp_path / "ck" / "model.pt").read_bytes() == b"model"
    assert json.loads((tmp_path / "ck" / "metadata.json").read_text()) == {"steps_completed": 100}


def test_a_checkpoint_is_copied_straight_from_a_storage_that_is_here(
    master: Any, det: Callable[..., Any], tmp_path: Path
) -> None:
    stored = tmp_path / "store" / "sub" / "u-1"
    stored.mkdir(parents=True)
    (stored / "model.pt").write_bytes(b"model")
    storage = {"type": "shared_fs", "host_path": str(tmp_path / "store"), "storage_path": "sub"}
    training = {"trialId": 1, "experimentConfig": {"checkpoint_storage": storage}}
    master.on("GET /api/v1/checkpoints/u-1", {"checkpoint": checkpoint(training=training)})
    assert det(f"c download u-1 -q -o {tmp_path}/ck").out == f"{tmp_path}/ck\n"
    assert (tmp_path / "ck" / "model.pt").read_bytes() == b"model"


def test_an_archive_that_arrives_broken_is_told(master: Any, det: Callable[..., Any], tmp_path: Path) -> None:
    master.on("GET /api/v1/checkpoints/u-1", {"checkpoint": checkpoint()})
    master.on("GET /checkpoints/u-1", web.Response(body=archive()[:40], content_type="application/gzip"))
    outcome = det(f"c download u-1 -o {tmp_path}/ck")
    assert outcome.status == 1
    assert "arrived broken" in outcome.err


def test_a_checkpoint_that_is_not_whole_is_not_downloaded(master: Any, det: Callable[..., Any]) -> None:
    master.on("GET /api/v1/checkpoints/u-1", {"checkpoint": checkpoint(state="STATE_ACTIVE")})
    outcome = det("c download u-1")
    assert outcome.err.startswith("Failed to download checkpoint from persistent storage: checkpoint u-1 is ACTIVE")


@pytest.mark.parametrize(
    ("words", "order"),
    [
        ("--best", [("sortByAttr", "SORT_BY_SEARCHER_METRIC")]),
        ("--latest", [("orderBy", "ORDER_BY_DESC"), ("sortByAttr", "SORT_BY_BATCH_NUMBER")]),
        (
            "--best --sort-by acc --smaller-is-better false",
            [("orderBy", "ORDER_BY_DESC"), ("sortByMetric", "acc")],
        ),
    ],
)
def test_the_best_or_latest_of_a_trial_is_the_first_whole_one_in_that_order(
    master: Any, det: Callable[..., Any], tmp_path: Path, words: str, order: list[tuple[str, str]]
) -> None:
    found = [checkpoint(uuid="u-0", state="STATE_ERROR"), checkpoint(), checkpoint(uuid="u-2")]
    master.on("GET /api/v1/trials/1/checkpoints", {"checkpoints": found, "pagination": {"endIndex": 3, "total": 3}})
    master.on("GET /checkpoints/u-1", web.Response(body=archive(), content_type="application/gzip"))
    assert det(f"t download 1 {words} -q -o {tmp_path}/ck").out == f"{tmp_path}/ck\n"
    query = master.last("GET /api/v1/trials/1/checkpoints").query
    assert sorted(pair for pair in query if pair[0] in ("orderBy", "sortByAttr", "sortByMetric")) == order
