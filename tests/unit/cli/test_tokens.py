"""The token store."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from resolute.cli.errors import CliError
from resolute.cli.tokens import Logins, TokenStore, directory

HERE, THERE = "http://localhost:8080", "https://there:443"


def test_what_is_put_in_is_found_again_by_master(tmp_path: Path) -> None:
    store = TokenStore(tmp_path / "determined" / "auth.json")
    store.put(HERE, Logins("ada", {"ada": "t1", "bob": "t2"}))
    store.put(THERE, Logins(None, {"ada": "t3"}))
    assert TokenStore(store.path).at(HERE) == Logins("ada", {"ada": "t1", "bob": "t2"})
    assert store.at(THERE).tokens == {"ada": "t3"}
    assert store.at("http://elsewhere:8080") == Logins()


def test_the_file_has_the_shape_that_other_clients_read(tmp_path: Path) -> None:
    store = TokenStore(tmp_path / "auth.json")
    store.put(HERE, Logins("ada", {"ada": "t1"}))
    assert json.loads(store.path.read_text()) == {
        "version": 2,
        "masters": {HERE: {"active_user": "ada", "tokens": {"ada": "t1"}}},
    }


def test_where_nobody_is_active_nobody_is_named(tmp_path: Path) -> None:
    store = TokenStore(tmp_path / "auth.json")
    store.put(HERE, Logins(None, {"ada": "t1"}))
    assert json.loads(store.path.read_text())["masters"] == {HERE: {"tokens": {"ada": "t1"}}}
    assert store.at(HERE) == Logins(None, {"ada": "t1"})


def test_only_its_owner_can_read_the_tokens(tmp_path: Path) -> None:
    store = TokenStore(tmp_path / "determined" / "auth.json")
    store.put(HERE, Logins("ada", {"ada": "t1"}))
    assert stat.S_IMODE(store.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(store.path.parent.stat().st_mode) == 0o700


def test_leaving_takes_the_token_along_and_the_active_place_with_it() -> None:
    logins = Logins("ada", {"ada": "t1", "bob": "t2"})
    assert logins.without("ada") == Logins(None, {"bob": "t2"})
    assert logins.without("bob") == Logins("ada", {"ada": "t1"})


def test_a_broken_store_is_reported_with_what_to_do(tmp_path: Path) -> None:
    store = TokenStore(tmp_path / "auth.json")
    store.path.write_text("{")
    with pytest.raises(CliError, match="Remove it and log in again"):
        store.at(HERE)


def test_a_store_of_an_older_version_counts_as_empty(tmp_path: Path) -> None:
    store = TokenStore(tmp_path / "auth.json")
    store.path.write_text('{"version": 0, "masters": {"x": {}}}')
    assert store.at("x") == Logins()


def test_the_directory_follows_the_platform() -> None:
    home = Path.home()
    assert directory({"XDG_CONFIG_HOME": "/c"}, "linux") == Path("/c/determined")
    assert directory({}, "linux") == home / ".config" / "determined"
    assert directory({}, "darwin") == home / "Library" / "Application Support" / "determined"
    assert directory({"LOCALAPPDATA": "/w"}, "win32") == Path("/w/determined")
    assert directory({"DET_DEBUG_CONFIG_PATH": "/d"}, "linux") == Path("/d")
