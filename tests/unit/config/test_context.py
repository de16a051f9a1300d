"""The context directory: what travels, what stays behind, and what is refused."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from determined.common.context import ContextFile, ContextProblem, read_context, to_model_definition
from resolute.config import context
from resolute.config.context import of_model_definition
from resolute.proto.errors import InvalidConfig


def plant(root: Path, *paths: str) -> None:
    for path in paths:
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(path)


def names(root: Path) -> set[str]:
    return {file.path for file in read_context(root)}


def test_files_directories_modes_and_links_travel(tmp_path: Path) -> None:
    plant(tmp_path, "train.py", "lib/a.py")
    (tmp_path / "train.py").chmod(0o755)
    (tmp_path / "empty").mkdir()
    (tmp_path / "link.py").symlink_to("lib/a.py")
    by_path = {file.path: file for file in read_context(tmp_path)}
    assert set(by_path) == {"train.py", "lib", "lib/a.py", "empty", "link.py"}
    assert by_path["train.py"].mode == 0o755
    assert by_path["train.py"].content == b"train.py"
    assert (by_path["link.py"].type, by_path["link.py"].content) == (ord("2"), b"lib/a.py")


def test_compiled_python_and_git_never_travel(tmp_path: Path) -> None:
    plant(tmp_path, "a.py", "a.pyc", "pkg/__pycache__/b.pyc", ".git/config", ".idea/x", "terraform/x")
    (tmp_path / ".detignore").write_text("!*.pyc\n!terraform\n")
    assert names(tmp_path) == {".detignore", "a.py", "pkg", "terraform", "terraform/x"}


RULES = "*.log\n!keep.log\n# comment\n/data/\nbuild/\n!build/kept.txt\ndoc/**/x.txt\n\\!odd\n"
TREE = (
    "a.log", "keep.log", "sub/keep.log", "data/x", "sub/data/x", "build/kept.txt", "doc/x.txt", "doc/a/b/x.txt",
    "doc/a/y.txt", "!odd", "main.py",
)  # fmt: skip


@pytest.mark.parametrize("as_link", [False, True])
def test_detignore_drops_what_git_would_even_through_a_link(tmp_path: Path, as_link: bool) -> None:
    plant(tmp_path, *TREE)
    (tmp_path / ".gitignore").write_text(RULES)
    if as_link:
        (tmp_path / ".detignore").symlink_to(".gitignore")
    else:
        (tmp_path / ".detignore").write_text(RULES)
    sent = {path for path in names(tmp_path) if (tmp_path / path).is_file()} - {".gitignore", ".detignore"}
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    ignored = subprocess.run(["git", "check-ignore", *TREE], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert sent == set(TREE) - {line.strip('"') for line in ignored.stdout.splitlines()}


def test_links_out_of_the_context_bring_content_and_broken_ones_stay_behind(tmp_path: Path) -> None:
    plant(tmp_path, "outside.txt", "root/a.py", "root/left/out.txt")
    root = tmp_path / "root"
    (root / ".detignore").write_text("left/\n")
    (root / "out").symlink_to(tmp_path / "outside.txt")
    (root / "to_ignored").symlink_to("left/out.txt")
    (root / "broken").symlink_to("nowhere")
    by_path = {file.path: file for file in read_context(root)}
    assert set(by_path) == {".detignore", "a.py", "out", "to_ignored"}
    assert (by_path["out"].type, by_path["out"].content) == (ord("0"), b"outside.txt")
    assert by_path["to_ignored"].content == b"root/left/out.txt"


def test_a_context_over_the_limit_is_refused_before_it_is_read(tmp_path: Path) -> None:
    with (tmp_path / "big.bin").open("wb") as sparse:
        os.truncate(sparse.fileno(), 96 * 2**20)
    with pytest.raises(
        ContextProblem, match=r"at most 95 MB of files; found 96\.0 MB, the largest big\.bin.*\.detignore"
    ):
        read_context(tmp_path)
    (tmp_path / ".detignore").write_text("*.bin\n")
    assert names(tmp_path) == {".detignore"}


def test_a_context_that_is_no_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ContextProblem, match="context directory: expected a directory"):
        read_context(tmp_path / "nope")


def test_the_same_files_make_the_same_blob_whatever_their_order(tmp_path: Path) -> None:
    plant(tmp_path, "a.py", "b/c.py")
    (tmp_path / "b/link").symlink_to("c.py")
    files = read_context(tmp_path)
    blob = context.to_tgz(files)
    assert context.to_tgz(files[::-1]) == blob
    assert context.of_tgz(blob) == files
    assert len(context.digest(blob)) == 64


def test_files_come_back_from_the_wire_as_they_were(tmp_path: Path) -> None:
    plant(tmp_path, "a.py", "b/c.bin")
    (tmp_path / "b/c.bin").write_bytes(bytes(range(256)))
    files = read_context(tmp_path)
    assert of_model_definition(to_model_definition(files)) == files


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ([{"path": "../up"}], "inside the context; found '../up'"),
        ([{"path": "/etc/passwd"}], "inside the context"),
        ([{"path": ""}], "inside the context"),
        ([{}], "inside the context; found None"),
        ([{"path": "a/../../up"}], "inside the context"),
        ([{"path": "a", "content": "%%%"}], "a: "),
        ([{"path": "a", "mode": "x"}], "a: "),
        ([{"path": "a", "type": 51}], "a: expected a file, link or directory; found type 51"),
        ([{"path": "a"}, {"path": "./a"}], "a appears twice"),
        ([{"path": "a", "mtime": str(10**20)}], "a: expected mtime below 34359738368; found 100000000000000000000"),
        ([{"path": "l", "type": 50, "content": "Li4vdXA="}], "l: this link leads out of the context"),
        ([{"path": "l", "type": 50, "content": "YQ=="}, {"path": "l/b"}], "l/b: lies below a link"),
    ],
)
def test_files_that_would_leave_the_context_are_refused(files: list[dict[str, object]], message: str) -> None:
    with pytest.raises(InvalidConfig) as refused:
        of_model_definition(files)
    assert refused.value.message.startswith("modelDefinition: ")
    assert message in refused.value.message


def test_the_public_clients_entries_are_understood() -> None:
    entry = {"path": "a.py", "type": 48, "content": "aGkK", "mode": 33261, "mtime": "1795201278", "uid": 0, "gid": 0}
    assert of_model_definition([entry]) == [ContextFile("a.py", ord("0"), b"hi\n", 33261, 1795201278)]
    assert context.of_tgz(context.to_tgz(of_model_definition([entry])))[0].mode == 0o755
