"""`resolute undo`: puts back what a request changed, as new requests of the person who asks for it.

Nothing is removed from the log: it records the change, and then that somebody put it back. What is put back is what the
person may change by hand, through the same REST operations.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from resolute.cli import output
from resolute.cli.confirmation import confirmed
from resolute.cli.errors import CliError
from resolute.cli.login import session
from resolute.cli.progress import progress
from resolute.cli.session import Session
from resolute.cli.undo_calls import Call, Impossible, call_for

REQUESTS = "/api/v1/change-requests"
SHOWN_MOST = 20
"""How many lines of each part of a preview people are shown; programs are shown all."""

Change = dict[str, Any]
"""A change as the gateway shows it."""
Step = tuple[Change, Call | Impossible]


def undo(args: Namespace) -> int:
    opened = session(args)
    if args.request is None:
        _list(opened, args)
        return 0
    found = opened.get(f"{REQUESTS}/{quote(args.request, safe='')}")
    steps: list[Step] = [(change, call_for(change)) for change in found["changes"]]
    calls = [call for _, call in steps if isinstance(call, Call)]
    if not args.json:
        _preview(found, steps)
    elif args.dry_run or not calls:
        output.show_json(_document(found, steps, {}))
    if args.dry_run or not calls:
        return 0
    confirmed(args.yes, f"Put back {output.counted(len(calls), 'change')}?")
    failed = _carry_out(opened, calls)
    if args.json:
        output.show_json(_document(found, steps, failed))
    else:
        print(f"Put back {output.counted(len(calls) - len(failed), 'change')} of request {args.request}.")
        for call, why in failed.items():
            print(f"Failed to {call.says}: {why}")
    return 1 if failed else 0


def _list(opened: Session, args: Namespace) -> None:
    query = {"limit": args.last, **({"actor": args.actor} if args.actor else {})}
    found = opened.get(REQUESTS, query)["requests"]
    if args.json:
        output.show_json(found)
        return
    rows = [[one["id"], one["recordedAt"], one["actor"], _what(one)] for one in found]
    output.show_table(["Request", "Time", "Actor", "What"], rows)


def _what(request: dict[str, Any]) -> str:
    more = request["changes"] - 1
    return f"{request['says']}, and {more:,} more" if more else str(request["says"])


def _carry_out(opened: Session, calls: Sequence[Call]) -> dict[Call, str]:
    """Makes every call, also after one has failed. Returns why, for those that failed."""
    failed: dict[Call, str] = {}
    with progress() as note:
        for number, call in enumerate(calls, 1):
            try:
                _send(opened, call)
            except CliError as error:
                failed[call] = str(error)
            if len(calls) > 1:
                note("putting back", number, len(calls))
    return failed


def _send(opened: Session, call: Call) -> None:
    """Raises CliError, also where the answer names what was refused, as those of actions on runs do."""
    without_body = {"delete": opened.delete, "post": opened.post}
    with_body = {"post": opened.post, "put": opened.put, "patch": opened.patch}
    if call.body is None:
        answer = without_body[call.method](call.path)
    else:
        answer = with_body[call.method](call.path, call.body)
    if why := " ".join(one["error"] for one in (answer or {}).get("results", ()) if one.get("error")):
        raise CliError(why)


def _preview(found: dict[str, Any], steps: Sequence[Step]) -> None:
    able = [call.says for _, call in steps if isinstance(call, Call)]
    unable = [f"{change['says']}: {call.why}" for change, call in steps if isinstance(call, Impossible)]
    print(f"{found['actor']} made {output.counted(len(steps), 'change')} with request {found['id']}.")
    _show_some("Would be put back", able)
    _show_some("Stays as it is", unable)
    _show_some("Cannot be put back by this command", found["others"])


def _show_some(title: str, lines: Sequence[str]) -> None:
    if lines:
        print(f"{title}:")
    for line in lines[:SHOWN_MOST]:
        print(f"  {line}")
    if len(lines) > SHOWN_MOST:
        print(f"  and {len(lines) - SHOWN_MOST:,} more (--json shows all)")


def _document(found: dict[str, Any], steps: Sequence[Step], failed: dict[Call, str]) -> dict[str, Any]:
    changes = [_outcome(change, call, failed) for change, call in steps]
    return {"request": found["id"], "actor": found["actor"], "changes": changes, "others": found["others"]}


def _outcome(change: Change, call: Call | Impossible, failed: dict[Call, str]) -> dict[str, Any]:
    about = {name: change[name] for name in ("kind", "thing", "property", "says", "before", "now")}
    if isinstance(call, Impossible):
        return {**about, "obstacle": call.why}
    return {**about, "does": call.says, "error": failed.get(call, "")}
