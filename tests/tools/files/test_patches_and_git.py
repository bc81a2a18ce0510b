"""apply_patch against `git apply` on the same patches: the same files, or a difference that is explained here."""

from __future__ import annotations

import itertools
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pygent_ls.errors import ToolError
from pygent_ls.tools.files.apply_patch import apply_patch
from pygent_ls.tools.files.hunks import apply_hunks
from pygent_ls.tools.files.unified_diff import PatchHunk, parse_patch
from tests.tools.tool_bench import Bench

HEAD = "--- a/file\n+++ b/file\n"


@dataclass(frozen=True)
class Case:
    """A text and a patch for it, whose hunks may name the wrong lines, or each other's."""

    before: str
    patch: str
    has_context: bool

    @property
    def hunks(self) -> tuple[PatchHunk, ...]:
        return parse_patch(self.patch)[0].hunks


@st.composite
def cases(draw: st.DrawFn) -> Case:
    letters = st.sampled_from(draw(st.sampled_from(["abc", "abcdefghijklmnop"])))
    lines = draw(st.lists(letters, min_size=1, max_size=9))
    has_last_break = draw(st.integers(0, 4)) > 0
    context = draw(st.integers(0, 2))
    starts = draw(st.lists(st.integers(0, len(lines)), min_size=1, max_size=3))
    starts = starts if draw(st.integers(0, 5)) == 0 else sorted(starts)
    parts: list[str] = []
    grown = 0
    for start in starts:
        end = min(len(lines), start + draw(st.integers(0, 2)))
        added = draw(st.lists(st.sampled_from("abXY"), min_size=start == end, max_size=2))
        first, last = max(0, start - context), min(len(lines), end + context)
        body = [(" ", line) for line in lines[first:start]] + [("-", line) for line in lines[start:end]]
        body += [("+", line) for line in added] + [(" ", line) for line in lines[end:last]]
        if not has_last_break and last == len(lines):
            body = unended(body)
        n_old, n_new = last - first, last - first + len(added) - (end - start)
        at = first + draw(st.sampled_from([0, 0, 0, 0, -1, 1, 2]))
        old_at, new_at = max(0, at + (n_old > 0)), max(0, at + grown + (n_new > 0))
        parts.append(f"@@ -{old_at},{n_old} +{new_at},{n_new} @@\n" + "".join(f"{side}{line}\n" for side, line in body))
        grown += n_new - n_old
    text = "\n".join(lines) + ("\n" if has_last_break else "")
    return Case(text, HEAD + "".join(parts), has_context=context > 0)


def unended(body: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """The lines of a hunk with the mark below the last one of each side."""
    last = {max((place for place, (side, _) in enumerate(body) if side != other), default=-1) for other in ("+", "-")}
    mark = "\n\\ No newline at end of file"
    return [(side, line + mark if place in last else line) for place, (side, line) in enumerate(body)]


def by_us(case: Case) -> str | ToolError:
    try:
        return apply_hunks(case.before, case.hunks, "file").text
    except ToolError as error:
        return error


def by_git(case: Case) -> str | None:
    """Return the text after `git apply`, in a folder of its own; None if git refuses."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "file"
        file.write_bytes(case.before.encode())
        return file.read_bytes().decode() if git_apply(folder, case.patch, has_context=case.has_context) else None


def git_apply(folder: Path | str, patch: str, *, has_context: bool = True) -> bool:
    command = ["git", "apply", *([] if has_context else ["--unidiff-zero"]), "-"]
    done = subprocess.run(command, cwd=folder, input=patch.encode(), timeout=20, capture_output=True, check=False)
    return done.returncode == 0


def difference(case: Case, git: str | None, ours: str | ToolError) -> str:
    """Return why the two may differ; empty if nothing explains it."""
    lines = case.before.splitlines(keepends=True)
    is_certain = all(n_places(lines, hunk.old) == 1 for hunk in case.hunks if hunk.old)
    has_insertions = not all(hunk.old for hunk in case.hunks)
    said = str(ours) if isinstance(ours, ToolError) else ""
    if said:
        explained = {
            "ambiguous": "places" in said and not is_certain,
            "overlapping": "overlaps another hunk" in said and len(case.hunks) > 1,
            "applied before": "already exist" in said and not all("-" in sides(hunk) for hunk in case.hunks),
            "beyond the end": "does not exist" in said and has_insertions,
        }
    elif git is None:
        explained = {"certain": is_certain, "anchored": not is_certain}
    else:
        explained = {
            "glued": not case.before.endswith("\n") and str(ours).replace("\n", "") == git.replace("\n", ""),
            "by the new number": has_insertions,
            "anchored": not is_certain,
        }
    return next((name for name, is_so in explained.items() if is_so), "")


def sides(hunk: PatchHunk) -> set[str]:
    return {line.side for line in hunk.lines}


def n_places(lines: Sequence[str], old: Sequence[str]) -> int:
    return sum(list(lines[at : at + len(old)]) == list(old) for at in range(len(lines)))


EXPLAINED = {
    # Where the old lines stand at several places and the header names none of them, git takes the nearest. A model's
    # line numbers are guesses: it is asked which one it means.
    "ambiguous": Case("b\na\na\nb\n", f"{HEAD}@@ -4,1 +4,1 @@\n-a\n+X\n", has_context=False),
    # git applies one hunk to what the other left: which of them is meant to see which lines cannot be told.
    "overlapping": Case("a\na\na\n", f"{HEAD}@@ -1,2 +0,0 @@\n-a\n-a\n@@ -2,1 +0,0 @@\n-a\n", has_context=False),
    # git adds the same lines once more. A model that repeats a patch by mistake is told.
    "applied before": Case("a\nb\nc\n", f"{HEAD}@@ -1,0 +2,1 @@\n+b\n", has_context=False),
    # git puts lines without context that are to go behind the end at the end.
    "beyond the end": Case("a\nb\n", f"{HEAD}@@ -4,0 +5,1 @@\n+c\n", has_context=False),
    # git holds a hunk that begins at line 1 to be the beginning of the file. Its lines stand at one place only.
    "certain": Case("x\na\nb\n", f"{HEAD}@@ -1,2 +1,2 @@\n a\n-b\n+c\n", has_context=True),
    # git takes a hunk without context behind for the end of the file, whatever line it names.
    "anchored": Case("b\nb\nb\n", f"{HEAD}@@ -2,1 +2,2 @@\n b\n+X\n", has_context=True),
    # git adds to a last line without a line break on the same line.
    "glued": Case("a\nb", f"{HEAD}@@ -2,0 +3,1 @@\n+c\n\\ No newline at end of file\n", has_context=False),
    # git puts lines without context where the new number says, which is wrong as soon as an earlier hunk moved.
    "by the new number": Case("a\nb\nc\nd\n", f"{HEAD}@@ -2,0 +1,1 @@\n+X\n", has_context=False),
}


@pytest.mark.parametrize("name", EXPLAINED)
def test_each_explained_difference_is_one(name: str) -> None:
    case = EXPLAINED[name]

    git, ours = by_git(case), by_us(case)

    assert ours != git
    assert difference(case, git, ours) == name


@given(case=cases())
def test_a_patch_does_what_git_apply_does_or_the_difference_is_explained(case: Case) -> None:
    git, ours = by_git(case), by_us(case)

    if ours != git and not (git is None and isinstance(ours, ToolError)):
        assert difference(case, git, ours), (git, ours)


@given(case=cases())
def test_what_is_made_is_the_text_with_each_hunk_at_a_place_of_its_own(case: Case) -> None:
    ours = by_us(case)

    if isinstance(ours, str):
        assert ours.replace("\n", "") in results(case)


def results(case: Case) -> set[str]:
    """The text, without line breaks, after all hunks at any places that hold their old lines and do not overlap."""
    lines = [line.rstrip("\n") for line in case.before.splitlines()]
    olds = [[line.rstrip("\n") for line in hunk.old] for hunk in case.hunks]
    news = ["".join(line.rstrip("\n") for line in hunk.new) for hunk in case.hunks]
    places = [[at for at in range(len(lines) + 1) if lines[at : at + len(old)] == old] for old in olds]
    found: set[str] = set()
    for chosen in itertools.product(*places):
        text, done = "", 0
        for at, _, number in sorted((at, bool(olds[number]), number) for number, at in enumerate(chosen)):
            if at < done:
                break
            text += "".join(lines[done:at]) + news[number]
            done = at + len(olds[number])
        else:
            found.add(text + "".join(lines[done:]))
    return found


def test_lines_that_are_added_amid_lines_that_another_hunk_removes_are_refused() -> None:
    patch = f"{HEAD}@@ -1,3 +1,1 @@\n-a\n-b\n-c\n+X\n@@ -2,0 +2,1 @@\n+Y\n"

    with pytest.raises(ToolError, match=r"hunk 2 of 2 .* overlaps another hunk"):
        apply_hunks("a\nb\nc\nd\n", parse_patch(patch)[0].hunks, "file")


@pytest.mark.parametrize("at", [0, 3])
def test_lines_that_are_added_beside_lines_that_another_hunk_removes_stand_there(at: int) -> None:
    patch = f"{HEAD}@@ -1,3 +1,1 @@\n-a\n-b\n-c\n+X\n@@ -{at},0 +2,1 @@\n+Y\n"

    text = apply_hunks("a\nb\nc\nd\n", parse_patch(patch)[0].hunks, "file").text

    assert text == ("Y\nX\nd\n" if at == 0 else "X\nY\nd\n")


WHOLE = {
    "create": "--- /dev/null\n+++ b/new\n@@ -0,0 +1,2 @@\n+a\n+b\n",
    "create without a line break": "--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+a\n\\ No newline at end of file\n",
    "create executable": "diff --git a/new b/new\nnew file mode 100755\n--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+a\n",
    "create what is there": "--- /dev/null\n+++ b/file\n@@ -0,0 +1 @@\n+a\n",
    "delete": "--- a/file\n+++ /dev/null\n@@ -1,3 +0,0 @@\n-a\n-b\n-c\n",
    "delete another text": "--- a/file\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-a\n-b\n",
    "delete what is missing": "--- a/none\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n",
    "rename": "diff --git a/file b/sub/new\nsimilarity index 100%\nrename from file\nrename to sub/new\n",
    "rename and edit": (
        "diff --git a/file b/new\nsimilarity index 60%\nrename from file\nrename to new\n"
        "--- a/file\n+++ b/new\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n"
    ),
    "rename to what is there": "diff --git a/file b/crlf\nrename from file\nrename to crlf\n",
    "edit with CRLF": "--- a/crlf\n+++ b/crlf\n@@ -1,3 +1,3 @@\n a\r\n-b\r\n+B\r\n c\r\n",
    "take CR away": "--- a/crlf\n+++ b/crlf\n@@ -1,3 +1,3 @@\n a\r\n-b\r\n+b\n c\r\n",
    "take the last line break away": (
        "--- a/file\n+++ b/file\n@@ -1,3 +1,3 @@\n a\n b\n-c\n+c\n\\ No newline at end of file\n"
    ),
    "give the last line a break": (
        "--- a/open\n+++ b/open\n@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+b\n"
    ),
    "one of two does not apply": (
        "--- a/file\n+++ b/file\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n--- a/open\n+++ b/open\n@@ -1 +1 @@\n-x\n+y\n"
    ),
}


@pytest.mark.parametrize("name", WHOLE)
async def test_files_are_made_deleted_renamed_and_edited_as_git_does(tmp_path: Path, name: str) -> None:
    for folder in (tmp_path / "ours", tmp_path / "gits"):
        folder.mkdir()
        (folder / "file").write_bytes(b"a\nb\nc\n")
        (folder / "crlf").write_bytes(b"a\r\nb\r\nc\r\n")
        (folder / "open").write_bytes(b"a\nb")
    bench = Bench(tmp_path / "ours")

    is_made_by_git = git_apply(tmp_path / "gits", WHOLE[name])
    try:
        await bench.call(apply_patch, patch=WHOLE[name])
        is_made = True
    except ToolError:
        is_made = False

    assert is_made == is_made_by_git
    assert files_in(tmp_path / "ours") == files_in(tmp_path / "gits")


async def test_a_patch_without_carriage_returns_applies_to_a_file_with_them_where_git_refuses(tmp_path: Path) -> None:
    """Models do not write them, and the file keeps its own endings."""
    (tmp_path / "crlf").write_bytes(b"a\r\nb\r\nc\r\n")
    patch = "--- a/crlf\n+++ b/crlf\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n"

    assert not git_apply(tmp_path, patch)
    await Bench(tmp_path).call(apply_patch, patch=patch)

    assert files_in(tmp_path) == {"crlf": (b"a\r\nB\r\nc\r\n", False)}


def files_in(folder: Path) -> dict[str, tuple[bytes, bool]]:
    """The bytes of each file, and whether it may be executed."""
    return {
        path.relative_to(folder).as_posix(): (path.read_bytes(), bool(path.stat().st_mode & 0o100))
        for path in folder.rglob("*")
        if path.is_file()
    }
