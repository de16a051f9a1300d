"""The last release, as source code out of the repository's history."""

from __future__ import annotations

import io
import subprocess
import tarfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]

LAST: str = tomllib.loads((Path(__file__).with_name("releases.toml")).read_text())["last"]["commit"]

SOURCES = ("proto", "libs", "services")


def in_history(commit: str = LAST) -> bool:
    """Whether this checkout has the commit; a shallow clone has not."""
    asked = ["git", "cat-file", "-e", f"{commit}^{{commit}}"]
    try:
        return subprocess.run(asked, cwd=ROOT, capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def extract(folder: Path, commit: str = LAST) -> str:
    """Put the release's sources into `folder`; the PYTHONPATH under which Python finds them before today's."""
    packed = subprocess.run(["git", "archive", commit, *SOURCES], cwd=ROOT, capture_output=True, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(folder, filter="data")
    return ":".join(
        str(found.parent)
        for name in ("resolute", "determined")
        for found in sorted(folder.glob(f"**/{name}"))
        if _is_root(found, folder)
    )


def _is_root(found: Path, folder: Path) -> bool:
    """Whether this is `libs/x/resolute`, `proto/resolute` …, and not a folder of that name further down."""
    return found.is_dir() and len(found.relative_to(folder).parts) <= 3
