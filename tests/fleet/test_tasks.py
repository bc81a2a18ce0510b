"""The task file: what each line means, and what is wrong with it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pygent_ls.errors import FleetError
from pygent_ls.fleet.tasks import MAX_ID, Task, read_tasks


def read(folder: Path, *lines: str, prompt: str | None = None) -> list[Task]:
    file = folder / "tasks.jsonl"
    file.write_text("\n".join(lines), encoding="utf-8")
    return read_tasks(file, prompt, Path("/work/here"))


def problems(folder: Path, *lines: str, prompt: str | None = None) -> list[str]:
    with pytest.raises(FleetError) as error:
        read(folder, *lines, prompt=prompt)
    return [each.removeprefix(f"{folder / 'tasks.jsonl'}: ") for each in str(error.value).splitlines()]


def test_a_line_says_what_to_do_where_and_within_which_limits(tmp_path: Path) -> None:
    line = (
        '{"id": "a", "prompt": "Go.", "repository": "sub/../x", "model": "m", "max_turns": 3, "max_budget_usd": 0.5, '
        '"timeout_s": 60}'
    )
    assert read(tmp_path, "", line, "   ") == [
        Task(
            id="a",
            prompt="Go.",
            repository=str(tmp_path.resolve() / "x"),
            model="m",
            max_turns=3,
            max_budget_usd=0.5,
            timeout_s=60.0,
        )
    ]


def test_a_prompt_may_have_any_character_that_json_allows(tmp_path: Path) -> None:
    (task,) = read(tmp_path, '{"prompt": "One\u2028two\x85three."}\r')

    assert task.prompt == "One\u2028two\x85three."


def test_one_prompt_and_one_repository_serve_the_lines_without(tmp_path: Path) -> None:
    first, second = read(tmp_path, "{}", '{"repository": "https://example.org/team/shop.git"}', prompt="Go.")

    assert (first.prompt, first.repository, first.is_remote) == ("Go.", "/work/here", False)
    assert (second.prompt, second.repository, second.is_remote) == ("Go.", "https://example.org/team/shop.git", True)
    assert first.id.startswith("here-")
    assert second.id.startswith("shop-")


def test_an_id_that_is_not_given_depends_on_the_line_and_not_on_its_place(tmp_path: Path) -> None:
    lines = ['{"prompt": "one"}', '{"prompt": "two"}']
    before, after = read(tmp_path, *lines), read(tmp_path, *reversed(lines))

    assert [each.id for each in before] == [each.id for each in reversed(after)]
    assert len({each.id for each in before}) == 2


@given(repository=st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), min_size=1))
def test_every_id_that_is_not_given_can_name_a_branch(repository: str) -> None:
    from pygent_ls.fleet.tasks import _ID, _id_for  # pyright: ignore[reportPrivateUsage]

    made = _id_for(Task(id="", prompt="Go.", repository=repository))
    assert _ID.fullmatch(made)
    assert len(made) <= MAX_ID


def test_each_invalid_line_is_named_with_what_would_work(tmp_path: Path) -> None:
    assert problems(
        tmp_path,
        '{"prompt": "Go.", "id": "same"}',
        "no json",
        '{"prompt": 5}',
        '{"prompt": "Go.", "colour": "red"}',
        "{}",
        '{"prompt": "Go.", "id": "a b"}',
        '{"prompt": "Go.", "id": "Same"}',
        '{"prompt": "Go.", "max_turns": 0}',
        '{"prompt": "Go.", "repository": "ext::sh -c id"}',
        '{"prompt": "Go.", "repository": "ftp://example.org/x"}',
        '{"prompt": " "}',
    ) == [
        "line 2: JSON is malformed: invalid character (byte 4)",
        "line 3: Expected `str | null`, got `int` - at `$.prompt`",
        "line 4: Object contains unknown field `colour`; the fields are id, prompt, repository, model, max_turns, "
        "max_budget_usd, timeout_s",
        "line 5: there is no `prompt`; write one here, or give one for all lines with --prompt",
        "line 6: `id` 'a b' cannot name a branch: use up to 36 letters, digits, `-`, `_` and `.`",
        "line 7: the id 'Same' is that of line 1; each task needs its own",
        "line 8: Expected `int` >= 1 - at `$.max_turns`",
        "line 9: `repository` 'ext::sh -c id' is not a path or a URL with https, http, ssh, git or file",
        "line 10: `repository` 'ftp://example.org/x' is not a path or a URL with https, http, ssh, git or file",
        "line 11: there is no `prompt`; write one here, or give one for all lines with --prompt",
    ]


def test_a_file_without_tasks_or_one_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    assert "has no tasks: write one JSON object per line" in problems(tmp_path, "")[0]
    with pytest.raises(FleetError, match="cannot be read: No such file"):
        read_tasks(tmp_path / "none.jsonl", None, tmp_path)
    (tmp_path / "tasks.jsonl").write_bytes(b"\xff\xfe")
    with pytest.raises(FleetError, match="it is not text in UTF-8"):
        read_tasks(tmp_path / "tasks.jsonl", None, tmp_path)
    assert len(problems(tmp_path, *["x"] * 30)) == 21
