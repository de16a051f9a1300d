"""The reference of the REST routes, as Markdown: `python -m resolute.api.reference > docs/reference/rest.md`."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from itertools import groupby

from resolute.api.kernel.declared import operation_of
from resolute.api.openapi import callers, summary
from resolute.api.routing import Access, Route
from resolute.api.subjects import Reach
from resolute.api.table import ROUTES

HEAD = """# REST

Made from the table of routes by `python -m resolute.api.reference`. The same, with every message in full, is served
as an OpenAPI 3.1 document at `/api/v1/openapi.json`, and as an OpenAPI 2.0 document at `/api/v1/api.swagger.json`,
where Determined's clients expect that.

- A token comes from `POST /api/v1/auth/login` and goes in `Authorization: Bearer …`, or in the cookie `auth`. A task
  shows its own in `Grpc-Metadata-x-allocation-token: Bearer …`, and it opens what concerns that task.
- A request that is signed by the cookie alone, other than a GET, must repeat in `X-CSRF-Token` what the answer to the
  login or to an earlier GET had there, and must come from a page of the gateway itself.
- Bodies are JSON whatever their content type says; keys are taken in camelCase and snake_case, and unknown ones are
  ignored. In a PATCH, `null` means the same as a key left out: leave it (but `maxSlots: null` means no limit).
- 64-bit integers are strings; instants are RFC 3339 in UTC; NaN and the infinities are strings.
- Lists take `limit` and `offset` (negative: from the end) and answer with `pagination`. Limit 0 is the operation's
  own default, -1 everything, -2 the page's numbers alone.
- Every value has a type, a range and a length, which the OpenAPI document shows. Where it shows none, a whole
  number has 32 bits, a text at most 65,536 characters and a list at most 100,000 elements; texts hold no NUL, and
  documents of your own are nested at most 64 deep. What does not fit is refused with the path of the field. Objects
  are answered sorted by name.
- A failure is `{"error": {"code", "reason", "error"}}` (of a stream `{"error": {"grpcCode", "httpCode", "message",
  …}}`, outside /api/v1 `{"message"}`) under its HTTP status: 400 for input that is wrong, 401 without a valid
  token, 403 for somebody else's doors, 404, 405 for a wrong method, 409 where the state does not allow it, 413 for
  a body over the limit, 408 for a request that came too slowly, 414 and 431 for a path or a header that is too
  long, 421 for a name that is not the gateway's, 429 for too many failed logins or connections, 503 while a service
  or the database is away.
- A stream is one `{"result": …}` a line; a failure half-way is a last line `{"error": …}`.
- *About* is what a request can touch or show: the things that it names, in its path, query or body; everything of its
  kind within the caller's scope, which is a set of workspaces; or what lies outside of workspaces. Everybody who is
  signed in has the scope of everything. What lies outside of a caller's scope is answered as if it did not exist.
- The same request under the same `Idempotency-Key` is carried out once.
- `?pretty` indents.
"""


COLUMNS = "| operation | route | for | about | answer | what it does |\n| --- | --- | --- | --- | --- | --- |\n"


def markdown(routes: Iterable[Route]) -> str:
    def area(route: Route) -> str:
        return str(operation_of(route)["tag"])

    parts = [HEAD]
    for name, members in groupby(sorted(routes, key=lambda route: (area(route), route.path, route.method)), key=area):
        parts.append(f"\n## {name}\n\n{COLUMNS}")
        parts += [_row(route) for route in members]
    return "".join(parts)


def _row(route: Route) -> str:
    declared = operation_of(route)
    response = declared.get("response")
    answer = f"`{response}`{', streamed' if declared.get('stream') else ''}" if response else ""
    permission = f" (`{route.access.permission}`)" if route.access.permission else ""
    place = f"`{route.method} {route.documented_path}`"
    who = f"{callers(route)}{permission}"
    return f"| {route.operation} | {place} | {who} | {about(route.access)} | {answer} | {summary(route)} |\n"


def about(access: Access) -> str:
    """What a request can touch or show."""
    named = ", ".join(f"{one.kind} `{one.where.partition('.')[2]}`" for one in access.subjects)
    return ", ".join(filter(None, (_REACH.get(access.reach), named)))


_REACH: Mapping[Reach | None, str] = {
    Reach.SCOPE: "the caller's scope",
    Reach.OUTSIDE: "the cluster",
    Reach.ONESELF: "the caller",
}


if __name__ == "__main__":
    sys.stdout.write(markdown(ROUTES))
