"""Arguments that several commands share."""

from __future__ import annotations

from resolute.cli.levels import LEVELS
from resolute.cli.tree import Arg, OneOf, arg, flag, one_of

CSV = flag("--csv", help="print as CSV")
JSON = flag("--json", help="print as JSON")
YAML = flag("--yaml", help="print as YAML")
CSV_OR_JSON = one_of(CSV, JSON)
JSON_OR_YAML = one_of(JSON, YAML)
YES = flag("--yes", help="do it without asking")

EXPERIMENT = arg("experiment_id", type=int, help="experiment ID")
TRIAL = arg("trial_id", type=int, help="trial ID")
LOG_RETENTION = one_of(
    arg("--days", type=int, help="days after the end of a task; 0 clears them at the next clean-up"),
    flag("--forever", help="keep them"),
    required=True,
)


def paging(limit: int) -> tuple[Arg, ...]:
    return (
        arg("--limit", type=int, default=limit, help="most to ask for at a time"),
        arg("--offset", type=int, default=0, help="how many to leave out at the start"),
        arg("--pages", choices=("1", "all"), default="all", help="one page, or all of them"),
    )


OF_TASKS = (
    arg("--allocation-id", dest="allocation_ids", action="append", help="only of this allocation"),
    arg("--level", choices=LEVELS[1:], help="only lines of this level and above"),
)
"""Further options for the log of a task."""


def log_options() -> tuple[Arg | OneOf, ...]:
    return (
        flag("-f", "--follow", help="follow the log until the task ends"),
        one_of(
            arg("--head", type=int, metavar="N", help="only the first N lines"),
            arg("--tail", type=int, metavar="N", help="only the last N lines"),
        ),
        arg("--agent-id", dest="agent_ids", action="append", help="only from this agent; may repeat"),
        arg("--container-id", dest="container_ids", action="append", help="only from this container; may repeat"),
        arg("--rank-id", dest="rank_ids", action="append", type=int, help="only from this rank; may repeat"),
        arg("--timestamp-before", help="only lines before this instant, as in 2026-01-31T12:00:00Z"),
        arg("--timestamp-after", help="only lines after this instant"),
        arg("--source", dest="sources", action="append", help="only from this source; may repeat"),
        arg("--stdtype", dest="stdtypes", action="append", help="only stdout or stderr; may repeat"),
    )
