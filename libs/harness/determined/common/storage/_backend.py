"""What a back end says about itself, for the registry."""

from __future__ import annotations

import enum
import os
import pathlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from determined.common.storage._storage import StorageManager

Section = Mapping[str, Any]
"""The `checkpoint_storage` section of a configuration."""


class Access(enum.Enum):
    """From where a storage is opened, and with whose rights."""

    TASK = enum.auto()
    """In a task: storage may be mounted elsewhere than on the host."""
    HOST = enum.auto()
    """On a host, by a program that a person runs with their own rights."""
    SERVICE = enum.auto()
    """On a host, by a service. It can read files that the task cannot which wrote a checkpoint, so it follows no link
    that leads out of one."""

    @property
    def follows_links(self) -> bool:
        return self is not Access.SERVICE


@dataclass(frozen=True)
class Backend:
    """One type of `checkpoint_storage`."""

    type: str
    place: tuple[str, ...]
    """The fields that say where the files are: two sections in which they are equal mean one storage."""
    open: Callable[[Section, Access], StorageManager]
    """Raises ValueError naming the field for a section that makes no sense. Reaches for nothing yet."""


def absolute_path(section: Section, field: str) -> pathlib.Path:
    """Raises ValueError where the field is no absolute path."""
    value = section.get(field)
    if not isinstance(value, str) or not os.path.isabs(value):
        raise ValueError(f"checkpoint_storage.{field}: expected an absolute path, found {value!r}")
    return pathlib.Path(value)
