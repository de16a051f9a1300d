"""`python -m resolute.tasks`."""

from __future__ import annotations

from resolute.service.run import run
from resolute.tasks.shell import serve

if __name__ == "__main__":
    run(serve, "tasks")
