"""What `import determined` brings along: nothing but the standard library."""

from __future__ import annotations

import importlib
import pathlib
import subprocess
import sys

import pytest

import determined

PACKAGE = pathlib.Path(determined.__file__).parent

LOOK = """
import sys
sys.path.insert(0, sys.argv[1])
before = set(sys.modules)
import determined as det
import determined.core
import determined.exec.prep, determined.exec.harness, determined.launch.torch_distributed
for name in det.__all__:
    getattr(det, name)
loaded = {name.split(".")[0] for name in set(sys.modules) - before}
print(*sorted(loaded - set(sys.stdlib_module_names) - {"determined"}))
"""


def test_importing_the_library_loads_nothing_outside_the_standard_library() -> None:
    isolated = [sys.executable, "-I", "-S", "-c", LOOK, str(PACKAGE.parent)]
    answer = subprocess.run(isolated, capture_output=True, text=True, check=True)
    assert answer.stdout.split() == []


def test_import_from_path_finds_a_folders_modules_and_leaves_no_trace(tmp_path: pathlib.Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "model_def_of_test.py").write_text(f"NAME = {name!r}")
    seen = []
    for name in ("one", "two"):
        with determined.import_from_path(tmp_path / name):
            import model_def_of_test  # type: ignore[import-not-found]

            seen.append(model_def_of_test.NAME)
    assert seen == ["one", "two"]
    assert "model_def_of_test" not in sys.modules
    assert str(tmp_path / "one") not in sys.path
    assert [path.name for path in (tmp_path / "one").iterdir()] == ["model_def_of_test.py"]


@pytest.mark.parametrize(
    "name", ["keras", "transformers", "lightning", "lightning.experimental", "pytorch.deepspeed", "keras.callbacks"]
)
def test_an_adapter_that_is_yet_to_come_says_what_to_use_meanwhile(name: str) -> None:
    with pytest.raises(ImportError, match=r"will come with a later one; until then use .* Core API"):
        importlib.import_module(f"determined.{name}")
