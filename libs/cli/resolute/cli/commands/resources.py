"""What the cluster was used for: slots held, by allocation, by day and by month."""

from __future__ import annotations

import sys
from argparse import Namespace
from typing import Any

from resolute.cli import output
from resolute.cli.login import session

PERIOD = "RESOURCE_ALLOCATION_AGGREGATION_PERIOD_"


def raw(args: Namespace) -> None:
    _show(args, "raw", _window(args))


def allocations(args: Namespace) -> None:
    _copy(args, "allocations-csv", _window(args))


def aggregated(args: Namespace) -> None:
    query = {
        "start_date": args.start_date,
        "end_date": args.end_date,
        "period": PERIOD + ("MONTHLY" if args.monthly else "DAILY"),
    }
    _show(args, "aggregated", query)


def _window(args: Namespace) -> dict[str, Any]:
    return {"timestamp_after": args.timestamp_after, "timestamp_before": args.timestamp_before}


def _show(args: Namespace, what: str, query: dict[str, Any]) -> None:
    if args.json:
        output.show_json(session(args).get(f"/api/v1/resources/allocation/{what}", query))
    else:
        _copy(args, what, query)


def _copy(args: Namespace, what: str, query: dict[str, Any]) -> None:
    session(args).download(f"/resources/allocation/{what}", "text/csv", sys.stdout.buffer, query=query)
    sys.stdout.buffer.flush()
