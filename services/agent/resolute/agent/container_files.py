"""The files that a container needs to run a task, as one archive: the harness and the shim.

The archive is unpacked into a volume that is named by the digest of its contents, so that a host has each version once,
and a version never changes. It has bytecode too: a container starts with an empty cache, and compiling takes as long as
importing.
"""

from __future__ import annotations

import hashlib
import importlib.util
import io
import marshal
import sys
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from resolute.agent import environment
from resolute.agent.container_spec import FILES_DIR

SHIM = "resolute/agent/container_shim.py"
_SHIM_FILES = ("__init__.py", "shim.py", "container_shim.py")
_UNCHECKED = (1).to_bytes(4, "little")
"""Bytecode that is taken as it is (PEP 552): files in the volume never change."""


@dataclass(frozen=True, slots=True)
class ContainerFiles:
    digest: str
    archive: bytes = field(repr=False)


@cache
def container_files() -> ContainerFiles:
    packed = io.BytesIO()
    digest = hashlib.sha256(sys.version.encode())
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for name, data in _files():
            digest.update(b"%s\0%d\0" % (name.encode(), len(data)) + data)
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(data), 0o644
            tar.addfile(member, io.BytesIO(data))
    return ContainerFiles(digest.hexdigest()[:16], packed.getvalue())


def _files() -> Iterator[tuple[str, bytes]]:
    harness = Path(environment.harness_directory())
    for path in sorted((harness / "determined").rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            yield from _with_bytecode(path, f"harness/{path.relative_to(harness)}")
    for name in _SHIM_FILES:
        yield from _with_bytecode(Path(__file__).with_name(name), f"resolute/agent/{name}")


def _with_bytecode(path: Path, name: str) -> Iterator[tuple[str, bytes]]:
    yield name, path.read_bytes()
    if path.suffix == ".py":
        source = path.read_bytes()
        code = compile(source, f"{FILES_DIR}/{name}", "exec", dont_inherit=True)
        header = importlib.util.MAGIC_NUMBER + _UNCHECKED + importlib.util.source_hash(source)
        yield importlib.util.cache_from_source(name), header + marshal.dumps(code)
