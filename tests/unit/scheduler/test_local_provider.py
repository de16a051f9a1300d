"""The children of the local provider: reaped on one thread while another one launches."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from resolute.config.pools import Provider, ResourcePool
from resolute.scheduler.provisioner.local import LocalProvider
from resolute.scheduler.provisioner.settings import LocalSettings


class Child:
    """A process that has ended or runs. `meanwhile` is what another thread does while this one asks for its status."""

    def __init__(self, code: int | None, meanwhile: dict[str, Any] | None = None) -> None:
        self.code, self.meanwhile = code, meanwhile or {}
        self.known: dict[str, Any] = {}

    def poll(self) -> int | None:
        self.known.update(self.meanwhile)
        return self.code


def test_an_instance_that_is_launched_while_children_are_reaped_is_kept(tmp_path: Path) -> None:
    pool = ResourcePool(provider=Provider(artificial_slots=True))
    provider = LocalProvider(pool, LocalSettings(work_dir=tmp_path))
    children: dict[str, Any] = provider._children
    launched, same_name = Child(None), Child(None)
    ended = Child(0, {"third": launched, "second": same_name})
    ended.known = children
    children |= {"first": ended, "second": Child(1), "runs": Child(None)}
    assert provider.running() == {}
    assert children.keys() == {"second", "third", "runs"}
    assert (children["second"], children["third"]) == (same_name, launched)
