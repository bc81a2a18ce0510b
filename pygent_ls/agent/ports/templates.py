"""Templates port: templates of new projects and components of projects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, Protocol

from msgspec import Struct, field

from pygent_ls.agent.ports.workspace import TextEncoding

TemplateKind = Literal["template", "component"]
"""Template of a whole project, or component that is added to one."""

QuestionType = Literal["str", "int", "float", "bool", "json", "yaml", "path"]


class TemplateQuestion(Struct, frozen=True, kw_only=True):
    """Question that a template asks."""

    name: str
    type: QuestionType | None
    """None if it depends on other answers."""
    help: str = ""
    default: object = None
    """JSON value; if `is_computed`, the expression that it comes from."""
    is_required: bool = False
    """Whether it has no default."""
    is_computed: bool = False
    choices: tuple[object, ...] = ()
    """Valid answers; empty if any answer is valid, or if they depend on other answers."""
    is_multiple: bool = False
    """Whether the answer is a list of choices."""
    condition: str = ""
    """Expression; the question is asked only if it is true."""


class Template(Struct, frozen=True, kw_only=True):
    """One template or component, as it describes itself."""

    name: str
    kind: TemplateKind
    description: str
    folder: Path
    """Absolute folder of the template, links resolved."""
    is_users: bool
    """Whether it is the user's own rather than a shipped one."""
    questions: tuple[TemplateQuestion, ...] = ()
    not_run: tuple[str, ...] = ()
    """Steps that it declares and that are never run, in words: `2 tasks`, `1 migration`."""
    problem: str = ""
    """Why it cannot be used; empty if it can."""


class RenderedFile(Struct, frozen=True, kw_only=True):
    """Text file that a template renders."""

    path: str
    """Path relative to the target folder, with `/`; without `..`, never absolute."""
    text: str
    encoding: TextEncoding = field(default_factory=TextEncoding)
    is_executable: bool = False


class Rendered(Struct, frozen=True, kw_only=True):
    """Result of rendering a template with its answers; nothing of it is in the workspace yet."""

    files: tuple[RenderedFile, ...]
    answers: Mapping[str, object]
    """Every question's answer, defaults included, as JSON values."""
    left_out: tuple[str, ...] = ()
    """What cannot be created, each with the reason: files that are not text, links, empty folders."""


class Templates(Protocol):
    """Finds and renders templates. Nothing of a template is run, and nothing is fetched."""

    @property
    def sources(self) -> Sequence[Path]:
        """Folders that the list depends on; they need not exist."""
        ...

    async def list_all(self, kind: TemplateKind) -> Sequence[Template]:
        """List the templates by name; the user's own replace shipped ones of the same name."""
        ...

    async def render(
        self, template: Template, answers: Mapping[str, object], *, likely: Mapping[str, object], folder: Path
    ) -> Rendered:
        """Render a template for this folder, which need not exist. `likely` holds answers that replace a question's
        default if none is given.

        Raises `ToolError` if an answer is not accepted, or the template is broken, leads out of the folder, is too
        large, or takes too long.
        """
        ...
