"""Templates rendered by the real copier in its own process, hostile ones among them."""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
from pathlib import Path

import pytest

from pygent_ls.agent.ports.processes import ProcessResult, ProcessSpec
from pygent_ls.agent.ports.templates import Rendered, RenderedFile
from pygent_ls.agent.ports.workspace import TextEncoding
from pygent_ls.errors import ToolError
from pygent_ls.workspace.processes.child import OnOutput
from pygent_ls.workspace.processes.local_processes import LocalProcesses
from pygent_ls.workspace.templates.template_folders import TemplateFolders
from tests.workspace.template_folders import TARGET, port, render, the_only, write_template

ODD = """
_tasks: ["touch {{ _copier_conf.dst_path }}/task-ran", "touch PLACE/task-ran"]
_message_before_copy: hello
name: {type: str, default: "{{ _folder_name | upper }}"}
count: 3
hidden: {type: str, default: "{{ name }}!", when: false}
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("templates")


@pytest.fixture(scope="module")
def odd(place: Path) -> Rendered:
    """A template with a bit of everything that can be rendered, in a git repository whose last commit lacks most."""
    template = write_template(
        place / "user" / "templates" / "odd",
        {
            "copier.yml": ODD.replace("PLACE", str(place)),
            "{{ name }}/a.txt.jinja": "{{ name }} {{ count + 1 }} {{ hidden }}\n",
            "{% if count > 9 %}many.txt{% endif %}.jinja": "many",
            "as-it-is.txt": "{{ name }}\n",
            "windows.txt": "1\r\nend",
            "latin.txt": "é\n".encode("latin-1"),
            "logo.png": b"\x89PNG\r\n\x1a\n\0\0",
            "run.sh": "#!/bin/sh\n",
            "where.txt.jinja": "{{ _copier_conf.dst_path }}",
            "environment.txt.jinja": "{{ '$PYGENT_TEST_SECRET $PATH|' | expandvars }}{{ '~' | expanduser }}",
            "{{ _copier_conf.answers_file }}.jinja": "{{ _copier_answers | to_nice_yaml }}",
        },
    )
    (template / "run.sh").chmod(0o755)
    (template / "empty").mkdir()
    (template / "inner-link").symlink_to("as-it-is.txt")
    for command in (
        ["init", "-q"],
        ["add", "run.sh"],
        ["-c", "user.name=a", "-c", "user.email=b", "commit", "-qm", "c"],
    ):
        subprocess.run(["git", *command], cwd=template, check=True, timeout=20)
    os.environ["PYGENT_TEST_SECRET"] = "hunter2"
    try:
        return asyncio.run(render(place))
    finally:
        del os.environ["PYGENT_TEST_SECRET"]


def texts(rendered: Rendered) -> dict[str, str]:
    return {file.path: file.text for file in rendered.files}


def test_names_and_texts_are_rendered_and_the_rest_is_copied(odd: Rendered) -> None:
    files = texts(odd)

    assert set(files) == {
        *(".copier-answers.yml", "MY-APP/a.txt", "as-it-is.txt", "environment.txt", "inner-link", "latin.txt"),
        *("run.sh", "where.txt", "windows.txt"),
    }
    assert files["MY-APP/a.txt"] == "MY-APP 4 MY-APP!\n"
    assert files["as-it-is.txt"] == files["inner-link"] == "{{ name }}\n"
    assert files["windows.txt"] == "1\r\nend"
    assert odd.answers == {"name": "MY-APP", "count": 3}


def test_encodings_and_executables_are_told(odd: Rendered) -> None:
    by_path = {file.path: file for file in odd.files}

    assert by_path["latin.txt"] == RenderedFile(path="latin.txt", text="é\n", encoding=TextEncoding(name="latin-1"))
    assert [path for path, file in by_path.items() if file.is_executable] == ["run.sh"]


def test_what_is_no_text_file_is_left_out_and_said(odd: Rendered) -> None:
    assert set(odd.left_out) == {"empty/ (an empty folder)", "logo.png (not text, 10 bytes)"}


def test_no_task_of_a_template_is_run(odd: Rendered, place: Path) -> None:
    assert "task-ran" not in texts(odd)
    assert not (place / "task-ran").exists()


def test_a_template_finds_no_environment_variable_and_no_home(odd: Rendered) -> None:
    """The target is its home folder, whose private path must not leak either."""
    assert texts(odd)["environment.txt"] == f"$PYGENT_TEST_SECRET |{TARGET}"
    assert texts(odd)["where.txt"] == str(TARGET)


def test_a_template_in_a_git_repository_is_taken_as_it_lies_there(odd: Rendered, place: Path) -> None:
    assert texts(odd)[".copier-answers.yml"] == (
        f"_src_path: {place.resolve()}/user/templates/odd\ncount: 3\nname: MY-APP\n"
    )
    assert not any(".git" in path.split("/") for path in texts(odd))


class Recording(LocalProcesses):
    """Remembers where programs ran."""

    def __init__(self) -> None:
        super().__init__()
        self.places: list[Path] = []

    async def run(self, spec: ProcessSpec, on_output: OnOutput | None = None) -> ProcessResult:
        self.places.append(spec.cwd)
        return await super().run(spec, on_output)


async def test_nothing_is_left_of_the_rendering(tmp_path: Path) -> None:
    write_template(
        tmp_path / "user" / "templates" / "t", {"copier.yml": "", "a.txt": "a", "b.jinja": "{{ nothing() }}"}
    )
    processes = Recording()
    templates = TemplateFolders(processes, shipped=tmp_path / "none", users=tmp_path / "user")

    with pytest.raises(ToolError):
        await templates.render(await the_only(templates), {}, likely={}, folder=TARGET)

    assert [place.exists() for place in processes.places] == [False]


async def test_answers_come_first_then_what_is_likely_then_the_default(tmp_path: Path) -> None:
    questions = "\n".join(f"{name}: {{type: str, default: default}}" for name in "abc")
    write_template(
        tmp_path / "user" / "templates" / "t", {"copier.yml": questions, "f.jinja": "{{ a }} {{ b }} {{ c }}"}
    )
    templates = port(tmp_path)
    template = await the_only(templates)

    rendered = await templates.render(template, {"a": "given"}, likely={"a": "likely", "b": "likely"}, folder=Path("/"))

    assert texts(rendered) == {"f": "given likely default"}


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("{{ '..' }}/evil.txt", "x", "leads out of its folder"),
        ("{{ place }}.jinja", "x", "leads out of its folder"),
        ("a.jinja", "{{ ''.__class__.__mro__[1].__subclasses__() }}", "unsafe"),
        ("a.jinja", "{{ self.__init__.__globals__ }}", "unsafe"),
        ("a.jinja", "{{ _copier_conf.settings.from_file('/etc/passwd') }}", "SecurityError"),
        ("a.jinja", "{% include '/etc/passwd' %}", "TemplateNotFound"),
        ("a.jinja", "{% include '../secret.txt' %}", "TemplateNotFound"),
        ("a.jinja", "{{ 'x' * 10**10 }}", "too much memory"),
        ("a.jinja", "{% for a in range(10**9) %}{% endfor %}", "OverflowError"),
        ("a.jinja", "{% for", "TemplateSyntaxError"),
    ],
)
async def test_a_hostile_or_broken_template_makes_nothing(tmp_path: Path, name: str, content: str, said: str) -> None:
    (tmp_path / "user").mkdir()
    (tmp_path / "user" / "secret.txt").write_text("secret")
    place = tmp_path / "outside"
    write_template(
        tmp_path / "user" / "templates" / "t", {"copier.yml": f"place: {{type: str, default: {place}}}", name: content}
    )

    with pytest.raises(ToolError) as raised:
        await render(tmp_path)

    assert said in str(raised.value)
    assert str(raised.value).count("Nothing was created.") == 1
    assert "pygent-template-" not in str(raised.value)
    assert not place.exists()


LOOKS = (
    "{{ (HERE ~ '/*') | fileglob }}",
    "{{ (HERE ~ '/secret.txt') | fileglob }}",
    "{{ '/etc/pass*' | fileglob }}",
    "{{ '../*' | fileglob }}",
    "{{ '../../../*.txt' | fileglob }}",
    "{{ (_copier_conf.src_path ~ '/../../../*') | fileglob }}",
    "{{ (_copier_conf.src_path ~ '/out/*') | fileglob }}",
    "{{ 'out/*' | fileglob }}",
    "{{ 'out/secret.txt' | fileglob }}",
    "{{ '**' | fileglob }}",
    "{{ '~/*' | expanduser | fileglob }}",
    "{{ '~root' | expanduser }}",
    "{{ (HERE ~ '/link') | realpath }}",
    "{{ '$HOME' | expandvars }}",
    "{{ _copier_conf.src_path | string | map('fileglob') | list }}",
)
"""Ways of a template to see what lies outside of it, which show nothing of that."""

REFUSED_LOOKS = (
    "{% include HERE ~ '/secret.txt' %}",
    "{% include 'out/secret.txt' %}",
    "{% import '../../../secret.txt' as found %}",
    "{% extends 'out/secret.txt' %}",
    "{{ _external_data.outside }}",
    "{{ _copier_conf.src_path.parent.iterdir() | list }}",
    "{{ _copier_conf.src_path.read_text() }}",
    "{{ _copier_conf.settings.from_file(HERE ~ '/secret.txt') }}",
)
"""Ways that are errors, and so end the rendering: each needs a template of its own."""


def looking_template(parent: Path, *looks: str) -> None:
    """A template with these looks, beside a secret that it has a link to."""
    (parent / "secret.txt").write_text("to-be-kept")
    (parent / "link").symlink_to(parent / "secret.txt")
    settings = f"_external_data: {{outside: '{parent}/secret.txt'}}\n_preserve_symlinks: true\n"
    files = {f"{number}.jinja": look.replace("HERE", repr(str(parent))) for number, look in enumerate(looks)}
    template = write_template(parent / "user" / "templates" / "t", {"copier.yml": settings, **files})
    (template / "out").symlink_to(parent)


async def test_a_template_sees_nothing_outside_of_its_folder(tmp_path: Path) -> None:
    looking_template(tmp_path, *LOOKS)

    made = texts(await render(tmp_path))

    assert set(made) == {str(number) for number in range(len(LOOKS))}
    shown = [
        (LOOKS[int(number)], kept)
        for number, text in made.items()
        for kept in ("to-be-kept", "secret.txt", "passwd", "/root")
        if kept in text
    ]
    assert shown == []


@pytest.mark.parametrize("look", REFUSED_LOOKS)
async def test_a_template_that_reads_outside_of_its_folder_makes_nothing(tmp_path: Path, look: str) -> None:
    looking_template(tmp_path, look)

    with pytest.raises(ToolError) as raised:
        await render(tmp_path)

    assert "to-be-kept" not in str(raised.value)  # the error names what the template asked for


@pytest.mark.parametrize("content", ["!include {}/secret.txt", "_extra: !include {}/secret.txt", "_subdirectory: {}"])
async def test_a_templates_own_settings_read_nothing_outside_of_its_folder(tmp_path: Path, content: str) -> None:
    (tmp_path / "secret.txt").write_text("kept: {type: str, default: to-be-kept}")
    write_template(
        tmp_path / "user" / "templates" / "t",
        {"copier.yml": content.format(tmp_path), "a.jinja": "{{ kept }}"},
    )

    with contextlib.suppress(ToolError):
        assert "to-be-kept" not in str(await render(tmp_path))


async def test_a_template_lists_its_own_files(tmp_path: Path) -> None:
    files = {
        "copier.yml": "",
        "b.sql": "x",
        "c/d.sql": "y",
        "a.jinja": "{{ 'c/*.sql' | fileglob | map('basename') | list }}",
    }
    write_template(tmp_path / "user" / "templates" / "t", files)

    assert texts(await render(tmp_path))["a"] == "['d.sql']"


async def test_an_answer_cannot_lead_out_of_the_folder(tmp_path: Path) -> None:
    write_template(tmp_path / "user" / "templates" / "t", {"copier.yml": "name: {type: str}", "{{ name }}/a.txt": "x"})

    with pytest.raises(ToolError, match="leads out of its folder"):
        await render(tmp_path, name="../../evil")


async def test_links_out_of_the_template_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("secret")
    template = write_template(tmp_path / "user" / "templates" / "t", {"copier.yml": "", "a.txt": "a"})
    (template / "link.txt").symlink_to(tmp_path / "secret.txt")

    with pytest.raises(ToolError, match="leads out of its folder"):
        await render(tmp_path)


async def test_links_that_a_template_keeps_are_left_out(tmp_path: Path) -> None:
    """The second would lead what is written through it out of the folder."""
    template = write_template(
        tmp_path / "user" / "templates" / "t", {"copier.yml": "_preserve_symlinks: true", "a.txt": "a"}
    )
    (template / "link.txt").symlink_to("/etc/passwd")

    rendered = await render(tmp_path)

    assert texts(rendered) == {"a.txt": "a"}
    assert rendered.left_out == ("link.txt (a link, not a file)",)


async def test_a_template_that_never_ends_is_ended(tmp_path: Path) -> None:
    loop = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"
    write_template(tmp_path / "user" / "templates" / "t", {"copier.yml": "", "a.jinja": loop})

    with pytest.raises(ToolError, match="takes too long"):
        await render(tmp_path, render_s=1.0)


async def test_a_template_of_too_many_files_is_refused(tmp_path: Path) -> None:
    files = {f"{number}.txt": "x" for number in range(501)}
    write_template(tmp_path / "user" / "templates" / "t", {"copier.yml": "", **files})

    with pytest.raises(ToolError, match="more than 500 files"):
        await render(tmp_path)


async def test_the_users_settings_of_copier_trust_no_template(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What these trust runs tasks elsewhere."""
    settings = tmp_path / "settings.yml"
    settings.write_text(f"trust: [{tmp_path}/]\ndefaults: {{name: from-settings}}\n")
    monkeypatch.setenv("COPIER_SETTINGS_PATH", str(settings))
    ran = tmp_path / "ran"
    write_template(
        tmp_path / "user" / "templates" / "t",
        {"copier.yml": f"_tasks: ['touch {ran}']\nname: {{type: str, default: own}}", "a.jinja": "{{ name }}"},
    )

    rendered = await render(tmp_path)

    assert (texts(rendered), ran.exists()) == ({"a": "own"}, False)


async def test_a_validator_of_the_template_has_its_say(tmp_path: Path) -> None:
    write_template(
        tmp_path / "user" / "templates" / "t",
        {"copier.yml": "n: {type: int, validator: '{% if n > 3 %}at most 3{% endif %}'}", "a.jinja": "{{ n }}"},
    )

    with pytest.raises(ToolError) as raised:
        await render(tmp_path, n=4)

    assert str(raised.value) == "Validation error for question 'n': at most 3. Nothing was created."
