"""Searches before they are run: `det preview-search` asks the cluster, `resolute search simulate` needs none."""

from __future__ import annotations

import sys
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from resolute.cli import output, plot
from resolute.cli.commands.experiment_create import read_config
from resolute.cli.errors import CliError
from resolute.cli.login import session
from resolute.cli.terminal import Progress

if TYPE_CHECKING:
    from resolute.whatif.searches.compare import Pair

POINTS = 64

WHOLE = "trials"
"""The unit of a search without a length: each trial trains until its code ends."""


def preview(args: Namespace) -> None:
    _, config = read_config(args.config_file, [])
    if not config.get("searcher"):
        raise CliError(f"{args.config_file}: searcher: missing; say which method searches, as in searcher.name: single")
    summary = session(args).post("/api/v1/preview-hp-search", {"config": config})["summary"]
    print("Using search configuration:")
    output.show_yaml({key: value for key, value in summary["config"].items() if value is not None})
    rows = [[one["count"], _training_time(one["unit"])] for one in summary["trials"]]
    print()
    output.show_table(["Trials", "Training Time"], rows)


def _training_time(unit: dict[str, Any]) -> str:
    return "train to completion" if unit["maxLength"] else f"train for {unit['value']} {unit['name']}"


# ---------------------------------------------------------------- resolute search simulate


def simulate(args: Namespace) -> None:
    from resolute.whatif.searches.compare import compare

    if args.slots < 0 or args.seeds < 1:
        raise CliError(f"--slots takes 0 or more and --seeds 1 or more; found {args.slots} and {args.seeds}")
    config = _merged(args)
    if config["searcher"]["name"] == "custom":
        raise CliError("searcher.name: what a custom search will do only its client knows; any other can be simulated")
    pairs: list[Pair] = []
    with Progress("Playing the search") as progress:
        for pair in compare(config, range(args.seed, args.seed + args.seeds), args.slots):
            pairs.append(pair)
            progress.say(f"{len(pairs)} of {args.seeds} seeds")
    if args.json:
        output.show_json(_told(pairs))
    else:
        _show(config, pairs, args)
    if args.plot:
        name = config["searcher"]["name"]
        unit = pairs[0].method.unit
        plot.as_png(args.plot, _curves(name, pairs), f"work ({unit})", "best loss found", f"{name} on made-up curves")
        print(f"{args.plot} written", file=sys.stderr)


def _merged(args: Namespace) -> dict[str, Any]:
    from resolute.config import ClusterDefaults, parse_experiment

    storage = {"type": "shared_fs", "host_path": str(Path.cwd())}  # nothing is stored; the field must be there
    defaults = ClusterDefaults(checkpoint_storage=storage, name="simulated")
    return parse_experiment(read_config(args.config_file, args.config)[1], defaults, managed=False).merged


def _show(config: dict[str, Any], pairs: list[Pair], args: Namespace) -> None:
    from resolute.whatif.searches.compare import rungs

    first, name = pairs[0].method, config["searcher"]["name"]
    slots = f"{args.slots} slots" if args.slots else "as many slots as it asks for"
    far = ", each to its end" if first.unit == WHOLE else f" of up to {first.full_length:,} {first.unit}"
    print(f"{name}: {output.counted(len(first.trials), 'trial')}{far}, on {slots},")
    seeds = output.counted(len(pairs), "seed")
    print(f"over {seeds} of made-up learning curves, where smaller is better: trials are means,")
    print("the rest medians\n")
    rows = [
        [f"{one.length:,}", f"{one.reached:.1f}", f"{one.stopped:.1f}", f"{one.best:.4f}"]
        for one in rungs([pair.method for pair in pairs])
    ]
    output.show_table([f"Trained to ({first.unit})", "Trials That Far", "Ended There", "Best of Those"], rows)
    for line in _summary(name, pairs):
        print(line)
    for line in plot.in_text(_curves(name, pairs), f"{first.unit} of work"):
        print(line)


def _summary(name: str, pairs: list[Pair]) -> list[str]:
    from resolute.whatif.searches.compare import median_of

    unit = pairs[0].method.unit
    work = median_of(pairs, lambda pair: pair.method.work)
    whole = median_of(pairs, lambda pair: pair.method.work_to_the_end)
    time = median_of(pairs, lambda pair: pair.method.time)
    best = [
        (name, median_of(pairs, lambda pair: pair.method.best)),
        ("random search with the same work", median_of(pairs, lambda pair: pair.random.best)),
        ("random search with as many trials", median_of(pairs, lambda pair: pair.to_the_end.best)),
    ]
    return [
        "",
        f"Work        {work:,.0f} of {whole:,.0f} {unit}: {1 - work / whole:.0%} saved against training all to the end",
        f"Time        as long as one slot needs for {time:,.0f} {unit}",
        *(f"{'' if n else 'Best found':<11} {metric:.4f} by {who}" for n, (who, metric) in enumerate(best)),
        "",
    ]


def _curves(name: str, pairs: list[Pair]) -> dict[str, plot.Curve]:
    from resolute.whatif.searches.compare import curve

    most = max(pair.method.work for pair in pairs)
    return {
        name: curve([pair.method for pair in pairs], POINTS, most),
        "random search": curve([pair.to_the_end for pair in pairs], POINTS, most),
    }


def _told(pairs: list[Pair]) -> list[dict[str, Any]]:
    return [
        {
            "seed": pair.seed,
            "unit": pair.method.unit,
            "full_length": pair.method.full_length,
            "trials": [
                {"hparams": one.hparams, "length": one.length, "metric": one.metric, "outcome": one.outcome}
                for one in pair.method.trials
            ],
            "work": pair.method.work,
            "work_to_the_end": pair.method.work_to_the_end,
            "time": pair.method.time,
            "best": pair.method.best,
            "best_of_random_with_the_same_work": pair.random.best,
            "best_of_random_with_as_many_trials": pair.to_the_end.best,
        }
        for pair in pairs
    ]
