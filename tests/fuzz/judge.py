"""What an answer must be: of a status that the request deserves, of the declared shape, in time, and to nobody else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import orjson

from resolute.api.openapi import error_form
from resolute.api.routing import Caller, Route
from resolute.api.table import ROUTES
from tests.contract.rest.schema import OPERATIONS, problems
from tests.fuzz.cases import Case

ANSWER_WITHIN_S = 10.0

LET_IN = "was let in"

WAITS = {"AllocationRendezvousInfo", "AllocationAllGather"}
"""Operations that wait for others, whatever they are asked; the request is given up after a moment."""

BY_OPERATION: dict[str, Route] = {route.operation: route for route in ROUTES}

KINDS = {
    "stranger": {Caller.ANYONE},
    "user": {Caller.ANYONE, Caller.SIGNED_IN, Caller.SELF},
    "admin": {Caller.ANYONE, Caller.SIGNED_IN, Caller.SELF, Caller.ADMIN},
    "task": {Caller.ANYONE, Caller.TASK},
}


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back. `status` is 0 when nothing did."""

    status: int
    kind: str
    body: bytes
    took_s: float
    cut_off: bool = False
    """The client hung up while the answer was still coming."""


def complaints(case: Case, caller: str, answer: Answer) -> list[str]:
    """What is wrong with an answer."""
    if answer.cut_off:
        may_wait = case.operation in WAITS or "stream" in OPERATIONS[case.operation]
        return [] if may_wait else [f"no answer within {ANSWER_WITHIN_S} s"]
    if answer.status == 0 and _files_went_while_they_were_sent(case, answer):
        return []
    if answer.status == 0:
        return [f"the connection broke: {answer.body.decode(errors='replace')}"]
    if answer.status >= 500:
        return [f"status {answer.status}: {answer.body[:300]!r}"]
    if answer.status < 300:
        return _of_success(case, caller, answer)
    return _of_failure(case, answer)


def _files_went_while_they_were_sent(case: Case, answer: Answer) -> bool:
    """Another request may remove a checkpoint's files in the middle of its download. The answer has begun by then, so
    the gateway can only break it off."""
    return "produces" in OPERATIONS[case.operation] and b"ClientPayloadError" in answer.body


def _of_success(case: Case, caller: str, answer: Answer) -> list[str]:
    route, declared = BY_OPERATION[case.operation], OPERATIONS[case.operation]
    if not route.access.callers & KINDS[caller]:
        return [f"{caller} {LET_IN}, where only {sorted(kind.value for kind in route.access.callers)} may call"]
    if "produces" in declared:
        return [] if answer.kind == declared["produces"] else [f"expected {declared['produces']}; found {answer.kind}"]
    try:
        documents = [orjson.loads(line) for line in answer.body.splitlines()] if declared.get("stream") else None
        if documents is None:
            return problems(case.operation, orjson.loads(answer.body))
    except orjson.JSONDecodeError as error:
        return [f"the answer is no JSON: {error}: {answer.body[:100]!r}"]
    return [problem for document in documents for problem in _of_line(case.operation, document)]


def _of_line(operation: str, document: Any) -> list[str]:
    if set(document) == {"result"}:
        return problems(operation, document["result"])
    return [f"the stream broke off: {document}"]


FORMS = {
    "error": {"code": int, "reason": str, "error": str},
    "streamError": {"grpcCode": int, "httpCode": int, "message": str, "httpStatus": str, "details": list},
}


def _of_failure(case: Case, answer: Answer) -> list[str]:
    try:
        document = orjson.loads(answer.body)
    except orjson.JSONDecodeError:
        return [f"status {answer.status} with a body that is no JSON: {answer.body[:100]!r}"]
    form = error_form(BY_OPERATION[case.operation])
    allowed = [form]
    if answer.status in (404, 405) and form == "streamError":
        allowed.append("error")  # a hostile parameter may lead to a path that no route has
    if answer.status == 414:
        allowed.append("error")  # the request line was refused before its route was known
    if any(has_form(document, one) for one in allowed):
        return []
    return [f"status {answer.status} with an error of another form than {form}: {answer.body[:200]!r}"]


def has_form(document: Any, form: str) -> bool:
    """Whether the body of a failure has the form of that name in the OpenAPI document."""
    if not isinstance(document, dict):
        return False
    if form == "plainError":
        return set(document) == {"message"} and isinstance(document["message"], str)
    inner, fields = document.get("error"), FORMS[form]
    return (
        isinstance(inner, dict)
        and set(inner) == set(fields)
        and all(isinstance(inner[name], kind) for name, kind in fields.items())
    )
