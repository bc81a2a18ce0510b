"""The templates port: what new projects, and parts of projects, are made from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from pygent_ls.agent.workspace import TextEncoding

TemplateKind = Literal["template", "component"]
"""What a whole project is made from, or what is added to one."""

QuestionType = Literal["str", "int", "float", "bool", "json", "yaml", "path"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What a template wants to know."""

    name: str
    type: QuestionType | None
    """None where it depends on other answers."""
    help: str = ""
    default: object = None
    """A JSON value; where `is_computed`, the expression that it comes from."""
    is_required: bool = False
    """There is no default."""
    is_computed: bool = False
    choices: tuple[object, ...] = ()
    """The answers that there are; empty where anything goes, or where they depend on other answers."""
    is_multiple: bool = False
    """The answer is a list of choices."""
    condition: str = ""
    """An expression: it is asked only where that is true."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """One template or component, as it describes itself."""

    name: str
    kind: TemplateKind
    description: str
    folder: Path
    """Where it lies; absolute, links resolved."""
    is_users: bool
    """It is the user's own, and did not come with us."""
    questions: tuple[Question, ...] = ()
    not_run: tuple[str, ...] = ()
    """What it would have run and what is never run, in words: `2 tasks`, `1 migration`."""
    problem: str = ""
    """Why it cannot be used; empty where it can."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderedFile:
    """A text file that a template comes to."""

    path: str
    """Relative to the folder that it is made in, with `/`; without `..`, never absolute."""
    text: str
    encoding: TextEncoding = field(default_factory=TextEncoding)
    is_executable: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendered:
    """What a template comes to with its answers; nothing of it is in the workspace yet."""

    files: tuple[RenderedFile, ...]
    answers: Mapping[str, object]
    """Every question's answer, defaults included, as JSON values."""
    left_out: tuple[str, ...] = ()
    """What it would have made, but cannot be: files that are not text, links, empty folders; each with the reason."""


class Templates(Protocol):
    """Finds templates and renders them. Nothing of a template is run, and nothing is fetched."""

    @property
    def sources(self) -> Sequence[Path]:
        """The folders that a list depends on; they need not be there."""
        ...

    async def list_all(self, kind: TemplateKind) -> Sequence[Template]:
        """What there is, by name; the user's own stand in the place of those of the same name that came with us."""
        ...

    async def render(
        self, template: Template, answers: Mapping[str, object], *, likely: Mapping[str, object], folder: Path
    ) -> Rendered:
        """Render for this folder, which need not be there. `likely` are answers where none is given, in place of
        the question's default.

        Raises `ToolError`: an answer was not accepted, the template is broken, leads out of the folder, is too large,
        or takes too long.
        """
        ...
