"""Handwritten digits: scikit-learn's 1,797 small images, or the 70,000 of MNIST.

The `data` section of the configuration says which:

    data:
      dataset: digits          # 8x8 pixels, comes with scikit-learn, needs no network (the default)

    data:
      dataset: mnist           # 28x28 pixels, downloaded once
      cache_dir: /tmp/mnist
"""

from __future__ import annotations

import gzip
import hashlib
import pathlib
import tempfile
import urllib.request
from typing import Any

import numpy as np
import torch
from torch.utils.data import TensorDataset

MNIST_URL = "https://ossci-datasets.s3.amazonaws.com/mnist"
MNIST_MD5 = {
    "train-images-idx3-ubyte.gz": "f68b3c2dcbeaaa9fbdd348bbdeb94873",
    "train-labels-idx1-ubyte.gz": "d53e105ee54ea40749a09fcbcd1e9432",
    "t10k-images-idx3-ubyte.gz": "9fb629c4189551a2d022fa330f9573f3",
    "t10k-labels-idx1-ubyte.gz": "ec29112dd5afa0611ce80d1b7f02629c",
}


def load(config: dict[str, Any]) -> tuple[TensorDataset, TensorDataset]:
    """The training and the validation set: images float[n, 1, side, side] from 0 to 1, labels int[n]."""
    match config.get("dataset", "digits"):
        case "digits":
            return digits()
        case "mnist":
            cache_dir = pathlib.Path(config.get("cache_dir") or pathlib.Path(tempfile.gettempdir()) / "mnist")
            return mnist(str(config.get("url") or MNIST_URL), cache_dir)
        case other:
            raise ValueError(f"data.dataset: expected digits or mnist, found {other!r}")


def digits() -> tuple[TensorDataset, TensorDataset]:
    """Every fifth image is kept for validation."""
    from sklearn.datasets import load_digits

    bunch = load_digits()
    images, labels = bunch.images / 16.0, bunch.target
    held_out = np.arange(len(labels)) % 5 == 0
    return _dataset(images[~held_out], labels[~held_out]), _dataset(images[held_out], labels[held_out])


def mnist(url: str, cache_dir: pathlib.Path) -> tuple[TensorDataset, TensorDataset]:
    train_images, train_labels, test_images, test_labels = (
        _read_idx(_fetch(f"{url}/{name}", cache_dir / name, md5)) for name, md5 in MNIST_MD5.items()
    )
    return _dataset(train_images / 255.0, train_labels), _dataset(test_images / 255.0, test_labels)


def _dataset(images: Any, labels: Any) -> TensorDataset:
    return TensorDataset(
        torch.as_tensor(images, dtype=torch.float32).unsqueeze(1), torch.as_tensor(labels, dtype=torch.int64)
    )


def _fetch(url: str, path: pathlib.Path, md5: str) -> bytes:
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        # Trials that start together may fetch together; the rename keeps what they read whole.
        with (
            urllib.request.urlopen(url, timeout=60) as answer,
            tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as fresh,
        ):
            fresh.write(answer.read())
        pathlib.Path(fresh.name).replace(path)
    contents = path.read_bytes()
    if hashlib.md5(contents, usedforsecurity=False).hexdigest() != md5:
        raise RuntimeError(f"{path} is damaged; remove it and try again")
    return contents


def _read_idx(contents: bytes) -> Any:
    """An array in the IDX format: two zero bytes, type, number of axes, their sizes, then the bytes."""
    plain = gzip.decompress(contents)
    axes = plain[3]
    shape = np.frombuffer(plain, dtype=">u4", count=axes, offset=4).astype(int)
    return np.frombuffer(plain, dtype=np.uint8, offset=4 + 4 * axes).reshape(shape)
