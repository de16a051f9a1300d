"""Groups of users: making, showing, changing and deleting them."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from resolute.cli import output
from resolute.cli.confirmation import agreed
from resolute.cli.errors import CliError
from resolute.cli.login import session
from resolute.cli.session import Session
from resolute.cli.teams import GROUPS, group_id, user, user_ids

MEMBER = ("id", "username", "displayName", "admin", "active", "agentUserGroup", "modifiedAt")


def list_(args: Namespace) -> None:
    opened = session(args)
    member = args.groups_user_belongs_to
    wanted = {"userId": user(opened, member)["id"]} if member else {}
    found = list(
        opened.searched(
            f"{GROUPS}/search",
            "groups",
            wanted,
            limit=args.limit,
            offset=args.offset,
            only_first=args.pages == "1",
        )
    )
    if args.json:
        output.show_json(found)
        return
    rows = [(one["group"]["groupId"], one["group"]["name"], one["numMembers"]) for one in found]
    output.show_table(["Groupid", "Name", "Nummembers"], rows)


def describe(args: Namespace) -> None:
    opened = session(args)
    group = opened.get(f"{GROUPS}/{group_id(opened, args.group_name)}")["group"]
    if args.json:
        output.show_json(group)
        return
    print(f"Group {group['name']} (ID {group['groupId']})")
    output.show_table([name.capitalize() for name in MEMBER], [_member(one) for one in group["users"]])


def _member(member: dict[str, Any]) -> list[Any]:
    return [member.get(name) for name in MEMBER]


def create(args: Namespace) -> None:
    opened = session(args)
    new = {"name": args.group_name, "addUsers": user_ids(opened, args.add_user)}
    made = opened.post(GROUPS, new)["group"]
    print(f"Created group {made['name']} (ID {made['groupId']})")


def add_user(args: Namespace) -> None:
    opened = session(args)
    joining = _named(user_ids(opened, [args.usernames]))
    _change(opened, args.group_name, {"addUsers": joining})
    print(f"Added {output.counted(len(joining), 'user')} to group {args.group_name}")


def remove_user(args: Namespace) -> None:
    opened = session(args)
    leaving = _named(user_ids(opened, [args.usernames]))
    _change(opened, args.group_name, {"removeUsers": leaving})
    print(f"Removed {output.counted(len(leaving), 'user')} from group {args.group_name}")


def _named(found: list[int]) -> list[int]:
    if not found:
        raise CliError("which users? Name at least one; several are parted by commas")
    return found


def change_name(args: Namespace) -> None:
    _change(session(args), args.old_group_name, {"name": args.new_group_name})
    print(f"Group {args.old_group_name} is now {args.new_group_name}")


def _change(opened: Session, name: str, changes: dict[str, Any]) -> None:
    number = group_id(opened, name)
    opened.put(f"{GROUPS}/{number}", {"groupId": number, **changes})


def delete(args: Namespace) -> None:
    opened = session(args)
    number = group_id(opened, args.group_name)
    question = f"Delete group {args.group_name}? Its members lose the roles that they have by it."
    if not agreed(args.yes, question):
        print("Skipping group deletion.")
        return
    opened.delete(f"{GROUPS}/{number}")
    print(f"Deleted group {args.group_name} (ID {number})")
