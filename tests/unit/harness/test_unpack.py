"""Context directories: everything arrives as it was, and nothing lands outside."""

from __future__ import annotations

import io
import stat
import tarfile
from pathlib import Path
from typing import Any

import pytest

from determined.exec._unpack import UnsafeArchive, unpack


def archive(*members: tuple[str, dict[str, object], bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for name, fields, contents in members:
            member = tarfile.TarInfo(name)
            member.size = len(contents)
            for field, value in fields.items():
                setattr(member, field, value)
            tar.addfile(member, io.BytesIO(contents))
    return buffer.getvalue()


def link(name: str, target: str, kind: bytes = tarfile.SYMTYPE) -> tuple[str, dict[str, object], bytes]:
    return name, {"type": kind, "linkname": target}, b""


def test_files_modes_and_links_inside_arrive(tmp_path: Path) -> None:
    data = archive(
        ("./sub", {"type": tarfile.DIRTYPE, "mode": 0o755}, b""),
        link("sub/latest", "../train.py"),
        ("train.py", {"mode": 0o755}, b"print(1)"),
        ("sub/data", {"mode": 0o640}, b"x"),
        link("copy.py", "train.py", tarfile.LNKTYPE),
    )
    assert unpack(data, tmp_path / "work") == 5
    work = tmp_path / "work"
    assert stat.S_IMODE((work / "train.py").stat().st_mode) == 0o755
    assert stat.S_IMODE((work / "sub/data").stat().st_mode) == 0o640
    assert (work / "sub/latest").is_symlink()
    assert (work / "sub/latest").read_text() == (work / "copy.py").read_text() == "print(1)"


@pytest.mark.parametrize(
    "member",
    [
        ("../escape", {}, b"x"),
        ("/absolute", {}, b"x"),
        ("a/../../escape", {}, b"x"),
        link("out", "/etc"),
        link("out", "../outside"),
        link("sub/out", "../../outside"),
        link("out", "../outside", tarfile.LNKTYPE),
        ("pipe", {"type": tarfile.FIFOTYPE}, b""),
    ],
)
def test_what_would_land_or_point_outside_is_refused_before_anything_is_written(
    tmp_path: Path, member: tuple[str, dict[str, Any], bytes]
) -> None:
    with pytest.raises(UnsafeArchive):
        unpack(archive(("good", {}, b"x"), member), tmp_path / "work")
    assert not (tmp_path / "work").exists()


def test_nothing_is_written_through_a_link(tmp_path: Path) -> None:
    data = archive(link("a", "b"), ("a/file", {}, b"x"))
    unpack_or_refuse(data, tmp_path / "work")
    (tmp_path / "outside").mkdir()
    (tmp_path / "second").mkdir()
    (tmp_path / "second" / "a").symlink_to(tmp_path / "outside")
    with pytest.raises(UnsafeArchive, match="through the link"):
        unpack(archive(("a/file", {}, b"x")), tmp_path / "second")
    assert list((tmp_path / "outside").iterdir()) == []


def unpack_or_refuse(data: bytes, folder: Path) -> None:
    with pytest.raises((UnsafeArchive, OSError)):
        unpack(data, folder)
