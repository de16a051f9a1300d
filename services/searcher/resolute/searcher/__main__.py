"""`python -m resolute.searcher`."""

from __future__ import annotations

from resolute.searcher.shell import serve
from resolute.service.run import run

if __name__ == "__main__":
    run(serve, "searcher")
