"""Whom tasks run as, where the agent is root."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

from resolute.agent import accounts
from resolute.proto.experiment import AgentUser

HOMES = Path("/w/homes")


def test_each_owner_has_an_id_of_its_own_and_the_same_on_every_host() -> None:
    ann, bob = (accounts.of(name, None, "c-1", HOMES) for name in ("ann", "bob"))
    assert ann == accounts.of("ann", None, "c-1", HOMES)
    assert ann.uid != bob.uid
    assert accounts.of("ann", None, "c-2", HOMES).uid != ann.uid
    assert accounts.FIRST_UID <= ann.uid < accounts.FIRST_UID + accounts.UIDS < 2**31


def test_an_owner_who_is_linked_with_a_user_of_the_host_runs_as_that_one() -> None:
    me = pwd.getpwuid(os.getuid())
    account = accounts.of("ann", AgentUser(me.pw_name, me.pw_uid, "", me.pw_gid), "c-1", HOMES)
    assert (account.uid, account.gid, account.home, account.name) == (me.pw_uid, me.pw_gid, me.pw_dir, me.pw_name)
    unknown = accounts.of("ann", AgentUser("ann", 54321, "lab", 54322), "c-1", HOMES)
    assert (unknown.uid, unknown.gid, unknown.home, unknown.name) == (54321, 54322, "/w/homes/54321", "ann")


def test_places_of_the_agents_user_are_not_the_tasks() -> None:
    account = accounts.of("ann", None, "c-1", HOMES)
    found = account.inherited({"HOME": "/home/ada", "TMPDIR": "/home/ada/tmp", "PATH": "/bin"})
    assert found == {"PATH": "/bin", "HOME": account.home, "USER": "ann", "LOGNAME": "ann"}
