"""The house's table of who may lean on whom, redrawn from the imports and compared (STYLE.md, section 1)."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

SERVICES = ("agent", "api", "checkpoint", "relay", "scheduler", "searcher")
KIT = {"proto", "codec", "eventlog", "bus", "service"}

# What each portion of the `resolute` namespace may import of the others. Knowledge flows downhill.
ALLOWED: dict[str, set[str]] = {
    "proto": set(),
    "codec": {"proto"},
    "config": {"proto"},
    "storage": {"proto"},
    "bus": {"proto", "codec"},
    "eventlog": {"proto", "codec"},
    "service": KIT,
    "relay": KIT,
    "searcher": KIT | {"config"},
    "scheduler": KIT | {"config"},
    "checkpoint": KIT | {"config", "storage"},
    "api": KIT | {"config", "storage"},
    "agent": KIT - {"eventlog"},
    # The command line talks REST; what it runs on the cluster's own machine (deploy, log, replay) it loads by name.
    "cli": {"proto", "config", "deploy", "eventlog", "api"},
    "deploy": KIT | {"config", "cli", *SERVICES},
}

# Pure cores: they may not reach for the log, the bus or a socket, whatever their service may do.
PURE = [
    "services/searcher/resolute/searcher/experiment.py",
    "services/searcher/resolute/searcher/trial.py",
    "services/scheduler/resolute/scheduler/pool.py",
    "services/scheduler/resolute/scheduler/allocation.py",
    "services/checkpoint/resolute/checkpoint/registry.py",
    "services/checkpoint/resolute/checkpoint/retention.py",
]


def portions() -> Iterator[tuple[str, Path]]:
    for base in (ROOT / "proto", *(ROOT / "libs").iterdir(), *(ROOT / "services").iterdir()):
        for package in (base / "resolute").glob("*") if (base / "resolute").is_dir() else ():
            if package.is_dir() and package.name != "__pycache__":
                yield package.name, package


def imports(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize(("name", "package"), sorted(portions()), ids=lambda value: str(value) if value else "")
def test_knowledge_flows_downhill(name: str, package: Path) -> None:
    for file in package.rglob("*.py"):
        for module in imports(file):
            parts = module.split(".")
            if parts[0] == "resolute" and len(parts) > 1 and parts[1] != name:
                assert parts[1] in ALLOWED[name], f"{file.relative_to(ROOT)} imports {module}"


def test_messages_lean_on_the_standard_library_alone() -> None:
    for file in (ROOT / "proto" / "resolute" / "proto").glob("*.py"):
        for module in imports(file):
            top = module.split(".")[0]
            assert top in sys.stdlib_module_names or module.startswith("resolute.proto"), f"{file.name}: {module}"


@pytest.mark.parametrize("path", PURE)
def test_cores_touch_nothing_outside(path: str) -> None:
    for module in imports(ROOT / path):
        assert not module.startswith(("asyncio", "socket", "aiohttp", "asyncpg", "time", "random.SystemRandom"))
        assert not module.startswith(("resolute.bus", "resolute.eventlog")), f"{path}: {module}"
