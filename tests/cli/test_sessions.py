"""`pygent-ls sessions`: what is kept, from the command line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pygent_ls.agent.events import Finished, ToolResult
from pygent_ls.agent.messages import Message, TextBlock, ToolResultBlock, ToolUseBlock, Usage
from pygent_ls.agent.ports.workspace import FileChange
from pygent_ls.cli.main import _parser  # pyright: ignore[reportPrivateUsage]
from pygent_ls.cli.sessions import MAX_FILE_BYTES, run_command
from pygent_ls.cli.sessions_format import local
from pygent_ls.cli.sessions_options import FORMATS
from pygent_ls.editors.lsp.protocol.sessions import SessionOut
from pygent_ls.errors import SessionError
from pygent_ls.sessions.event_stream import SessionEvent
from pygent_ls.sessions.export.exporter import ExportFormat
from pygent_ls.sessions.journal.folder import JournalFolder
from pygent_ls.sessions.journal.records import Begun, Record, Said, Spent, Told
from pygent_ls.sessions.saved_format.reader import read_saved
from pygent_ls.sessions.saved_format.writer import SavedSession, saved_text
from pygent_ls.sessions.titles import UNNAMED
from pygent_ls.workspace.git.session_worktrees import data_folder
from tests.e2e.command_line import COMMAND, WAIT_S, clean_environment, run
from tests.sessions.index.journals import state

WHEN = datetime(2026, 11, 22, 9, 0, tzinfo=UTC)

SPENT = Usage(input_tokens=1_000, output_tokens=234, cost_usd=0.0123)

SECRET = "AKIA" + "Q3EGW7MJ5NPXU4TR"


def conversation(words: str = "Mend the parser", answer: str = "It is mended.") -> list[Message]:
    call = ToolUseBlock(id="c1", name="edit_file", input={"path": "a.py", "old": "x"})
    failed = ToolUseBlock(id="c2", name="shell", input={"command": "make\ntest"})
    return [
        Message(
            role="user",
            content=(TextBlock(text="all of a.py", from_outside=True), TextBlock(text=words)),
            turn_id="t1",
            timestamp=WHEN,
        ),
        Message(role="assistant", content=(TextBlock(text="Looking."), call, failed), turn_id="t1", timestamp=WHEN),
        Message(
            role="user",
            content=(
                ToolResultBlock(tool_use_id="c1", content="Edited."),
                ToolResultBlock(tool_use_id="c2", content="no rule\nto make", is_error=True),
            ),
            turn_id="t1",
            timestamp=WHEN,
        ),
        Message(role="assistant", content=answer, turn_id="t1", timestamp=WHEN),
    ]


class Place:
    """A home with kept sessions, and the command in one of two folders."""

    def __init__(self, root: Path, output: Callable[[], tuple[str, str]]) -> None:
        self.root = root
        self.here, self.there = root / "here", root / "there"
        for each in (self.here, self.there):
            each.mkdir()
        self.journals = JournalFolder(root / "state" / "pygent-ls" / "sessions")
        self._output = output

    def keep(
        self,
        session_id: str,
        *,
        name: str = "Mend the parser",
        minutes: int = 0,
        folder: Path | None = None,
        messages: Sequence[Message] | None = None,
    ) -> str:
        """A session that was used last so many minutes after the others."""
        said = conversation() if messages is None else messages
        at = WHEN + timedelta(minutes=minutes)
        change = FileChange(
            path=self.here / "a.py", kind="edit", added=2, removed=1, patch="@@ -1 +1,2 @@\n-x\n+<b>\n+z\n"
        )
        result = ToolResult(
            tool_id="c1",
            tool_name="edit_file",
            content="Edited.",
            is_error=False,
            cached=False,
            truncated=False,
            duration_s=0.0,
            changes=(change,),
        )
        events = [result, Finished(stop_reason="end_turn", usage=SPENT, files_changed=())] if said else []
        records: list[Record] = [state(name, at=at, mode="default")]
        records += [
            Said(index=n, message=each) for n, each in enumerate(conversation() if messages is None else messages)
        ]
        records += [
            Told(
                event=SessionEvent(
                    event=event, seq=n, turn_id="t1", iteration=1, total_tokens=0, timestamp=at, parent_tool_id=None
                )
            )
            for n, event in enumerate(events, 1)
        ]
        if said:
            records.append(Spent(at=at, usage=SPENT, last_turn=SPENT))
        begun = Begun(id=session_id, created=WHEN, working_directory=folder or self.here)
        journal = self.journals.create(begun)
        journal.append(records)
        journal.close()
        return session_id

    def run(self, *arguments: str) -> tuple[int, str, str]:
        """The exit code, standard output and standard error."""
        given = _parser().parse_args(["sessions", *arguments])
        code = run_command(given)
        out, err = self._output()
        return code, out, err

    def out(self, *arguments: str) -> str:
        """What a run that goes well writes."""
        code, out, _ = self.run(*arguments)
        assert code == 0
        return out

    def json(self, *arguments: str) -> Any:
        return json.loads(self.out(*arguments, "--json"))

    def ids(self, *arguments: str) -> list[str]:
        return [each["sessionId"] for each in self.json("list", *arguments)]

    def fails(self, *arguments: str) -> str:
        """What a run says that goes wrong."""
        code, out, err = self.run(*arguments)
        assert (code, out) == (1, "")
        return err.strip()


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Place:
    for name in ("CONFIG", "STATE", "DATA", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))

    def output() -> tuple[str, str]:
        out, err = capsys.readouterr()
        return out, err

    made = Place(tmp_path.resolve(), output)
    monkeypatch.chdir(made.here)
    return made


# Lists


def test_the_sessions_of_a_folder_are_listed_the_last_one_used_first(place: Place) -> None:
    place.keep("a" * 32, minutes=1)
    place.keep("b" * 32, name="Other \x1b[31mthings", minutes=3)
    place.keep("c" * 32, minutes=2, folder=place.there)

    code, out, err = place.run("list")

    first, second = local(WHEN + timedelta(minutes=3)), local(WHEN + timedelta(minutes=1))
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        "ID        USED              MESSAGES     COST  NAME",
        f"bbbbbbbb  {first}         4  $0.0123  Other \\x1b[31mthings",
        f"aaaaaaaa  {second}         4  $0.0123  Mend the parser",
    ]
    assert place.ids() == ["b" * 32, "a" * 32]
    assert place.ids("--cwd", str(place.there)) == ["c" * 32]
    assert place.ids("--all") == ["b" * 32, "c" * 32, "a" * 32]
    assert place.ids("--all", "--limit", "2") == ["b" * 32, "c" * 32]
    assert place.ids("--all", "--limit", "0") == ["b" * 32, "c" * 32, "a" * 32]
    assert place.out("list", "--all").splitlines()[2].endswith(f"Mend the parser  {place.there}")


def test_sessions_in_which_nothing_was_said_are_not_listed_and_can_be_shown(place: Place) -> None:
    place.keep("a" * 32, name=UNNAMED, messages=())
    place.keep("b" * 32, name="For tomorrow", messages=())
    place.keep("c" * 32, name=UNNAMED, minutes=1)

    assert place.ids() == ["c" * 32, "b" * 32]
    assert place.json("show", "aaaa")["messages"] == []


def test_a_long_name_is_shown_by_its_beginning(place: Place) -> None:
    place.keep("a" * 32, name="word " * 1_000)

    row = place.out("list").splitlines()[1]
    assert row.endswith("word word…")
    assert len(row) < 200


def test_what_is_not_shown_is_said(place: Place) -> None:
    assert place.run("list") == (
        0,
        "",
        f"There are no sessions of {place.here}; --all shows other folders.\n",
    )
    assert place.run("list", "--all") == (0, "", "There are no sessions.\n")
    assert place.run("list", "--trash") == (0, "", "The trash is empty.\n")
    place.keep("a" * 32)
    place.keep("b" * 32)
    assert place.run("list", "--limit", "1")[2] == "There are more. Use --limit to show more than 1.\n"


def test_a_list_for_programs_is_as_the_wire_has_it(place: Place) -> None:
    place.keep("a" * 32)

    (session,) = place.json("list")

    assert set(session) == set(SessionOut.__annotations__) - {"worktree"}
    assert (session["cwd"], session["messageCount"], session["lastSeq"]) == (str(place.here), 4, 2)
    assert session["usage"]["totalTokens"] == 1_234


def test_a_list_for_programs_names_the_worktree_of_a_session(place: Place) -> None:
    place.keep("a" * 32, folder=data_folder() / "project" / "sums" / "src")
    (session,) = place.json("list", "--all")
    assert session["worktree"] == "sums"


def test_ids_are_shown_as_far_as_it_takes_to_tell_them_apart(place: Place) -> None:
    place.keep("a" * 31 + "1")
    place.keep("a" * 31 + "2")
    assert [line.split()[0] for line in place.out("list").splitlines()[1:]] == ["a" * 31 + "2", "a" * 31 + "1"]


def test_a_session_that_a_daemon_has_open_is_marked(place: Place) -> None:
    place.keep("a" * 32)
    journal = place.journals.take("a" * 32)
    assert place.out("list").splitlines()[1].endswith("Mend the parser (open)")
    journal.close()
    assert place.out("list").splitlines()[1].endswith("Mend the parser")


# One


def test_a_conversation_is_shown_with_its_turns_calls_and_cost(place: Place) -> None:
    place.keep("a" * 32, messages=[*conversation(), Message(role="user", content="more \x1b]0;x", turn_id="t2")])

    code, out, err = place.run("show", "aaaa")

    assert (code, err) == (0, "")
    shown = out.splitlines()
    assert shown[:3] == [
        "Mend the parser",
        f"{'a' * 32} · {place.here}",
        f"{local(WHEN)} – {local(WHEN)} · fake/model · default · 1,234 tokens, $0.0123",
    ]
    assert shown[3:14] == [
        "",
        f"You · {local(WHEN)}",
        "[attached: all of a.py]",
        "Mend the parser",
        "",
        "pygent",
        "Looking.",
        "  edit_file a.py · +2 −1",
        "  shell make test · no rule to make",
        "It is mended.",
        "[end_turn · 1,234 tokens, $0.0123]",
    ]
    assert shown[-1] == "more \\x1b]0;x"


def test_a_conversation_for_programs_has_its_messages(place: Place) -> None:
    place.keep("a" * 32)
    loaded = place.json("show", "a" * 32)
    assert [each["role"] for each in loaded["messages"]] == ["user", "assistant", "user", "assistant"]
    assert (loaded["sessionId"], loaded["notices"]) == ("a" * 32, [])


def test_damage_is_said_and_the_rest_is_shown(place: Place) -> None:
    place.keep("a" * 32)
    with (place.journals.root / f"{'a' * 32}.jsonl").open("ab") as file:
        file.write(b"rubbish\n")
    code, out, err = place.run("show", "a" * 32)
    assert code == 0
    assert "It is mended." in out
    assert "1 line damaged" in err


def test_a_session_is_found_by_the_beginning_of_its_id_or_by_its_name_if_it_is_the_only_one(place: Place) -> None:
    place.keep("abc1" + "0" * 28, name="One")
    place.keep("abc2" + "0" * 28, name="Two")
    place.keep("d" * 32, name="Two")

    assert place.json("show", "abc1")["name"] == "One"
    assert place.json("show", "One")["name"] == "One"
    assert place.fails("show", "abc") == f"pygent-ls: 'abc' matches 2 sessions: abc1{'0' * 28}, abc2{'0' * 28}"
    assert "matches 2 sessions" in place.fails("show", "Two")
    for wanted in ("nothing", "", "../x"):
        assert f"no session with the id or name {wanted!r}" in place.fails("show", wanted)


# Search


def test_turns_are_found_by_their_words(place: Place) -> None:
    place.keep("a" * 32, messages=conversation("about zebras", "They are striped."))
    place.keep("b" * 32, messages=conversation("about zebras", "They are black."), folder=place.there)

    assert place.out("search", "zebras", "striped").splitlines() == [
        "aaaaaaaa  Mend the parser",
        "    about zebras Looking. They are striped.",
    ]
    (found,) = place.json("search", "zebras black")
    assert (found["sessionId"], found["turnId"], set(found)) == (
        "b" * 32,
        "t1",
        {"sessionId", "name", "turnId", "snippet", "score"},
    )
    assert [each["sessionId"] for each in place.json("search", '"are black"')] == ["b" * 32]
    assert place.fails("search", "striped black") == "No turn contains all of: striped black"
    assert len(place.json("search", "zebras", "--limit", "1")) == 1


# Export


@pytest.mark.parametrize(
    ("form", "begins"),
    [
        ("markdown", "## User\n\nall of a.py"),
        ("json", '{\n "version": 1,\n'),
        ("xml", '<conversation>\n<message role="user">'),
        ("plain", "User: all of a.py"),
        ("html", "<!DOCTYPE html>"),
    ],
)
def test_a_session_that_a_daemon_has_open_is_exported(place: Place, form: str, begins: str) -> None:
    place.keep("a" * 32)
    journal = place.journals.take("a" * 32)
    text = place.out("export", "a" * 32, "--format", form)
    journal.close()
    assert text.startswith(begins)
    assert "It is mended." in text


def test_a_page_shows_what_was_changed(place: Place) -> None:
    place.keep("a" * 32)
    page = place.out("export", "a" * 32, "--format", "html")
    assert "<b>a.py</b> edit" in page
    assert '<span class="add">+&lt;b&gt;</span>' in page


def test_an_export_is_written_to_a_file_that_is_not_there_yet(place: Place) -> None:
    place.keep("a" * 32)
    code, out, err = place.run("export", "a" * 32, "-o", "x.md")
    assert (code, out, err) == (0, "", "Wrote Mend the parser to x.md.\n")
    assert (place.here / "x.md").read_text().startswith("## User")
    (place.here / "x.md").write_text("mine")

    assert "x.md already exists" in place.fails("export", "a" * 32, "-o", "x.md")
    assert (place.here / "x.md").read_text() == "mine"
    place.out("export", "a" * 32, "-o", "x.md", "--force")
    assert (place.here / "x.md").read_text() != "mine"
    assert "nowhere/x.md cannot be written" in place.fails("export", "a" * 32, "-o", "nowhere/x.md")


@pytest.mark.parametrize("arguments", [("list", "--json"), ("export", "aaaa", "--format", "html")])
def test_what_programs_and_files_get_is_utf_8_whatever_the_locale_says(
    place: Place, arguments: tuple[str, ...]
) -> None:
    place.keep("a" * 32, name="café 日本")

    done = subprocess.run(
        [*COMMAND, "sessions", *arguments],
        env={**clean_environment(place.root), "PYTHONIOENCODING": "latin-1"},
        cwd=place.here,
        stdout=subprocess.PIPE,
        timeout=WAIT_S,
        check=True,
    )

    assert "café 日本" in done.stdout.decode()


def test_the_formats_are_those_that_there_are() -> None:
    assert get_args(ExportFormat) == FORMATS


# Import


def test_an_export_is_imported_as_a_session_of_its_own(place: Place) -> None:
    place.keep("a" * 32, folder=place.there)
    place.out("export", "a" * 32, "--format", "json", "-o", "x.json")

    code, out, err = place.run("import", "x.json")

    new = out.strip()
    assert (code, err) == (0, "Mend the parser was imported: 4 messages.\n")
    assert place.journals.recall(new).messages == tuple(
        Message(role=each.role, content=each.blocks, turn_id=each.turn_id, timestamp=each.timestamp)
        for each in place.journals.recall("a" * 32).messages
    )
    assert place.journals.recall(new).usage.total_tokens == 1_234
    assert place.ids("--all") == [new, "a" * 32]
    assert place.ids("--cwd", str(place.there)) == [new, "a" * 32]
    moved = place.out("import", "x.json", "--cwd", ".").strip()
    assert place.ids() == [moved]
    place.journals.take(new).close()


def test_a_session_is_imported_from_standard_input_without_its_secrets(place: Place) -> None:
    saved = SavedSession(
        id="x",
        name="",
        created=WHEN,
        updated=WHEN,
        working_directory="/gone",
        agent="",
        model="",
        messages=tuple(conversation(f"Mend it: aws_access_key_id={SECRET}", SECRET)),
        usage=Usage(),
    )

    done = run(
        *("sessions", "import", "-"), environment=clean_environment(place.root), cwd=place.here, stdin=saved_text(saved)
    )

    assert done.returncode == 0
    recalled = place.journals.recall(done.stdout.strip())
    assert (recalled.name[:9], recalled.working_directory) == ("Mend it: ", place.here)
    assert done.stderr == f"{recalled.name} was imported: 4 messages.\n"
    assert SECRET not in (place.journals.root / f"{recalled.id}.jsonl").read_text()


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "x.json is not a saved session: it is not JSON"),
        (b"\xff\xfe", "x.json is not a saved session: it is not UTF-8."),
        (b'{"version": 9}', "its `version` is 9, but this program reads 1"),
        (b'{"version": 1, "id": "x"}', "name: it is missing"),
        (b'{"type": "user", "message": {}}\n{"type": "assistant"}\n', "x.json is not a saved session: it is not JSON"),
    ],
)
def test_what_is_no_saved_session_is_told_and_nothing_kept(place: Place, content: bytes, problem: str) -> None:
    (place.here / "x.json").write_bytes(content)
    assert problem in place.fails("import", "x.json")
    assert place.journals.ids() == set()


def test_a_file_that_is_nested_deep_is_told_and_nothing_kept(place: Place) -> None:
    for depth in (101, 700, 990, 100_000):
        for before, after in (("[", "]"), ('{"a":', "}")):
            nested = f"{before * depth}1{after * depth}"
            call = f'{{"type": "tool_use", "id": "1", "name": "x", "input": {{"a": {nested}}}}}'
            (place.here / "x.json").write_text(saved_with(call))
            assert "nested" in place.fails("import", "x.json")
            (place.here / "x.json").write_text(f'{{"version": {nested}}}')
            assert len(place.fails("import", "x.json")) < 1_000
    assert place.journals.ids() == set()


def test_what_has_no_end_or_no_writer_is_told_and_not_waited_for(place: Place) -> None:
    os.mkfifo(place.here / "pipe")

    for endless in ("pipe", "/dev/zero"):
        assert place.fails("import", endless).endswith(f"{endless} cannot be read: not a regular file.")
    with (place.here / "x.json").open("wb") as file:
        file.truncate(MAX_FILE_BYTES + 1)
    assert place.fails("import", "x.json").endswith("x.json is longer than 50 MB.")
    assert place.journals.ids() == set()


def saved_with(call: str) -> str:
    """A session with this call and its result, as text, since what is nested deep cannot be dumped."""
    moment = '"timestamp": "2024-01-01T00:00:00Z"'
    result = '{"type": "tool_result", "toolUseId": "1", "content": "x"}'
    messages = (
        f'{{"role": "user", "content": "go", {moment}}}',
        f'{{"role": "assistant", "content": [{call}], {moment}}}',
        f'{{"role": "user", "content": [{result}], {moment}}}',
    )
    begun = '"created": "2024-01-01T00:00:00Z", "updated": "2024-01-01T00:00:00Z"'
    return f'{{"version": 1, "id": "i", "name": "n", {begun}, "messages": [{", ".join(messages)}]}}'


ODD: st.SearchStrategy[object] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**400), 10**400)
    | st.floats()
    | st.text(alphabet=st.characters(codec=None), max_size=20)
    | st.sampled_from(["x" * 100_000, "\ud800" * 50, "\x00"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
PLACES = ["version", "id", "name", "created", "messages", "metadata", "agent", "model", "working_directory", "more"]


@given(where=st.sampled_from(PLACES), odd=ODD)
def test_whatever_a_file_holds_it_is_a_session_or_an_error_says_what_is_wrong(where: str, odd: object) -> None:
    content = json.loads(saved_with('{"type": "tool_use", "id": "1", "name": "x", "input": {}}'))

    for text in (json.dumps({**content, where: odd}), saved_with(json.dumps(odd)).replace('"x"', json.dumps(odd), 1)):
        said = problem_of(text)
        assert not said or said.startswith("x.json is not a saved session: ")
        assert len(said) < 2_000


def problem_of(text: str) -> str:
    try:
        read_saved(text, "x.json")
    except SessionError as error:
        return str(error)
    return ""


def test_what_cannot_be_read_is_told(place: Place) -> None:
    assert place.fails("import", "x.json") == "pygent-ls: x.json cannot be read: No such file or directory."
    with pytest.raises(SystemExit) as ended:
        place.run("import", "x.json", "--cwd", "nowhere")
    assert ended.value.code == 2


def test_where_no_session_is_kept_none_is_imported(place: Place) -> None:
    own = place.root / "config" / "pygent-ls"
    own.mkdir(parents=True)
    (own / "config.toml").write_text("persist_sessions = false\n")
    assert "persist_sessions = false" in place.fails("import", "x.json")


# The trash


def test_deleted_sessions_are_in_the_trash_and_come_back(place: Place) -> None:
    for each in "abc":
        place.keep(each * 32, name=f"The {each}")

    code, out, err = place.run("delete", "aaa", "The b", "a" * 32)

    assert (code, out) == (0, "")
    assert err.splitlines()[0] == (
        f"{'a' * 32} was moved to the trash for 30 days. To restore it: pygent-ls sessions restore {'a' * 32}"
    )
    assert place.ids() == ["c" * 32]
    assert {each["sessionId"] for each in place.json("list", "--trash")} == {"a" * 32, "b" * 32}
    assert f"'aaaa' is in the trash. To restore it: pygent-ls sessions restore {'a' * 4}" in place.fails("show", "aaaa")
    assert place.run("restore", "aaaa") == (0, "", f"{'a' * 32} was restored.\n")
    assert place.run("restore", "The b") == (0, "", f"{'b' * 32} was restored.\n")
    assert set(place.ids()) == {"a" * 32, "b" * 32, "c" * 32}
    assert "There is no session in the trash" in place.fails("restore", "aaaa")


def test_what_a_daemon_has_open_is_not_deleted_and_the_others_are(place: Place) -> None:
    for each in "ab":
        place.keep(each * 32)
    journal = place.journals.take("a" * 32)

    code, _, err = place.run("delete", "a", "b")
    journal.close()

    assert code == 1
    assert f"The session '{'a' * 32}' is in use by another pygent-ls (process {os.getpid()} on " in err
    assert place.ids() == ["a" * 32]


def test_where_one_of_several_is_unknown_none_is_deleted(place: Place) -> None:
    place.keep("a" * 32)
    assert "no session with the id" in place.fails("delete", "a", "x")
    assert place.ids() == ["a" * 32]


def test_the_trash_is_listed_with_when_it_ends(place: Place) -> None:
    place.keep("a" * 32)
    place.run("delete", "a")
    place.journals.trash.root.joinpath("b.jsonl").write_text("damaged")
    (shown,) = [each for each in place.journals.trash.listed() if each.id == "a" * 32]

    lines = place.out("list", "--trash").splitlines()

    assert lines[0].startswith("ID" + " " * 8)
    ours = f"{'a' * 8}  {local(shown.deleted_at)}         4  $0.0123  Mend the parser (until {local(shown.gone_at)})"
    assert f"{ours}  {place.here}" in lines
    assert any("(cannot be read)" in line for line in lines)


# As a process


def test_whoever_stops_reading_is_no_error(place: Place) -> None:
    place.keep("a" * 32, messages=conversation("x\n" * 200_000))
    process = subprocess.Popen(
        [*COMMAND, "sessions", "show", "a" * 32],
        env=clean_environment(place.root),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=place.here,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdout.readline() == b"Mend the parser\n"
    process.stdout.close()
    assert (process.wait(WAIT_S), process.stderr.read()) == (0, b"")
    process.stderr.close()


def test_a_list_loads_neither_models_nor_settings() -> None:
    code = "import pygent_ls.cli.sessions, sys; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=WAIT_S)
    heavy = {"pydantic", "litellm", "aiohttp", "pygls", "lsprotocol", "mcp", "sqlite3", "pygent_ls.config.settings"}
    assert heavy.isdisjoint(loaded.stdout.split())
