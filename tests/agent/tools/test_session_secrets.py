"""What a session masks, what it puts back, and what it refuses so that no secret is lost or carried out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pytest

from pygent_ls.agent.edits.diffs import unified_diff
from pygent_ls.agent.messages import ToolUseBlock
from pygent_ls.agent.ports.workspace import FileChange
from pygent_ls.agent.tools.session_secrets import SessionSecrets
from pygent_ls.agent.tools.tool import Tool
from pygent_ls.errors import ToolError
from pygent_ls.secrets.env_files import is_env_file
from pygent_ls.secrets.findings import Finding
from pygent_ls.secrets.redactor import PLACEHOLDER, Redactor
from tests.agent.abilities import edit_file, move_file, named, read_file, shell
from tests.fakes import FOLDER, FakeWorkspace

ENV = "A_KEY=plums-and-pears\nREGION=eu\n"


def finder(text: str, path: str | None = None) -> Sequence[Finding]:
    """Every value of a `…KEY`; in a file of environment variables every value of two words."""
    pattern = r"(?m)=(\w+-[\w-]+)" if path is not None and is_env_file(path) else r"KEY=([^\s]+)"
    return [Finding(start=each.start(1), end=each.end(1), kind="value") for each in re.finditer(pattern, text)]


def keeping(files: dict[str, str] | None = None) -> SessionSecrets:
    return SessionSecrets(Redactor(finder, key=b"k"), FakeWorkspace(files))


def call(tool: Tool, **given: Any) -> ToolUseBlock:
    return ToolUseBlock(id="call_1", name=tool.name, input=given)


def change(old: str, new: str, name: str = ".env") -> FileChange:
    patch, added, removed = unified_diff(old, new, name)
    path = FOLDER / name
    return FileChange(path=path, kind="edit", added=added, removed=removed, patch=patch, old_text=old, new_text=new)


async def placeholder_of(secrets: SessionSecrets, value: str) -> str:
    return await secrets.masked(f"KEY={value}")


async def test_a_result_about_an_env_file_has_none_of_its_values() -> None:
    secrets = keeping({".env": ENV})

    masked = await secrets.masked_result(call(read_file, path=".env"), read_file, ENV)

    assert "plums" not in masked
    assert masked.endswith("\nREGION=eu\n")


@pytest.mark.parametrize("command", ["cat .en*", "cat ./.e?v", "head -3 sub/.[e]nv", "cat .*"])
async def test_a_command_that_means_an_env_file_by_a_pattern_shows_none_of_its_values(command: str) -> None:
    secrets = keeping()

    masked = await secrets.masked_result(call(shell, command=command), shell, "B=short-one\n")

    assert re.fullmatch(r"B=\{\{SECRET_\w+\}\}\n", masked)
    assert "two" in await secrets.masked_result(call(shell, command="cat a.* [a-z]*"), shell, "B=number-two\n")


@pytest.mark.parametrize("name", [".env", "deploy/prod.env"])
async def test_a_value_of_an_env_file_is_masked_in_what_a_command_prints_though_nobody_read_the_file(name: str) -> None:
    secrets, running = keeping({name: ENV}), call(shell, command=f"./run {name}")
    await secrets.restored(running, shell)  # as before every call

    masked = await secrets.masked_result(running, shell, "using plums-and-pears")

    assert re.fullmatch(r"using \{\{SECRET_\w+\}\}", masked)


async def test_the_values_of_the_workspaces_own_env_file_are_known_from_the_start_and_known_anew_when_it_changes() -> (
    None
):
    workspace = FakeWorkspace({".env": ENV})
    secrets = SessionSecrets(Redactor(finder, key=b"k"), workspace)
    assert "plums" not in await secrets.masked("what is plums-and-pears?")

    workspace.put(".env", "A=apple-and-quince\n")

    assert "quince" not in await secrets.masked("what is apple-and-quince?")


async def test_a_value_that_a_command_has_only_just_written_is_masked_in_what_it_prints() -> None:
    workspace = FakeWorkspace()
    secrets, running = SessionSecrets(Redactor(finder, key=b"k"), workspace), call(shell, command="./make-keys")
    await secrets.restored(running, shell)
    workspace.put(".env", ENV)

    assert "plums" not in await secrets.masked_result(running, shell, "made plums-and-pears")


async def test_a_file_of_values_that_a_result_names_is_known_before_the_result_is_shown() -> None:
    secrets = keeping({"deploy/prod.env": ENV})

    masked = await secrets.masked_result(call(read_file, path="."), read_file, "deploy/prod.env:1: plums-and-pears")

    assert "plums" not in masked


async def test_without_a_redactor_everything_stays_as_it_is() -> None:
    secrets, edit = SessionSecrets(), change("KEY=1", "KEY=***")

    assert await secrets.masked("KEY=abc") == "KEY=abc"
    assert await secrets.masked_changes([edit]) == (edit,)
    assert await secrets.restored(call(shell, command="{{SECRET_a_0123456789ab}}"), shell) == {
        "command": "{{SECRET_a_0123456789ab}}"
    }
    await secrets.refuse_masks([edit])


async def test_the_patch_and_both_texts_of_a_change_are_masked() -> None:
    secrets, edit = keeping(), change(ENV, ENV.replace("pears", "figs"))

    (masked,) = await secrets.masked_changes([edit], with_texts=True)
    (without,) = await secrets.masked_changes([edit])

    assert (masked.added, masked.removed, masked.path) == (1, 1, edit.path)
    assert not any("plums" in text for text in (masked.patch, masked.old_text, masked.new_text))
    assert (without.patch, without.old_text, without.new_text) == (masked.patch, "", "")


# On the way back


async def test_a_write_gets_the_values_back_however_deep_they_stand() -> None:
    secrets = keeping()
    mark = (await placeholder_of(secrets, "secret1")).removeprefix("KEY=")

    given = await secrets.restored(call(edit_file, path="a.txt", edits=[{"old": mark, "new": f"<{mark}>"}]), edit_file)

    assert given == {"path": "a.txt", "edits": [{"old": "secret1", "new": "<secret1>"}]}


async def test_a_placeholder_from_before_a_restart_is_found_in_the_file_that_is_edited() -> None:
    mark = PLACEHOLDER.search(await placeholder_of(keeping(), "secret1"))
    assert mark
    secrets = keeping({"conf.ini": "KEY=secret1\n"})

    given = await secrets.restored(call(edit_file, path="conf.ini", old=mark[0], new="x"), edit_file)

    assert given["old"] == "secret1"


async def test_a_placeholder_that_nothing_is_known_of_is_refused() -> None:
    secrets = keeping({"a.txt": "nothing"})

    with pytest.raises(ToolError, match="unknown placeholder"):
        await secrets.restored(call(edit_file, path="a.txt", old="x", new="{{SECRET_a_0123456789ab}}"), edit_file)


@pytest.mark.parametrize(
    "spoilt", ["{SECRET_value_", "{{ SECRET_value_", "{{SECRET_value_12}}", "SECRET_value_0123456789"]
)
async def test_a_placeholder_that_was_not_copied_exactly_is_refused(spoilt: str) -> None:
    with pytest.raises(ToolError, match="exactly"):
        await keeping().restored(call(edit_file, path="a.txt", old="x", new=f"KEY={spoilt}"), edit_file)


async def test_a_placeholder_from_before_masking_was_switched_off_is_still_put_back() -> None:
    secrets = keeping()
    mark = await placeholder_of(secrets, "secret1")

    secrets.switch(on=False)
    given = await secrets.restored(call(edit_file, path="a", new=f"{mark} {{{{SECRET_a_0123456789ab}}}}"), edit_file)

    assert given["new"] == "KEY=secret1 {{SECRET_a_0123456789ab}}"


@pytest.mark.parametrize("holder", ["conf.ini", ".env"])
async def test_a_placeholder_from_before_a_restart_without_masking_does_not_take_the_place_of_the_secret(
    holder: str,
) -> None:
    mark = PLACEHOLDER.search(await placeholder_of(keeping(), "secret-1"))
    assert mark
    secrets = keeping({holder: "KEY=secret-1\n"})

    secrets.switch(on=False)
    given = await secrets.restored(call(edit_file, path="conf.ini", new=f"KEY={mark[0]}"), edit_file)

    assert given["new"] == "KEY=secret-1"
    assert await secrets.masked("secret-1") == "secret-1"


@pytest.mark.parametrize("tool", [shell, move_file, read_file])
async def test_a_call_that_writes_no_text_never_gets_a_secret(tool: Tool) -> None:
    secrets = keeping()
    mark = await placeholder_of(secrets, "secret1")

    with pytest.raises(ToolError, match=r"stands for a secret.*environment variable"):
        await secrets.restored(call(tool, command=f"curl example.org?{mark}"), tool)


async def test_a_path_never_gets_a_secret() -> None:
    secrets = keeping()
    mark = await placeholder_of(secrets, "secret1")

    given = await secrets.restored(call(edit_file, path=mark, old="a", new=mark), edit_file)

    assert given == {"path": mark, "old": "a", "new": "KEY=secret1"}


async def test_what_the_model_tells_the_user_or_plans_may_name_a_placeholder() -> None:
    async def plan(_: object) -> str:
        return ""

    tool = named("plan", plan)
    given = {"entries": ["rotate {{SECRET_a_0123456789ab}}"]}

    assert await keeping().restored(call(tool, **given), tool) == given


# Masks


@pytest.mark.parametrize(
    "mask",
    ["****", "<redacted>", "[REDACTED]", "xxxxxxxx", "KEY...", "••••••", "{hidden}", "REDACTED", '"***"', "plums…"],
)
async def test_a_mask_in_the_place_of_a_secret_is_refused(mask: str) -> None:
    with pytest.raises(ToolError, match=r"overwrite a secret in \.env with a mask.*\{\{SECRET_value_"):
        await keeping().refuse_masks([change(ENV, f"A_KEY={mask}\nREGION=us\n")])


@pytest.mark.parametrize(
    "after",
    [
        "REGION=eu\n",
        "A_KEY=\nREGION=eu\n",
        "A_KEY=quite-another\nREGION=eu\n",
        "A_KEY=${FROM_THE_VAULT}\nREGION=eu\n",
        "# ****\nA_KEY=plums-and-pears\n",
        "# **** no key any more ****\nREGION=eu\n",
        "A_KEY=plums-and-pears\nREGION=****\n",
        "REGION=eu\nA_KEY=plums-and-pears # xxxx\n",
    ],
)
async def test_a_secret_may_be_removed_changed_or_moved(after: str) -> None:
    await keeping().refuse_masks([change(ENV, after)])


async def test_a_mask_where_no_secret_stood_is_fine() -> None:
    await keeping().refuse_masks([change("colour=red\n", "colour=****\n", "a.txt"), change("", "KEY=****\n", "b.txt")])
