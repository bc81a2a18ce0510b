"""The whole of a result that was cut stays readable, for the session that it was made in."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pygent_ls.agent.events import ToolCall, ToolResult
from pygent_ls.agent.messages import ToolUseBlock
from pygent_ls.agent.permissions.permissions import RuleDecision, narrowest_rules, subjects_of
from pygent_ls.agent.ports.output_store import Outputs, OutputsInMemory
from pygent_ls.agent.rules.rule import Rule
from pygent_ls.agent.tools.session_secrets import SessionSecrets
from pygent_ls.errors import ToolError
from pygent_ls.secrets.redactor import Redactor
from pygent_ls.tools.files.read_file import MAX_LINE_CHARS, read_file
from tests.agent.abilities import raising, saying
from tests.agent.calls.test_executor import executor_of
from tests.agent.calls.test_secrets import SECRET, finder
from tests.agent.turns import run_turn
from tests.fakes import Call, FakeModel, Rig, bounded, make_rig, say
from tests.sessions.conversation import conversation

LOG = "".join(f"line {n}\n" for n in range(1, 401))


def rig_with(text: str = LOG, *, max_chars: int = 1_000, **changes: Any) -> Rig:
    """A session whose command writes much, and that shows little of it."""
    return make_rig(saying("shell", text), read_file, max_tool_result_chars=max_chars, **changes)


async def called(rig: Rig, name: str, tool_id: str, **arguments: object) -> ToolResult:
    await bounded(executor_of(rig).run(ToolUseBlock(id=tool_id, name=name, input=arguments)))
    return rig.events.of(ToolResult)[-1]


def without_numbers(shown: str) -> list[str]:
    """The lines of a reading, without their numbers and notes."""
    return [line.partition("\t")[2] for line in shown.splitlines() if re.match(r" *\d+\t", line)]


async def test_a_result_that_was_cut_says_how_to_read_the_whole_of_it() -> None:
    rig = rig_with()
    cut = await called(rig, "shell", "call_7")
    assert cut.truncated
    assert cut.content.endswith(
        "[To see the whole result, call read_file with path output:call_7, start_line and end_line.]\n[OUTPUT "
        f"TRUNCATED: Showing 1000 of {len(LOG)} characters from shell]"
    )

    middle = await called(rig, "read_file", "call_8", path="output:call_7", start_line=200, end_line=202)

    assert middle.content == (
        "   200\tline 200\n   201\tline 201\n   202\tline 202\n[Lines 200–202 of 400 in output:call_7.]"
    )


async def test_in_pieces_all_of_it_can_be_read() -> None:
    rig = rig_with("\n".join(["x" * 5_000, "", "é" * MAX_LINE_CHARS, "end"]), max_chars=5_000)
    await called(rig, "shell", "call_1")
    read: list[str] = []
    for n in range(1, 7):
        piece = await called(rig, "read_file", f"r{n}", path="output:call_1", start_line=n, end_line=n)
        assert not piece.truncated
        read += without_numbers(piece.content)
    assert read == ["x" * 2_000, "x" * 2_000, "x" * 1_000, "", "é" * MAX_LINE_CHARS, "end"]


async def test_a_result_that_fits_is_not_kept() -> None:
    rig = rig_with("short")
    assert (await called(rig, "shell", "call_1")).content == "short"
    missing = await called(rig, "read_file", "call_2", path="output:call_1")
    assert missing.is_error
    assert "Only results that were cut are stored" in missing.content


async def test_a_reading_that_is_cut_itself_is_to_be_made_smaller() -> None:
    rig = rig_with()
    await called(rig, "shell", "call_1")
    cut = await called(rig, "read_file", "call_2", path="output:call_1")
    assert "\n[Read fewer lines at a time: start_line, end_line.]\n[OUTPUT TRUNCATED: " in cut.content
    assert (await called(rig, "read_file", "call_3", path="output:call_2")).is_error


async def test_where_there_is_no_read_file_nothing_is_kept_nor_promised() -> None:
    rig = make_rig(saying("shell", LOG), max_tool_result_chars=100)
    cut = await called(rig, "shell", "call_1")
    assert cut.content.endswith("characters from shell]")
    with pytest.raises(ToolError):
        await rig.services.memory.outputs.text_of("output:call_1")


async def test_a_long_error_can_be_read_whole_too() -> None:
    rig = make_rig(raising("shell", ToolError(LOG)), read_file, max_tool_result_chars=1_000)
    await called(rig, "shell", "call_1")
    read = await called(rig, "read_file", "call_2", path="output:call_1", start_line=1, end_line=1)
    assert read.content.startswith("     1\tError: line 1\n")


async def test_another_session_does_not_see_it_not_even_through_the_common_cache() -> None:
    one = rig_with()
    other = rig_with("b" * 2_000)
    other.use(cache=one.services.environment.cache)
    await called(one, "shell", "call_1")
    assert not (await called(one, "read_file", "r", path="output:call_1", end_line=2)).is_error

    assert (await called(other, "read_file", "r", path="output:call_1", end_line=2)).is_error
    await called(other, "shell", "call_1")
    assert "bbb" in (await called(other, "read_file", "r", path="output:call_1", end_line=2)).content


async def test_what_is_kept_has_no_secrets_in_it() -> None:
    rig = rig_with(f"key={SECRET}\n" + LOG)
    rig.use(secrets=SessionSecrets(Redactor(finder, key=b"k"), rig.workspace))
    await called(rig, "shell", "call_1")

    read = await called(rig, "read_file", "r", path="output:call_1", end_line=2)

    assert "     2\tline 1\n" in read.content
    assert SECRET not in await rig.services.memory.outputs.text_of("output:call_1")
    assert SECRET not in read.content


async def test_a_file_of_such_a_name_is_read_by_another_spelling_of_its_path() -> None:
    rig = rig_with(files={"output:x": "a file"})
    assert (await called(rig, "read_file", "r1", path="./output:x")).content == "     1\ta file"
    assert (await called(rig, "read_file", "r2", path="output:x")).is_error


# Permissions


@pytest.mark.parametrize("decision", ["deny", "ask"])
@pytest.mark.parametrize("pattern", ["**", "**/*", "*", "output*"])
async def test_rules_about_files_are_not_about_results(decision: RuleDecision, pattern: str) -> None:
    rig = rig_with(rules=[Rule(text=f"read_file({pattern})", decision=decision, origin="user")])
    await called(rig, "shell", "call_1")
    assert not (await called(rig, "read_file", "r", path="output:call_1", end_line=2)).is_error
    assert rig.approver.requests == []


async def test_where_read_file_is_denied_altogether_results_are_too() -> None:
    rig = rig_with(rules=[Rule(text="read_file", decision="deny", origin="user")])
    await called(rig, "shell", "call_1")
    assert "Permission denied" in (await called(rig, "read_file", "r", path="output:call_1")).content


async def test_a_rule_that_denies_such_a_name_as_a_file_is_not_got_round() -> None:
    rig = rig_with(files={"output:x": "plum"}, rules=[Rule(text="read_file(output:*)", decision="deny", origin="user")])
    for path in ("./output:x", "output:x", "/w/output:x", "a/../output:x"):
        assert "plum" not in (await called(rig, "read_file", "r", path=path)).content


def test_always_allow_on_a_result_stores_nothing() -> None:
    given_path = {"path": "output:call_1"}
    assert subjects_of(read_file, given_path, []) == ()
    assert narrowest_rules(read_file, ()) == ()


async def test_a_result_is_no_place_in_the_workspace() -> None:
    rig = rig_with()
    model = FakeModel(
        [
            say("", Call(name="shell", arguments={}, id="call_1")),
            say("", Call(name="read_file", arguments={"path": "output:call_1", "end_line": 1})),
            say("ok"),
        ]
    )
    await run_turn(rig, model)
    told = rig.events.of(ToolCall)[-1]
    assert (told.title, told.locations) == ("Read output:call_1", ())
    assert "line 1\n" in rig.events.of(ToolResult)[-1].content


# What is kept


async def test_the_oldest_go_where_there_is_no_room_and_that_is_said() -> None:
    outputs = Outputs(max_bytes=10)
    await outputs.keep("a", "shell", "1234")
    await outputs.keep("b", "shell", "1234")
    await outputs.keep("c", "shell", "é23")
    assert await outputs.text_of("output:b") == "1234"
    assert await outputs.text_of("output:c") == "é23"
    with pytest.raises(ToolError, match="no longer stored: later results took its place"):
        await outputs.text_of("output:a")
    with pytest.raises(
        ToolError,
        match=r"output:x does not exist or is no longer stored. .* The latest stored results are output:b, output:c\.$",
    ):
        await outputs.text_of("output:x")


async def test_what_is_larger_than_one_result_may_be_is_not_kept_and_not_promised() -> None:
    outputs = Outputs(max_result_bytes=10)
    assert "too long to be stored" in await outputs.keep("a", "shell", "12345678901")
    assert "To see the whole result, call" in await outputs.keep("b", "shell", "1234567890")


async def test_what_the_store_cannot_keep_is_not_promised() -> None:
    class Full(OutputsInMemory):
        async def write(self, tool_id: str, content: bytes, max_bytes: int) -> str:
            return "No space left on device"

    outputs = Outputs(Full())
    assert await outputs.keep("a", "shell", "1234") == (
        "[The whole result could not be stored (No space left on device). Make the call again so that it returns less.]"
    )
    with pytest.raises(ToolError, match="output:a does not exist or is no longer stored"):
        await outputs.text_of("output:a")


async def test_what_went_since_it_was_kept_is_said_to_be_gone() -> None:
    store = OutputsInMemory()
    outputs = Outputs(store)
    await outputs.keep("a", "shell", "1234")
    await store.clear()
    with pytest.raises(ToolError, match=r"output:a is no longer stored: .* Make the call again"):
        await outputs.text_of("output:a")


async def test_what_a_daemon_before_this_one_kept_is_read_and_takes_its_room() -> None:
    store = OutputsInMemory()
    before = Outputs(store, max_bytes=10)
    await before.keep("a", "shell", "1234")
    await before.keep("b", "shell", "1234")

    outputs = Outputs(store, max_bytes=10)

    assert await outputs.text_of("output:a") == "1234"
    await outputs.keep("c", "shell", "1234")
    with pytest.raises(
        ToolError, match=r"output:a does not exist or is no longer stored. .* The latest stored results are output:c"
    ):
        await outputs.text_of("output:a")
    assert await outputs.text_of("output:b") == "1234"


async def test_a_session_that_is_closed_keeps_its_results_as_it_can_be_gone_on_with() -> None:
    talk = conversation([])
    outputs = talk.rig.services.memory.outputs
    await outputs.keep("a", "shell", "1234")
    await bounded(talk.session.close())
    assert await outputs.text_of("output:a") == "1234"


@given(st.lists(st.tuples(st.sampled_from("abcde"), st.text(max_size=12)), max_size=20))
async def test_whatever_is_kept_the_last_result_that_fits_is_there_and_the_room_is_never_exceeded(
    results: list[tuple[str, str]],
) -> None:
    outputs = Outputs(max_bytes=30)
    for tool_id, text in results:
        promise = await outputs.keep(tool_id, "shell", text)
        if "too long" not in promise:
            assert await outputs.text_of(f"output:{tool_id}") == text
        total = 0
        for each in "abcde":
            try:
                total += len((await outputs.text_of(f"output:{each}")).encode("utf-8", "surrogatepass"))
            except ToolError:
                continue
        assert total <= 30
