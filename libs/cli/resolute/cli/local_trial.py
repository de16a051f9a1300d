"""The process behind `--local --test-mode`: `python -m resolute.cli.local_trial`, config on stdin.

The trying out is the training library's; a process of its own keeps the model's imports out of `det`.
"""

from __future__ import annotations

import json
import sys

if __name__ == "__main__":
    from determined import local_test

    sys.exit(local_test.run(json.load(sys.stdin), "."))
