"""What a prompt that is being written can go on with."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pygent_ls.agent.ports.editor_state import NoEditor
from pygent_ls.agent.rules.rule import Rule
from pygent_ls.secrets.finder import find_secrets
from pygent_ls.secrets.redactor import Redactor
from pygent_ls.sessions.completion import LISTING_S, MAX_ITEMS, MAX_TYPED_CHARS, Completions, best
from tests.fakes import FakeClock, say
from tests.sessions.shelf import Shelf


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = (tmp_path / "project").resolve()
    for name in ("src/parser.py", "src/printer.py", "tests/test_parser.py", "a b.txt", "build/out.py", ".env"):
        (made / name).parent.mkdir(parents=True, exist_ok=True)
        (made / name).write_text("x")
    (made / ".gitignore").write_text("build/\n")
    return made


class Writing:
    """Somebody writes a prompt."""

    def __init__(self, shelf: Shelf) -> None:
        self.shelf = shelf
        self.clock = FakeClock()
        self.completions = Completions(self.clock)

    async def at(self, text: str) -> tuple[list[str], str]:
        """What is offered at the end of the text, as it would be inserted, and what it takes the place of."""
        found = await self.completions.complete(text, self.shelf.sessions.commands, self.shelf.session)
        return [item.insert_text for item in found.items], text[found.start :]


@pytest.mark.parametrize(
    ("text", "first", "replaced"),
    [
        ("/red", "/redo", "/red"),
        ("/ckp", "/checkpoint ", "/ckp"),
        ("  /mod", "/mode ", "/mod"),
        ("/mode acc", "accept_edits", "acc"),
        ("/checkpoint re", "restore", "re"),
        ("/export mark", "markdown", "mark"),
        ("/export markdown pars", "src/parser.py", "pars"),
        ("/model f", "fake/model", "f"),
        ("/agent re", "review", "re"),
        ("/help mod", "mode", "mod"),
        ("/load pri", "src/printer.py", "pri"),
        ("see @pars", "@src/parser.py", "@pars"),
        ("see @tp", "@tests/test_parser.py", "@tp"),
        ("(@src/pr", "@src/printer.py", "@src/pr"),
        ('@"a b', '@"a b.txt"', '@"a b'),
        ("@ab", '@"a b.txt"', "@ab"),
        ("@diag", "@diagnostics", "@diag"),
        ("@agent-rev", "@agent-review", "@agent-rev"),
    ],
)
async def test_the_best_way_to_go_on_is_first(folder: Path, text: str, first: str, replaced: str) -> None:
    offered, taken = await Writing(Shelf(folder)).at(text)

    assert (offered[0], taken) == (first, replaced)


@pytest.mark.parametrize("text", ["", "words", "mail@exam", "not /und", "/nothing x", "/undo x", "/mode plan ", "@zzz"])
async def test_where_nothing_is_meant_nothing_is_offered(folder: Path, text: str) -> None:
    offered, _ = await Writing(Shelf(folder)).at(text)

    assert offered == []


async def test_what_git_ignores_and_what_a_rule_keeps_from_being_read_is_not_offered(folder: Path) -> None:
    rule = Rule(text="read_file(**/.env)", decision="deny", origin="user")

    open_to_all, _ = await Writing(Shelf(folder)).at("@")
    denied, _ = await Writing(Shelf(folder, rules=[rule])).at("@")

    assert "@build/out.py" not in open_to_all
    assert set(open_to_all) - set(denied) == {"@.env"}
    assert denied[:4] == ["@diagnostics", "@selection", "@buffer", "@diff"]


async def test_files_that_the_user_works_with_are_first(folder: Path) -> None:
    for name in ("parser_of_all.py", "zebra.py"):
        (folder / name).write_text("x")
    works_with = ("zebra.py", "tests/test_parser.py", "../elsewhere.py", "build/out.py", ".env")
    editor = NoEditor(recent=[(folder / name).resolve() for name in works_with])
    writing = Writing(
        Shelf(folder, editor=editor, rules=[Rule(text="read_file(**/.env)", decision="deny", origin="user")])
    )

    assert (await writing.at("@"))[0][:3] == ["@zebra.py", "@tests/test_parser.py", "@diagnostics"]
    assert (await writing.at("@pars"))[0] == ["@tests/test_parser.py", "@src/parser.py", "@parser_of_all.py"]
    assert (await writing.at("@pri"))[0] == ["@src/printer.py"]


async def test_a_word_that_is_typed_is_before_the_files_that_the_user_works_with(folder: Path) -> None:
    (folder / "diff.py").write_text("x")
    writing = Writing(Shelf(folder, editor=NoEditor(recent=[folder / "diff.py"])))

    assert (await writing.at("@diff"))[0] == ["@diff", "@diff.py"]


async def test_sessions_and_turns_are_offered_by_what_they_are_about(folder: Path) -> None:
    shelf = Shelf(folder, [say("one"), say("two")])
    await shelf.say("first")
    await shelf.say("second")
    await shelf.text("/session fork")
    writing = Writing(shelf)

    loads, _ = await writing.at("/session load ")
    found = await writing.completions.complete("/session fork ", shelf.sessions.commands, shelf.session)

    assert loads == [shelf.sessions.all()[1].id]
    assert [(item.insert_text, item.detail) for item in found.items] == [("1", "first"), ("2", "second")]


async def test_own_commands_and_aliases_are_offered_with_the_others(folder: Path) -> None:
    shelf = Shelf(folder)
    shelf.write_command("zap", "Zap $1.")
    shelf.aliases["zip"] = "/help"
    writing = Writing(shelf)

    assert await writing.at("/z") == (["/zap ", "/zip "], "/z")
    assert (await writing.at("/zap par"))[0][0] == "src/parser.py"


async def test_a_file_that_was_made_is_offered_a_moment_later(folder: Path) -> None:
    writing = Writing(Shelf(folder))
    await writing.at("@")
    (folder / "fresh.txt").write_text("x")

    at_once, _ = await writing.at("@fresh")
    writing.clock.advance(LISTING_S)
    later, _ = await writing.at("@fresh")

    assert (at_once, later) == ([], ["@fresh.txt"])


async def test_no_more_is_offered_than_a_list_shows(folder: Path) -> None:
    for number in range(MAX_ITEMS + 20):
        (folder / f"many-{number}.txt").write_text("x")

    offered, _ = await Writing(Shelf(folder)).at("@many")

    assert len(offered) == MAX_ITEMS


def test_a_word_that_is_longer_than_any_name_is_looked_for_nowhere() -> None:
    name = "a" * MAX_TYPED_CHARS

    assert best(name, [name, f"{name}a"], key=str) == [name, f"{name}a"]
    assert best(f"{name}a", [f"{name}a"], key=str) == []


async def test_what_is_told_of_a_way_to_go_on_shows_no_secret(folder: Path) -> None:
    key = "AKIA" + "Q3EGW7MJ5NPXU4TR"
    shelf = Shelf(folder, redactor=Redactor(find_secrets, key=b"k"))
    shelf.write_command("zap", f"---\ndescription: use {key}\n---\nGo.")
    shelf.aliases["zip"] = f"Say\n{key}"

    found = await Completions().complete("/z", shelf.sessions.commands, shelf.session)

    assert [each.label for each in found.items] == ["/zap", "/zip"]
    assert [each.detail.partition("{{SECRET_")[0] for each in found.items] == ["use ", "alias for `Say "]


@given(st.text(alphabet="ab/._-", max_size=6), st.lists(st.text(alphabet="abAB/._-", min_size=1, max_size=12)))
def test_all_that_have_the_letters_in_their_order_are_found_once(typed: str, names: list[str]) -> None:
    def has(name: str) -> bool:
        rest = iter(name.lower())
        return all(letter in rest for letter in typed)

    assert sorted(best(typed, names, key=str)) == sorted(name for name in names if has(name))
