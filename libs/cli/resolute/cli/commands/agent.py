"""Agents and their slots."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from typing import Any

from resolute.cli import output, times
from resolute.cli.errors import CliError
from resolute.cli.login import session
from resolute.cli.session import Session


def list_(args: Namespace) -> None:
    _show(_agents(session(args)), args)


def _show(found: list[dict[str, Any]], args: Namespace) -> None:
    if args.json:
        output.show_json(found)
        return
    headers = [
        "Agent ID", "Version", "Registered Time", "Slots", "Containers", "Resource Pool", "Enabled", "Draining",
        "Addresses",
    ]  # fmt: skip
    rows = [
        [
            agent["id"],
            agent.get("version"),
            times.shown(agent.get("registeredTime")),
            len(agent.get("slots") or {}),
            len(agent.get("containers") or {}),
            ", ".join(agent.get("resourcePools") or []),
            agent.get("enabled"),
            agent.get("draining"),
            ", ".join(agent.get("addresses") or []),
        ]
        for agent in found
    ]
    output.show_table(headers, rows, as_csv=args.csv)


def enable(args: Namespace) -> None:
    opened = session(args)
    for agent_id in _chosen(opened, args):
        opened.post(f"/api/v1/agents/{agent_id}/enable")
        print(f"Enabled agent {agent_id}.")


def disable(args: Namespace) -> None:
    opened = session(args)
    for_programs = args.json or args.csv
    chosen = _chosen(opened, args)
    for agent_id in chosen:
        opened.post(f"/api/v1/agents/{agent_id}/disable", {"drain": args.drain})
        if not for_programs:
            print(f"Disabled agent {agent_id}.")
    if for_programs:
        _show([agent for agent in _agents(opened) if agent["id"] in chosen], args)


def list_slots(args: Namespace) -> None:
    opened = session(args)
    holders = _holders(opened)
    found = [row for agent in _agents(opened) for row in _slots(agent, holders)]
    if args.json:
        output.show_json(found)
        return
    headers = [
        "Agent ID", "Resource Pool", "Slot ID", "Enabled", "Draining", "Allocation ID", "Task Name", "Type",
        "Device",
    ]  # fmt: skip
    output.show_table(headers, [list(row.values()) for row in found], as_csv=args.csv)


def enable_slot(args: Namespace) -> None:
    session(args).post(f"/api/v1/agents/{args.agent_id}/slots/{args.slot_id}/enable")
    print(f"Enabled slot {args.slot_id} of agent {args.agent_id}")


def disable_slot(args: Namespace) -> None:
    session(args).post(f"/api/v1/agents/{args.agent_id}/slots/{args.slot_id}/disable")
    print(f"Disabled slot {args.slot_id} of agent {args.agent_id}")


def _agents(opened: Session) -> list[dict[str, Any]]:
    return sorted(opened.get("/api/v1/agents").get("agents") or [], key=lambda agent: str(agent["id"]))


def _chosen(opened: Session, args: Namespace) -> list[str]:
    if args.all:
        return [str(agent["id"]) for agent in _agents(opened)]
    if args.agent_id is None:
        raise CliError("which agent? Give its ID (`det agent list` shows them) or --all")
    return [args.agent_id]


def _holders(opened: Session) -> dict[str, dict[str, Any]]:
    """Which allocation runs in which container."""
    allocations = opened.get("/api/v1/tasks").get("allocationIdToSummary") or {}
    return {
        resource["containerId"]: allocation
        for allocation in allocations.values()
        for resource in allocation.get("resources") or []
        if resource.get("containerId")
    }


def _slots(agent: dict[str, Any], holders: dict[str, dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for slot_id, slot in sorted((agent.get("slots") or {}).items()):
        container, device = slot.get("container"), slot.get("device") or {}
        holder = holders.get((container or {}).get("id", ""), {})
        yield {
            "agent_id": agent["id"],
            "resource_pools": ", ".join(agent.get("resourcePools") or []),
            "slot_id": slot.get("id") or slot_id,
            "enabled": slot.get("enabled"),
            "draining": slot.get("draining"),
            "allocation_id": holder.get("allocationId", "OCCUPIED" if container else "FREE"),
            "task_name": holder.get("name", "OCCUPIED" if container else "FREE"),
            "type": str(device.get("type", "")).removeprefix("TYPE_").lower(),
            "device": device.get("brand"),
        }
