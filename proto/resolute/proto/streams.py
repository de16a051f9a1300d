"""The streams of the log: which categories there are, which service appends to each, and which services read them.

A stream's name is its category, a hyphen, and a key: `experiment-7`. Names are made and taken apart here and nowhere
else. A service that appends to a stream which this table does not give to it has a bug:
`resolute.service.restricted_log` refuses the append. `tests/test_architecture.py` compares the table with the services,
and docs/reference/streams.md shows it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum


class Service(StrEnum):
    """The services that have the log. Agents have none."""

    API = "api"
    DIRECTORY = "directory"
    SEARCHER = "searcher"
    TASKS = "tasks"
    SCHEDULER = "scheduler"
    CHECKPOINT = "checkpoint"
    RELAY = "relay"


@dataclass(frozen=True, slots=True)
class Category:
    """One kind of stream."""

    name: str
    holds: str
    """What its events tell, in one sentence."""
    key: str
    """What stands behind the hyphen."""
    appended_by: Service
    """The one service that decides these events and appends them."""
    read_by: frozenset[Service]
    """The services besides that fold these streams, or react to their events."""

    def stream(self, key: object) -> str:
        """The name of one stream of this category."""
        return name_of(self.name, key)


READ_EVERYTHING = frozenset({Service.RELAY})
"""The relay carries every event to the bus, whatever it says. So does `resolute log` for people, from the database or
through a gateway, without decoding."""

EXPERIMENT = Category(
    name="experiment",
    holds="one experiment with all its trials",
    key="the experiment's number",
    appended_by=Service.SEARCHER,
    read_by=frozenset({Service.API, Service.CHECKPOINT, Service.DIRECTORY}),
)
SUBMISSION = Category(
    name="submission",
    holds="the number that one submission was given",
    key="a digest of the command's id",
    appended_by=Service.SEARCHER,
    read_by=frozenset(),
)
TASK = Category(
    name="task",
    holds="one task that is no trial, such as a command",
    key="the task's id, a UUID",
    appended_by=Service.TASKS,
    read_by=frozenset({Service.API}),
)
POOL = Category(
    name="pool",
    holds="one resource pool: its agents, its allocations, its queue, its instances",
    key="the pool's name",
    appended_by=Service.SCHEDULER,
    read_by=frozenset({Service.API, Service.SEARCHER, Service.TASKS}),
)
CHECKPOINTS = Category(
    name="checkpoints",
    holds="all checkpoints of one experiment",
    key="the experiment's number",
    appended_by=Service.CHECKPOINT,
    read_by=frozenset({Service.API, Service.SEARCHER}),
)
CLAIM = Category(
    name="claim",
    holds="which experiment a checkpoint's UUID belongs to",
    key="the UUID, in lower case",
    appended_by=Service.CHECKPOINT,
    read_by=frozenset({Service.SEARCHER}),
)
USER = Category(
    name="user",
    holds="all users, in `user-directory`; the sessions of one user",
    key="`directory`, or the user's number",
    appended_by=Service.DIRECTORY,
    read_by=frozenset({Service.API}),
)
SETTINGS = Category(
    name="settings",
    holds="the settings of the web app that one user keeps",
    key="the user's number",
    appended_by=Service.DIRECTORY,
    read_by=frozenset({Service.API}),
)
VISITS = Category(
    name="visits",
    holds="which projects one user looked at last",
    key="the user's number",
    appended_by=Service.DIRECTORY,
    read_by=frozenset({Service.API}),
)
WORKSPACE = Category(
    name="workspace",
    holds="all workspaces and their projects, in `workspace-directory`",
    key="`directory`",
    appended_by=Service.DIRECTORY,
    read_by=frozenset({Service.API, Service.TASKS}),
)
MODELS = Category(
    name="models",
    holds="the model registry: all models with their versions, in `models-directory`",
    key="`directory`",
    appended_by=Service.DIRECTORY,
    read_by=frozenset({Service.API, Service.CHECKPOINT}),
)
TEMPLATES = Category(
    name="templates",
    holds="configuration templates: all of them, in `templates-directory`",
    key="`directory`",
    appended_by=Service.DIRECTORY,
    read_by=frozenset({Service.API}),
)
POLICIES = Category(
    name="policies",
    holds="configuration policies of the cluster and of workspaces: all of them, in `policies-directory`",
    key="`directory`",
    appended_by=Service.DIRECTORY,
    read_by=frozenset({Service.API}),
)
RBAC = Category(
    name="rbac",
    holds="groups of users with their members, and who holds which role where, in `rbac-directory`",
    key="`directory`",
    appended_by=Service.DIRECTORY,
    read_by=frozenset({Service.API}),
)
TOKENS = Category(
    name="tokens",
    holds="access tokens: whose they are and which are revoked, all in `tokens-directory`",
    key="`directory`",
    appended_by=Service.DIRECTORY,
    read_by=frozenset({Service.API}),
)
BINDINGS = Category(
    name="bindings",
    holds="which resource pools are bound to which workspaces, all in `bindings-directory`",
    key="`directory`",
    appended_by=Service.DIRECTORY,
    read_by=frozenset({Service.API}),
)
ANNOUNCEMENT = Category(
    name="announcement",
    holds="the message that administrators show to everybody, in `announcement-cluster`",
    key="`cluster`",
    appended_by=Service.DIRECTORY,
    read_by=frozenset({Service.API}),
)
LOGGING = Category(
    name="logging",
    holds="what administrators changed of the log that the gateways write about themselves, in `logging-cluster`",
    key="`cluster`",
    appended_by=Service.DIRECTORY,
    read_by=frozenset({Service.API}),
)
WEBHOOKS = Category(
    name="webhooks",
    holds="all webhooks, in `webhooks-directory`",
    key="`directory`",
    appended_by=Service.DIRECTORY,
    read_by=frozenset({Service.API}),
)
DELIVERIES = Category(
    name="deliveries",
    holds="what one webhook is sent: each delivery from the moment in which it is due to its end",
    key="the webhook's number",
    appended_by=Service.DIRECTORY,
    read_by=frozenset({Service.API}),
)
SECRETS = Category(
    name="secrets",
    holds="which keys of secrets were dropped or wrapped anew, in `secrets-cluster`",
    key="`cluster`",
    appended_by=Service.API,
    read_by=frozenset(),
)

CATEGORIES: Mapping[str, Category] = {
    category.name: category
    for category in (
        EXPERIMENT,
        SUBMISSION,
        TASK,
        POOL,
        CHECKPOINTS,
        CLAIM,
        USER,
        SETTINGS,
        VISITS,
        WORKSPACE,
        MODELS,
        WEBHOOKS,
        DELIVERIES,
        TEMPLATES,
        POLICIES,
        RBAC,
        TOKENS,
        ANNOUNCEMENT,
        LOGGING,
        BINDINGS,
        SECRETS,
    )
}


def name_of(category: str, key: object) -> str:
    """`experiment-7` of `experiment` and 7; without a key, what the names of all streams of the category begin with."""
    return f"{category}-{key}"


def category_of(stream: str) -> str:
    """The name of a stream's category: `experiment` of `experiment-7`."""
    return stream.partition("-")[0]


def key_of(stream: str) -> str:
    """What stands behind the category: `7` of `experiment-7`."""
    return stream.partition("-")[2]


USER_DIRECTORY = USER.stream("directory")
WORKSPACE_DIRECTORY = WORKSPACE.stream("directory")
WEBHOOK_DIRECTORY = WEBHOOKS.stream("directory")
MODEL_DIRECTORY = MODELS.stream("directory")
TEMPLATE_DIRECTORY = TEMPLATES.stream("directory")
POLICY_DIRECTORY = POLICIES.stream("directory")
RBAC_DIRECTORY = RBAC.stream("directory")
TOKEN_DIRECTORY = TOKENS.stream("directory")
BINDING_DIRECTORY = BINDINGS.stream("directory")

CLUSTER_MESSAGE = ANNOUNCEMENT.stream("cluster")
LOGGING_OF_CLUSTER = LOGGING.stream("cluster")
SECRETS_OF_CLUSTER = SECRETS.stream("cluster")


def check_append(service: str, stream: str, categories: Iterable[str]) -> None:
    """Assert that `service` appends to this stream, and that events of `categories` belong there."""
    category = _known(category_of(stream))
    assert category.appended_by == service, (
        f"{service} appends to {stream}, to which {category.appended_by} alone appends"
    )
    for other in categories:
        assert other == category.name, f"an event of a stream of category {other!r} is appended to {stream}"


def check_read(service: str, category: str) -> None:
    """Assert that `service` reads streams of this category."""
    readers = {_known(category).appended_by, *_known(category).read_by, *READ_EVERYTHING}
    assert service in readers, f"{service} reads streams of category {category}; only {', '.join(sorted(readers))} may"


def _known(category: str) -> Category:
    found = CATEGORIES.get(category)
    assert found is not None, f"the table of streams has no category {category!r}"
    return found
