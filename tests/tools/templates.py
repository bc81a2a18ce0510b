"""Templates that lie in memory, for what the tools do with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from msgspec.structs import replace

from pygent_ls.agent.ports.templates import Rendered, RenderedFile, Template, TemplateKind, TemplateQuestion
from pygent_ls.errors import ToolError

APP = Template(
    name="app",
    kind="template",
    description="A small program",
    folder=Path("/templates/app"),
    is_users=False,
    questions=(
        TemplateQuestion(name="name", type="str", help="Its name", default="{folder}", is_computed=True),
        TemplateQuestion(name="language", type="str", is_required=True, choices=("python", "go")),
        TemplateQuestion(name="port", type="int", default=80),
        TemplateQuestion(name="parts", type="str", default=["a"], choices=("a", "b"), is_multiple=True),
        TemplateQuestion(name="deep", type="bool", default=True, condition="{{ port }}"),
    ),
)

BADGE = Template(
    name="badge",
    kind="component",
    description="Says what the project is",
    folder=Path("/users/badge"),
    is_users=True,
    questions=tuple(
        TemplateQuestion(name=name, type="str", default="?")
        for name in ("project_name", "package_name", "language", "author", "python_version", "colour")
    ),
)


@dataclass
class TemplatesInMemory:
    """The port. Files are the same for all templates: names and texts with `{question}` in them."""

    templates: Sequence[Template] = (APP, BADGE)
    files: Mapping[str, str] = field(default_factory=lambda: {"{name}/main.txt": "{name} in {language}\n"})
    executable: frozenset[str] = frozenset()
    left_out: tuple[str, ...] = ()
    sources: Sequence[Path] = ()
    refusal: str = ""

    async def list_all(self, kind: TemplateKind) -> Sequence[Template]:
        return [each for each in self.templates if each.kind == kind]

    async def render(
        self, template: Template, answers: Mapping[str, object], *, likely: Mapping[str, object], folder: Path
    ) -> Rendered:
        if self.refusal:
            raise ToolError(self.refusal)
        defaults = {each.name: folder.name if each.is_computed else each.default for each in template.questions}
        told = {**defaults, **likely, **answers}
        files = [
            RenderedFile(path=path.format(**told), text=text.format(**told), is_executable=path in self.executable)
            for path, text in self.files.items()
        ]
        return Rendered(files=tuple(files), answers=told, left_out=self.left_out)


def with_folder(template: Template, folder: Path) -> Template:
    """The same template, lying elsewhere."""
    return replace(template, folder=folder)
