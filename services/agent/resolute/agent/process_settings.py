"""How tasks run as processes of this host; `RESOLUTE_AGENT_*`."""

from __future__ import annotations

import sys
from pathlib import Path

from pydantic import Field

from resolute.agent.settings import AgentSettings


class ProcessSettings(AgentSettings):
    python: str = sys.executable
    """The interpreter of tasks that are processes; containers have their own."""
    warm_start: bool = True
    """Whether tasks may be forked from a warm parent, which has imported what they need; see docs/decisions/0023."""
    warm_imports: tuple[str, ...] = ("torch", "torch._dynamo", "determined.pytorch")
    """The modules that a warm parent imports besides the harness, once a task has imported them; a JSON list."""
    warm_idle_s: float = Field(default=60.0, gt=0)
    """How long a warm parent is kept when no task begins. With torch it takes 300 MB of memory, and saves each task two
    seconds."""
    task_variables: tuple[str, ...] = ()
    """Further variables of the agent's own environment that tasks inherit; a JSON list of names, with `*` for any
    letters (`["AWS_*"]`). By default tasks inherit what programs need and no secrets: see `inherited_variables.py`."""
    isolation: bool = True
    """Whether tasks that run as processes are kept from the cluster and from each other as far as this host allows:
    see `isolation.py`."""
    hidden_paths: tuple[Path, ...] = ()
    """Directories that are hidden from tasks when the agent is not root; a JSON list."""
    visible_paths: tuple[Path, ...] = ()
    """Directories that tasks have to be able to write to, such as checkpoint storage; a JSON list."""
