"""apply_patch changes several files at once, or none, and says why a hunk does not apply."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from pygent_ls.agent.ports.workspace import WriteText
from pygent_ls.errors import OutsideWorkspaceError, StaleDocumentError, ToolError
from pygent_ls.tools.files.apply_patch import apply_patch
from pygent_ls.tools.files.hunks import MAX_STEPS, HunkError, apply_hunks
from pygent_ls.tools.files.read_file import read_file
from pygent_ls.tools.files.unified_diff import HunkLine, PatchHunk
from tests.tools.tool_bench import Bench

TEXT = "alpha\nbeta\ngamma\n"

CHANGE = (HunkLine(side="-", text="a\n"), HunkLine(side="+", text="b\n"))

SEVERAL = """\
--- a/a.txt
+++ b/a.txt
@@ -1,3 +1,3 @@
 alpha
-beta
+B1
 gamma
--- a/b.txt
+++ b/b.txt
@@ -1,3 +1,4 @@
 alpha
 beta
+B2
 gamma
--- /dev/null
+++ b/sub/c.txt
@@ -0,0 +1 @@
+new
"""

LONG = "".join(f"line {number}\n" for number in range(1, 41))


def one(name: str, body: str, header: str = "@@ -1,3 +1,3 @@") -> str:
    return f"--- a/{name}\n+++ b/{name}\n{header}\n{body}"


async def refused(bench: Bench, patch: str) -> str:
    """Why a patch is refused; every file is then as it was."""
    before = {path: path.read_bytes() for path in bench.folder.rglob("*") if path.is_file()}
    with pytest.raises(ToolError) as caught:
        await bench.call(apply_patch, patch=patch)
    assert {path: path.read_bytes() for path in bench.folder.rglob("*") if path.is_file()} == before
    return str(caught.value)


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


async def test_several_files_are_one_plan_and_the_result_counts_them(bench: Bench) -> None:
    bench.write("a.txt", TEXT)
    bench.write("b.txt", TEXT)

    result = await bench.call(apply_patch, patch=SEVERAL)

    assert result == "Edited a.txt: +1 −1 lines.\nEdited b.txt: +1 −0 lines.\nCreated sub/c.txt: 1 lines."
    assert bench.bytes_of("a.txt") == b"alpha\nB1\ngamma\n"
    assert bench.bytes_of("b.txt") == b"alpha\nbeta\nB2\ngamma\n"
    assert bench.bytes_of("sub/c.txt") == b"new\n"


async def test_the_same_patch_again_is_an_error_that_changes_nothing(bench: Bench) -> None:
    bench.write("a.txt", TEXT)
    bench.write("b.txt", TEXT)
    await bench.call(apply_patch, patch=SEVERAL)

    assert "sub/c.txt already exists" in await refused(bench, SEVERAL)

    edits = SEVERAL.partition("--- /dev/null")[0]
    said = await refused(bench, edits)
    assert "a.txt, hunk 1 (@@ -1,3 +1,3 @@) does not apply" in said
    assert "b.txt, hunk 1 (@@ -1,3 +1,4 @@) does not apply" in said
    assert said.count("Was the patch applied before?") == 2


@pytest.mark.parametrize(
    "body",
    [" beta\n gamma\n+delta\n", "+zero\n alpha\n beta\n", "+zero\n"],
    ids=["at the end", "at the beginning", "without context"],
)
async def test_lines_that_are_only_added_are_not_added_twice(bench: Bench, body: str) -> None:
    bench.write("a.txt", TEXT)
    header = "@@ -2,2 +2,3 @@" if "delta" in body else "@@ -1,2 +1,3 @@" if "alpha" in body else "@@ -0,0 +1 @@"
    await bench.call(apply_patch, patch=one("a.txt", body, header))

    assert "already exist" in await refused(bench, one("a.txt", body, header))


async def test_the_unsaved_text_is_what_is_patched(bench: Bench) -> None:
    file = bench.write("a.txt", TEXT)
    bench.workspace.type_into(file, "alpha\nbeta  # typed\ngamma\n")

    plan = await bench.plan(apply_patch, patch=one("a.txt", " alpha\n-beta  # typed\n+B\n gamma\n"))

    (operation,) = plan.operations
    assert isinstance(operation, WriteText)
    assert (operation.text, operation.before and operation.before.version) == ("alpha\nB\ngamma\n", 1)


async def test_a_file_that_changed_since_it_was_read_is_not_patched(bench: Bench) -> None:
    bench.write("a.txt", TEXT)
    await bench.call(read_file, path="a.txt")
    bench.write("a.txt", TEXT + "by the user\n")

    with pytest.raises(StaleDocumentError, match="by the user"):
        await bench.call(apply_patch, patch=one("a.txt", " alpha\n-beta\n+B\n gamma\n"))


# Files that come, go and move


async def test_files_are_deleted_and_renamed_with_and_without_changes(bench: Bench) -> None:
    for name in ("gone.txt", "old.txt", "plain name.txt"):
        bench.write(name, TEXT).chmod(0o755)

    result = await bench.call(
        apply_patch,
        patch="""\
diff --git a/gone.txt b/gone.txt
deleted file mode 100644
--- a/gone.txt
+++ /dev/null
@@ -1,3 +0,0 @@
-alpha
-beta
-gamma
diff --git a/old.txt b/docs/new.txt
similarity index 80%
rename from old.txt
rename to docs/new.txt
--- a/old.txt
+++ b/docs/new.txt
@@ -1,3 +1,3 @@
 alpha
-beta
+BETA
 gamma
diff --git a/plain name.txt b/moved name.txt
similarity index 100%
rename from plain name.txt
rename to moved name.txt
diff --git a/run.sh b/run.sh
new file mode 100755
--- /dev/null
+++ b/run.sh
@@ -0,0 +1,2 @@
+#!/bin/sh
+exit 0
\\ No newline at end of file
diff --git a/empty b/empty
new file mode 100644
index 0000000..e69de29
""",
    )

    names = sorted(path.relative_to(bench.folder).as_posix() for path in bench.folder.rglob("*") if path.is_file())
    assert names == ["docs/new.txt", "empty", "moved name.txt", "run.sh"]
    assert bench.bytes_of("docs/new.txt") == b"alpha\nBETA\ngamma\n"
    assert (bench.bytes_of("moved name.txt"), bench.bytes_of("empty")) == (TEXT.encode(), b"")
    assert bench.bytes_of("run.sh") == b"#!/bin/sh\nexit 0"
    modes = [(bench.folder / name).stat().st_mode & 0o777 for name in ("docs/new.txt", "moved name.txt", "run.sh")]
    assert modes == [0o755, 0o755, 0o755]
    assert "Renamed old.txt to docs/new.txt: +1 −1 lines." in result
    assert "Renamed plain name.txt to moved name.txt." in result
    assert "Deleted gone.txt (3 lines)." in result


async def test_a_deletion_must_remove_every_line(bench: Bench) -> None:
    bench.write("a.txt", TEXT + "more\n")
    patch = "--- a/a.txt\n+++ /dev/null\n@@ -1,3 +0,0 @@\n-alpha\n-beta\n-gamma\n"

    assert "leaves 1 of its lines" in await refused(bench, patch)
    assert "leaves 4 of its lines" in await refused(bench, "diff --git a/a.txt b/a.txt\ndeleted file mode 100644\n")


async def test_a_link_is_neither_deleted_nor_renamed_in_place_of_its_target(bench: Bench) -> None:
    bench.write("a.txt", TEXT)
    (bench.folder / "link").symlink_to("a.txt")
    gone = "--- a/link\n+++ /dev/null\n@@ -1,3 +0,0 @@\n-alpha\n-beta\n-gamma\n"

    assert "link is a link; use delete_file" in await refused(bench, gone)
    moved = "diff --git a/link b/b.txt\nrename from link\nrename to b.txt\n"
    assert "link is a link; use move_file" in await refused(bench, moved)


@pytest.mark.parametrize(
    ("patch", "said"),
    [
        (one("/etc/passwd", "+x\n", "@@ -0,0 +1 @@"), "/etc/passwd is an absolute path"),
        ("--- /dev/null\n+++ /tmp/x\n@@ -0,0 +1 @@\n+x\n", "/tmp/x is an absolute path"),
        ("--- /dev/null\n+++ b/../x\n@@ -0,0 +1 @@\n+x\n", r"\.\./x is outside the workspace"),
        ("diff --git a/a.txt b/b.txt\nrename from a.txt\nrename to ../b.txt\n", "outside the workspace"),
        (one("link/x", "+x\n", "@@ -0,0 +1 @@"), "outside the workspace"),
    ],
)
async def test_paths_that_are_absolute_or_lead_outside_are_refused(
    bench: Bench, tmp_path: Path, patch: str, said: str
) -> None:
    bench.write("a.txt", TEXT)
    (bench.folder / "link").symlink_to(tmp_path)

    with pytest.raises((ToolError, OutsideWorkspaceError), match=said):
        await bench.call(apply_patch, patch=patch)
    assert names_in(tmp_path) == ["project"]


# Where hunks go


async def test_wrong_line_numbers_and_counts_do_not_matter_where_the_context_is_clear(bench: Bench) -> None:
    bench.write("a.txt", LONG)

    result = await bench.call(
        apply_patch,
        patch="--- a/a.txt\n+++ b/a.txt\n"
        "@@ -4,1 +4,9 @@\n line 9\n-line 10\n+ten\n line 11\n"
        "@@ -24,3 +24,3 @@ def f():\n line 29\n-line 30\n+thirty\n line 31\n"
        "@@ ... @@\n line 38\n+between\n line 39\n",
    )

    assert result == (
        "Edited a.txt: +3 −2 lines; hunk 1 of 3 was applied at line 9, not at 4; hunk 2 of 3 was applied at line "
        "29, not at 24."
    )
    expected = LONG.replace("line 10\n", "ten\n").replace("line 30\n", "thirty\n")
    assert bench.bytes_of("a.txt").decode() == expected.replace("line 39\n", "between\nline 39\n")


async def test_where_context_is_there_twice_the_number_decides_and_else_nobody(bench: Bench) -> None:
    bench.write("a.txt", "x\n}\ny\n}\nz\n}\n")

    await bench.call(apply_patch, patch=one("a.txt", "-}\n+] \n", "@@ -4 +4 @@"))
    assert bench.bytes_of("a.txt") == b"x\n}\ny\n] \nz\n}\n"

    said = await refused(bench, one("a.txt", "-}\n+]\n", "@@ -3 +3 @@"))
    assert "its old lines occur at 2 places (they start at lines 2, 6)" in said


async def test_hunks_in_any_order_and_a_file_in_two_sections_are_taken(bench: Bench) -> None:
    bench.write("a.txt", LONG)
    later, earlier = "@@ -30 +30 @@\n-line 30\n+thirty\n", "@@ -10 +10 @@\n-line 10\n+ten\n"

    await bench.call(
        apply_patch,
        patch=f"--- a/a.txt\n+++ b/a.txt\n{later}{earlier}--- a/a.txt\n+++ b/a.txt\n@@ -20 +20 @@\n-line 20\n+twenty\n",
    )

    text = bench.bytes_of("a.txt").decode()
    assert [text.splitlines()[number - 1] for number in (10, 20, 30)] == ["ten", "twenty", "thirty"]


async def test_context_that_differs_in_whitespace_is_a_last_resort_and_the_result_says_so(bench: Bench) -> None:
    bench.write("a.py", "class A:\n    def f(self):\n        return  1\n\n    def g(self):\n        return 2\n")

    result = await bench.call(
        apply_patch,
        patch=one("a.py", " def f(self):\n-    return 1\n+    x = 1\n+    return x\n \n", "@@ -2,3 +2,4 @@"),
    )

    assert "hunk 1 differs in whitespace from line 2 on; the file's whitespace was kept" in result
    assert bench.bytes_of("a.py").decode() == (
        "class A:\n    def f(self):\n        x = 1\n        return x\n\n    def g(self):\n        return 2\n"
    )


async def test_lines_whose_indentation_cannot_be_told_are_not_added(bench: Bench) -> None:
    bench.write("a.py", "if x:\n\ty()\n")

    said = await refused(bench, one("a.py", " if x:\n     y()\n+        z()\n", "@@ -1,2 +1,3 @@"))

    assert "does not apply" in said
    assert "the file indents with tabs" in said


# Line endings


@pytest.mark.parametrize(
    ("before", "patch", "after"),
    [
        (b"a\r\nb\r\nc\r\n", " a\n-b\n+B\n+B2\n c\n", b"a\r\nB\r\nB2\r\nc\r\n"),
        (b"a\r\nb\r\nc\r\n", " a\r\n-b\r\n+B\r\n c\r\n", b"a\r\nB\r\nc\r\n"),
        (b"a\r\nb\r\nc\r\n", " a\r\n-b\r\n+b\n c\r\n", b"a\r\nb\nc\r\n"),
        (b"a\nb\nc", " a\n-b\n+B\n c\n", b"a\nB\nc"),
        (b"a\nb\nc", " b\n-c\n+C\n+D\n", b"a\nb\nC\nD"),
        (b"a\nb\nc", " b\n c\n+D\n", b"a\nb\nc\nD"),
        (b"a\nb\nc", " b\n-c\n\\ No newline at end of file\n+c\n", b"a\nb\nc\n"),
        (b"a\nb\nc\n", " b\n-c\n+c\n\\ No newline at end of file\n", b"a\nb\nc"),
        (b"a\r\nb\nc\r\n", " a\n b\n-c\n+C\n", b"a\r\nb\nC\r\n"),
        (b"a\rb\rc\r", " a\n-b\n+B\n c\n", b"a\rB\rc\r"),
        (b"", "+a\n+b\n", b"a\nb\n"),
        (b"\xef\xbb\xbfa\nb\nc\n", " a\n-b\n+\xc3\x9f\n c\n", b"\xef\xbb\xbfa\n\xc3\x83\xc2\x9f\nc\n"),
    ],
)
async def test_line_endings_and_encoding_stay(bench: Bench, before: bytes, patch: str, after: bytes) -> None:
    bench.write("a.txt", before)

    await bench.call(apply_patch, patch=one("a.txt", patch, "@@ -1 +1 @@"))

    assert bench.bytes_of("a.txt") == after


async def test_a_patch_that_came_with_crlf_makes_the_files_endings(bench: Bench) -> None:
    bench.write("a.txt", TEXT)
    bench.write("b.txt", TEXT)

    await bench.call(apply_patch, patch=SEVERAL.replace("\n", "\r\n"))

    assert bench.bytes_of("a.txt") == b"alpha\nB1\ngamma\n"
    assert bench.bytes_of("sub/c.txt") == b"new\n"


# What the model is told


async def test_a_hunk_that_does_not_apply_is_named_with_what_it_expects_and_the_nearest_text(bench: Bench) -> None:
    bench.write("a.txt", TEXT)
    bench.write("app.py", "import math\n\n\ndef area(r):\n    return 3.14 * r * r\n")

    said = await refused(
        bench,
        one("a.txt", " alpha\n-beta\n+B\n gamma\n")
        + one("app.py", " import math\n \n", "@@ -1,2 +1,2 @@")
        + "@@ -4,2 +4,2 @@\n def aera(r):\n-    return 3.1415 * r * r\n+    return math.pi * r * r\n",
    )

    assert said == (
        "app.py, hunk 2 of 2 (@@ -4,2 +4,2 @@) does not apply: the lines that it expects are not in the file. It "
        "expects:\ndef aera(r):\n    return 3.1415 * r * r\nThe nearest text is at line 4:\n     4\tdef "
        "area(r):\n     5\t    return 3.14 * r * r\n\nNothing was changed in any file. Correct "
        "the patch."
    )


async def test_where_nothing_resembles_it_the_place_that_it_names_is_quoted(bench: Bench) -> None:
    bench.write("a.txt", LONG)

    said = await refused(bench, one("a.txt", "-zebra crossing\n+x\n", "@@ -20 +20 @@"))

    assert "    20\tline 20\n" in said


async def test_all_hunks_that_do_not_apply_are_told_at_once(bench: Bench) -> None:
    bench.write("a.txt", LONG)
    bench.write("b.txt", LONG)
    bad = "".join(f"@@ -{n} +{n} @@\n-zebra {n}\n+x\n" for n in range(1, 8))

    said = await refused(bench, f"--- a/a.txt\n+++ b/a.txt\n{bad}" + one("b.txt", "-no\n+x\n", "@@ -1 +1 @@"))

    assert [f"a.txt, hunk {number} of 7" in said for number in range(1, 8)] == [True] * 4 + [False] * 3
    assert "3 more hunks of a.txt do not apply." in said
    assert "b.txt, hunk 1 (@@ -1 +1 @@) does not apply" in said


async def test_a_large_file_is_not_searched_for_any_number_of_hunks(bench: Bench) -> None:
    lines = [f"line {number}\n" for number in range(1, 40_001)]
    bench.write("a.txt", "".join(lines))
    numbers = range(100, 40_000, 100)

    def patch(headers: Sequence[int]) -> str:
        each = zip(numbers, headers, strict=True)
        return "--- a/a.txt\n+++ b/a.txt\n" + "".join(f"@@ -{at} +{at} @@\n-line {n}\n+LINE {n}\n" for n, at in each)

    said = await refused(bench, patch([n - n // 50 for n in numbers]))  # each is off by another number of lines
    assert "too many hunks do not match the line numbers in their headers. Split the patch" in said

    await bench.call(apply_patch, patch=patch([n - 7 for n in numbers]))
    changed = [f"LINE {n}\n" if n in numbers else line for n, line in enumerate(lines, start=1)]
    assert (bench.folder / "a.txt").read_text() == "".join(changed)


@pytest.mark.parametrize(
    ("patch", "said"),
    [
        ("please change beta to B", "The patch contains no file. It must be a unified diff"),
        ("*** Begin Patch\n*** Update File: a.txt\n", "wrong format"),
        ("@@ -1 +1 @@\n-a\n+b\n", "Line 1 of the patch ('@@ -1 +1 @@'): a hunk comes before the lines"),
        ("--- a/a.txt\n+++ b/a.txt\n", "The patch has no hunk for a.txt"),
        ("--- a/a.txt\n+++ b/b.txt\n@@ -1 +1 @@\n-alpha\n+x\n", "names two files, a.txt and b.txt"),
        (one("a.txt", "alpha\n-beta\n+B\n"), "Line 4 of the patch ('alpha'): a line of a hunk must start with a space"),
        (one("a.txt", "-alpha\n", "@@@ -1 -1 +1 @@@"), "this is not a hunk header"),
        ("diff --git a/a.txt b/a.txt\nold mode 100644\nnew mode 100755\n", "use shell with chmod"),
        ("diff --git a/a.txt b/b.txt\ncopy from a.txt\ncopy to b.txt\n", "use copy_file"),
        (
            "diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+a.txt\n",
            "only plain files",
        ),
        ("diff --git a/a.png b/a.png\nBinary files a/a.png and b/a.png differ\n", "binary files cannot be patched"),
        ("--- /dev/null\n+++ b/n.txt\n@@ -1 +1,2 @@\n alpha\n+x\n", "n.txt is a new file"),
        ("--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1 @@\n+x\n", "a.txt already exists"),
        (one("a.txt", " alpha\n beta\n gamma\n"), "The patch leaves a.txt unchanged"),
        (one("a.txt", "+x\n", "@@ @@"), "neither context lines nor a line number"),
        (one("a.txt", "+x\n", "@@ -9,0 +10 @@"), "line 9 does not exist: the file has 3 lines"),
        (one("missing.txt", "-x\n+y\n"), "There is no file missing.txt"),
        (f"{SEVERAL}--- /dev/null\n+++ b/sub/c.txt\n@@ -0,0 +1 @@\n+x\n", "conflicting sections for sub/c.txt"),
    ],
)
async def test_what_is_wrong_with_a_patch_is_said(bench: Bench, patch: str, said: str) -> None:
    bench.write("a.txt", TEXT)
    bench.write("b.txt", TEXT)

    assert said in await refused(bench, patch)


@pytest.mark.parametrize(
    "around",
    [
        "```diff\n{}```\n",
        "Here it is:\n\n{}",
        "diff --git a/a.txt b/a.txt\nindex 1..2 100644\n{}-- \n2.39.5\n\n",
        "{}\n\n",
    ],
)
async def test_what_stands_around_a_patch_does_not_matter(bench: Bench, around: str) -> None:
    bench.write("a.txt", TEXT)

    await bench.call(apply_patch, patch=around.format(one("a.txt", " alpha\n-beta\n+B\n gamma\n")))

    assert bench.bytes_of("a.txt") == b"alpha\nB\ngamma\n"


async def test_an_empty_context_line_may_have_lost_its_space(bench: Bench) -> None:
    bench.write("a.txt", "a\n\nb\n\nc\n")

    await bench.call(apply_patch, patch=one("a.txt", " a\n\n-b\n+B\n\n c\n", "@@ -1,5 +1,5 @@"))

    assert bench.bytes_of("a.txt") == b"a\n\nB\n\nc\n"


async def test_names_are_read_as_git_writes_them(bench: Bench) -> None:
    for name in ("with space.txt", "ä\t.txt"):
        bench.write(name, TEXT)
    body = "@@ -2 +2 @@\n-beta\n+B\n"

    await bench.call(
        apply_patch,
        patch=f"--- a/with space.txt\t2026-01-01\n+++ b/with space.txt\t\n{body}"
        f'--- "a/\\303\\244\\t.txt"\n+++ "b/\\303\\244\\t.txt"\n{body}',
    )

    assert bench.bytes_of("with space.txt") == bench.bytes_of("ä\t.txt") == b"alpha\nB\ngamma\n"


def test_the_paths_of_a_call_are_all_that_the_patch_names() -> None:
    patch = f"{SEVERAL}diff --git a/x b/y\nrename from x\nrename to y\n"

    assert apply_patch.paths_in({"patch": patch}) == ("a.txt", "b.txt", "sub/c.txt", "x", "y")
    assert apply_patch.title_for({"patch": SEVERAL}) == "Patch a.txt, b.txt, sub/c.txt"
    assert apply_patch.paths_in({"patch": "nonsense"}) == apply_patch.paths_in({"patch": 7}) == ()


def test_many_hunks_on_lines_that_are_all_alike_go_where_they_say() -> None:
    hunks = [PatchHunk(header="@@", at=at, lines=CHANGE) for at in range(0, 2_000, 2)]

    patched = apply_hunks("a\n" * 20_000, hunks, "a.txt")

    assert patched.text == "b\na\n" * 1_000 + "a\n" * 18_000


def test_many_hunks_that_stand_nowhere_are_not_looked_for_without_end() -> None:
    hunks = [PatchHunk(header="@@", at=None, lines=(HunkLine(side="-", text=f"{n}\n"),)) for n in range(1_000)]

    with pytest.raises(HunkError) as raised:
        apply_hunks("a\n" * (MAX_STEPS // 4), hunks, "a.txt")

    assert "too many hunks do not match the line numbers in their headers" in str(raised.value)
