"""The chat panel of the VS Code client, alone in Chromium, bundled as it is shipped.

How soon the page shows its first words, a session of 10 items and one of 2,000; how soon a delta of an answer is
painted in each of the two, side by side; how soon matches are counted in a conversation of 3 MB, and a delta painted
there while a letter is looked for and while nothing is; how large the bundles are. The aim is that neither the length
of a session nor a search makes a difference to a delta: a median of at most 1.5 times.

It needs what `make test-vscode` installs: Node, the client's packages and a Chromium.

usage: python benchmarks/panel.py
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from machine import write_result

ROOT = Path(__file__).parents[1]
CLIENT = ROOT / "clients" / "vscode"
NODE = ROOT / ".venv" / "node" / "bin" / "node"

LIMIT_S = 600


def main() -> None:
    """Measure, and write the result."""
    if not NODE.exists() or not (ROOT / "build" / "browser").exists():
        sys.exit("Node or Chromium is missing: `make test-vscode` installs them")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "figures.json"
        subprocess.run(
            [NODE, "test/panel/measure.ts", file],
            cwd=CLIENT,
            env={**os.environ, "NODE_ENV": "production"},
            stdout=subprocess.DEVNULL,
            timeout=LIMIT_S,
            check=True,
        )
        figures = json.loads(file.read_text(encoding="utf-8"))
    medians = [each["median"] for each in figures["delta_to_paint_ms"].values()]
    what = "the chat panel's page in Chromium, in milliseconds; its bundles"
    write_result("panel", {"what": what, **figures, "delta_ratio": round(medians[1] / medians[0], 2)})


if __name__ == "__main__":
    main()
