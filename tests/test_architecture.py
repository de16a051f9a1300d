"""Who may lean on whom. Knowledge flows downhill; the table says how, and the imports are compared with it.

Services never import one another: they meet in messages. What decides imports nothing that could wait, draw lots or
tell the time. The table of streams (`resolute.proto.streams`) says which service appends which events, and which
services read them; the code of the services is compared with it.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

import resolute.proto.catalog  # noqa: F401  (registers every event)
from resolute.agent.runtimes import REGISTRY
from resolute.proto import streams
from resolute.proto.message import EVENTS as REGISTERED
from resolute.proto.owners import OWNERS
from resolute.proto.queue import ZERO_SLOTS, PolicyName, WaitRule
from resolute.proto.states import (
    AfterStop,
    CheckpointState,
    EarlyExit,
    ExperimentState,
    LogPolicyAction,
    RunOutcome,
    TrialState,
)

ROOT = Path(__file__).parents[1]

MAY_LEAN_ON: dict[str, set[str]] = {
    "proto": set(),
    "codec": {"proto"},
    "harness": set(),
    "config": {"proto", "harness"},
    "storage": {"proto", "harness"},
    # The pure cores of the searcher and of the scheduler.
    "search": {"proto", "config"},
    "scheduling": {"proto", "config"},
    # Plays the pure cores. Only the part that reads a real log knows the log.
    "whatif": {"proto", "codec", "config", "eventlog", "search", "scheduling"},
    "bus": {"proto", "codec"},
    "eventlog": {"proto", "codec"},
    "service": {"proto", "bus", "eventlog"},
    "relay": {"proto", "bus", "eventlog", "service"},
    "searcher": {"proto", "codec", "config", "bus", "eventlog", "service", "search", "whatif"},
    "tasks": {"proto", "codec", "bus", "eventlog", "service"},
    "scheduler": {"proto", "codec", "config", "bus", "eventlog", "service", "scheduling"},
    "checkpoint": {"proto", "codec", "config", "storage", "bus", "eventlog", "service"},
    "directory": {"proto", "config", "eventlog", "service"},
    "agent": {"proto", "codec", "bus", "service"},
    "api": {"proto", "codec", "config", "storage", "bus", "eventlog", "service"},
    # Puts the parts together, and is the only library that knows services.
    "deploy": {
        "proto",
        "codec",
        "config",
        "bus",
        "service",
        "cli",
        "relay",
        "searcher",
        "tasks",
        "scheduler",
        "checkpoint",
        "directory",
        "agent",
        "api",
    },
    "cli": {"proto", "config", "harness", "deploy", "eventlog", "whatif"},
}

SERVICES = ("relay", "directory", "searcher", "tasks", "scheduler", "checkpoint", "agent", "api")

CORES = {"search": {"searcher", "whatif"}, "scheduling": {"scheduler", "whatif"}}
"""Libraries that hold what a service decides by, and which folders may import them: the service, and what plays it."""

DECIDING = ("directory", "searcher", "tasks", "scheduler", "checkpoint", "whatif")
SHELLS = {"shell.py", "__main__.py", "settings.py", "local.py", "sender.py", "deliverer.py", "deletion.py"}
"""Of what decides these alone may await, read the environment, know the log and the bus, start processes (`local.py`),
or send requests to receivers of webhooks (`sender.py`, `deliverer.py`). The cores have none of them."""
PURE = {"proto", "config", *CORES}
IMPURE = {"asyncio", "os", "socket", "subprocess", "threading", "time", "secrets", "urllib", "http"}
CHANCE_AND_CLOCKS = {
    "uuid1",
    "uuid4",
    "now",
    "utcnow",
    "today",
    "random",
    "randint",
    "choice",
    "shuffle",
    "SystemRandom",
}
"""Functions of modules that also have harmless ones: `uuid5`, `Random(seed)`, `timedelta`."""


@dataclass(frozen=True)
class Import:
    file: Path
    name: str
    """In full: `resolute.service.refuse`, `torch.nn`."""
    at_import: bool
    """Whether it runs when the module is imported, and not only inside a function."""

    @property
    def unit(self) -> str:
        """Of our own modules: the folder they are in."""
        return "harness" if self.name.split(".")[0] == "determined" else self.name.split(".")[1]


def test_every_folder_leans_only_on_what_the_table_says() -> None:
    found: dict[str, set[str]] = {unit: set() for unit in MAY_LEAN_ON}
    for unit in MAY_LEAN_ON:
        for imported in imports_of(sources(unit)):
            if imported.name.startswith(("resolute.", "determined.")) and imported.unit != unit:
                found[unit].add(imported.unit)
    surplus = {unit: leans - MAY_LEAN_ON[unit] for unit, leans in found.items() if leans - MAY_LEAN_ON[unit]}
    assert surplus == {}


def test_no_folder_is_missing_from_the_table() -> None:
    folders = {
        folder.name for parent in ("libs", "services") for folder in (ROOT / parent).iterdir() if folder.is_dir()
    }
    assert folders == set(MAY_LEAN_ON) - {"proto"}


def test_of_the_harness_the_others_use_only_what_it_shares() -> None:
    """It is written for tasks, and has the SDK. The storages are there because a task must find them where it finds the
    harness. What reads a context directory and what keeps logins serves the SDK and `det` alike;
    the tunnel is a program of its own, which ssh starts, and serves `det` as well. What the terminal of a shell and its
    viewers say to each other is known to both.
    `local_trial.py` is a process of its own, which trains."""
    shared = (
        "determined.common.storage",
        "determined.common.client",
        "determined.common.context",
        "determined.common.terminal",
        "determined.cli.tunnel",
        "determined.errors.CheckpointNotFound",
    )
    for unit in set(MAY_LEAN_ON) - {"harness"}:
        for imported in imports_of(sources(unit)):
            if imported.name.startswith("determined.") and imported.file.name != "local_trial.py":
                assert imported.name.startswith(shared), f"{imported.file.relative_to(ROOT)} imports {imported.name}"


def test_modules_do_not_import_one_another_in_circles() -> None:
    """Imports inside functions and imports for types count as well: they only hide that two modules need each other."""
    found = circles({name: _modules_imported(file) - {name} for name, file in _modules().items()})
    assert [sorted(circle) for circle in found] == []


def test_a_circle_is_found_whatever_hangs_on_it() -> None:
    graph = {"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": {"e"}, "e": set(), "f": {"a"}, "g": {"h"}, "h": {"g"}}
    assert circles(graph) == [{"a", "b", "c"}, {"g", "h"}]


def test_services_meet_in_messages_only() -> None:
    for service in SERVICES:
        assert MAY_LEAN_ON[service].isdisjoint(set(SERVICES) - {service})


def test_no_library_but_the_one_that_runs_them_imports_a_service() -> None:
    libraries = set(MAY_LEAN_ON) - set(SERVICES) - {"deploy"}
    assert {name: MAY_LEAN_ON[name] & set(SERVICES) for name in libraries} == {name: set() for name in libraries}
    assert "cli" in libraries


def test_a_core_is_known_to_its_service_and_to_what_plays_it() -> None:
    found = {core: {unit for unit, leans in MAY_LEAN_ON.items() if core in leans} for core in CORES}
    assert found == CORES


def test_playing_a_search_knows_nothing_of_pools_and_playing_a_pool_nothing_of_searches() -> None:
    folder = ROOT / "libs" / "whatif" / "resolute" / "whatif"
    searches = {imported.name for imported in imports_of((folder / "searches").rglob("*.py"))}
    pools = {imported.name for imported in imports_of((folder / "pools").rglob("*.py"))}
    assert not any(name.startswith(("resolute.scheduling", "resolute.whatif.pools")) for name in searches)
    assert not any(name.startswith(("resolute.search", "resolute.whatif.searches")) for name in pools)


@pytest.mark.parametrize("unit", [*CORES, *DECIDING])
def test_what_decides_neither_waits_nor_looks_at_the_clock(unit: str) -> None:
    inner = [file for file in sources(unit) if unit in CORES or file.name not in SHELLS]
    assert inner, f"{unit} has modules besides its shell"
    for imported in imports_of(inner):
        ours = imported.name.startswith("resolute.")
        pure = not ours or imported.unit in PURE | {unit}
        assert pure, f"{imported.file.relative_to(ROOT)} imports {imported.name}"
        assert imported.name not in ("uuid.uuid1", "uuid.uuid4")
        assert imported.name.split(".")[0] not in IMPURE, f"{imported.file.relative_to(ROOT)} imports {imported.name}"
    for file in inner:
        nodes = list(ast.walk(tree(file)))
        assert not any(isinstance(node, ast.Await | ast.AsyncFunctionDef) for node in nodes), f"{file} awaits"
        uncertain = {called for node in nodes if (called := _called_on_a_module(node)) in CHANCE_AND_CLOCKS}
        assert not uncertain, f"{file.relative_to(ROOT)} calls {', '.join(map(str, uncertain))}"


def test_messages_are_made_of_the_standard_library() -> None:
    assert {name for name in foreign(imports_of(sources("proto"))) if not name.startswith("resolute.proto")} == set()


def test_a_task_needs_nothing_of_ours_installed() -> None:
    """The harness runs in the user's environment: torch and its friends only where they are what is asked for."""
    files = [file for file in (ROOT / "libs" / "harness").rglob("*.py") if "pytorch" not in file.parts]
    at_import = [imported for imported in imports_of(files) if imported.at_import]
    assert {name for name in foreign(at_import) if not name.startswith("determined")} == set()
    anywhere = foreign(imports_of((ROOT / "libs" / "harness").rglob("*.py")))
    assert not any(name.startswith("resolute") for name in anywhere)


RUNTIMES = {
    "process": {
        "accounts",
        "mount_namespace",
        "inherited_variables",
        "isolation",
        "process_launch",
        "process_runtime",
        "process_settings",
        "process_setup",
        "warm",
    },
    "docker": {
        "container_shim",
        "container_spec",
        "docker_config",
        "docker_engine",
        "docker_follow",
        "docker_files_volume",
        "docker_runtime",
        "docker_settings",
        "docker_setup",
        "docker_start",
        "docker_messages",
        "container_files",
    },
}
"""By the name of a runtime of the agent, the modules that are its own. `shim` and `spool` serve every runtime."""
COMPOSITION = "runtimes"
"""The module of the agent that lists the runtimes. Of the agent, `__main__` alone imports it."""


def test_every_runtime_of_the_registry_has_modules_of_its_own_and_they_exist() -> None:
    assert set(RUNTIMES) == set(REGISTRY.names)
    assert set().union(*RUNTIMES.values()) < {file.stem for file in sources("agent")}


def test_a_runtime_knows_no_other_runtime_and_not_the_list_of_them() -> None:
    for name, modules in RUNTIMES.items():
        others = {COMPOSITION}.union(*(found for other, found in RUNTIMES.items() if other != name))
        assert _agent_modules_of(modules) & others == set(), name


def test_the_agent_knows_no_runtime_by_name() -> None:
    own = set().union(*RUNTIMES.values())
    shared = [file for file in sources("agent") if file.stem not in own | {COMPOSITION}]
    assert {"agent", "environment", "registry", "runtime", "settings", "task"} <= {file.stem for file in shared}
    for file in shared:
        imported = _agent_modules_of({file.stem})
        assert imported & own == set(), f"{file.name} imports a module of one runtime"
        assert COMPOSITION not in imported or file.stem == "__main__", f"{file.name} imports the list of runtimes"
        for node in ast.walk(tree(file)):
            spelled = node.value if isinstance(node, ast.Constant) else getattr(node, "attr", getattr(node, "id", ""))
            assert spelled not in RUNTIMES, f"{file.name}:{getattr(node, 'lineno', '')} names the runtime {spelled}"
            named = isinstance(spelled, str) and spelled.startswith(tuple(f"{name}_" for name in RUNTIMES))
            assert not named, f"{file.name}:{getattr(node, 'lineno', '')} reads {spelled!r}, a setting of one runtime"


def _agent_modules_of(stems: set[str]) -> set[str]:
    """The modules of the agent that these modules of the agent import."""
    names = {one.name for one in imports_of([file for file in sources("agent") if file.stem in stems])}
    return {name.split(".")[2] for name in names if name.startswith("resolute.agent.")}


KINDS_OF_TASKS = ("trial", "experiment", "notebook", "tensorboard", *(set(OWNERS) - {"tasks"}))
"""What the scheduler must not know of: kinds of tasks, what they are made of, and the services that own them. The word
`tasks` alone is the scheduler's own, too."""


@pytest.mark.parametrize("unit", ["scheduler", "scheduling"])
def test_the_scheduler_knows_no_kind_of_task_and_no_owner_by_name(unit: str) -> None:
    """It asks the owner that an allocation names, at the address which `resolute.proto.owners` has for it."""
    assert "searcher" in KINDS_OF_TASKS
    for file in sources(unit):
        for number, line in enumerate(file.read_text().splitlines(), 1):
            named = [word for word in KINDS_OF_TASKS if word in line.lower()]
            assert named == [], f"{file.relative_to(ROOT)}:{number} speaks of {named[0]}: {line.strip()}"


def test_every_owner_of_tasks_is_a_service_that_answers_for_them() -> None:
    for name, owner in OWNERS.items():
        imported = {one.name for one in imports_of(sources(name))}
        assert "resolute.proto.tasks.DescribeTask" in imported, f"{name} does not listen at {owner.subject}"


@pytest.mark.parametrize("unit", [*SERVICES, *CORES])
def test_refusals_are_worded_in_one_place(unit: str) -> None:
    """`resolute.proto.errors.refuse` has the form: what was asked, what stood in the way, what to try."""
    for file in sources(unit):
        for node in ast.walk(ast.parse(file.read_text())):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Name)
                and node.func.id == "Refused"
                and node.args
            ):
                words = ast.unparse(node.args[0]).lstrip("f\"'")
                assert not words.startswith("cannot "), f"{file.relative_to(ROOT)}:{node.lineno}: use refuse()"


EVENTS = {name: kind for name, kind in REGISTERED.items() if kind.__module__.startswith("resolute.proto.")}
"""Tests define further ones."""

PLAYED = {"whatif", "play.py"}
"""Modules that make up events of their own, which no log ever holds, or that read a log for people."""

IN_WORDS_OF_ANOTHER = {
    ("searcher", "AllocationExited"),
    ("searcher", "CheckpointDeletionRequested"),
    ("tasks", "AllocationExited"),
}
"""By service, events of others that it makes to tell itself what another service's answer means: that a run which was
refused has ended, that a checkpoint which it found deleted is lost. They are decided on, and never appended."""


def test_every_event_belongs_to_a_category_of_streams_and_every_category_has_events() -> None:
    assert {kind.category for kind in EVENTS.values()} == set(streams.CATEGORIES)


def test_events_are_decided_by_the_service_that_appends_them() -> None:
    for name, event in EVENTS.items():
        owner = streams.CATEGORIES[event.category].appended_by
        deciding = {service for service in SERVICES if name in _called(service)}
        in_libraries = any(name in _called(unit) for unit in MAY_LEAN_ON[owner] - {"proto"})
        assert owner in deciding or in_libraries, f"{owner} appends {name}, and nothing of it makes one"
        others = {service for service in deciding - {owner} if (service, name) not in IN_WORDS_OF_ANOTHER}
        assert others == set(), f"{name} is {owner}'s to append"


@pytest.mark.parametrize("service", SERVICES)
def test_a_service_reads_the_streams_that_the_table_says(service: str) -> None:
    files = [file for unit in (service, *MAY_LEAN_ON[service] - {"proto", "codec"}) for file in _own_sources(unit)]
    imported = {name.rpartition(".")[2] for name in foreign(imports_of(files)) if name.startswith("resolute.proto.")}
    found = {EVENTS[name].category for name in imported & EVENTS.keys()}
    appended = {one.name for one in streams.CATEGORIES.values() if one.appended_by == service}
    read = {one.name for one in streams.CATEGORIES.values() if service in one.read_by}
    assert appended.isdisjoint(read), "who appends to a stream reads it anyway"
    assert found == appended | read


def test_names_of_streams_are_made_and_taken_apart_in_one_place() -> None:
    name = re.compile(rf"({'|'.join(streams.CATEGORIES)})-[\w.-]*")
    for file in (file for unit in MAY_LEAN_ON for file in sources(unit) if file.name != "streams.py"):
        for node in ast.walk(tree(file)):
            parts = node.values if isinstance(node, ast.JoinedStr) else [node]
            first = parts[0].value if parts and isinstance(parts[0], ast.Constant) else ""
            where = f"{file.relative_to(ROOT)}: {first!r}"
            if first in ("user-group", "task-log-"):
                continue  # a word of `det`; what causes of deliveries begin with
            assert not (isinstance(first, str) and name.fullmatch(first)), f"{where} is a name of a stream"
        assert 'stream.partition("-")' not in file.read_text(), f"{file.relative_to(ROOT)} takes one apart"


OF_THE_QUEUE = {*WaitRule, *PolicyName, ZERO_SLOTS} - {"busy", "max_slots", "priority", "starting", "suspended"}
"""Words of the queue, except for those that are names of other things as well."""

OF_STATES: set[str] = {
    *({*ExperimentState} - {ExperimentState.ERROR}),
    *({*TrialState} - {TrialState.ERROR}),
    *({*CheckpointState} - {CheckpointState.ERROR}),
    *(*AfterStop, *EarlyExit, *LogPolicyAction),
    RunOutcome.HOPELESS,
}
"""The same for states and outcomes: `ERROR` is also a level of log lines; `killed`, `lost` and others are also words in
which people ask."""

IN_SQL = re.compile(r"'([A-Za-z_]+)'")


def test_words_of_the_queue_and_states_are_spelled_in_proto_alone() -> None:
    """Also in the statements of the gateway, which take them from the enums."""
    for file in (file for unit in set(MAY_LEAN_ON) - {"proto", "harness"} for file in sources(unit)):
        spelled = {word for text in _texts(file) for word in (text, *IN_SQL.findall(text))}
        assert not spelled & OF_THE_QUEUE, f"{file.relative_to(ROOT)} spells what is in resolute.proto.queue"
        assert not spelled & OF_STATES, f"{file.relative_to(ROOT)} spells what is in resolute.proto.states"


def _texts(file: Path) -> Iterator[str]:
    nodes = (node for node in ast.walk(tree(file)) if isinstance(node, ast.Constant))
    return (node.value for node in nodes if isinstance(node.value, str))


def _own_sources(unit: str) -> list[Path]:
    return [file for file in sources(unit) if not PLAYED & set(file.relative_to(ROOT).parts)]


@cache
def _called(unit: str) -> set[str]:
    """The names of classes and functions that its modules call."""
    calls = [node.func for file in _own_sources(unit) for node in ast.walk(tree(file)) if isinstance(node, ast.Call)]
    return {call.id for call in calls if isinstance(call, ast.Name)} | {
        call.attr for call in calls if isinstance(call, ast.Attribute)
    }


API = ROOT / "services" / "api" / "resolute" / "api"
SLICES = sorted(file.parent for file in API.glob("*/routes.py"))
"""Folders of the gateway that hold all there is to one kind of thing."""

WITHOUT_TABLES = {"web", "master", "proxy"}
"""Slices whose answers are made of no tables: they have no queries."""

STATEMENT = re.compile(r"\bread_(v1|[a-z]+)\.\w+|\bSELECT\b.+\bFROM\b|\b(INSERT INTO|DELETE FROM)\b", re.DOTALL)


def test_the_kernel_of_the_gateway_knows_no_slice() -> None:
    assert {"workspaces"} <= {folder.name for folder in SLICES}
    names = tuple(f"resolute.api.{folder.name}" for folder in SLICES)
    for imported in imports_of((API / "kernel").rglob("*.py")):
        assert not imported.name.startswith(names), f"{imported.file.name} of the kernel imports {imported.name}"


@pytest.mark.parametrize("folder", SLICES, ids=lambda folder: folder.name)
def test_a_slice_has_its_parts_and_statements_stand_in_its_queries_and_projections_alone(folder: Path) -> None:
    parts = {"README.md", "__init__.py", "messages.py"} | (
        {"queries.py"} if folder.name not in WITHOUT_TABLES else set()
    )
    assert parts <= {file.name for file in folder.iterdir()}
    for file in sorted(folder.rglob("*.py")):
        statements = [text for text in _texts(file) if STATEMENT.search(text)]
        assert not statements or file.name.endswith(("queries.py", "projection.py")), f"{file}: {statements[0]!r}"


READ_TABLE = re.compile(r"\bread_[a-z]+\.\w+")


def test_no_module_besides_the_slices_has_statements_about_their_tables() -> None:
    of_slices = {"kernel", *(folder.name for folder in SLICES)}
    others = {str(file.relative_to(API)): file for file in API.rglob("*.py")}
    reading = {name for name, file in others.items() if any(READ_TABLE.search(text) for text in _texts(file))}
    assert {name for name in reading if name.partition("/")[0] not in of_slices} == set()


@pytest.mark.parametrize("folder", SLICES, ids=lambda folder: folder.name)
def test_the_routes_of_a_slice_are_served(folder: Path) -> None:
    routes = import_module(f"resolute.api.{folder.name}.routes").ROUTES
    assert routes
    served = import_module("resolute.api.table").OPERATIONS
    assert set(routes) <= set(served), f"{folder.name} is not registered in slices.py"


def sources(unit: str) -> list[Path]:
    places = [ROOT / "proto"] if unit == "proto" else [ROOT / "libs" / unit, ROOT / "services" / unit]
    return [file for place in places for file in sorted(place.rglob("*.py"))]


@cache
def tree(file: Path) -> ast.Module:
    return ast.parse(file.read_text(), str(file))


def imports_of(files: list[Path] | Iterator[Path]) -> list[Import]:
    return [Import(file, name, at_import) for file in files for name, at_import in _imported(tree(file), True)]


def circles(graph: Mapping[str, set[str]]) -> list[set[str]]:
    """The groups of nodes from each of which a path leads to all others of the group."""
    reached = {name: _reached(graph, name) for name in graph}
    found: list[set[str]] = []
    for name in graph:
        circle = {other for other in reached[name] if name in reached[other]}
        if circle and circle not in found:
            found.append(circle)
    return found


def _reached(graph: Mapping[str, set[str]], start: str) -> set[str]:
    reached: set[str] = set()
    ahead = [start]
    while ahead:
        further = graph.get(ahead.pop(), set()) - reached
        reached |= further
        ahead += further
    return reached


@cache
def _modules() -> dict[str, Path]:
    """Every module of the repository, by its name in full."""
    return {_module_name(file): file for unit in MAY_LEAN_ON for file in sources(unit)}


def _module_name(file: Path) -> str:
    parts = file.relative_to(ROOT).with_suffix("").parts
    start = next(place for place, part in enumerate(parts) if part in ("resolute", "determined"))
    return ".".join(parts[start:]).removesuffix(".__init__")


def _modules_imported(file: Path) -> set[str]:
    """All imports of a module count: also those inside functions, and those for types alone."""
    known = _modules()
    names = {name for node in ast.walk(tree(file)) for name in _names_in(node)}
    owners = {name if name in known else name.rpartition(".")[0] for name in names}
    return owners & known.keys()


def _names_in(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
        yield from (f"{node.module}.{alias.name}" for alias in node.names)


def foreign(imports: list[Import]) -> set[str]:
    """What is imported and not part of Python."""
    return {imported.name for imported in imports if imported.name.split(".")[0] not in sys.stdlib_module_names}


def _imported(node: ast.AST, at_import: bool) -> Iterator[tuple[str, bool]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            yield from ((alias.name, at_import) for alias in child.names)
        elif isinstance(child, ast.ImportFrom) and child.level == 0 and child.module:
            yield from ((f"{child.module}.{alias.name}", at_import) for alias in child.names)
        elif not _is_for_types(child):
            inside = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            yield from _imported(child, at_import and not inside)


def _called_on_a_module(node: ast.AST) -> str | None:
    """`now` of `datetime.now()`, `uuid4` of `uuid.uuid4()`."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return None
    owner = node.func.value
    named = isinstance(owner, ast.Name) and owner.id in {"datetime", "date", "uuid", "random"}
    return node.func.attr if named else None


def _is_for_types(node: ast.AST) -> bool:
    """`if TYPE_CHECKING:` never runs."""
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


MAKERS_OF_SCOPES = {"access.py", "scope.py", "routing.py"}
"""The last two define the scope of everything, which tasks have: they are held to what is their own instead."""


def test_scopes_are_made_where_access_is_decided_and_nowhere_else() -> None:
    """A list, a count or an action on many needs the scope that its call carries: a handler cannot make another."""
    making = {"Scope", "Outside", "UNLIMITED", "EVERY_RIGHT", "Rights"}
    for path in sorted((ROOT / "services/api/resolute/api").rglob("*.py")):
        if path.name not in MAKERS_OF_SCOPES:
            nodes = list(ast.walk(ast.parse(path.read_text())))
            called = {node.func.id for node in nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
            imports = [node for node in nodes if isinstance(node, ast.ImportFrom)]
            named = {alias.name for node in imports for alias in node.names}
            of_roles = {
                alias.name for node in imports if node.module == "resolute.config.rights" for alias in node.names
            }
            assert not (called & making - of_roles | named & {"UNLIMITED", "EVERY_RIGHT"}), path
