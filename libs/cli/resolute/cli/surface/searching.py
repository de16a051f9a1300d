"""`det preview-search` and `resolute search`: what a search would do."""

from __future__ import annotations

from pathlib import Path

from resolute.cli.surface.common import JSON
from resolute.cli.tree import Command, arg

_CONFIG_FILE = arg("config_file", type=Path, help="experiment config file (.yaml)")

PREVIEW = Command("preview-search", "preview search", run="search:preview", args=(_CONFIG_FILE,))

SEARCH = Command(
    "search",
    "try search methods out",
    commands=(
        Command(
            "simulate",
            "simulate a search",
            run="search:simulate",
            args=(
                _CONFIG_FILE,
                arg("--config", action="append", default=[], metavar="KEY=VALUE", help="change a field; may repeat"),
                arg("--slots", type=int, default=0, metavar="N", help="how many trials train at once; 0 for no limit"),
                arg("--seed", type=int, default=1, metavar="N", help="the first seed"),
                arg("--seeds", type=int, default=10, metavar="N", help="how many seeds"),
                arg("--plot", type=Path, metavar="FILE", help="draw the curves into this PNG as well"),
                JSON,
            ),
        ),
    ),
)

OF_DET = (PREVIEW,)
OF_RESOLUTE = (SEARCH,)
