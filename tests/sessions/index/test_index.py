"""What the index finds is what the journals say, whatever has happened to either."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given
from hypothesis import strategies as st

from pygent_ls.agent.messages import TextBlock, ToolResultBlock, ToolUseBlock, Usage
from pygent_ls.errors import SessionError
from pygent_ls.sessions.index.entries import SessionEntry
from pygent_ls.sessions.index.index import Index
from pygent_ls.sessions.index.query import query_of
from pygent_ls.sessions.index.search import FoundTurn, search
from pygent_ls.sessions.index.sources import FolderSource, MemorySource
from pygent_ls.sessions.index.tables import EntryFilter, Tables
from pygent_ls.sessions.journal.files import MemoryJournal
from pygent_ls.sessions.journal.folder import JournalFolder
from tests.fakes import FOLDER, bounded
from tests.sessions.index.journals import START, Writing, written
from tests.sessions.index.rig import indexed


def recalled(journals: JournalFolder) -> Mapping[str, SessionEntry]:
    """The sessions that can be loaded, as they are when they are."""
    entries: dict[str, SessionEntry] = {}
    for path in journals.root.glob("*.jsonl"):
        try:
            session = journals.recall(path.stem)
        except SessionError:
            continue
        entries[path.stem] = SessionEntry.of(session, is_interrupted=session.is_interrupted)
    return entries


# What a session is


async def test_a_session_is_listed_as_its_journal_has_it(tmp_path: Path) -> None:
    async with indexed(tmp_path) as rig:
        written(rig.journals, "one", ("hello", "hi"), ("more", "of it"), name="A talk")

        assert await rig.listed() == {
            "one": SessionEntry(
                id="one",
                name="A talk",
                working_directory=FOLDER,
                created_at=START,
                updated_at=START + timedelta(hours=2),
                agent="default",
                model="fake/model",
                mode="plan",
                usage=Usage(input_tokens=2),
                n_messages=4,
                last_seq=6,
            )
        }
        assert await rig.listed() == recalled(rig.journals)


async def test_what_is_appended_is_seen_by_the_next_who_ask(tmp_path: Path) -> None:
    async with indexed(tmp_path) as rig:
        session = Writing(rig.journals, "one")
        session.turn("tell me", "The zygote question")
        before = await rig.listed(), await rig.found("zygote"), await rig.found("settled")
        session.turn("go on", "is settled")
        session.rename("Biology")
        after = await rig.listed(), await rig.found("zygote"), await rig.found("settled")

        assert ([each.n_messages for each in before[0].values()], before[1:]) == ([2], ([("one", "turn-1")], []))
        assert [(each.n_messages, each.name) for each in after[0].values()] == [(4, "Biology")]
        assert after[1:] == ([("one", "turn-1")], [("one", "turn-2")])
        session.close()


async def test_a_session_that_is_gone_is_not_found(tmp_path: Path) -> None:
    async with indexed(tmp_path) as rig:
        written(rig.journals, "one", ("zygote",))
        written(rig.journals, "two", ("zygote",))
        await rig.listed()
        rig.journals.throw_away("one")

        assert list(await rig.listed()) == ["two"]
        assert await rig.found("zygote") == [("two", "turn-1")]


async def test_another_journal_in_place_of_one_is_read_anew(tmp_path: Path) -> None:
    async with indexed(tmp_path) as rig:
        written(rig.journals, "one", ("zygote", "first"))
        written(rig.journals, "two", ("other", "second"), ("and", "third"), name="Longer")
        await rig.listed()
        (tmp_path / "one.jsonl").write_bytes((tmp_path / "two.jsonl").read_bytes())

        assert await rig.listed() == recalled(rig.journals)
        assert await rig.found("zygote") == []
        assert set(await rig.found("third")) == {("one", "turn-2"), ("two", "turn-2")}


async def test_a_journal_that_became_shorter_is_read_anew(tmp_path: Path) -> None:
    async with indexed(tmp_path) as rig:
        written(rig.journals, "one", ("zygote", "first"), ("and", "second"))
        await rig.listed()
        lines = (tmp_path / "one.jsonl").read_bytes().splitlines(keepends=True)
        (tmp_path / "one.jsonl").write_bytes(b"".join(lines[: len(lines) // 2]))

        assert await rig.listed() == recalled(rig.journals)
        assert (await rig.found("zygote"), await rig.found("second")) == ([("one", "turn-1")], [])


async def test_a_turn_that_was_cut_off_is_known_and_while_a_daemon_has_it_it_runs(tmp_path: Path) -> None:
    async with indexed(tmp_path) as rig:
        session = Writing(rig.journals, "one")
        session.begin("go")
        session.say("assistant", "Looking.", ToolUseBlock(id="a", name="read_file", input={}))
        running = await rig.listed()
        session.close()
        cut = await rig.listed()

        assert (running["one"].is_interrupted, running["one"].n_messages) == (False, 2)
        assert (cut["one"].is_interrupted, cut["one"].n_messages) == (True, 3)
        assert cut == recalled(rig.journals)


# What is found


async def test_words_of_the_user_and_the_model_are_found_and_not_what_tools_returned(tmp_path: Path) -> None:
    async with indexed(tmp_path) as rig:
        session = Writing(rig.journals, "one")
        session.begin("the question")
        session.say("user", TextBlock(text="attached", from_outside=True))
        session.say("assistant", "Looking.", ToolUseBlock(id="a", name="read_file", input={"path": "secret"}))
        session.say("user", ToolResultBlock(tool_use_id="a", content="returned"))
        session.say("assistant", "the answer")
        session.finish()
        session.close()

        assert await rig.found("question answer looking") == [("one", "turn-1")]
        assert [await rig.found(word) for word in ("attached", "secret", "returned", "read_file")] == [[], [], [], []]


async def test_all_words_are_held_by_one_turn_or_by_the_name_of_its_session(tmp_path: Path) -> None:
    async with indexed(tmp_path) as rig:
        written(rig.journals, "one", ("apples", "are red"), ("pears", "are green"), name="Fruit salad")

        assert await rig.found("apples red") == [("one", "turn-1")]
        assert await rig.found("apples green") == []
        assert await rig.found("fruit pears") == [("one", "turn-2")]
        assert await rig.found("salad fruit") == [("one", "turn-1")]
        assert await rig.sessions_with("fruit green") == {"one"}
        assert await rig.sessions_with("uit sal") == {"one"}
        assert await rig.sessions_with("apples green") == set()


async def test_what_holds_a_word_often_or_in_its_name_comes_first(tmp_path: Path) -> None:
    async with indexed(tmp_path) as rig:
        written(rig.journals, "seldom", ("zygote", "and much else that is about entirely other things"))
        written(rig.journals, "often", ("zygote zygote", "zygote"))
        written(rig.journals, "named", ("of cells",), name="Zygotes")
        for number in range(5):
            written(rig.journals, f"other{number}", ("nothing", "of it"))

        found = await rig.found("zygote")

        assert found == [("named", "turn-1"), ("often", "turn-1"), ("seldom", "turn-1")]
        assert await rig.found("zygote", limit=2) == found[:2]


async def test_of_very_many_turns_the_last_ones_are_ranked(tmp_path: Path) -> None:
    async with indexed(tmp_path) as rig:
        written(rig.journals, "best", ("zygote zygote", "zygote"))
        await rig.listed()
        for number in range(4):
            written(rig.journals, f"later{number}", ("zygote", "and what else there is to say"))
        await rig.listed()

        def ranked(most_ranked: int) -> Callable[[Tables], list[FoundTurn]]:
            return lambda tables: search(tables, query_of("zygote"), 20, most_ranked=most_ranked)

        some = await bounded(rig.index.ask(rig.source, ranked(4)))
        every = await bounded(rig.index.ask(rig.source, ranked(5)))

        assert {each.session_id for each in some} == {"later0", "later1", "later2", "later3"}
        assert every[0].session_id == "best"


async def test_a_name_that_was_changed_is_found_and_the_old_one_is_not(tmp_path: Path) -> None:
    async with indexed(tmp_path) as rig:
        session = Writing(rig.journals, "one", name="Apples")
        assert await rig.found("apples") == [("one", "")]
        session.rename("Pears")

        assert (await rig.found("apples"), await rig.found("pears")) == ([], [("one", "")])
        session.close()


async def test_what_was_gone_back_from_is_not_found(tmp_path: Path) -> None:
    async with indexed(tmp_path) as rig:
        session = Writing(rig.journals, "one")
        session.turn("apples", "are red")
        session.turn("pears", "are green")
        await rig.listed()
        session.cut(1)
        session.turn("plums", "are blue")

        assert (await rig.found("red"), await rig.found("pears")) == ([], [])
        assert (await rig.found("apples"), await rig.found("blue")) == ([("one", "turn-1")], [("one", "turn-3")])
        session.close()


async def test_a_session_that_is_in_memory_alone_is_found_by_the_same_words() -> None:
    index = Index(None)
    session = Writing(None, "one", name="Fruit")
    session.turn("apples", "are red")
    journal = session.journal
    assert isinstance(journal, MemoryJournal)

    async def found(read_to: int, query: str) -> list[str]:
        source = MemorySource({"one": journal}, {"one": read_to})
        hits = await bounded(index.ask(source, lambda tables: search(tables, query_of(query), 20)))
        return [each.turn_id for each in hits]

    first = await found(0, "apples")
    read_to = journal.size
    session.turn("pears", "are green")

    assert (first, await found(read_to, "fruit green"), await found(read_to, "apples")) == (
        ["turn-1"],
        ["turn-2"],
        ["turn-1"],
    )
    assert await bounded(index.ask(MemorySource({}, {}), lambda tables: tables.entries(EntryFilter(limit=9)))) == []
    await bounded(index.close())


# Whatever happens

WORDS = ("apple", "pear", "plum", "read_file", "字", "")


@st.composite
def histories(draw: st.DrawFn) -> list[tuple[str, str, int]]:
    """What happens to some sessions: who, what, and a number for it."""
    what = ["turn", "begin", "finish", "rename", "cut", "close", "damage", "truncate", "remove", "ask", "ask"]
    return draw(
        st.lists(st.tuples(st.sampled_from(["one", "two"]), st.sampled_from(what), st.integers(0, 2**16)), max_size=12)
    )


@given(histories())
def test_whatever_happens_the_index_says_what_the_journals_do(history: list[tuple[str, str, int]]) -> None:
    with TemporaryDirectory() as folder:
        asyncio.run(live_through(Path(folder), history))


async def live_through(folder: Path, history: list[tuple[str, str, int]]) -> None:
    async with indexed(folder) as old, indexed(folder / "nowhere") as new:
        new.journals, new.source = old.journals, FolderSource(old.journals)
        live: dict[str, Writing] = {}
        for session_id, what, number in history:
            if what == "ask":
                await old.found("apple")
            elif session_id in live or not (folder / f"{session_id}.jsonl").exists():
                happen(live, old.journals, session_id, what, number)
            else:
                happen_to_file(folder / f"{session_id}.jsonl", what, number)
        for session in live.values():
            session.close()

        assert await old.listed() == await new.listed() == recalled(old.journals)
        for word in filter(None, WORDS):
            assert set(await old.found(word)) == set(await new.found(word))


def happen(live: dict[str, Writing], journals: JournalFolder, session_id: str, what: str, number: int) -> None:
    session = live.get(session_id) or live.setdefault(session_id, Writing(journals, session_id))
    word, other = WORDS[number % len(WORDS)], WORDS[number // 7 % len(WORDS)]
    match what:
        case "turn":
            session.turn(word, other)
        case "begin":
            session.begin(word)
        case "finish":
            session.finish()
        case "rename":
            session.rename(word)
        case "cut":
            session.cut(number % 4)
        case _:
            live.pop(session_id).close()
            happen_to_file(journals.root / f"{session_id}.jsonl", what, number)


def happen_to_file(path: Path, what: str, number: int) -> None:
    data = path.read_bytes()
    at = number % (len(data) + 1)
    match what:
        case "damage":
            path.write_bytes(data[:at] + bytes([number % 256]) + data[at + 1 :])
        case "truncate":
            path.write_bytes(data[:at])
        case "remove":
            path.unlink()
        case _:
            pass
