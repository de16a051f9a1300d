"""`python -m resolute.directory`."""

from __future__ import annotations

from resolute.directory.shell import serve
from resolute.service.run import run

if __name__ == "__main__":
    run(serve, "directory")
