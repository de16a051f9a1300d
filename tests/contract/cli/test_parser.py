"""`det` takes the words of the command line of Determined 0.38.1: its commands, aliases, options, names and defaults.

`determined.json` has the facts, a leaf a line: the words with their aliases, the arguments and the options.
`left.txt` names the leaves that `det` does not have yet, one a line; a leaf that is built is deleted there.
`DEPARTURES` names where a leaf of ours differs, with the reason. What a leaf has beyond the facts does no harm, unless
it is required.
"""

from __future__ import annotations

import argparse
import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from resolute.cli.parser import build, subparsers_of
from resolute.cli.surface import DET

HERE = Path(__file__).parent
FACTS: Mapping[str, Any] = json.loads((HERE / "determined.json").read_text())
LEAVES: Mapping[str, Any] = FACTS["leaves"]
LEFT = (HERE / "left.txt").read_text().split("\n")[:-1]
NUMBERS: Mapping[str, tuple[str, object]] = {"int": ("7", 7), "float": ("0.5", 0.5), "int or none": ("7", 7)}

PORT = "--master-port: default 8080 wanted, None found"
GPU = "--gpu: default True wanted, None found"
NO_GPU = "--no-gpu: default True wanted, None found"
PREFIX = "--image-repo-prefix: default 'determinedai' wanted, None found"
THE_CONFIGURATION = "without the option, the configuration file of the deployment says it"
THE_HOST = "without the option, the deployment looks whether the host has GPUs"
ONE_DEFAULT = "the same option of `det deploy`, before this word, has the default"
NEEDED = "without the option there is nothing to set, so the parser refuses the line"
KEPT = "an option before the default command, as in `det master config --json`, must not be reset by its default"

DEPARTURES: Mapping[str, Mapping[str, str]] = {
    "deploy local agent-up": {PORT: THE_CONFIGURATION, GPU: THE_HOST, NO_GPU: THE_HOST, PREFIX: ONE_DEFAULT},
    "deploy local cluster-up": {PORT: THE_CONFIGURATION, GPU: THE_HOST, NO_GPU: THE_HOST},
    "deploy local master-up": {PORT: THE_CONFIGURATION, PREFIX: ONE_DEFAULT},
    "experiment set log-retention": {"days | forever: at most one wanted": NEEDED},
    "master cluster-message set": {
        "--message: required False wanted, True found": NEEDED,
        "--start: default '<now, UTC>' wanted, None found": "without the option, the master's clock says it",
    },
    "master config show": {
        "--json: default False wanted, '==SUPPRESS==' found": KEPT,
        "--yaml: default False wanted, '==SUPPRESS==' found": KEPT,
    },
    "model move": {"--workspace-name: required False wanted, True found": NEEDED},
    "trial set log-retention": {"days | forever: at most one wanted": NEEDED},
}
"""By leaf: each difference that is meant, as `differences` words it, and the reason."""


def plain(leaf: str) -> str:
    """The words of a leaf without aliases, as `left.txt` has them."""
    return " ".join(word.split("|")[0] for word in leaf.split())


PARSER = build(DET)


def found(words: Sequence[str]) -> argparse.ArgumentParser | None:
    """Our parser of a command, or None."""
    parser: argparse.ArgumentParser | None = PARSER
    for word in words:
        parser = subparsers_of(parser).get(word) if parser else None
    return parser


def test_the_leaves_that_are_left_are_those_that_det_does_not_have() -> None:
    missing = {plain(leaf) for leaf in LEAVES if found(plain(leaf).split()) is None}
    assert sorted(missing - set(LEFT)) == [], "det lacks these leaves, and left.txt does not name them"
    assert sorted(set(LEFT) - missing) == [], "det has these leaves: delete their lines in left.txt"


def test_the_list_of_what_is_left_is_in_order_and_has_no_line_twice() -> None:
    assert sorted(set(LEFT)) == LEFT


BUILT = [leaf for leaf in LEAVES if found(plain(leaf).split())]


@pytest.mark.parametrize("leaf", BUILT, ids=plain)
def test_each_alias_leads_to_the_leaf(leaf: str) -> None:
    spellings = itertools.product(*(word.split("|") for word in leaf.split()))
    missing = [" ".join(words) for words in spellings if found(words) is None]
    assert missing == []


@pytest.mark.parametrize("leaf", BUILT, ids=plain)
def test_a_leaf_takes_what_determined_takes(leaf: str) -> None:
    ours = found(plain(leaf).split())
    assert ours is not None
    known = DEPARTURES.get(plain(leaf), {})
    assert sorted(differences(LEAVES[leaf], ours)) == sorted(known)


@pytest.mark.parametrize(("group", "leaf"), FACTS["defaults"].items())
def test_a_group_without_a_further_word_runs_its_default(group: str, leaf: str) -> None:
    ours = found(plain(group).split())
    if ours is not None and leaf in subparsers_of(ours):
        assert ours.get_default("command").default == leaf


def differences(facts: Mapping[str, Any], ours: argparse.ArgumentParser) -> Iterator[str]:
    """What of the facts about a leaf our parser does not have, in words."""
    options: Mapping[str, argparse.Action] = {word: each for each in ours._actions for word in each.option_strings}
    for option in facts.get("options", ()):
        yield from _of_option(option, options)
    yield from _of_positionals(facts.get("args", ()), ours)
    taken = {word for option in facts.get("options", ()) for word in option["flags"]}
    yield from (f"{word}: is required" for word, each in options.items() if each.required and word not in taken)
    yield from _of_groups(facts, ours)


def _of_option(option: Mapping[str, Any], ours: Mapping[str, argparse.Action]) -> Iterator[str]:
    name = option["flags"][-1] if option["flags"][-1].startswith("--") else option["flags"][0]
    missing = [word for word in option["flags"] if word not in ours]
    if missing:
        yield f"{' '.join(missing)}: is missing"
    if name in ours:
        yield from (f"{name}: {each}" for each in _of_action(option, ours[name]))


def _of_positionals(args: Sequence[Mapping[str, Any]], parser: argparse.ArgumentParser) -> Iterator[str]:
    ours = [each for each in parser._actions if not each.option_strings]
    theirs, names = [each["name"] for each in args], [each.dest for each in ours]
    if theirs != names:
        yield f"arguments: {' '.join(theirs) or 'none'} wanted, {' '.join(names) or 'none'} found"
        return
    for arg, action in zip(args, ours, strict=True):
        yield from (f"{arg['name']}: {each}" for each in _of_action(arg, action))


def _of_action(facts: Mapping[str, Any], ours: argparse.Action) -> Iterator[str]:
    wanted = {
        "dest": facts.get("dest", facts.get("name")),
        "default": facts.get("default", False if facts.get("action") == "store_true" else None),
        "choices": facts.get("choices"),
        "nargs": facts.get("nargs"),
        "required": facts.get("required", False) if "flags" in facts else ours.required,
    }
    if facts.get("action") == "store_false":
        wanted["default"] = facts.get("default", True)
    for key, value in wanted.items():
        has = getattr(ours, key)
        if key == "choices" and has is not None:
            has = list(has)
        if key == "nargs" and has == 0:
            has = None
        if has != value:
            yield f"{key} {value!r} wanted, {has!r} found"
    yield from _of_kind(facts, ours)


def _of_kind(facts: Mapping[str, Any], ours: argparse.Action) -> Iterator[str]:
    action = facts.get("action", "store")
    if (has := type(ours).__name__.removeprefix("_").removesuffix("Action")) != action.title().replace("_", ""):
        yield f"action {action} wanted, {has} found"
    if facts.get("type") in NUMBERS:
        text, value = NUMBERS[facts["type"]]
        if not callable(ours.type) or ours.type(text) != value:
            yield f"type {facts['type']} wanted"


def _of_groups(facts: Mapping[str, Any], ours: argparse.ArgumentParser) -> Iterator[str]:
    groups = [
        ({each.dest for each in group._group_actions}, group.required) for group in ours._mutually_exclusive_groups
    ]
    wanted: dict[int, set[str]] = {}
    for each in (*facts.get("args", ()), *facts.get("options", ())):
        if "exclusive_group" in each:
            wanted.setdefault(each["exclusive_group"], set()).add(each.get("dest", each.get("name")))
    for number, members in ((number, members) for number, members in wanted.items() if len(members) > 1):
        required = number in facts.get("required_groups", ())
        if not any(members <= group and required == needed for group, needed in groups):
            yield f"{' | '.join(sorted(members))}: at most one wanted{', and one required' if required else ''}"
