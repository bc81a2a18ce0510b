"""Tools that create projects, and parts of projects, from templates. They return plans, which are shown to the user and
then applied.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta

from pygent_ls.agent.edits.diffs import split_lines
from pygent_ls.agent.kinds import ToolCategory, ToolRisk
from pygent_ls.agent.ports.templates import Rendered, Template, TemplateKind, Templates
from pygent_ls.agent.ports.workspace import MISSING, EditPlan, WriteText
from pygent_ls.agent.tools.tool import ToolContext, tool
from pygent_ls.errors import ToolError
from pygent_ls.tools.scaffold.answers import check_answers, describe, problem_with, questions_of
from pygent_ls.tools.scaffold.project_facts import facts_of

EXECUTABLE = 0o755
"""Permission bits of an executable file from a template."""

NOT_MADE = frozenset({".git", ".hg", ".svn"})
"""Folders of version control, which templates must not contain: their files can run programs."""

MAX_NAMED = 20
"""Maximum number of files listed in an error or a result."""

Answers = (
    Annotated[
        dict[str, Any],
        Meta(description='Answers to its questions, as {"question": value}; unanswered questions get their defaults.'),
    ]
    | None
)


def _path_or_here(given: Mapping[str, Any]) -> Sequence[str]:
    """Return the folder for a component, so that rules and questions name it even if the call does not."""
    path = given.get("path", ".")
    return [path] if isinstance(path, str) else []


@tool(
    risk=ToolRisk.LOW,
    category=ToolCategory.SCAFFOLD,
    kind="read",
    title="List templates",
    read_only=True,
    ttl_s=300,
)
async def list_templates(context: ToolContext) -> str:
    """List the templates for create_project, with the questions of each: types, defaults and choices."""
    return await _listed(context, "template")


@tool(
    risk=ToolRisk.LOW,
    category=ToolCategory.SCAFFOLD,
    kind="read",
    title="List components",
    read_only=True,
    ttl_s=300,
)
async def list_components(context: ToolContext) -> str:
    """List the components for add_component, with the questions of each: types, defaults and choices."""
    return await _listed(context, "component")


@tool(
    risk=ToolRisk.MEDIUM,
    category=ToolCategory.SCAFFOLD,
    kind="edit",
    title="Create {path} from the template {template}",
    plans_edit=True,
)
async def create_project(
    context: ToolContext,
    template: Annotated[str, Meta(min_length=1, description="Name of the template, as listed by list_templates.")],
    path: Annotated[str, Meta(description="The project's folder, which is created; `.` for the workspace folder.")],
    answers: Answers = None,
) -> EditPlan:
    """Create the files of a new project from a template.

    Existing files are never overwritten, and nothing is run or installed: do that afterwards, as the project's README
    says.

    Raises:
        ToolError: the template does not exist, an answer does not fit (its questions are listed), or a file exists.
    """
    folder = await _folder(context, path)
    chosen = await _chosen(context, "template", template)
    return await _planned(context, chosen, folder, answers or {}, {})


@tool(
    risk=ToolRisk.MEDIUM,
    category=ToolCategory.SCAFFOLD,
    kind="edit",
    title="Add {component} to {paths}",
    plans_edit=True,
    paths_of=_path_or_here,
)
async def add_component(
    context: ToolContext,
    component: Annotated[str, Meta(min_length=1, description="Name of the component, as listed by list_components.")],
    path: Annotated[str, Meta(description="The project's folder.")] = ".",
    answers: Answers = None,
) -> EditPlan:
    """Add a component to an existing project: a CI workflow, a licence, a Dockerfile and so on.

    Answers such as the project's name and language are taken from its pyproject.toml, package.json, Cargo.toml or
    go.mod, unless you give them. Existing files are never overwritten, and nothing is run.

    Raises:
        ToolError: the component does not exist, an answer does not fit (its questions are listed), or a file exists.
    """
    folder = await _folder(context, path)
    chosen = await _chosen(context, "component", component)
    facts = await facts_of(context, folder)
    likely = {
        question.name: facts[question.name]
        for question in chosen.questions
        if question.name in facts and not problem_with(question, facts[question.name])
    }
    return await _planned(context, chosen, folder, answers or {}, likely)


# Lookup


async def _listed(context: ToolContext, kind: TemplateKind) -> str:
    templates = _templates(context)
    for folder in templates.sources:
        await context.depend_on_tree(folder)
    found = await templates.list_all(kind)
    if any(each.is_users and not any(map(each.folder.is_relative_to, templates.sources)) for each in found):
        context.cacheable = False  # it is elsewhere, behind a link
    return describe(found) if found else f"There is no {kind}."


async def _chosen(context: ToolContext, kind: TemplateKind, name: str) -> Template:
    found = {each.name: each for each in await _templates(context).list_all(kind)}
    if name not in found:
        close = difflib.get_close_matches(name, found, n=1)
        meant = f" Did you mean {close[0]}?" if close else ""
        known = ", ".join(found) or "none"
        raise ToolError(f"There is no {kind} named {name!r}.{meant} Available: {known}.")
    if found[name].problem:
        raise ToolError(f"The {kind} {name} cannot be used: {found[name].problem}.")
    return found[name]


def _templates(context: ToolContext) -> Templates:
    if context.templates is None:
        raise ToolError("Templates are not available here.")
    return context.templates


async def _folder(context: ToolContext, path: str) -> Path:
    """Return the resolved folder. Raises `ToolError` if it is outside the workspace, or a file."""
    folder = context.workspace.resolve(path)
    if await context.workspace.stamp(folder) != MISSING and await _is_text_file(context, folder):
        raise ToolError(f"{context.workspace.shown(folder)} is a file. Give the path of a folder.")
    return folder


async def _is_text_file(context: ToolContext, path: Path) -> bool:
    try:
        await context.workspace.read(path)
    except ToolError:
        return False
    return True


# Results


async def _planned(
    context: ToolContext, template: Template, folder: Path, answers: Mapping[str, Any], likely: Mapping[str, object]
) -> EditPlan:
    likely = {name: value for name, value in likely.items() if name not in answers}
    check_answers(template, answers, likely)
    try:
        rendered = await _templates(context).render(template, answers, likely=likely, folder=folder)
    except ToolError as error:
        raise ToolError(f"{error}\n{questions_of(template)}") from None
    operations = await _operations(context, template, rendered, folder)
    name = context.workspace.shown(folder)
    done = f"Create {name} from {template.name}" if template.kind == "template" else f"Add {template.name} to {name}"
    return EditPlan(label=done, operations=operations, result=_result(context, template, rendered, operations, folder))


async def _operations(
    context: ToolContext, template: Template, rendered: Rendered, folder: Path
) -> tuple[WriteText, ...]:
    """Return the files to create. Raises `ToolError` if one exists, or would be outside the folder."""
    workspace = context.workspace
    operations: dict[Path, WriteText] = {}
    existing: list[str] = []
    for file in rendered.files:
        path = workspace.resolve(str(folder / file.path))
        if not path.is_relative_to(folder) or path in operations:
            raise ToolError(
                f"{file.path} would end up outside {workspace.shown(folder)}, or overwrite another file of the "
                "template, because of an existing link. Nothing was created."
            )
        if not NOT_MADE.isdisjoint(part.casefold() for part in path.relative_to(folder).parts):
            raise ToolError(
                f"{template.name} would create {file.path}, but templates may not write into a version control "
                "folder. Nothing was created."
            )
        if await workspace.stamp(path) != MISSING:
            existing.append(workspace.shown(path))
        operations[path] = WriteText(
            path=path,
            before=None,
            text=file.text,
            encoding=file.encoding,
            mode=EXECUTABLE if file.is_executable else None,
        )
    if existing:
        raise ToolError(
            "Nothing was created, because these files already exist and are never overwritten: "
            f"{_named(existing)}. Choose another path, or read and edit the existing files."
        )
    if not operations:
        raise ToolError(
            f"With these answers {template.name} creates no file. Nothing was created.\n{questions_of(template)}"
        )
    return tuple(operations.values())


def _result(
    context: ToolContext, template: Template, rendered: Rendered, operations: Sequence[WriteText], folder: Path
) -> str:
    name = context.workspace.shown(folder)
    count = f"{len(operations)} file" if len(operations) == 1 else f"{len(operations)} files"
    did = "Created" if template.kind == "template" else "Added to"
    lines = [f"{did} {name} from {template.kind} {template.name}: {count}."]
    shown = [f"{context.workspace.shown(each.path)} ({len(split_lines(each.text))} lines)" for each in operations]
    lines += shown[:MAX_NAMED]
    if len(shown) > MAX_NAMED:
        lines.append(f"[… {len(shown) - MAX_NAMED} more; use list_files to see them …]")
    if rendered.answers:
        told = ", ".join(f"{each}={json.dumps(value, ensure_ascii=False)}" for each, value in rendered.answers.items())
        lines.append(f"Answers: {told}.")
    if template.not_run:
        lines.append(
            f"Not run: the template's {' and '.join(template.not_run)}. Tell the user, who may want to run them."
        )
    if rendered.left_out:
        lines.append(f"Left out: {_named(rendered.left_out)}. The template is in {template.folder}.")
    return "\n".join(lines)


def _named(names: Sequence[str]) -> str:
    more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
    return ", ".join(names[:MAX_NAMED]) + more
