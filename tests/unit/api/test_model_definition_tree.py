"""The files of an archive as a tree."""

from __future__ import annotations

from datetime import UTC, datetime

from resolute.api import wire
from resolute.api.kernel.declared import messages_within
from resolute.api.model_definitions.files import DIRECTORY, tree
from resolute.api.model_definitions.messages import FileNode, ModelDefTreeAnswer
from resolute.config.context import ContextFile

FILE = 48


def entry(path: str, type_: int = FILE, content: bytes = b"") -> ContextFile:
    return ContextFile(path=path, type=type_, content=content, mtime=7, mode=0o644)


def test_directories_hold_their_files_also_those_that_the_archive_does_not_list() -> None:
    listed = [entry("b/deep/one.py", content=b"abc"), entry("a.py"), entry("b-c.txt"), entry("d", DIRECTORY)]
    a, dashed, b, d = tree(listed)
    assert [(one.path, one.is_dir) for one in (a, dashed, b, d)] == [
        ("a.py", False),
        ("b-c.txt", False),
        ("b", True),
        ("d", True),
    ]
    assert (b.modified_time, d.modified_time) == (None, datetime.fromtimestamp(7, UTC))
    (deep,) = b.files
    (one,) = deep.files
    assert (deep.path, deep.name, deep.content_type) == ("b/deep", "deep", "")
    assert (one.path, one.name, one.content_length, one.files) == ("b/deep/one.py", "one.py", 3, ())
    assert "python" in one.content_type


def test_a_message_may_hold_others_of_its_own_kind() -> None:
    (top,) = tree([entry("a/b/c.txt")])
    answer = wire.loads(wire.dumps(ModelDefTreeAnswer(files=(top,))))
    assert answer["files"][0]["files"][0]["files"][0]["path"] == "a/b/c.txt"
    assert messages_within([ModelDefTreeAnswer])[FileNode.wire_name]["fields"]["files?"] == "[v1FileNode]"
