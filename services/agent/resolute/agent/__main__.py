"""`python -m resolute.agent`. Exit codes: 0 after SIGTERM or SIGINT, 1 after a bug, 2 for unusable settings."""

from __future__ import annotations

import argparse
import sys
from typing import Any

import structlog
import uvloop

from resolute.agent import runtimes, shell
from resolute.proto.errors import InvalidConfig, Refused
from resolute.service import logs

log_ = structlog.get_logger()


def main() -> int:
    arguments = _parse()
    stop_tasks = arguments.pop("stop_tasks")
    try:
        settings = runtimes.load(**{name: value for name, value in arguments.items() if value is not None})
        logs.configure("agent", settings.log_level, settings.log_format)
        structlog.contextvars.bind_contextvars(agent_id=settings.id)
        secrets = shell.secrets_of(settings)
        prepared = runtimes.prepare(settings, confine=True)  # before anything starts a thread
        uvloop.run(shell.run(settings, runtimes.REGISTRY, prepared, stop_tasks, secrets))
    except (InvalidConfig, Refused) as error:
        print(f"resolute.agent: {error.message}", file=sys.stderr)
        return 2
    except Exception:
        log_.exception("stopped by a bug")
        return 1
    return 0


def _parse() -> dict[str, Any]:
    parser = argparse.ArgumentParser(
        prog="python -m resolute.agent",
        description="Runs the tasks of one host. Every setting can also be given as RESOLUTE_AGENT_<NAME>.",
    )
    parser.add_argument("--id", help="the agent's name, unique in the cluster (default: the host's)")
    parser.add_argument("--pool", help="the resource pool to join (default: default)")
    parser.add_argument("--slots", help="how many slots (default: one for each GPU, else one with every core)")
    parser.add_argument("--work-dir", help="where tasks live; an agent that restarts here finds its tasks again")
    parser.add_argument("--nats-url", help="where the cluster's NATS is")
    parser.add_argument("--master-url", help="where tasks find the gateway")
    parser.add_argument("--stop-tasks", action="store_true", help="at SIGTERM or SIGINT, end the tasks too")
    return vars(parser.parse_args())


if __name__ == "__main__":
    sys.exit(main())
