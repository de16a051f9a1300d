"""What every service is built with: folded aggregates, followers, settings, logs, traces, health."""

from __future__ import annotations

from resolute.service.aggregates import Aggregates
from resolute.service.commands import AgentMessages, Question, listen_to_agents, serve_commands
from resolute.service.context import Context, utc_now
from resolute.service.follower import Follower, Patience
from resolute.service.reactions import Reactions
from resolute.service.snapshots import Snapshots

__all__ = [
    "AgentMessages",
    "Aggregates",
    "Context",
    "Follower",
    "Patience",
    "Question",
    "Reactions",
    "Snapshots",
    "listen_to_agents",
    "serve_commands",
    "utc_now",
]
