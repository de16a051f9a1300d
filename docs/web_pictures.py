"""Puts pictures of the web UI into docs/pictures: `make browser`, then `python docs/web_pictures.py`.

The browser's tests take them of a real cluster. Here they get fewer colours, so that each has some tens of kilobytes.
"""

from __future__ import annotations

from pathlib import Path

from PIL import Image

TAKEN = Path(__file__).parent.parent / ".resolute" / "browser"
KEPT = Path(__file__).parent / "pictures"
SHOWN = ("project", "experiment", "queue", "comparison")
COLOURS = 64


def main() -> None:
    for name in SHOWN:
        picture = Image.open(TAKEN / f"shown-{name}.png").convert("RGB")
        picture.quantize(COLOURS).save(KEPT / f"web-{name}.png", optimize=True)


if __name__ == "__main__":
    main()
