"""Text for the model about what an editor reports besides its documents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from msgspec.structs import replace

from pygent_ls.agent.display_text import one_line
from pygent_ls.agent.messages import TextBlock
from pygent_ls.agent.ports.editor_state import EditorState, FileProblems, Problem
from pygent_ls.secrets.stream import Mask

# Background of the next request

MAX_NAMES = 10
"""Maximum number of files of one kind that the background names: what a screen shows at once."""

MAX_NAME_CHARS = 200
"""Maximum characters of a path in the background."""

Shown = Callable[[Path], str]


def background(editor: EditorState, shown: Shown) -> TextBlock | None:
    """Return where the user is, for the end of the model's next request; None if the editor does not report it by
    itself.

    At most about 6,000 characters: three lists of `MAX_NAMES` names.
    """
    if not editor.is_live:
        return None
    view, said = editor.view, list[str]()
    if view.active:
        said.append(f"Active file: {shown_name(view.active, shown)}")
    if view.selected:
        path, lines = view.selected
        said.append(f"Selected: {shown_name(path, shown)}, lines {lines.first} to {lines.last}")
    if view.visible:
        said.append(f"Visible files: {listed([shown_name(path, shown) for path in view.visible])}")
    if counts := editor.counts():
        told = [f"{shown_name(path, shown)} ({_counted(errors, warnings)})" for path, errors, warnings in counts]
        said.append(f"Problems shown in the editor (call diagnostics for details): {listed(told)}")
    if not said:
        return None
    lines = ["The user's current position in the editor. This is background, not a request.", *said]
    return TextBlock(text='<context kind="editor">\n' + "\n".join(lines) + "\n</context>", from_outside=True)


def shown_name(path: Path, shown: Shown) -> str:
    """Return a path on one line, with at most `MAX_NAME_CHARS` characters."""
    return one_line(shown(path), MAX_NAME_CHARS)


def listed(names: Sequence[str]) -> str:
    """Return the first `MAX_NAMES` names, and how many more there are."""
    left_out = len(names) - MAX_NAMES
    return ", ".join(names[:MAX_NAMES]) + (f" and {left_out} more" if left_out > 0 else "")


# Diagnostics

MAX_PROBLEMS = 200
"""Maximum number of diagnostics in one text: with `MAX_MESSAGE_CHARS` each, what fits into a tool result."""

MAX_MESSAGE_CHARS = 400
"""Maximum characters of one diagnostic: some compilers explain at length."""


async def masked_problems(files: Iterable[FileProblems], mask: Mask) -> list[FileProblems]:
    """Return the diagnostics without the secrets that their messages quote."""

    async def masked(problem: Problem, path: Path) -> Problem:
        return replace(problem, message=await mask(problem.message, str(path)))

    return [replace(file, problems=tuple([await masked(each, file.path) for each in file.problems])) for file in files]


def problems_text(files: Iterable[FileProblems], shown: Shown) -> str:
    """Return the diagnostics as text for the model: counts, then file by file."""
    files = list(files)
    kinds = Counter(each.severity for file in files for each in file.problems)
    n_with = sum(bool(file.problems) for file in files)
    counted = _counted(kinds["error"], kinds["warning"], kinds["information"] + kinds["hint"])
    lines = [f"{counted} in {n_with} file{'s' if n_with != 1 else ''}, as reported by the editor."]
    left = MAX_PROBLEMS
    for file in files:
        notes = [
            *(["the file has changed since then, so lines and problems may differ"] if file.is_stale else []),
            *([] if file.is_whole else ["the editor reported only these; there may be more"]),
        ]
        lines.append(shown_name(file.path, shown) + (f" ({'; '.join(notes)})" if notes else ""))
        lines += [_line(each) for each in file.problems[: max(left, 0)]] or ["  no problems"]
        left -= len(file.problems)
    if left < 0:
        lines.append(f"[{-left} more left out: name a file]")
    return "\n".join(lines)


def _line(problem: Problem) -> str:
    origin = f" [{one_line(problem.origin)}]" if problem.origin else ""
    message = one_line(problem.message, MAX_MESSAGE_CHARS)
    return f"  {problem.line}:{problem.column} {problem.severity}: {message}{origin}"


def _counted(n_errors: int, n_warnings: int, n_others: int = 0) -> str:
    named = ((n_errors, "error"), (n_warnings, "warning"), (n_others, "remark"))
    told = [f"{count} {word}{'s' if count != 1 else ''}" for count, word in named if count]
    return ", ".join(told) or "No problems"
