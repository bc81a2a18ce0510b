"""No tool shows a piece of a secret, however its result is cut, and wherever the secret is read from."""

from __future__ import annotations

import random
import re
import shlex
import string
from pathlib import Path

import pytest

from pygent_ls.agent.context.attachments import FilePart, SelectionPart, render
from pygent_ls.agent.context.editor_text import masked_problems, problems_text
from pygent_ls.agent.messages import Message, TextBlock, ToolUseBlock
from pygent_ls.agent.ports.editor_state import FileProblems, LineRange, Problem
from pygent_ls.agent.rules.read_rules import Reading
from pygent_ls.agent.tools.read_log import ReadLog
from pygent_ls.extensions.instructions import MAX_FILE_CHARS, RepositoryInstructions
from pygent_ls.secrets.finder import find_secrets
from pygent_ls.secrets.redactor import PLACEHOLDER, Redactor
from pygent_ls.secrets.stream import LiveRedactor
from tests.tools.masked_bench import MaskedBench, shows
from tests.tools.repository import git, make_repository

KEY = "sk-ant-api03-" + "Zx9Lq2Vb7Nm4Kd8Wc3Rt6Yp1Hg5Jf0Ds" * 3
LONG = "".join(random.Random(7).choices(string.ascii_letters + string.digits + "+/", k=6_000))
LINES = ["".join(random.Random(n).choices(string.ascii_letters + string.digits, k=64)) for n in range(20)]
PEM = "\n".join(["-----BEGIN PRIVATE KEY-----", *LINES, "Qm5Zx7Wb1Nc4==", "-----END PRIVATE KEY-----", ""])
ENV = f"# ours\nAPP_HOST=db.internal.example\nDB_PASSWORD=hunter\nPIN=4711\nBLOB={LONG}\nMODE=harmless-words\n"


@pytest.fixture
def bench(tmp_path: Path) -> MaskedBench:
    folder = tmp_path / "project"
    folder.mkdir()
    return MaskedBench(folder)


async def test_a_window_of_a_search_shows_no_piece_of_a_key(bench: MaskedBench) -> None:
    for n in range(90, 320, 23):
        bench.write(f"at{n}.js", "x" * n + f' start "{KEY}" ' + "y" * 2_000 + "\n")

    for pattern in ("start", "y{9}", "xxx", "[a-z]"):
        found = await bench.call("grep_search", pattern=pattern)
        assert "at90.js" in found
        assert shows(found, KEY) == []


async def test_a_search_in_a_file_of_secrets_shows_no_piece_of_a_long_value(bench: MaskedBench) -> None:
    bench.write(".env", ENV)

    for pattern in ("BLOB", ".", "MODE", "=", LONG[3_000:3_006]):
        assert shows(await bench.call("grep_search", pattern=pattern), LONG, "hunter", "harmless-words") == []


@pytest.mark.parametrize("guess", [KEY[:16], KEY[13:17], f"{KEY[:14]}.*", "sk-ant-api03-[Z]"])
async def test_a_search_does_not_tell_whether_a_guess_of_a_secret_is_right(bench: MaskedBench, guess: str) -> None:
    bench.write("a.py", f'key = "{KEY}"\n')

    assert "No matches" in await bench.call("grep_search", pattern=guess)


async def test_a_key_is_found_by_what_every_key_of_its_kind_begins_with(bench: MaskedBench) -> None:
    bench.write("a.py", f'key = "{KEY}"\n')

    found = await bench.call("grep_search", pattern="sk-ant-|AKIA")

    assert PLACEHOLDER.sub("…", found) == 'a.py:1: key = "…"'


async def test_once_a_file_is_known_to_hold_secrets_a_guess_beside_a_placeholder_tells_nothing(
    bench: MaskedBench,
) -> None:
    bench.write("a.py", f'key = "{KEY}"\n')
    bench.write(".env", "TOKEN=Qz81xx\n")
    await bench.call("read_file", path="a.py")

    for right, wrong in ((KEY[:15], KEY[:14] + "!"), ("TOKEN=Q", "TOKEN=R")):
        answers = [await bench.call("grep_search", pattern=rf"{guess}|\{{\{{") for guess in (right, wrong)]
        assert answers[0].count("\n") == answers[1].count("\n")


async def test_an_edit_does_not_tell_whether_a_guess_of_a_secret_is_right(bench: MaskedBench) -> None:
    file = bench.write("a.py", f'key = "{KEY}"\n')

    right = await bench.call("edit_file", path="a.py", old=f'key = "{KEY[:20]}', new="other")
    wrong = await bench.call("edit_file", path="a.py", old=f'key = "{KEY[:19]}!', new="other")

    assert ("not found" in right, "not found" in wrong) == (True, True)
    assert shows(right + wrong, KEY[20:]) == []
    assert file.read_text() == f'key = "{KEY}"\n'


async def test_a_range_within_a_private_key_is_masked(bench: MaskedBench) -> None:
    bench.write("server.txt", PEM)

    for first in (1, 2, 10, 20, 22):
        assert shows(await bench.call("read_file", path="server.txt", start_line=first), PEM[28:-26]) == []


async def test_a_line_that_is_cut_within_a_key_shows_nothing_of_it(bench: MaskedBench) -> None:
    for n in (1_890, 1_978, 1_985, 1_999):
        bench.write("long.txt", "x" * n + f" {KEY} " + "y" * 500)
        assert shows(await bench.call("read_file", path="long.txt"), KEY) == []


async def test_the_errors_of_edits_quote_no_piece_of_a_secret(bench: MaskedBench) -> None:
    bench.write("a.txt", "x" * 230 + f" password = '{KEY}' here it is and goes on\n" + PEM)
    near = "x" * 230 + " password = 'guessed' here it is and goes on"

    assert shows(await bench.call("edit_file", path="a.txt", old=near, new="b"), KEY, PEM[28:-26]) == []
    edits = [{"old": near, "new": "b"}]
    assert shows(await bench.call("multi_edit", path="a.txt", edits=edits), KEY, PEM[28:-26]) == []
    patch = f"--- a/a.txt\n+++ b/a.txt\n@@ -1,1 +1,1 @@\n-{near}\n+b\n"
    assert shows(await bench.call("apply_patch", patch=patch), KEY, PEM[28:-26]) == []


async def test_an_edit_of_a_file_that_changed_quotes_no_piece_of_a_secret(bench: MaskedBench) -> None:
    file = bench.write("a.txt", "one\n")
    await bench.call("read_file", path="a.txt")
    for n in (3_930, 3_999):
        file.write_text("x" * n + f" {KEY} " + "y" * 9_000 + PEM + "y" * 3_000)
        said = await bench.call("edit_file", path="a.txt", old="one", new="two")
        assert "has changed since" in said
        assert shows(said, KEY, PEM[28:-26]) == []


async def test_output_that_is_cut_shows_no_piece_of_a_secret(bench: MaskedBench) -> None:
    bench.write("key.txt", PEM)
    bench.write("token.txt", f"{KEY}\n")
    for n in (99_960, 100_020):
        command = f"head -c {n} /dev/zero | tr '\\0' x; echo; cat token.txt key.txt; seq 60000; cat token.txt"
        told = await bench.call("shell", command=command)
        assert "left out" in told
        whole = await bench.call("read_file", path=f"output:call_{2 * (n > 100_000) + 1}", start_line=40)
        assert shows(told + whole, KEY[13:], PEM[28:-26]) == []
    assert shows(bench.told(), KEY[13:], *LINES) == []


async def test_a_background_command_shows_no_piece_of_a_secret_and_its_question(bench: MaskedBench) -> None:
    half, rest = KEY[:40], KEY[40:]
    script = f"import sys\nw = sys.stdout.write\nw('key {half}'); sys.stdout.flush()\n"
    script += f"input()\nw('{rest}\\nGo on? '); sys.stdout.flush()\ninput()\nw('gone on\\n')\n"
    bench.write("talk.py", script)
    started = await bench.call("shell", command="exec python3 talk.py", background=True)
    name = started.split(" as ")[1].split(".")[0]

    told = await _read_until(bench, name, "unfinished line")
    await bench.call("shell_input", shell_id=name, text="\n")
    told += await _read_until(bench, name, "Go on? ")
    await bench.call("shell_input", shell_id=name, text="\n")
    told += await bench.call("shell_output", shell_id=name, wait_s=20)
    await bench.close()

    assert "gone on" in told
    assert PLACEHOLDER.search(told)
    assert shows(told, KEY) == []


async def _read_until(bench: MaskedBench, name: str, words: str) -> str:
    told = ""
    for _ in range(200):
        told += await bench.call("shell_output", shell_id=name, wait_s=0.1)
        if words in told:
            return told
    raise AssertionError(told)


# Where secrets go


async def test_a_link_to_a_file_of_secrets_and_one_that_has_its_name_are_masked(bench: MaskedBench) -> None:
    bench.write(".env", ENV)
    (bench.folder / "settings.txt").symlink_to(".env")
    bench.write("deploy/production", "GREETING=good-evening\nPLACE=somewhere\n")
    (bench.folder / "deploy/.env").symlink_to("production")

    said = await bench.call("read_file", path="settings.txt")
    said += await bench.call("grep_search", pattern="MODE|PIN", path="settings.txt")
    assert shows(said, "harmless-words", "4711", "db.internal.example") == []
    said = await bench.call("read_file", path="deploy/.env")
    said += await bench.call("read_file", path="deploy/production")
    said += await bench.call("grep_search", pattern="GREETING")
    assert shows(said, "good-evening", "somewhere") == []


@pytest.mark.parametrize("how", ["cp .env copy.txt", "cat .env > copy.txt", "(echo A_NEW=1; cat .env) > copy.txt"])
async def test_a_copy_of_a_file_of_secrets_by_a_command_is_masked(bench: MaskedBench, how: str) -> None:
    bench.write(".env", ENV)
    await bench.call("shell", command=how)

    said = await bench.call("read_file", path="copy.txt")
    said += await bench.call("shell", command="cat -n copy.txt; nl copy.txt; tail -2 copy.txt; grep -n . copy.txt")
    said += await bench.call("grep_search", pattern="MODE|PIN|HOST", glob="*.txt")
    assert shows(said, "harmless-words", "hunter", "db.internal.example", LONG) == []
    assert "4711" not in said


@pytest.mark.parametrize("tool", ["copy_file", "move_file"])
async def test_what_our_tools_copy_and_move_stays_masked(bench: MaskedBench, tool: str) -> None:
    bench.write("conf/.env", ENV)

    await bench.call(tool, source="conf/.env", destination="plain.txt")
    await bench.call(tool, source="plain.txt", destination="further.txt")

    said = await bench.call("read_file", path="further.txt")
    assert shows(said, "harmless-words", "hunter") == []
    assert (bench.folder / "further.txt").read_text() == ENV


async def test_a_value_that_was_written_from_a_placeholder_is_masked_where_it_stands_now(bench: MaskedBench) -> None:
    bench.write(".env", ENV)
    shown = await bench.call("read_file", path=".env")
    pin = next(found[0] for found in PLACEHOLDER.finditer(shown) if "_pin_" in found[0])
    words = next(found[0] for found in PLACEHOLDER.finditer(shown) if "_mode_" in found[0])

    await bench.call("create_file", path="a.md", content=f"the number is {pin}, and {words}.\n")
    assert (bench.folder / "a.md").read_text() == "the number is 4711, and harmless-words.\n"
    await bench.call("move_file", source="a.md", destination="docs/b.md")

    said = await bench.call("read_file", path="docs/b.md")
    said += await bench.call("grep_search", pattern="number", path="docs")
    said += await bench.call("edit_file", path="docs/b.md", old="number is 47", new="no")
    assert pin in said
    assert shows(said, "harmless-words") == []
    assert "4711" not in said


async def test_the_difference_of_a_merge_is_masked(bench: MaskedBench) -> None:
    make_repository(bench.folder)
    bench.write(".env", "MODE=the-first-one\nLAST=the-last-one\n")
    git(bench.folder, "add", "-A")
    git(bench.folder, "commit", "-qm", "one")
    git(bench.folder, "checkout", "-qb", "topic")
    bench.write(".env", "MODE=of-the-topic\nLAST=the-last-one\n")
    git(bench.folder, "commit", "-qam", "two")
    git(bench.folder, "checkout", "-q", "main")
    bench.write(".env", "MODE=of-the-trunk\nLAST=the-last-one\n")
    git(bench.folder, "commit", "-qam", "three")
    await bench.call("shell", command="git merge topic")

    said = await bench.call("git_diff")
    assert "diff --cc .env" in said
    said += await bench.call("shell", command="git diff")
    bench.write(".env", "MODE=of-both-sides\nLAST=the-last-one\n")
    git(bench.folder, "commit", "-qam", "merged")
    for command in (
        "git show --cc HEAD",
        "git log -p --all",
        "git diff HEAD~1 --word-diff",
        "git diff HEAD~1 --word-diff=porcelain",
        "git show HEAD~1:.env",
        "git blame .env",
        "git log -c -p -1",
        "diff .env <(echo MODE=other-words)",
        "diff -u /dev/null .env",
        "diff -c /dev/null .env",
        "diff -y .env .env",
    ):
        said += await bench.call("shell", command=command)
    secrets = ("the-first-one", "of-the-topic", "of-the-trunk", "of-both-sides", "the-last-one")
    assert shows(said + bench.told(), *secrets) == []


async def test_a_difference_that_is_cut_in_the_middle_is_masked_to_its_end(bench: MaskedBench) -> None:
    make_repository(bench.folder)
    old = "".join(f"NAME_{n}=the-old-{n}-value-of-it{'-and-more' * 30}\n" for n in range(800))
    bench.write("prod.env", old)
    git(bench.folder, "add", "-A")
    git(bench.folder, "commit", "-qm", "one")
    bench.write("prod.env", old.replace("old", "new"))

    said = await bench.call("git_diff") + await bench.call("shell", command="git diff")

    assert shows(said + bench.told(), "the-old-", "the-new-", "-value-of-it") == []


HIDDEN = ("harmless-words", "hunter", "db.internal.example", "4711")


def committed(bench: MaskedBench, name: str, old: str, new: str) -> None:
    """A repository whose file was changed since the commit."""
    make_repository(bench.folder)
    bench.write(name, old)
    git(bench.folder, "add", "-Af")
    git(bench.folder, "commit", "-qm", "one")
    bench.write(name, new)


async def test_the_line_that_a_hunk_is_below_is_masked(bench: MaskedBench) -> None:
    below = "# a\n# b\n# c\n"
    committed(bench, "conf/prod.env", f"{ENV}{below}LAST=one\n", f"{ENV}{below}LAST=two\n")

    said = await bench.call("git_diff")
    git(bench.folder, "commit", "-qam", "two")
    (bench.folder / "conf/prod.env").unlink()
    for command in ("git diff HEAD~1..HEAD", "git show --color=always HEAD", "git log -p --oneline"):
        said += await bench.call("shell", command=command)

    assert "@@ MODE=" in said
    assert shows(said + bench.told(), *HIDDEN) == []


async def test_a_key_that_git_cuts_off_in_the_line_that_a_hunk_is_below_shows_no_piece(bench: MaskedBench) -> None:
    key, below = KEY[13:], "".join(f"    line {n}\n" for n in range(9))
    committed(bench, "a.py", f'TOKEN = "{key}"\n{below}', f'TOKEN = "{key}"\n{below}    more\n')

    said = await bench.call("git_diff") + await bench.call("shell", command="git diff")

    assert said.count('@@ TOKEN = "') == 2
    assert shows(said + bench.told(), key) == []


@pytest.mark.parametrize(
    "command",
    [
        "cd conf && grep -n . prod.env",
        "cd conf && cut -d= -f2 prod.env",
        "cat conf/*",
        "grep -rh . conf",
        "sed 's/^/at 1 /' conf/prod.env",
        "python3 -c \"print(open('conf/prod.env').readlines())\"",
        "python3 -c \"print(dict(l.strip().split('=') for l in open('conf/prod.env') if '=' in l))\"",
        "cat -A conf/prod.env; grep --color=always -n = conf/prod.env",
    ],
)
async def test_a_program_that_shows_a_file_of_secrets_in_its_own_form_is_masked(
    bench: MaskedBench, command: str
) -> None:
    bench.write("conf/prod.env", ENV.replace(LONG, "x"))

    assert shows(await bench.call("shell", command=command) + bench.told(), *HIDDEN) == []


async def test_a_line_of_a_file_of_secrets_that_git_finds_in_a_commit_is_masked(bench: MaskedBench) -> None:
    committed(bench, "conf/prod.env", ENV, "A=b\n")

    said = await bench.call("shell", command="git grep -n . HEAD -- conf; git grep . HEAD -- conf")

    assert "HEAD:conf/prod.env:" in said
    assert shows(said, *HIDDEN) == []


@pytest.mark.parametrize(
    "name", [".env~", "#.env#", ".env-local", ".env_prod", ".ENV", ".Env.Local", "conf/Prod.ENV", ".env.bak"]
)
async def test_a_copy_of_a_file_of_secrets_by_an_editor_and_any_spelling_of_its_name_are_masked(
    bench: MaskedBench, name: str
) -> None:
    bench.write(name, ENV)

    said = await bench.call("read_file", path=name)
    said += await bench.call("grep_search", pattern="MODE|PIN")
    assert shows(said + await bench.call("shell", command=f"cat '{name}'"), *HIDDEN) == []


async def test_an_example_of_a_file_of_secrets_is_shown(bench: MaskedBench) -> None:
    for name in (".env.example", ".env-sample", ".env.local.example", ".ENV.Template"):
        bench.write(name, "MODE=harmless-words\n")
        assert "harmless-words" in await bench.call("read_file", path=name)


@pytest.mark.parametrize(
    "data",
    [
        "MODE=harmless-words\nPIN=4711\n".encode("utf-16"),
        b"\xef\xbb\xbfMODE=harmless-words\nPIN=4711\n",
        b"A=1\rMODE=harmless-words\rPIN=4711\r",
        b"A=1\r\nMODE=harmless-words\r\nPIN=4711\r\n",
        b"MODE=a\\\nharmless-words\nNOTE=a\n",
        b'MODE="first\nsec\\"harmless-words\nlast"\n',
        b"export MODE=$(cat <<EOF\nharmless-words\nEOF\n)\n",
    ],
    ids=["UTF-16", "mark", "CR", "CRLF", "backslash", "quotes", "here"],
)
async def test_no_form_of_a_file_of_secrets_shows_a_value(bench: MaskedBench, data: bytes) -> None:
    (bench.folder / ".envrc").write_bytes(data)

    said = await bench.call("read_file", path=".envrc")
    said += await bench.call("grep_search", pattern="MODE|PIN|words|A", path=".envrc")
    said += await bench.call("shell", command="cat .envrc")

    assert shows(said.replace("\0", ""), "harmless-words", "4711") == []


async def test_colours_and_what_is_struck_over_hide_no_key(bench: MaskedBench) -> None:
    token = f"ghp_{KEY[20:56]}"
    bench.write("c.py", f'token = "{token}"\n')

    said = await bench.call("shell", command=f"grep --color=always {token[4:9]} c.py; grep --color=always ghp_ c.py")
    said += await bench.call("shell", command="sed 's/./&\\x08&/g' c.py")

    seen = re.sub(r"\x1b\[[0-9;]*[mK]|.\x08", "", said)
    assert 'token = "' in seen
    assert shows(seen, token[4:]) == []


async def test_a_value_is_masked_as_programs_have_it_and_as_pages_write_it(bench: MaskedBench) -> None:
    bench.write(".env", 'DB_PASSWORD="p4ss\\"w0rd\\$1xx&<y>"\n')
    show = "import html, json, os, urllib.parse as u; v = os.environ['DB_PASSWORD']"
    show += "; print(v, html.escape(v), json.dumps(v), u.quote(v), repr(v))"

    said = await bench.call("shell", command=f"set -a; . ./.env; python3 -c {shlex.quote(show)}")

    assert shows(said, "w0rd$1xx", "w0rd%241xx") == []


# What is attached and given


async def test_lines_and_selections_that_are_attached_show_no_piece_of_a_secret(bench: MaskedBench) -> None:
    key, env, long = bench.write("key.txt", PEM), bench.write(".env", ENV), bench.write("long.txt", "x" * 99_980 + KEY)
    parts = (
        FilePart(path=key, lines=LineRange(first=5, last=9)),
        FilePart(path=env, lines=LineRange(first=5, last=5)),
        FilePart(path=long),
        SelectionPart(path=key, lines=LineRange(first=22, last=22), text=LINES[19][5:] + "\nQm5Zx7Wb1N"),
        SelectionPart(path=env, lines=LineRange(first=5, last=5), text=LONG[100:300]),
        SelectionPart(path=env, lines=LineRange(first=6, last=6), text="MODE"),
    )

    content = await render(parts, bench.workspace, ReadLog(), bench.secrets.masked, masks=bench.secrets.masks)

    said = "".join(block.text for block in content if isinstance(block, TextBlock))
    assert said.count("<context") == len(parts)
    assert shows(said, KEY[13:], *LINES, "Qm5Zx7Wb1N", LONG, "harmless-words") == []


async def test_instructions_that_are_cut_show_no_piece_of_a_secret(bench: MaskedBench) -> None:
    for n in range(0, 100, 30):
        bench.write("AGENTS.md", "x" * (MAX_FILE_CHARS - n) + f" {KEY}\n")
        instructions = RepositoryInstructions(bench.workspace, bench.secrets.masks)
        (found,) = await instructions.of_workspace(Reading())
        assert shows(found.text, KEY) == []


async def test_a_message_of_an_editor_that_is_cut_shows_no_piece_of_a_secret(bench: MaskedBench) -> None:
    problem = Problem(line=1, column=1, severity="error", message="x" * 350 + f" {KEY} is no number")
    file = FileProblems(path=bench.folder / "a.txt", problems=(problem,), is_stale=False, is_whole=True)

    (masked,) = await masked_problems([file], bench.secrets.masked)

    assert shows(problems_text([masked], str), KEY) == []


async def test_a_file_too_large_to_be_read_whole_is_searched_without_showing_pieces(bench: MaskedBench) -> None:
    filler = "".join(f"line {n} of a long log that nobody reads\n" for n in range(250_000))
    bench.write("a.log", f"{filler}found {KEY}\n{'x' * 900} found {KEY} {'x' * 900}\n{PEM}found\n")

    said = await bench.call("grep_search", pattern="found", context_lines=15)

    assert "a.log:250001: found {{SECRET" in said
    assert shows(said, KEY, *LINES) == []


async def test_what_a_session_without_masks_was_shown_is_not_what_one_with_masks_is(bench: MaskedBench) -> None:
    bench.write("a.txt", "x" * 1_950 + f" {KEY} " + "y" * 500 + "\n")
    bench.secrets.switch(on=False)
    assert KEY[:40] in await bench.call("read_file", path="a.txt")

    bench.secrets.switch(on=True)

    assert shows(await bench.call("read_file", path="a.txt"), KEY) == []


async def test_after_a_restart_a_value_is_masked_where_it_was_written_before(bench: MaskedBench) -> None:
    bench.write(".env", ENV)
    bench.write("a.md", "the number is 4711.\n")
    shown = await bench.call("read_file", path=".env")
    pin = next(found[0] for found in PLACEHOLDER.finditer(shown) if "_pin_" in found[0])
    again = MaskedBench(bench.folder)
    calls = (
        ToolUseBlock(id="1", name="create_file", input={"path": "b.md", "content": f"the number is {pin}.\n"}),
        ToolUseBlock(id="2", name="move_file", input={"source": "b.md", "destination": "a.md"}),
    )
    again.secrets.recall([Message(role="assistant", content=calls)], again.services.tools)

    assert pin in await again.call("read_file", path="a.md")


@pytest.mark.parametrize("size", [1, 7, 64, 1_000])
async def test_live_output_knows_the_file_of_a_difference_and_a_value_of_several_lines(size: int) -> None:
    live = LiveRedactor(Redactor(find_secrets, key=b"k"))
    text = (
        "diff --git a/.env b/.env\n--- a/.env\n+++ b/.env\n@@ -1,4 +1,4 @@\n-MODE=harmless-words\n--- dashed\n"
        '+MODE=other-words\n+NOTE="first of it\n+second of it\n+third of it"\n MORE=further-words\n'
        "diff --git a/b.txt b/b.txt\n--- a/b.txt\n+++ b/b.txt\n@@ -1 +1 @@\n-MODE_OF=plain-words\n"
    )

    pieces = [await live.feed(text[at : at + size]) for at in range(0, len(text), size)]
    shown = "".join([*pieces, await live.close()])

    hidden = ("harmless-words", "other-words", "first of it", "second of it", "third of it", "further-words")
    assert shows(shown, *hidden) == []
    assert "MODE_OF=plain-words" in shown
    assert shown.count("\n") == text.count("\n")
