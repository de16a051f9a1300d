"""Curves drawn with characters, for a terminal; and as a PNG, where matplotlib is installed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from resolute.cli.errors import CliError

Curve = Sequence[tuple[float, float]]

MARKS = "●○×+"
WIDTH, HEIGHT = 64, 14


def in_text(curves: Mapping[str, Curve], x_label: str) -> list[str]:
    """Lines to print: one mark a curve, the first drawn over the others, with the ends of both axes named."""
    points = [point for curve in curves.values() for point in curve]
    if not points:
        return []
    x_most = max(x for x, _ in points)
    low, high = min(y for _, y in points), max(y for _, y in points)
    cells = [[" "] * WIDTH for _ in range(HEIGHT)]
    for mark, curve in reversed(list(zip(MARKS, curves.values(), strict=False))):
        for x, y in curve:
            column = round(x / x_most * (WIDTH - 1))
            row = round((high - y) / (high - low) * (HEIGHT - 1)) if high > low else HEIGHT - 1
            cells[row][column] = mark
    ends = {0: f"{high:.3g}" if high > low else "", HEIGHT - 1: f"{low:.3g}"}
    body = [f"{ends.get(n, ''):>8} │{''.join(row).rstrip()}" for n, row in enumerate(cells)]
    legend = "   ".join(f"{mark} {name}" for mark, name in zip(MARKS, curves, strict=False))
    axis = f"{'':>8} └{'─' * WIDTH}"
    right = f"{x_most:,.0f} {x_label}"
    return [*body, axis, f"{'':>10}{'0':<{max(1, WIDTH - len(right))}}{right}", f"{'':>10}{legend}"]


def as_png(file: Path, curves: Mapping[str, Curve], x_label: str, y_label: str, title: str) -> None:
    """Raises CliError where matplotlib is missing, or the file cannot be written."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise CliError("a PNG needs matplotlib; install it with: pip install 'resolute[plots]'") from None
    figure = Figure(figsize=(8, 4.5), layout="constrained")
    axes = figure.subplots()
    for name, curve in curves.items():
        axes.step([x for x, _ in curve], [y for _, y in curve], where="post", label=name)
    axes.set(xlabel=x_label, ylabel=y_label, title=title, yscale="log")
    axes.legend()
    try:
        figure.savefig(file, dpi=120)
    except (OSError, ValueError) as error:
        raise CliError(f"cannot write {file}: {error}") from error
