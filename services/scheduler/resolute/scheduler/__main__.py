"""`python -m resolute.scheduler`."""

from __future__ import annotations

from resolute.scheduler.shell import serve
from resolute.service.run import run

if __name__ == "__main__":
    run(serve, "scheduler")
