"""The main job, over real stdio with a real HTTP model: read, search, ask, edit, run, finish."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from lsprotocol.types import ShowMessageRequestParams

from tests.e2e.conftest import SHARED, WITH_HTTP, Rig
from tests.e2e.lsp_client import EditorClient, editor_client
from tests.e2e.raw import raw_client
from tests.model_server import Call, Received, Step

APP = "import math\n\n\ndef area(r):\n    return 3.14 * r * r\n"

STORY = (
    Step(text="I read it first.", calls=(Call(name="read_file", arguments={"path": "app.py"}),)),
    Step(calls=(Call(name="grep_search", arguments={"pattern": "3\\.14"}),)),
    Step(calls=(Call(name="edit_file", arguments={"path": "app.py", "old": "3.14", "new": "math.pi"}),)),
    Step(calls=(Call(name="shell", arguments={"command": "echo checked; exit 3"}),)),
    Step(text="It uses math.pi now.", thinking="Done, I think.", usage=(1000, 50)),
)


def tool_messages(request: Received) -> list[dict[str, Any]]:
    return [message for message in request.messages if message["role"] == "tool"]


@WITH_HTTP
async def test_a_whole_turn_from_the_prompt_to_the_applied_edit(rig: Rig) -> None:
    path, editor = rig.folder / "app.py", rig.editor
    path.write_text(APP)
    rig.model.play(*STORY)
    editor.choose = save_and_allow
    uri = editor.documents.open(path)
    typed = APP + "# \U0001f600 not saved\n"
    editor.documents.type_over(uri, typed)

    result = await editor.turn("Use math.pi in app.py", workDoneToken="work")

    # What the editor holds
    assert editor.documents.text(uri) == typed.replace("3.14", "math.pi")
    (applied,) = editor.applied
    (change,) = applied["edit"]["documentChanges"]
    assert change["textDocument"] == {"uri": uri, "version": 2}

    # What the user was asked
    first_actions = {prompt.message.partition(":")[0]: titles_of(prompt)[0] for prompt in editor.prompts}
    assert first_actions == {
        "edit_file": "Allow once",
        "shell": "Reject",
        "app.py has unsaved changes, and shell reads files from disk.": "Save and continue",
    }

    # What the client was told
    kinds = [kind for kind in editor.types() if not kind.endswith("_delta")]
    assert (kinds[0], kinds[-1], kinds.count("finished")) == ("turn_started", "finished", 1)
    assert [event["toolName"] for event in editor.events() if event["type"] == "tool_call"] == [
        *("read_file", "grep_search", "edit_file", "shell")
    ]
    assert [ok for ok, _ in editor.results()] == [True, True, True, True]
    assert "not saved" in editor.results()[0][1]
    assert "app.py" in editor.results()[1][1]
    assert "checked" in editor.results()[3][1]
    assert "3" in editor.results()[3][1]
    assert any(event["type"] == "tool_progress" for event in editor.events())
    assert [event["seq"] for event in editor.events()] == list(range(1, len(editor.events()) + 1))
    assert [value["kind"] for value in (editor.progress("work")[0], editor.progress("work")[-1])] == [
        "begin",
        "end",
    ]

    # What came of it
    assert result["stopReason"] == "end_turn"
    assert result["text"] == "It uses math.pi now."
    assert result["iterations"] == 5
    assert result["usage"]["totalTokens"] == 4 * 120 + 1050
    assert result["filesChanged"] == [{"uri": uri, "kind": "edit", "added": 1, "removed": 1}]

    # What the model was sent
    assert len(rig.model.requests) == 5
    last = rig.model.requests[-1]
    assert [message["role"] for message in last.messages][:2] == ["system", "user"]
    calls = [call["id"] for message in last.messages for call in message.get("tool_calls") or ()]
    assert [message["tool_call_id"] for message in tool_messages(last)] == calls
    assert len(calls) == 4


def save_and_allow(prompt: ShowMessageRequestParams) -> str:
    return "Save and continue" if "Save and continue" in titles_of(prompt) else "Allow once"


def titles_of(prompt: ShowMessageRequestParams) -> list[str]:
    return [action.title for action in prompt.actions or ()]


@WITH_HTTP
async def test_two_hundred_deltas_arrive_in_order_and_complete(rig: Rig) -> None:
    text = "".join(f"word {number}, " for number in range(200))
    rig.model.play(Step(text=text, chunk=len(text) // 200))

    result = await rig.editor.turn("Count", partialResultToken="deltas")

    events = rig.editor.events("deltas")
    deltas = [event for event in events if event["type"] == "text_delta"]
    assert "".join(event["content"] for event in deltas) == text == result["text"]
    assert len({event["itemId"] for event in deltas}) == 1
    (whole,) = [event for event in events if event["type"] == "text"]
    assert (whole["content"], whole["itemId"]) == (text, deltas[0]["itemId"])


@WITH_HTTP
async def test_an_output_schema_comes_back_as_a_value_that_is_valid(rig: Rig) -> None:
    (rig.folder / "a.txt").write_text("Oslo\n")
    schema = {"type": "array", "items": {"type": "object", "required": ["name"]}}
    rig.model.play(
        Step(calls=(Call(name="read_file", arguments={"path": "a.txt"}),)),
        Step(text="It is Oslo."),
        Step(calls=(Call(name="structured_output", arguments={"value": ["Oslo"]}),)),
        Step(calls=(Call(name="structured_output", arguments={"value": [{"name": "Oslo"}]}),)),
    )

    result = await rig.editor.turn("Which cities?", outputSchema=schema)

    assert (result["stopReason"], result["iterations"]) == ("end_turn", 4)
    assert result["structured"] == [{"name": "Oslo"}]
    assert rig.model.requests[0].body["tools"][-1]["function"]["parameters"]["properties"] == {"value": schema}
    assert [ok for ok, _ in rig.editor.results()] == [True, False, True]


@WITH_HTTP
async def test_a_refused_provider_ends_the_turn_with_words_that_help_and_the_session_goes_on(rig: Rig) -> None:
    rig.model.play(Step(status=401, error="Incorrect API key provided"), Step(text="Better."))

    failed = await rig.editor.turn("Hello", partialResultToken="refused")

    assert failed["stopReason"] == "error"
    assert failed["error"]["type"] == "auth"
    assert "key" in failed["error"]["message"]
    assert "sk-test" not in json.dumps(rig.editor.events("refused"))
    assert (await rig.editor.turn("Again", sessionId=failed["sessionId"]))["text"] == "Better."


@WITH_HTTP
async def test_a_rejected_permission_leaves_the_file_alone_and_tells_the_model(rig: Rig) -> None:
    path, editor = rig.folder / "a.txt", rig.editor
    path.write_text("one\n")
    edit = Call(name="edit_file", arguments={"path": "a.txt", "old": "one", "new": "two"})
    rig.model.play(Step(calls=(edit,)), Step(text="As you wish."))
    editor.choose = lambda _: "Reject"
    editor.applied.clear()
    uri = editor.documents.open(path)

    result = await editor.turn("Edit it", partialResultToken="rejected")

    assert result["text"] == "As you wish."
    assert editor.applied == []
    assert editor.documents.text(uri) == "one\n"
    (told,) = tool_messages(rig.model.requests[1])
    assert "Permission denied: the user rejected it" in told["content"]
    assert "permission_denied" in editor.types("rejected")


# Without HTTP: what a model may do wrong


async def scripted(folder: Path, editor: EditorClient, lines: list[dict[str, Any]]) -> Any:
    script = folder.parent / "script.jsonl"
    script.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return await editor.turn("go", model=f"scripted:{script}")


def call(name: str, given: object) -> dict[str, Any]:
    return {"tool_calls": [{"name": name, "input": given}]}


@SHARED
async def test_what_a_model_does_wrong_is_told_to_it_and_ends_nothing(folder: Path, editor: EditorClient) -> None:
    (folder / "a.txt").write_text("one\n")
    lines = [
        call("read_file", '{"path": '),
        call("read_file", {"pth": "a.txt"}),
        call("no_such_tool", {}),
        call("read_file", {"path": "../../etc/passwd"}),
        call("shell", {"command": ["not", "text"]}),
        {"text": ""},
        {"text": "I give up."},
    ]
    result = await scripted(folder, editor, lines)

    assert result["text"] == "I give up."
    assert [ok for ok, _ in editor.results()] == [False] * 5
    said = [content for _, content in editor.results()]
    assert "JSON" in said[0]
    assert "path" in said[1]
    assert "no_such_tool" in said[2]
    assert "outside the workspace" in said[3]
    assert "command" in said[4]
    assert editor.prompts == []


@SHARED
async def test_a_model_that_says_nothing_twice_is_an_error(folder: Path, editor: EditorClient) -> None:
    result = await scripted(folder, editor, [{"text": ""}, {"text": ""}])

    assert result["stopReason"] == "error"
    assert "nothing" in result["error"]["message"]


async def test_always_allow_outlives_the_daemon_and_is_not_kept_in_the_workspace(folder: Path) -> None:
    path = folder / "a.txt"
    path.write_text("one\n")
    lines = [call("edit_file", {"path": "a.txt", "old": "one", "new": "two"}), {"text": "done"}]
    async with editor_client(folder, {}) as editor:
        editor.choose = lambda _: "Always allow"
        await scripted(folder, editor, lines)
        assert (len(editor.prompts), text_of(path)) == (1, "two\n")

    path.write_text("one\n")
    assert names(folder) == ["a.txt"]
    async with editor_client(folder, {}) as editor:
        await scripted(folder, editor, lines)
        assert (len(editor.prompts), text_of(path)) == (0, "two\n")


def test_without_a_folder_there_are_no_file_tools_and_work_goes_on_in_the_daemons_own(folder: Path) -> None:
    script = folder.parent / "script.jsonl"
    lines = [call("read_file", {"path": "a.txt"}), {"text": "done"}]
    script.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with raw_client(folder, environment={"PYGENT_MODEL": f"scripted:{script}"}) as client:
        client.initialize()

        tools = {tool["name"] for tool in client.request(1, "pygent/tools/list")["result"]["tools"]}
        assert "shell" in tools
        assert tools & {"read_file", "edit_file", "create_file", "delete_file", "grep_search"} == set()
        session = client.request(2, "pygent/session/new")["result"]
        assert session["cwd"] == str(folder)
        given = {"prompt": "go", "sessionId": session["sessionId"], "partialResultToken": "events"}
        assert client.request(3, "pygent/turn/start", given)["result"]["text"] == "done"
        said = json.dumps(client.frames)
        assert "There is no tool named 'read_file'" in said
        assert client.finish() == 0


def names(folder: Path) -> list[str]:
    return [entry.name for entry in folder.iterdir()]


def text_of(path: Path) -> str:
    return path.read_text()


def test_the_name_of_a_folder_may_be_no_text(tmp_path: Path) -> None:
    folder = tmp_path / os.fsdecode(b"caf\xe9")
    folder.mkdir()
    (folder / "a.txt").write_text("found it\n")
    with raw_client(folder, environment={"PYGENT_MODEL": "offline/rules"}) as client:
        client.initialize(folder)
        result = client.request(1, "pygent/turn/start", {"prompt": "read a.txt"})["result"]

        assert "found it" in result["text"], result
        assert client.finish() == 0
