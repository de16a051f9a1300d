"""The Python SDK has the names, parameters and defaults of the SDK of Determined 0.38.1.

`determined.json` has the facts, a name a line: the signature of a function or of a class, its methods, attributes or
members. `LEFT` names what our SDK does not have, with the reason.
"""

from __future__ import annotations

import ast
import enum
import inspect
import json
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from determined.common.experimental._session import UserSession
from determined.experimental import client

FACTS: Mapping[str, Any] = json.loads(Path(__file__).with_name("determined.json").read_text())

LEFT: Mapping[str, str] = {
    "determined.experimental.test_one_batch": "`det experiment create --local --test-mode` tries a trial class out",
}
NAMES = [name for name in FACTS if name not in LEFT]


def ours(name: str) -> Any:
    """What a dotted name leads to: a module, or something in one."""
    try:
        return import_module(name)
    except ModuleNotFoundError:
        module, _, last = name.rpartition(".")
        return getattr(import_module(module), last)


@pytest.mark.parametrize("name", NAMES)
def test_a_name_of_the_sdk_is_what_scripts_expect(name: str) -> None:
    facts, found = FACTS[name], ours(name)
    if "is" in facts:
        assert found is ours(facts["is"])
    assert list(differences(facts, found)) == []


def test_what_is_left_is_not_there() -> None:
    for name in LEFT:
        with pytest.raises(AttributeError):
            ours(name)


def test_the_modules_of_the_older_names_are_there() -> None:
    assert ours("determined.common.experimental.checkpoint.Checkpoint") is client.Checkpoint


ATTRIBUTES = [name for name in NAMES if FACTS[name].get("attributes")]
ANSWER = {"workspace": {"id": 1, "name": "made"}}


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_an_object_has_its_attributes_before_the_first_look(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(UserSession, "request", lambda *_, **__: ANSWER)
    known: dict[str, Any] = {
        "session": UserSession("http://localhost:8080"), "workspace_id": 1, "workspace_name": None, "kwargs": None,
        "total_batches": None,
    }  # fmt: skip
    made = ours(name)
    if issubclass(made, client.TrialMetrics):
        given: dict[str, Any] = {
            "trial_id": 1,
            "trial_run_id": 1,
            "steps_completed": 2,
            "end_time": None,
            "metrics": {},
            "group": "g",
        }
    else:
        given = {each: known.get(each, 1) for each in list(inspect.signature(made).parameters)}
    found = made(**given)
    assert [each for each in FACTS[name]["attributes"] if not hasattr(found, each)] == []


def differences(facts: Mapping[str, Any], found: Any) -> Iterator[str]:
    if "signature" in facts:
        yield from _of_signature("", facts["signature"], found.__init__ if inspect.isclass(found) else found)
    for method, signature in facts.get("methods", {}).items():
        if not hasattr(found, method):
            yield f"{method}: is missing"
        else:
            yield from _of_signature(f"{method}: ", signature, getattr(found, method))
    if "members" in facts and list(found.__members__) != facts["members"]:
        yield f"members: {facts['members']} wanted, {list(found.__members__)} found"
    wanted = [base.rpartition(".")[2] for base in facts.get("bases", ())]
    bases = [base.__name__ for base in inspect.getmro(found)] if wanted else []
    yield from (f"base {base}: is missing" for base in wanted if base not in bases)


def _of_signature(where: str, text: str, found: Any) -> Iterator[str]:
    wanted, has = list(_wanted(text)), list(_found(found))
    if wanted != has:
        yield f"{where}{wanted} wanted, {has} found"


def _wanted(text: str) -> Iterator[tuple[str, str, Any]]:
    """Name, kind and default of each parameter of a signature's text."""
    definition = ast.parse(f"def f{text}: ...").body[0]
    assert isinstance(definition, ast.FunctionDef)
    args = definition.args
    required = [None] * (len(args.args) - len(args.defaults))
    for arg, default in zip(args.args, [*required, *args.defaults], strict=True):
        yield arg.arg, "POSITIONAL_OR_KEYWORD", _value(default)
    if args.vararg:
        yield args.vararg.arg, "VAR_POSITIONAL", "none"
    for arg, default in zip(args.kwonlyargs, args.kw_defaults, strict=True):
        yield arg.arg, "KEYWORD_ONLY", _value(default)
    if args.kwarg:
        yield args.kwarg.arg, "VAR_KEYWORD", "none"


def _found(found: Any) -> Iterator[tuple[str, str, Any]]:
    for name, parameter in inspect.signature(found).parameters.items():
        has = parameter.default is not inspect.Parameter.empty
        yield name, parameter.kind.name, _shown(parameter.default) if has else "none"


def _value(default: ast.expr | None) -> Any:
    """The value of a default: a literal, or a member of one of the SDK's enums."""
    if default is None:
        return "none"
    if isinstance(default, ast.Attribute):
        of = default.value.attr if isinstance(default.value, ast.Attribute) else ast.unparse(default.value)
        return _shown(getattr(getattr(client, of), default.attr))
    return _shown(ast.literal_eval(default))


def _shown(value: Any) -> str:
    return f"{type(value).__name__}.{value.name}" if isinstance(value, enum.Enum) else repr(value)
