"""What people keep beside the compose file is theirs: it gets into no commit and no image."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from docker.utils.build import exclude_paths

ROOT = Path(__file__).parents[3]
SECRET = ("compose/.env", ".env", "services/api/.env")
WANTED = "compose/compose.yaml"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    for name in (*SECRET, WANTED):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    for name in (".gitignore", ".dockerignore"):
        shutil.copy(ROOT / name, tmp_path)
    return tmp_path


def test_variables_with_secrets_are_not_committed(checkout: Path) -> None:
    subprocess.run(["git", "init", "-q"], cwd=checkout, check=True, timeout=30)
    listed = ["git", "ls-files", "--others", "--exclude-standard"]
    found = subprocess.run(listed, cwd=checkout, capture_output=True, text=True, check=True, timeout=30).stdout.split()
    assert WANTED in found
    assert not {*SECRET} & {*found}


def test_variables_with_secrets_are_not_sent_to_the_builder_of_images(checkout: Path) -> None:
    found = exclude_paths(str(checkout), (checkout / ".dockerignore").read_text().splitlines())
    assert WANTED in found
    assert not {*SECRET} & {*found}
