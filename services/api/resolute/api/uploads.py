"""Submissions with a large context directory: written to a file as they come, and read by a process of their own.

The files of a context directory are one JSON document of up to 130 MiB. Parsing it, decoding it and packing it takes
seconds, and holds the interpreter for half a second at a time; on a thread it would hold up the gateway, and in the
embedded cluster every service. The process takes half a second to start, and gives its memory back when it ends.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import orjson
import structlog

from resolute.proto.errors import InvalidConfig, Unavailable

log_ = structlog.get_logger()

AT_ONCE = 2
"""How many uploads are read at the same time; the others wait for their turn."""
READ_S = 120.0
"""How long reading one may take."""
WRITE_BYTES = 2**20
"""How much is gathered before it is written."""


@dataclass(frozen=True, slots=True)
class Packed:
    """A context directory as it will be stored: a tar.gz in a file, until its upload is closed."""

    archive: Path
    sha256: str
    size_bytes: int
    paths: tuple[str, ...]
    """Of the files in it."""


class Uploads:
    def __init__(self) -> None:
        self._turns = asyncio.Semaphore(AT_ONCE)

    async def begin(self, of: str) -> Upload:
        """`of`: experiment or task. Raises Unavailable where there is no room for it."""
        folder = await _on_a_thread(tempfile.mkdtemp, None, "resolute-upload-")
        return Upload(Path(folder), self._turns, of)


class Upload:
    def __init__(self, folder: Path, turns: asyncio.Semaphore, of: str) -> None:
        self._folder, self._turns, self._of = folder, turns, of
        self._file: BinaryIO = (folder / "body").open("wb")
        self.complete = False
        """Whether all of it is in its file."""
        self.packed: Packed | None = None
        """The context directory, once it was parsed; None when it has no files."""

    async def write(self, parts: list[bytes]) -> None:
        """Takes what `parts` holds into the file, once that is worth it."""
        if sum(map(len, parts)) >= WRITE_BYTES:
            await self._write(parts)

    async def _write(self, parts: list[bytes]) -> None:
        taken = list(parts)
        parts.clear()
        await _on_a_thread(self._file.writelines, taken)

    async def finish(self, parts: list[bytes]) -> None:
        await self._write(parts)
        await _on_a_thread(self._file.close)
        self.complete = True

    async def parsed(self) -> dict[str, Any]:
        """The body without its files, which are `packed` from now on. Raises InvalidConfig for what is wrong."""
        async with self._turns:
            told = orjson.loads(await self._read())
        if error := told.get("error"):
            raise InvalidConfig(error)
        if packed := told["packed"]:
            self.packed = Packed(self._archive, packed["sha256"], packed["size_bytes"], tuple(packed["paths"]))
        body: dict[str, Any] = told["body"]
        return body

    @property
    def _archive(self) -> Path:
        return self._folder / "context.tgz"

    async def _read(self) -> bytes:
        argv = (sys.executable, "-m", "resolute.api.packing", self._of, str(self._folder / "body"), str(self._archive))
        async with _process(*argv) as process:
            try:
                async with asyncio.timeout(READ_S):
                    told, complaints = await process.communicate()
            except TimeoutError:
                raise Unavailable(f"reading the context directory took longer than {READ_S:g} s") from None
        if process.returncode != 0:
            log_.error("an upload could not be read", code=process.returncode, why=complaints.decode()[-2000:])
            raise Unavailable("the context directory could not be read; the gateway's log says why")
        return told

    async def close(self) -> None:
        """Removes everything of it."""
        await asyncio.shield(asyncio.to_thread(self._remove))

    def _remove(self) -> None:
        self._file.close()
        for name in ("body", "context.tgz"):
            (self._folder / name).unlink(missing_ok=True)
        self._folder.rmdir()


@asynccontextmanager
async def _process(*argv: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """Runs for as long as somebody waits for it."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("RESOLUTE_")}
    process = await asyncio.create_subprocess_exec(
        *argv,
        env=environment,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def _on_a_thread(work: Any, *args: Any) -> Any:
    try:
        return await asyncio.to_thread(work, *args)
    except OSError as error:
        raise Unavailable(f"the gateway has no room for an upload: {error.strerror}") from error
