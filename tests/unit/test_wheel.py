"""What `pip install` puts on a machine is what the repository holds: code, tables, schemas, nothing else."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
PORTIONS = ("resolute", "determined")


def test_a_wheel_holds_every_file_of_every_portion(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    done = subprocess.run(build, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    [wheel] = tmp_path.glob("*.whl")
    packed = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert packed == kept_files()


def kept_files() -> set[str]:
    """Every file of a portion, from where `import` finds it."""
    folders = [ROOT / "proto", *sorted((ROOT / "libs").iterdir()), *sorted((ROOT / "services").iterdir())]
    return {
        file.relative_to(folder).as_posix()
        for folder in folders
        for portion in PORTIONS
        for file in (folder / portion).rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }
