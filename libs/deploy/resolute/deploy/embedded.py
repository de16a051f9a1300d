"""Every service of a cluster in one process: what `det deploy local cluster-up` runs.

They share a connection to NATS and one to Postgres, and still talk to each other over the bus alone.
"""

from __future__ import annotations

from resolute.api import settings as api_settings
from resolute.api.shell import serve as serve_api
from resolute.checkpoint.shell import serve as serve_checkpoint
from resolute.directory.shell import serve as serve_directory
from resolute.relay.shell import serve as serve_relay
from resolute.scheduler.shell import serve as serve_scheduler
from resolute.searcher.shell import serve as serve_searcher
from resolute.service import Context
from resolute.service.run import run_all
from resolute.tasks.shell import serve as serve_tasks


async def _serve_api(context: Context) -> None:
    await serve_api(context, api_settings.load())


if __name__ == "__main__":
    run_all(
        {
            "relay": serve_relay,
            "directory": serve_directory,
            "searcher": serve_searcher,
            "tasks": serve_tasks,
            "scheduler": serve_scheduler,
            "checkpoint": serve_checkpoint,
            "api": _serve_api,
        },
        "services",
    )
