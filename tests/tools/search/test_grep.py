"""grep_search finds text as the user sees it, and says what it hid."""

from __future__ import annotations

import os
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pygent_ls.agent.ports.processes import ProcessResult, ProcessSpec
from pygent_ls.errors import OutsideWorkspaceError, ToolError
from pygent_ls.tools.search.grep import grep_search
from pygent_ls.tools.search.ripgrep import SearchPlace, search_texts
from pygent_ls.workspace.processes.child import OnOutput
from pygent_ls.workspace.processes.local_processes import LocalProcesses
from tests.tools.tool_bench import Bench


async def test_matches_are_grouped_by_file_with_their_lines(bench: Bench) -> None:
    bench.write("src/b.py", "from a import f\n\nf()\n")
    bench.write("src/a.py", "def f():\n    return 1\n")

    assert await bench.call(grep_search, pattern=r"\bf\b") == (
        "src/a.py:1: def f():\n\nsrc/b.py:1: from a import f\nsrc/b.py:3: f()"
    )


async def test_lines_around_a_match_are_marked_and_gaps_are_shown(bench: Bench) -> None:
    bench.write("n.txt", "".join(f"line {n}\n" for n in range(1, 11)))

    assert await bench.call(grep_search, pattern="line [28]", context_lines=1) == (
        "n.txt-1- line 1\nn.txt:2: line 2\nn.txt-3- line 3\n--\nn.txt-7- line 7\nn.txt:8: line 8\nn.txt-9- line 9"
    )


async def test_gitignore_counts_without_git_and_hidden_files_are_searched(bench: Bench) -> None:
    bench.write(".gitignore", "build/\n*.log\n")
    bench.write("build/x.py", "plum\n")
    bench.write("a.log", "plum\n")
    bench.write(".git/config", "plum\n")
    bench.write(".github/ci.yml", "plum\n")

    assert await bench.call(grep_search, pattern="plum") == ".github/ci.yml:1: plum"
    assert await bench.call(grep_search, pattern="plum", glob="*.log") == (
        "No matches for plum in the workspace (files that match *.log). Files that .gitignore excludes are not "
        "searched."
    )
    for glob in ("*.log", "/*.log", "**/*.log", "build/*"):
        assert (await bench.call(grep_search, pattern="plum", glob=glob)).startswith("No matches")
    assert await bench.call(grep_search, pattern="plum", path="build") == "build/x.py:1: plum"


@pytest.mark.parametrize(
    ("path", "glob", "found"),
    [
        (".", "*.py", ["a.py", "src/b.py", "src/lib/c.py"]),
        (".", "src/*.py", ["src/b.py"]),
        ("src", "lib/*", ["src/lib/c.py"]),
        ("src", "*.{ts,js}", ["src/d.ts"]),
        ("src", "!*.py", ["src/d.ts"]),
        ("src/d.ts", "", ["src/d.ts"]),
        ("src/d.ts", "*.ts", ["src/d.ts"]),
        (".", "**/*.py", ["a.py", "src/b.py", "src/lib/c.py"]),
        (".", "**/lib/*.py", ["src/lib/c.py"]),
        (".", "src/lib/", ["src/lib/c.py"]),
        ("src", "**", ["src/b.py", "src/d.ts", "src/lib/c.py"]),
    ],
)
async def test_a_path_and_a_glob_narrow_the_search(bench: Bench, path: str, glob: str, found: list[str]) -> None:
    for file in ("a.py", "src/b.py", "src/lib/c.py", "src/d.ts"):
        bench.write(file, "plum\n")

    result = await bench.call(grep_search, pattern="plum", path=path, glob=glob)

    assert [block.partition(":")[0] for block in result.split("\n\n")] == found


async def test_upper_and_lower_case_count_unless_ignored(bench: Bench) -> None:
    bench.write("a.txt", "Plum\nplum\n")

    assert await bench.call(grep_search, pattern="plum") == "a.txt:2: plum"
    assert await bench.call(grep_search, pattern="plum", ignore_case=True) == "a.txt:1: Plum\na.txt:2: plum"


async def test_no_match_is_an_answer_and_not_an_error(bench: Bench) -> None:
    bench.write("src/a.txt", "x\n")

    assert await bench.call(grep_search, pattern="plum", path="src") == (
        "No matches for plum in src. Files that .gitignore excludes are not searched."
    )


async def test_hidden_matches_are_counted(bench: Bench) -> None:
    bench.write("a.txt", "plum\n" * 3)
    bench.write("b.txt", "plum\n" * 120)

    by_default = await bench.call(grep_search, pattern="plum")
    few = await bench.call(grep_search, pattern="plum", max_results=2, context_lines=1)

    assert by_default.count(": plum") == 100
    assert by_default.endswith(
        "\n\n[100 of 123 matches shown, 23 hidden: narrow the pattern, or name a path or a glob, or raise max_results.]"
    )
    assert few.startswith("a.txt:1: plum\na.txt:2: plum\n\n[2 of 123 matches shown, 121 hidden")


async def test_a_search_that_finds_more_than_anyone_reads_is_stopped_and_says_so(bench: Bench) -> None:
    line = "plum " + "x" * 990 + "\n"
    for n in range(8):
        bench.write(f"{n}.txt", line * 1000)

    result = await bench.call(grep_search, pattern="plum", max_results=5)

    assert result.count(": plum") == 5
    assert re.search(
        "\\n\\n\\[5 of more than 1\\d{3} matches shown; the search was stopped: narrow the pattern", result
    )


async def test_ignored_files_that_a_glob_matches_do_not_crowd_out_the_others(bench: Bench) -> None:
    bench.write(".gitignore", "*.min.js\n")
    for n in range(8):
        bench.write(f"{n}.min.js", ("plum " + "x" * 990 + "\n") * 1000)
        bench.write(f"{n}.js", "plum\n")

    result = await bench.call(grep_search, pattern="plum", glob="*.js")

    assert result == "\n\n".join(f"{n}.js:1: plum" for n in range(8))


async def test_a_match_in_a_line_too_long_to_be_read_is_not_denied(bench: Bench) -> None:
    bench.write("data.json", "first\n" + "plum" * 1_250_000 + "\nlast")
    bench.write('with "quotes" and {braces}.json', "x" * 17_000_000 + "plum")

    result = await bench.call(grep_search, pattern="plum")

    assert result == (
        "data.json:2: [line too long to be shown: the first match begins at byte 1; read_file reads it from "
        'start_column on]\n\nwith "quotes" and {braces}.json:1: [line too long to be shown: the first match begins at '
        "byte 17000001; read_file reads it from start_column on]"
    )


@pytest.mark.parametrize("length", [3_000_000, 20_000_000])
async def test_no_match_is_lost_beside_a_long_line(bench: Bench, length: int) -> None:
    for number in range(300):
        bench.write(f"{number:03}.txt", "plum\n")
    bench.write("long.js", "x" * length + "plum" + "x" * 10)

    result = await bench.call(grep_search, pattern="plum", max_results=1000)

    assert result.count(".txt:1: plum") == 300
    assert "long.js:1: [" in result
    assert "max_results" not in result


async def test_a_match_in_the_middle_of_a_very_long_line_is_shown(bench: Bench) -> None:
    bench.write("min.js", "x" * 3_000_000 + "plum" + "y" * 2_000_000 + "\n")

    assert await bench.call(grep_search, pattern="plum") == (
        f"min.js:1: [… 2999900 characters] {'x' * 100}plum{'y' * 196} [… 1999804 characters]"
    )


async def test_the_advice_helps(bench: Bench) -> None:
    bench.write("a.txt", ("plum " + "x" * 280 + "\n") * 500)

    assert "raise max_results" not in await bench.call(grep_search, pattern="plum", max_results=1000)
    assert "raise max_results" in await bench.call(grep_search, pattern="plum", max_results=10)


async def test_a_result_stays_below_what_the_model_is_shown(bench: Bench) -> None:
    bench.write("a.txt", ("plum " + "x" * 280 + "\n") * 500)

    result = await bench.call(grep_search, pattern="plum", max_results=1000)

    assert 30_000 < len(result) < 38_000
    shown = result.count("a.txt:")
    assert f"[{shown} of 500 matches shown, {500 - shown} hidden" in result


async def test_long_lines_are_cut_around_the_match(bench: Bench) -> None:
    bench.write("min.js", "é" * 1000 + "plum" + "é" * 1000 + "\n")

    assert await bench.call(grep_search, pattern="plum") == (
        f"min.js:1: [… 900 characters] {'é' * 100}plum{'é' * 196} [… 804 characters]"
    )


async def test_an_invalid_pattern_is_an_error_in_ripgreps_words(bench: Bench) -> None:
    bench.write("a.txt", "f(\n")

    with pytest.raises(ToolError, match=r"(?s)Invalid pattern 'f\('.*unclosed group.*backslash before each"):
        await bench.call(grep_search, pattern="f(")
    with pytest.raises(ToolError, match=r"(?s)look-around.*is not supported"):
        await bench.call(grep_search, pattern="a(?=b)")
    with pytest.raises(
        ToolError, match=r"(?s)not allowed in a regex\nThe pattern is a regular expression.*within one line"
    ):
        await bench.call(grep_search, pattern=r"a\nb")
    with pytest.raises(ToolError, match="error parsing glob"):
        await bench.call(grep_search, pattern="f", glob="[")


async def test_a_pattern_that_looks_like_an_option_is_a_pattern(bench: Bench) -> None:
    bench.write("a.txt", "--files\n-e\n")

    assert await bench.call(grep_search, pattern="--files") == "a.txt:1: --files"
    assert await bench.call(grep_search, pattern="-e") == "a.txt:2: -e"


async def test_a_missing_path_and_one_outside_are_errors(bench: Bench) -> None:
    with pytest.raises(ToolError, match="nope does not exist"):
        await bench.call(grep_search, pattern="x", path="nope")
    with pytest.raises(OutsideWorkspaceError):
        await bench.call(grep_search, pattern="x", path="..")


async def test_an_invalid_line_in_an_ignore_file_does_not_disturb(bench: Bench) -> None:
    bench.write(".gitignore", "[\n*.log\n")
    bench.write("a.log", "plum\n")
    bench.write("a.txt", "plum\n")

    assert await bench.call(grep_search, pattern="plum") == "a.txt:1: plum"


async def test_links_out_of_the_workspace_are_not_followed(bench: Bench) -> None:
    (bench.folder.parent / "secret.txt").write_text("plum\n")
    (bench.folder / "link.txt").symlink_to(bench.folder.parent / "secret.txt")
    (bench.folder / "out").symlink_to(bench.folder.parent)

    assert (await bench.call(grep_search, pattern="plum")).startswith("No matches")


async def test_the_end_of_a_line_matches_whatever_the_line_endings(bench: Bench) -> None:
    bench.write("crlf.txt", b"a plum\r\nplum cake\r\n")

    assert await bench.call(grep_search, pattern="plum$") == "crlf.txt:1: a plum"


async def test_other_encodings_are_shown_as_text_and_binary_files_are_left_out(bench: Bench) -> None:
    bench.write("latin.txt", "b\u00eate plum\n".encode("latin-1"))
    bench.write("wide.txt", "bête plum\n".encode("utf-16"))
    bench.write("data.bin", b"plum\n" + b"x" * 200_000 + b"\x00\x01plum\n")

    assert await bench.call(grep_search, pattern="plum") == "latin.txt:1: bête plum\n\nwide.txt:1: bête plum"


async def test_it_is_said_when_files_could_not_be_read(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.write("a.txt", "plum\n")
    real = bench.processes.find("rg")
    programs = bench.folder.parent / "programs"
    programs.mkdir()
    rg = programs / "rg"  # tests may run as root, who can read everything; so this one cannot
    rg.write_text(f'#!/bin/sh\n"{real}" "$@"\nexit 2\n')
    rg.chmod(0o755)
    monkeypatch.setenv("PATH", str(programs), prepend=os.pathsep)

    assert await bench.call(grep_search, pattern="plum") == (
        "a.txt:1: plum\n[Some files could not be read and were not searched.]"
    )
    assert (await bench.call(grep_search, pattern="pear")).endswith(
        "searched.\n[Some files could not be read and were not searched.]"
    )


async def test_without_ripgrep_the_error_says_so(bench: Bench) -> None:
    bench.write("a.txt", "plum\n")
    bench.processes = ProcessesWithoutRipgrep()

    with pytest.raises(ToolError, match=r"ripgrep \(rg\) is not installed"):
        await bench.call(grep_search, pattern="plum")


class ProcessesWithoutRipgrep(LocalProcesses):
    """A machine where rg is not installed."""

    def find(self, program: str, *, anywhere: bool = False) -> str | None:
        return None if program == "rg" else super().find(program)


# Unsaved changes


async def test_unsaved_text_is_searched_instead_of_the_disks(bench: Bench) -> None:
    file = bench.write("src/a.py", "plum on disk\n")
    bench.write("src/b.py", "plum\n")
    bench.workspace.type_into(file, "typed\r\na plum, unsaved\r\n")

    assert await bench.call(grep_search, pattern="plum", path="src", context_lines=1) == (
        "src/a.py-1- typed\nsrc/a.py:2: a plum, unsaved\n\nsrc/b.py:1: plum"
    )
    assert "on disk" not in await bench.call(grep_search, pattern="disk")


async def test_unsaved_text_means_what_ripgrep_means_by_the_pattern(bench: Bench) -> None:
    file = bench.write("a.py", "\n")
    bench.workspace.type_into(file, "x = PLUM\nété\n")

    assert await bench.call(grep_search, pattern=r"(?i)\bplum\b") == "a.py:1: x = PLUM"
    assert await bench.call(grep_search, pattern=r"\p{L}t\p{L}") == "a.py:2: été"


async def test_an_unsaved_file_that_gitignore_or_the_glob_excludes_does_not_appear(bench: Bench) -> None:
    bench.write(".gitignore", "*.log\n")
    bench.workspace.type_into(bench.write("a.log"), "plum\n")
    bench.workspace.type_into(bench.write("a.txt"), "plum\n")
    bench.workspace.type_into(bench.write("src/a.py"), "plum\n")

    assert await bench.call(grep_search, pattern="plum", glob="*.py") == "src/a.py:1: plum"
    assert await bench.call(grep_search, pattern="plum") == "a.txt:1: plum\n\nsrc/a.py:1: plum"
    assert await bench.call(grep_search, pattern="plum", path="src") == "src/a.py:1: plum"


async def test_a_new_file_that_was_never_saved_is_searched(bench: Bench) -> None:
    draft = bench.folder / "draft.py"
    bench.workspace.type_into(draft, "plum\n")

    assert await bench.call(grep_search, pattern="plum") == "draft.py:1: plum"
    assert await bench.call(grep_search, pattern="plum", path="draft.py") == "draft.py:1: plum"


async def test_the_result_depends_on_the_folder_and_its_buffers(bench: Bench) -> None:
    file = bench.write("src/a.py", "plum\n")

    await bench.call(grep_search, pattern="plum", path="src")
    (before,) = bench.context.trees.values()
    bench.workspace.type_into(file, "typed\n")

    assert set(bench.context.trees) == {bench.folder / "src"}
    assert await bench.workspace.tree_stamp(bench.folder / "src") != before


async def test_many_unsaved_texts_are_searched_by_few_programs_and_are_kept_apart(bench: Bench) -> None:
    texts = ["one\nplum", "", "plum\r\nlast\r\n", "no\nnone\n", "\ufeffplum\n\n\n", "a\nb\nplum\nc\nd"]
    for number in range(60):
        file = bench.write(f"{number:02}.txt", "on disk\n")
        bench.workspace.type_into(file, texts[number % len(texts)])
    for number in range(30):
        bench.workspace.type_into(bench.folder / f"new-{number:02}.txt", "plum\n")
    counted = bench.processes = CountedProcesses()

    result = await bench.call(grep_search, pattern="^plum$", context_lines=1)

    blocks = result.split("\n\n")
    assert blocks[:4] == [
        "00.txt-1- one\n00.txt:2: plum",
        "02.txt:1: plum\n02.txt-2- last",
        "04.txt:1: plum\n04.txt-2- ",
        "05.txt-2- b\n05.txt:3: plum\n05.txt-4- c",
    ]
    assert len(blocks) == 40 + 30
    assert counted.n_runs < 10


class CountedProcesses(LocalProcesses):
    """Counts the programs that are run."""

    n_runs = 0

    async def run(self, spec: ProcessSpec, on_output: OnOutput | None = None) -> ProcessResult:
        self.n_runs += 1
        return await super().run(spec, on_output)


small_texts = st.text(alphabet="ab\n\r \ufeff", max_size=12)


@given(texts=st.lists(small_texts, min_size=1, max_size=6), n_around=st.integers(0, 3))
async def test_texts_that_are_searched_together_match_as_each_alone(
    bench: Bench, texts: list[str], n_around: int
) -> None:
    place = SearchPlace(path=bench.folder, folder=bench.folder)
    options = (f"--context={n_around}",)
    named = {str(number): text for number, text in enumerate(texts)}

    together = await search_texts(bench.context, place, named, "^a|b$", options, n_around)
    alone = [
        (await search_texts(bench.context, place, {name: text}, "^a|b$", options, n_around)).lines
        for name, text in named.items()
    ]

    assert together.lines == {name: lines for each in alone for name, lines in each.items()}
