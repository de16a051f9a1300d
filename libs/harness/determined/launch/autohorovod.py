"""Horovod for several slots, the program alone for one: the name by which older configurations call it.

python3 -m determined.launch.autohorovod [HOROVOD_OVERRIDES... --] (--trial module:Class | SCRIPT...)
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from determined.launch import horovod
from determined.launch._command_line import split


def main(words: Sequence[str] | None = None) -> int:
    overrides, rest = split(list(sys.argv[1:] if words is None else words))
    return horovod.main([*overrides, "--", horovod.AUTO, *rest])


if __name__ == "__main__":
    sys.exit(main())
