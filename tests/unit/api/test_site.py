"""The files of the web UI, as they are given to browsers."""

from __future__ import annotations

import gzip
import re

from resolute.api.web.site import DIGITS, packaged, site_of
from resolute.api.web.weakness import is_weak

FILES = {
    "index.html": b'<script src="{{assets}}/app/main.js"></script>' + b" " * 200,
    "app/main.js": b"export const answer = 42;\n" * 20,
    "icons/tiny.svg": b"<svg/>",
    "vendor/vendor.toml": b"checksums",
    "app/wire.d.ts": b"types",
}


def test_the_entrance_names_the_files_by_a_hash_of_all_of_them() -> None:
    site = site_of(FILES)
    assert re.fullmatch(rf"[0-9a-f]{{{DIGITS}}}", site.version)
    assert f'src="/det/assets/{site.version}/app/main.js"'.encode() in site.entrance.plain
    assert site.assets == f"/det/assets/{site.version}"


def test_any_change_to_a_file_or_its_name_is_another_version() -> None:
    changed = {**FILES, "app/main.js": b"export const answer = 43;\n"}
    renamed = {("app/other.js" if path == "app/main.js" else path): body for path, body in FILES.items()}
    versions = {site_of(one).version for one in (FILES, changed, renamed)}
    assert len(versions) == 3
    assert site_of(dict(reversed(FILES.items()))).version in versions, (
        "the order in which a disk lists them says nothing"
    )


def test_what_browsers_do_not_run_is_neither_served_nor_part_of_the_version() -> None:
    site = site_of(FILES)
    assert set(site.files) == {"app/main.js", "icons/tiny.svg"}
    assert site_of({**FILES, "app/wire.d.ts": b"other types"}).version == site.version


def test_a_file_is_packed_where_that_makes_it_smaller() -> None:
    files = site_of(FILES).files
    packed = files["app/main.js"].packed
    assert packed is not None
    assert gzip.decompress(packed) == FILES["app/main.js"]
    assert files["icons/tiny.svg"].packed is None


def test_a_browser_loads_less_than_350_kb_in_all() -> None:
    site = packaged()
    sent = [len(one.packed or one.plain) for one in (site.entrance, *site.files.values())]
    assert 0 < sum(sent) < 350_000


def test_the_page_has_no_script_and_no_style_in_its_document() -> None:
    document = packaged().entrance.plain.decode()
    assert not re.search(r"<style|style=|\son\w+=|javascript:", document)
    assert all(re.search(r"\ssrc=", script) for script in re.findall(r"<script[^>]*>", document))
    assert not re.search(r"https?://", document), "nothing is loaded from another host"


def test_which_passwords_are_weak() -> None:
    assert all(map(is_weak, ("", "Short1", "only small letters 1", "ONLY CAPITALS 1", "No digits at all")))
    assert not is_weak("Long enough 1")
