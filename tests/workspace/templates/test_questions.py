"""What templates say of themselves, without any of them being rendered."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from pygent_ls.agent.ports.templates import Template, TemplateQuestion
from tests.workspace.template_folders import port, the_only, write_template

SEVERAL = """
_description: |
  All kinds
  of questions
_tasks: ["make", "make install"]
_migrations: [{version: v2, command: x}]
name: {type: str, help: Who}
short: 3
flag: yes
words: [a, b]
kind: {choices: [one, 2, true], default: one}
pairs: {type: str, choices: [[First, a], [Second, b]], default: a}
table: {type: str, choices: {First: {value: a}, Second: {value: b, validator: "no"}}, default: a, multiselect: true}
made: {type: str, default: "{{ name | lower }}", when: "{{ flag }}"}
varied: {type: "{{ kind }}", choices: "{{ words }}", default: null}
computed: {type: str, default: "{{ name }}!", when: false}
"""


async def test_questions_have_types_defaults_and_choices(tmp_path: Path) -> None:
    folder = write_template(tmp_path / "user" / "templates" / "several", {"copier.yml": SEVERAL})

    assert await the_only(port(tmp_path)) == Template(
        name="several",
        kind="template",
        description="All kinds of questions",
        folder=folder.resolve(),
        is_users=True,
        not_run=("2 tasks", "1 migration"),
        questions=(
            TemplateQuestion(name="name", type="str", help="Who", is_required=True),
            TemplateQuestion(name="short", type="int", default=3),
            TemplateQuestion(name="flag", type="bool", default=True),
            TemplateQuestion(name="words", type="yaml", default=["a", "b"]),
            TemplateQuestion(name="kind", type="str", default="one", choices=("one", 2, True)),
            TemplateQuestion(name="pairs", type="str", default="a", choices=("a", "b")),
            TemplateQuestion(name="table", type="str", default="a", choices=("a", "b"), is_multiple=True),
            TemplateQuestion(
                name="made", type="str", default="{{ name | lower }}", is_computed=True, condition="{{ flag }}"
            ),
            TemplateQuestion(name="varied", type=None),
        ),
    )


async def test_the_users_own_stand_in_the_place_of_those_that_came_with_us(tmp_path: Path) -> None:
    for whose, name in (("shipped", "a"), ("shipped", "b"), ("user", "b"), ("user", "c")):
        write_template(tmp_path / whose / "templates" / name, {"copier.yml": f"---\n---\n_description: {whose}"})
    write_template(tmp_path / "user" / "components" / "d", {"copier.yml": ""})
    for other in (".git", "_private", "with space"):
        write_template(tmp_path / "user" / "templates" / other, {"copier.yml": ""})
    (tmp_path / "user" / "templates" / "README.md").touch()

    found = await port(tmp_path).list_all("template")

    assert [(each.name, each.description) for each in found] == [("a", "shipped"), ("b", "user"), ("c", "user")]
    assert [each.name for each in await port(tmp_path).list_all("component")] == ["d"]


async def test_without_any_folder_there_is_nothing(tmp_path: Path) -> None:
    assert await port(tmp_path).list_all("template") == []


async def test_a_template_may_ask_nothing_and_say_nothing(tmp_path: Path) -> None:
    write_template(tmp_path / "user" / "templates" / "plain", {"a.txt": "a"})

    template = await the_only(port(tmp_path))

    assert (template.questions, template.description, template.problem) == ((), "", "")


@pytest.fixture
def no_collection() -> Iterator[None]:
    """Objects of other tests cannot be finalised without room on the stack."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_collection")
@pytest.mark.parametrize(
    ("files", "problem"),
    [
        ({"cookiecutter.json": "{}"}, "it is a template for cookiecutter, but only copier templates are supported"),
        ({"copier.yml": "", "copier.yaml": ""}, "it has both a copier.yml and a copier.yaml"),
        ({"copier.yml": "a: [1"}, "its copier.yml is invalid: while parsing"),
        ({"copier.yml": "- a"}, "its copier.yml contains something other"),
        ({"copier.yml": "1: a"}, "its copier.yml contains something other"),
        ({"copier.yml": "a: !!python/object/apply:os.system [id]"}, "its copier.yml is invalid: could not"),
        ({"copier.yml": "a: !include other.yml"}, "its copier.yml is invalid: could not determine"),
        ({"copier.yml": "a: 2026-13-99"}, "its copier.yml is invalid: month must be"),
        ({"copier.yml": "a: " + "[" * 500}, "its copier.yml is invalid: "),
        ({"copier.yml": "#" * 100_001}, "its copier.yml is larger than 100 kB"),
        ({"copier.yml": "_jinja_extensions: [os.path]"}, "it needs Jinja extensions"),
        ({"copier.yml": "a: &a [*a]"}, "the default of a is not a plain value"),
        ({"copier.yml": "\n".join(f"q{n}: 1" for n in range(101))}, "it has more than 100 questions"),
    ],
)
async def test_what_cannot_be_used_says_why(tmp_path: Path, files: dict[str, str], problem: str) -> None:
    write_template(tmp_path / "user" / "templates" / "broken", files)

    assert (await the_only(port(tmp_path))).problem.startswith(problem)


async def test_aliases_that_grow_without_end_are_not_written_out(tmp_path: Path) -> None:
    lists = zip("abcdefghijkl", "bcdefghijklm", strict=True)
    grows = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"{new}: &{new} [{', '.join([f'*{old}'] * 9)}]\n" for old, new in lists
    )
    assert yaml.safe_load(grows)["a"] == ["x"] * 9
    write_template(tmp_path / "user" / "templates" / "grows", {"copier.yml": grows})

    assert "aliases expand to more than 20,000 values" in (await the_only(port(tmp_path))).problem


@pytest.mark.parametrize("content", ["token: to-be-kept", "_description: to-be-kept", "to-be-kept: [\n- {"])
async def test_of_a_configuration_that_is_a_link_out_of_the_template_nothing_is_told(
    tmp_path: Path, content: str
) -> None:
    (tmp_path / "outside.yml").write_text(content)
    folder = write_template(tmp_path / "user" / "templates" / "t", {"a.jinja": "x"})
    (folder / "copier.yml").symlink_to(tmp_path / "outside.yml")

    told = await the_only(port(tmp_path))

    assert told.problem == "its copier.yml is a link to a place outside its folder"
    assert "to-be-kept" not in repr(told)


async def test_a_configuration_may_be_a_link_within_the_template(tmp_path: Path) -> None:
    folder = write_template(tmp_path / "user" / "templates" / "t", {"own/questions.yml": "_description: Plums"})
    (folder / "copier.yml").symlink_to("own/questions.yml")

    assert (await the_only(port(tmp_path))).description == "Plums"
