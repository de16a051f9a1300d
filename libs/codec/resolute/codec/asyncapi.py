"""The bus as an AsyncAPI 3 document: every subject, the services that send there, the messages and the answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from resolute.proto import pool, proxy, tasks
from resolute.proto.message import COMMANDS, EVENTS, Command, Event, Reply, verb
from resolute.proto.owners import OWNERS, TaskOwner

VERSION = "0.1.0"


@dataclass(frozen=True, slots=True)
class Exchange:
    """One subject of the conversation between an agent and the services: `resolute.agent.<agent>.<what>`."""

    what: str
    message: type
    answer: type | None
    listener: str


CONVERSATION = (
    Exchange("hello", pool.AgentHello, pool.AgentOrders, "scheduler"),
    Exchange("heartbeat", pool.AgentHeartbeat, None, "scheduler"),
    Exchange("report", pool.TaskReport, Reply, "scheduler"),
    Exchange("logs", pool.LogBatch, pool.LogsStored, "api"),
    Exchange("secrets", pool.OpenSecrets, pool.SecretsOpened, "api"),
    Exchange("dial_failed", proxy.DialFailed, None, "api"),
    Exchange("dial", proxy.DialTask, None, "agent"),
    Exchange("orders", pool.AgentOrders, None, "agent"),
)


def conversation_kinds() -> list[type]:
    """The messages of the conversation, and what commands are answered with."""
    kinds = [kind for exchange in CONVERSATION for kind in (exchange.message, exchange.answer) if kind is not None]
    return list(dict.fromkeys([*kinds, Reply, tasks.DescribeTask, tasks.TaskDescription]))


def document(summaries: Mapping[str, str]) -> dict[str, Any]:
    """The document; `summaries` says of every message, by name, what it means."""
    events = sorted(EVENTS.items())
    commands = sorted(COMMANDS.items())
    channels = {
        **{name: _event_channel(kind) for name, kind in events},
        **{name: _command_channel(kind) for name, kind in commands},
        "answers": {
            "address": None,
            "title": "An inbox of the asker's own",
            "messages": _refer("#/components/messages", [kind.__name__ for kind in conversation_kinds()]),
        },
        **{f"agent-{exchange.what}": _agent_channel(exchange) for exchange in CONVERSATION},
        **{f"describe-task-{name}": _owner_channel(owner) for name, owner in OWNERS.items()},
    }
    operations = {
        **{f"publish-{name}": _publish(name) for name, _ in events},
        **{f"decide-{name}": _receive(name, name, "Reply") for name, _ in commands},
        **{f"hear-agent-{exchange.what}": _converse(exchange) for exchange in CONVERSATION},
        **{f"describe-task-{name}": _describe(name) for name in OWNERS},
    }
    return {
        "asyncapi": "3.0.0",
        "info": {
            "title": "Resolute: the bus",
            "version": VERSION,
            "description": "Commands with an answer, facts from the log, the conversation with the agents: over NATS. "
            "Generated from the classes in resolute.proto; bodies are JSON, and headers say type, cause and place.",
        },
        "defaultContentType": "application/json",
        "channels": channels,
        "operations": operations,
        "components": {
            "messages": {name: _message(name, text) for name, text in summaries.items()},
            "messageTraits": {"command": {"headers": _COMMAND_HEADERS}, "fact": {"headers": _FACT_HEADERS}},
        },
    }


def _texts(names: Iterable[str]) -> dict[str, Any]:
    return {name: {"type": "string"} for name in names}


_COMMAND_HEADERS = {
    "type": "object",
    "required": ["Resolute-Type", "Resolute-Cause", "Resolute-Actor", "Resolute-Correlation"],
    "properties": _texts(["Resolute-Type", "Resolute-Cause", "Resolute-Actor", "Resolute-Correlation", "traceparent"]),
}
_FACT_HEADERS = {
    "type": "object",
    "required": ["Nats-Msg-Id", "Resolute-Type", "Resolute-Schema", "Resolute-Position", "Resolute-Stream"],
    "properties": _texts(
        [
            *("Nats-Msg-Id", "Resolute-Type", "Resolute-Schema", "Resolute-Position", "Resolute-Stream"),
            *("Resolute-Version", "Resolute-Recorded-At", "Resolute-Previous-Hash"),
            *("Resolute-Cause", "Resolute-Actor", "Resolute-Correlation", "traceparent"),
        ]
    ),
}


def _refer(where: str, names: Iterable[str]) -> dict[str, Any]:
    return {name: {"$ref": f"{where}/{name}"} for name in names}


def _event_channel(kind: type[Event]) -> dict[str, Any]:
    return {
        "address": f"resolute.evt.{kind.category}.{{id}}.{kind.__name__}",
        "parameters": {"id": {"description": f"the rest of the stream's name, {kind.category}-<id>, as one token"}},
        "messages": _refer("#/components/messages", [kind.__name__]),
    }


def _command_channel(kind: type[Command]) -> dict[str, Any]:
    return {
        "address": f"resolute.cmd.{kind.service}.{verb(kind)}",
        "messages": _refer("#/components/messages", [kind.__name__]),
    }


def _agent_channel(exchange: Exchange) -> dict[str, Any]:
    return {
        "address": f"resolute.agent.{{agent}}.{exchange.what}",
        "parameters": {"agent": {"description": "the agent's id, as one token"}},
        "messages": _refer("#/components/messages", [exchange.message.__name__]),
    }


def _owner_channel(owner: TaskOwner) -> dict[str, Any]:
    return {"address": owner.subject, "messages": _refer("#/components/messages", [tasks.DescribeTask.__name__])}


def _describe(owner: str) -> dict[str, Any]:
    operation = _receive(f"describe-task-{owner}", tasks.DescribeTask.__name__, tasks.TaskDescription.__name__)
    return {"summary": f"Answered by the {owner}, for allocations that it asked for.", **operation}


def _publish(name: str) -> dict[str, Any]:
    return {
        "action": "send",
        "summary": "The relay repeats it from the log.",
        "channel": {"$ref": f"#/channels/{name}"},
        "messages": [{"$ref": f"#/channels/{name}/messages/{name}"}],
    }


def _receive(channel: str, message: str, answer: str | None) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "action": "receive",
        "channel": {"$ref": f"#/channels/{channel}"},
        "messages": [{"$ref": f"#/channels/{channel}/messages/{message}"}],
    }
    if answer is not None:
        operation["reply"] = {
            "channel": {"$ref": "#/channels/answers"},
            "messages": [{"$ref": f"#/channels/answers/messages/{answer}"}],
        }
    return operation


def _converse(exchange: Exchange) -> dict[str, Any]:
    answer = exchange.answer.__name__ if exchange.answer is not None else None
    operation = _receive(f"agent-{exchange.what}", exchange.message.__name__, answer)
    return {"summary": f"Heard by the {exchange.listener}.", **operation}


def _message(name: str, summary: str) -> dict[str, Any]:
    made: dict[str, Any] = {"name": name}
    if summary:
        made["summary"] = summary
    if name in EVENTS:
        made["traits"] = [{"$ref": "#/components/messageTraits/fact"}]
    elif name in COMMANDS:
        made["traits"] = [{"$ref": "#/components/messageTraits/command"}]
    made["payload"] = {"schemaFormat": "application/schema+json;version=draft-2020-12", "schema": _schema_of(name)}
    return made


def _schema_of(name: str) -> dict[str, str]:
    return {"$ref": f"schemas/{name}.json"}
