"""The files that browsers run: what is vendored and generated, how much it is, and where it comes from."""

from __future__ import annotations

import gzip
import hashlib
import re
from pathlib import Path

import pytest

from resolute.api.web import vendor, wire_types

PAGE = Path(vendor.VENDOR).parent
LOADED = (".js", ".css", ".svg", ".html")
BYTES_MOST = 350 * 1024

OWN = [path for folder in ("app", "styles", "icons") for path in sorted((PAGE / folder).rglob("*")) if path.is_file()]


def test_vendored_files_are_those_that_were_checked() -> None:
    sums = vendor.checksums(vendor.LIST.read_text())
    files = [path for path in vendor.VENDOR.rglob("*") if path.is_file() and path != vendor.LIST]
    found = {str(path.relative_to(vendor.VENDOR)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
    assert found == sums, "run `python -m resolute.api.web.vendor`"


def test_each_library_has_its_licence_beside_it() -> None:
    for library in vendor.libraries(vendor.LIST.read_text()):
        folders = {path.partition("/")[0] for path in library.files}
        assert all((vendor.VENDOR / folder / "LICENSE").exists() for folder in folders), library.name


def test_imports_by_name_become_relative() -> None:
    modules = {"preact": "preact/index.js", "core": "signals/core.js"}
    text = 'import{a}from"preact";export{b}from"core";import"./x.js";\n//# sourceMappingURL=a.map\n'
    assert vendor.relative_imports("signals/signals.js", text, modules) == (
        'import{a}from"../preact/index.js";export{b}from"./core.js";import"./x.js";\n'
    )


def test_an_archive_with_another_checksum_is_refused() -> None:
    library = vendor.libraries(vendor.LIST.read_text())[0]
    with pytest.raises(SystemExit, match="the archive has the checksum"):
        list(vendor.vendored(library, b"something else", {}))


def test_the_types_of_the_api_are_current() -> None:
    assert wire_types.TARGET.read_text() == wire_types.current(), "run `python -m resolute.api.web.wire_types`"


def test_what_a_browser_loads_is_small() -> None:
    loaded = [path for path in PAGE.rglob("*") if path.is_file() and path.suffix in LOADED]
    assert sum(len(gzip.compress(path.read_bytes(), 9)) for path in loaded) < BYTES_MOST


def test_every_import_of_the_page_finds_its_file() -> None:
    for path in (path for path in OWN if path.suffix == ".js"):
        for found in re.findall(r"""(?:from|import)\s*\(?\s*["'](\.[^"']+\.js)["']""", path.read_text()):
            assert (path.parent / found).resolve().is_file(), f"{path.name} imports {found}"


def test_the_page_has_no_inline_script_or_style_and_takes_nothing_from_elsewhere() -> None:
    index = (PAGE / "index.html").read_text()
    assert not re.search(r"<script(?![^>]* src=)|<style|\son\w+=|\sstyle=", index)
    assert all(address.startswith("{{assets}}/") for address in re.findall(r'(?:src|href)="([^"]*)"', index))
    for path in OWN:
        text = path.read_text()
        assert not re.search(r"(?<!xmlns=\")https?://", text), f"{path.name} names another host"
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(", text), (
            f"{path.name} makes markup of text"
        )
