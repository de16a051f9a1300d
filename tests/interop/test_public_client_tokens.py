"""The public client's access tokens."""

from __future__ import annotations

import re
from pathlib import Path

from tests.interop.conftest import PublicClient
from tests.interop.test_public_client_teams import AS_ADMIN


def test_it_makes_uses_describes_and_revokes_an_access_token(public: PublicClient, tmp_path: Path) -> None:
    def admin(*words: str) -> str:
        return public.det(*words, **AS_ADMIN)

    made = admin("token", "create", "determined", "--expiration-days", "2", "--description", "nightly")
    found = re.search(r"TokenID: (\d+)\nAccess-Token: (\S+)", made)
    assert found is not None, made
    number, text = found.groups()
    listed = admin("token", "list", "determined")
    assert "nightly" in listed
    assert text not in listed
    assert "ACCESS_TOKEN" in admin("token", "describe", number)

    script = PublicClient(public.environment, public.master, tmp_path / "script")
    script.home.mkdir()
    assert "Authenticated as determined" in script.det("token", "login", text)
    assert "logged in as user 'determined'" in script.det("user", "whoami")

    assert f"Successfully updated token with ID: {number}" in admin("token", "edit", number, "--description", "weekly")
    assert f"Successfully revoked token {number}" in admin("token", "revoke", number)
    assert number not in re.findall(r"^\s*(\d+)", admin("token", "list"), re.MULTILINE)
    assert "weekly" in admin("token", "list", "--show-inactive")
    longest = public.run("token", "create", "-e", "400", **AS_ADMIN)
    assert longest.returncode == 1
    assert "must be less than max token lifespan" in longest.stdout + longest.stderr
