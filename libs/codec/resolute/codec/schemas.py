"""JSON Schemas and an AsyncAPI document, worked out from the message classes: `python -m resolute.codec.schemas`.

The classes are what counts; these files are for other languages, for reviewers (a change of the wire shows in a
diff) and for readers. A test keeps them current.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import json
import sys
from dataclasses import is_dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from resolute import codec
from resolute.codec import asyncapi
from resolute.proto.message import COMMANDS, EVENTS

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def files() -> dict[str, str]:
    """Every generated file by its path below `proto/`."""
    kinds = messages()
    texts = {f"schemas/{name}.json": json.dumps(schema(kind), indent=2) + "\n" for name, kind in kinds.items()}
    document = asyncapi.document({name: summary(kind) for name, kind in kinds.items()})
    texts["asyncapi.yaml"] = yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=118)
    return texts


def messages() -> dict[str, Any]:
    """Every message there is, by name: events, commands, and the conversation with the agents."""
    found = {**EVENTS, **COMMANDS, **{kind.__name__: kind for kind in asyncapi.conversation_kinds()}}
    return dict(sorted(found.items()))


def schema(kind: Any) -> dict[str, Any]:
    """The JSON Schema of a message, with what its class says about itself and its fields."""
    made = codec.adapter(kind).json_schema()
    _describe(made, kind)
    for name, definition in made.get("$defs", {}).items():
        _describe(definition, _class_named(name, kind))
    about: dict[str, Any] = {"$schema": DIALECT, "$id": f"resolute:{kind.__name__}"}
    if kind.__name__ in EVENTS:
        about |= {"x-resolute-category": kind.category, "x-resolute-schema-version": kind.schema_version}
    if kind.__name__ in COMMANDS:
        about |= {"x-resolute-service": kind.service}
    return about | made


def summary(kind: Any) -> str:
    """The first sentence that a class says about itself; empty when it says nothing."""
    text = _doc_of(kind).get("", "")
    return " ".join(text.split("\n\n")[0].split())


def _class_named(name: str, user: Any) -> Any:
    """What a message of `user`'s kind holds, itself or deeper down; then it may be of another module."""
    others = sorted(module for module in sys.modules if module.startswith("resolute.proto."))
    homes = (vars(sys.modules[module]) for module in (user.__module__, *others))
    found = next((names[name] for names in homes if name in names), None)
    assert is_dataclass(found), f"{name} in {user.__module__} is no message"
    return found


def _describe(made: dict[str, Any], kind: Any) -> None:
    said = _doc_of(kind)
    made.pop("description", None)  # dataclass writes a signature there where the class says nothing
    if text := said.get(""):
        made["description"] = text
    for name, field in made.get("properties", {}).items():
        field.pop("title", None)
        if name in said:
            field["description"] = " ".join(said[name].split())


def _doc_of(kind: Any) -> dict[str, str]:
    return _docs(kind.__module__).get(kind.__name__, {})


@cache
def _docs(module: str) -> dict[str, dict[str, str]]:
    """What a module's classes say: by class, the docstring of each field, and under "" that of the class."""
    tree = ast.parse(inspect.getsource(sys.modules[module]))
    return {node.name: _class_docs(node) for node in tree.body if isinstance(node, ast.ClassDef)}


def _class_docs(node: ast.ClassDef) -> dict[str, str]:
    found = {"": ast.get_docstring(node) or ""}
    for field, after in zip(node.body, node.body[1:], strict=False):
        match field, after:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                found[name] = inspect.cleandoc(text)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--into", type=Path, default=Path("proto"), help="where to write; ./proto by default")
    into: Path = parser.parse_args().into
    made = files()
    for old in into.glob("schemas/*.json"):
        if f"schemas/{old.name}" not in made:
            old.unlink()
    (into / "schemas").mkdir(parents=True, exist_ok=True)
    for path, text in made.items():
        (into / path).write_text(text, encoding="utf-8")
    print(f"{len(made)} files written into {into}")


if __name__ == "__main__":
    main()
