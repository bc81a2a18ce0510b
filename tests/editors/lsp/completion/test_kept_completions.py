"""Completions that are kept: the last ones, of the files that were completed last."""

from __future__ import annotations

from pathlib import Path

from pygent_ls.editors.lsp.completion.kept_completions import MAX_FILES, CompletionPlace, KeptCompletions

PLACE = CompletionPlace(4, 4, "")


def test_completions_of_the_files_that_were_completed_last_are_kept() -> None:
    kept = KeptCompletions()
    paths = [Path(f"/p/{number}.py") for number in range(MAX_FILES + 5)]
    for path in paths[:MAX_FILES]:
        kept.add(path, "x = ", PLACE, "1")
    kept.add(paths[0], "y = ", PLACE, "2")
    for path in paths[MAX_FILES:]:
        kept.add(path, "x = ", PLACE, "1")

    found = [path for path in paths if kept.rest(path, "x = ", PLACE) == "1"]
    assert found == [paths[0], *paths[6:]]
