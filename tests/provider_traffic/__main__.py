"""Replays recorded answers: `python -m tests.provider_traffic [FILE]`. Exits with 1 where something is read wrongly."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from pygent_ls.llm.resources import ModelResources
from tests.provider_traffic.recordings import recordings
from tests.provider_traffic.replay import differences, read_answer

DEFAULT = Path(__file__).parents[3] / "shared" / "provider-traffic" / "recordings.jsonl"


async def _replayed(file: Path) -> int:
    """Number of recordings that are read otherwise than expected; prints each difference."""
    resources = ModelResources()
    n_all = n_wrong = 0
    try:
        for number, recording in enumerate(recordings(file)):
            n_all += 1
            found = list(differences(recording, await read_answer(recording, resources)))
            n_wrong += bool(found)
            for each in found:
                sys.stdout.write(f"{number} {recording.form} {recording.model_string} {recording.origin}\n    {each}\n")
    finally:
        await resources.close()
    sys.stdout.write(f"{n_all - n_wrong} of {n_all} recordings are read as expected.\n")
    return n_wrong


def main() -> int:
    """Exit code of the command."""
    file = Path(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT
    if not file.is_file():
        sys.stderr.write(f"{file} is not there: name a file of recordings.\n")
        return 2
    return 1 if asyncio.run(_replayed(file)) else 0


if __name__ == "__main__":
    sys.exit(main())
