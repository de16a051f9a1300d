"""The network: two convolutions, each with half the resolution after it, then two dense layers."""

from __future__ import annotations

from torch import nn


def digit_classifier(side: int, *, n_filters1: int, n_filters2: int, dropout: float) -> nn.Sequential:
    """Scores of ten digits for square images of `side` pixels: float[n, 1, side, side] -> float[n, 10]."""
    features = n_filters2 * (side // 4) ** 2
    return nn.Sequential(
        nn.Conv2d(1, n_filters1, kernel_size=3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(n_filters1, n_filters2, kernel_size=3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Dropout(dropout),
        nn.Flatten(),
        nn.Linear(features, 128),
        nn.ReLU(),
        nn.Dropout(dropout),
        nn.Linear(128, 10),
    )
