"""`resolute replay --policy …`: what if a cluster's work had met another policy, pool or weight."""

from __future__ import annotations

from argparse import Namespace
from datetime import UTC, datetime

from resolute.cli.errors import CliError
from resolute.cli.output import show_json, show_table
from resolute.cli.terminal import Progress
from resolute.config.pools import ResourcePool
from resolute.deploy import commands
from resolute.proto.errors import InvalidConfig
from resolute.whatif.pools import report, shell
from resolute.whatif.pools.question import Answer, Question, instant, weights


def ask(args: Namespace, dsn: str) -> int:
    here = dsn == commands.database_url(args.cluster_name, args.data_dir)
    known = commands.pool(args.cluster_name, args.data_dir, args.pool) if here else None
    asked = question(args, known, datetime.now(UTC))
    with Progress("Playing what was recorded"):
        answer = shell.ask(dsn, asked)
    if args.json:
        show_json(report.document(answer))
    else:
        _show(answer)
    return 0


def question(args: Namespace, known: ResourcePool | None, now: datetime) -> Question:
    """`known`: the pool as the cluster has it, where that is an embedded one on this machine.

    Raises CliError when nothing is asked, InvalidConfig for what cannot be read."""
    if not any((args.policy, args.preemption, args.no_preemption, args.weights)) and _no_size(args):
        raise CliError(
            "nothing is to be different: say --policy, --preemption, --no-preemption, --agents, --slots-per-agent or "
            "--weights for a what-if, or --check to compare the read models with the log"
        )
    for name, least in (("agents", 1), ("slots_per_agent", 0)):
        found = getattr(args, name)
        if found is not None and found < least:
            raise InvalidConfig(f"--{name.replace('_', '-')}: found {found}; {least} or more would do")
    return Question(
        known or ResourcePool(pool_name=args.pool or "default"),
        args.policy,
        bool(args.preemption) if args.preemption or args.no_preemption else None,
        args.recorded_policy,
        _instant("--from", args.since, now),
        _instant("--to", args.until, now),
        args.agents,
        args.slots_per_agent,
        weights(args.weights),
    )


def _no_size(args: Namespace) -> bool:
    return args.agents is None and args.slots_per_agent is None


def _instant(flag: str, text: str | None, now: datetime) -> datetime | None:
    try:
        return None if text is None else instant(text, now)
    except InvalidConfig as error:
        raise InvalidConfig(f"{flag}: {error.message}") from None


def _show(answer: Answer) -> None:
    for line in report.preface(answer):
        print(line)
    for table in (report.overview(answer), report.by_group(answer)):
        if table is not None:
            print()
            show_table(*table)
    print()
    for line in report.caveats(answer):
        print(f"- {line}")
