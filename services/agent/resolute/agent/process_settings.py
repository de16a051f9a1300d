"""How tasks run as processes of this host; `RESOLUTE_AGENT_*`."""

from __future__ import annotations

import sys
from pathlib import Path

from pydantic import Field

from resolute.agent.settings import AgentSettings


class ProcessSettings(AgentSettings):
    python: str = sys.executable
    """The interpreter that processes run with; containers have their own."""
    warm_start: bool = True
    """Whether tasks may be forked from a parent that has imported what they need; see docs/decisions/0023."""
    warm_imports: tuple[str, ...] = ("torch", "torch._dynamo", "determined.pytorch")
    """What that parent imports beside the harness, once a task has done so; a JSON list."""
    warm_idle_s: float = Field(default=60.0, gt=0)
    """How long it stays when no task begins: with torch it holds 300 MB, and where tasks begin less often than this,
    two seconds do not matter."""
    task_variables: tuple[str, ...] = ()
    """Further variables of the agent's own environment that tasks inherit; a JSON list of names, with `*` for any
    letters (`["AWS_*"]`). Without it they inherit what programs need and no secrets: see `inherited_variables.py`."""
    isolation: bool = True
    """Whether tasks that run as processes are kept from the cluster and from each other as far as this host allows:
    see `isolation.py`."""
    hidden_paths: tuple[Path, ...] = ()
    """Directories that tasks do not see where the agent is not root; a JSON list."""
    visible_paths: tuple[Path, ...] = ()
    """Directories that tasks write to, checkpoint storage above all, wherever they are; a JSON list."""
