"""Tools: each is declared next to its function, with its own risk; its JSON Schema comes from the signature."""

from __future__ import annotations

import inspect
import json
import re
import shlex
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from pygent_ls.agent.display_text import excerpt, in_full, one_line, text_of
from pygent_ls.agent.kinds import ToolCategory, ToolKind, ToolRisk
from pygent_ls.agent.messages import ImageBlock
from pygent_ls.agent.ports.editor_state import EditorState, NoEditor
from pygent_ls.agent.ports.language_features import LanguageFeatures, NoLanguageFeatures
from pygent_ls.agent.ports.model import ToolDefinition
from pygent_ls.agent.ports.output_store import Outputs, is_output
from pygent_ls.agent.ports.processes import Processes, ProcessResult, ProcessSpec
from pygent_ls.agent.ports.questioner import AskUser, nobody_answers
from pygent_ls.agent.ports.subagents import RunSubagent, no_subagents
from pygent_ls.agent.ports.workspace import Document, EditPlan, Stamp, Workspace
from pygent_ls.agent.rules.read_rules import READING, Reading
from pygent_ls.agent.tools.plan import SetPlan, no_plan
from pygent_ls.agent.tools.read_log import ReadLog
from pygent_ls.agent.tools.secret_masks import SecretMasks
from pygent_ls.agent.tools.signature import ToolSignature
from pygent_ls.errors import Quote, StaleDocumentError, ToolError

if TYPE_CHECKING:
    from pygent_ls.agent.ports.notes import Notes
    from pygent_ls.agent.ports.pictures import Pictures
    from pygent_ls.agent.ports.skills import Skills
    from pygent_ls.agent.ports.symbols import SymbolIndex
    from pygent_ls.agent.ports.templates import Templates
    from pygent_ls.agent.ports.web import UrlVerdict, Web, WebSearch


PATH_ARGUMENTS = (
    "path",
    "paths",
    "file_path",
    "source",
    "destination",
    "src",
    "dest",
    "directory",
    "dir",
    "cwd",
)
"""Arguments that name paths, for the conflict check and for a call's locations."""

DEFAULT_TIMEOUT_S = 60.0
"""Default timeout of a tool: longer than a search of a large tree takes, short enough to wait for."""


@dataclass(kw_only=True)
class ToolContext:
    """Everything that a tool may access, made anew for each call.

    Reads through it are recorded: in `reads` as known to the model, in `dependencies` and `trees` as what a cached
    result depends on.
    """

    tool_id: str
    session_id: str
    turn_id: str = field(default="", kw_only=True)
    workspace: Workspace
    processes: Processes
    remote: Processes | None = None
    """Where commands run, if that is not this machine."""
    reads: ReadLog
    report: Callable[[str], Awaitable[None]]
    """Passes on live output."""
    working_directory: Path = Path()
    """Folder of commands that name none: the session's."""
    dependencies: dict[Path, Stamp] = field(default_factory=dict[Path, Stamp])
    """Files that were read, with their stamps."""
    trees: dict[Path, Stamp] = field(default_factory=dict[Path, Stamp])
    """Folders that were searched, with their stamps."""
    shown: list[Document] = field(default_factory=list[Document])
    """Documents that this call showed the model."""
    images: list[ImageBlock] = field(default_factory=list[ImageBlock])
    """Images that the model sees after the result, if the call does not fail."""
    cacheable: bool = True
    """Whether the result may be cached; a call may set it to False."""
    outputs: Outputs = field(default_factory=Outputs)
    masks: SecretMasks = field(default_factory=SecretMasks)
    """Redacts secrets in what is shown."""
    shows_lines_of: str | None = None
    """File of environment variables whose lines a program is asked to write."""
    reading: Reading = field(default_factory=Reading)
    """Rules on which files must not be shown."""
    web: Web | None = None
    pictures: Pictures | None = None
    search: WebSearch | None = None
    templates: Templates | None = None
    skills: Skills | None = None
    notes: Notes | None = None
    symbols: SymbolIndex | None = None
    find_tools: Callable[[str, int], Sequence[Tool]] = lambda _query, _limit: ()
    """Finds tools on demand by words, at most so many."""
    ask_user: AskUser = nobody_answers
    run_subagent: RunSubagent = no_subagents
    set_plan: SetPlan = no_plan
    editor: EditorState = field(default_factory=NoEditor)
    language: LanguageFeatures = field(default_factory=NoLanguageFeatures)
    judge_url: Callable[[str], UrlVerdict] = lambda _: "ask"
    """What the permission rules say about an address."""
    exit_code: int | None = None
    """Set by a call whose purpose is to run a command; negative for a signal."""
    sandboxed: bool = True
    """Value for the `ProcessSpec` of what runs for the model; False without a sandbox, or if the user waived it."""
    _known_before: dict[Path, str | None] = field(default_factory=dict[Path, str | None])

    async def read(self, path: str) -> Document:
        """Read a document to show it, redacted, and count it as read by the model. Raises `ToolError`."""
        document = await self.peek(self.workspace.resolve(path))
        self.shown.append(document)
        self._known_before.setdefault(document.path, self.reads.known(document.path))
        self.reads.record(document)
        return await self.masks.document(document, path)

    def take_back_reads(self) -> None:
        """Undo the records of reads of a failed call: what it read was not shown to the model."""
        for path, known in self._known_before.items():
            self.reads.take_back(path, known)

    async def peek(self, path: Path) -> Document:
        """Read a document as it is, without counting it as read by the model. Raises `ToolError`."""
        document = await self.workspace.read(path)
        self.dependencies[path] = document.stamp
        return document

    async def read_to_edit(self, path: str) -> Document:
        """Read a document as it is, which is about to be edited.

        Raises `StaleDocumentError`, with the current text, if the model has read another version of it; `ToolError` if
        a rule keeps it from being read, since the outcome of an edit reveals the text.
        """
        check_readable(self, path)
        document = await self.workspace.read(self.workspace.resolve(path))
        if self.reads.is_stale(document):
            self.reads.record(document)  # the error shows it, so the next attempt knows it
            self._known_before.pop(document.path, None)
            name = self.workspace.shown(document.path)
            raise StaleDocumentError(
                f"{name} has changed since you read it (the user or a program edited it). Nothing was written. "
                f"Its text is now:\n{excerpt(document.text)}\nBase your edit on this text.",
                [Quote(document.text, str(document.path))],
            )
        return document

    @property
    def commands(self) -> Processes:
        """Processes of the tools that run commands of the model or of the project: `Tool.runs_commands`."""
        return self.remote or self.processes

    async def run(self, spec: ProcessSpec) -> ProcessResult:
        """Run a program and show its output, redacted, both live and in the result. Raises `ToolError`."""
        return await self.masks.run(self.processes, spec, self.masks.live(self.shows_lines_of), self.report)

    async def run_command(self, spec: ProcessSpec) -> ProcessResult:
        """As `run`, where commands run."""
        return await self.masks.run(self.commands, spec, self.masks.live(self.shows_lines_of), self.report)

    async def run_apart(self, spec: ProcessSpec) -> ProcessResult:
        """As `run`, without live output; the result has standard output and standard error apart."""
        return await self.masks.run(self.processes, replace(spec, errors_apart=True), self.masks.live())

    async def depend_on_tree(self, folder: Path) -> None:
        """Record that the result is valid only while nothing below the folder changes."""
        stamp = await self.workspace.tree_stamp(folder)
        if stamp is None:
            self.cacheable = False
        else:
            self.trees[folder] = stamp


MAX_PROBLEMS = 10
"""Maximum number of invalid arguments that an error names."""

MAX_PROBLEM_CHARS = 300

MAX_PATHS = 500
"""Maximum number of paths in one call. Each is resolved several times before the call runs, 0.1 ms each time."""


ToolFunction = Callable[..., Awaitable["str | EditPlan"]]


class Tool(Struct, frozen=True, kw_only=True, dict=True):
    """Tool that a model can call. `run` takes the context and the validated arguments.

    A tool that changes files does not write: it returns an `EditPlan`, which is shown to the user, and applied once
    permission is given. Any other tool returns the text that the model reads.
    """

    name: str
    description: str
    risk: ToolRisk
    category: ToolCategory
    kind: ToolKind
    run: ToolFunction
    title: str
    """Title for a person, with the arguments in braces: `Read {path}`. If the tool has `paths_of`, `{paths}` stands for
    what it finds; `{cd}` is the change into the folder that `cwd` names."""
    read_only: bool = False
    cacheable: bool = False
    ttl_s: float = 0.0
    timeout_s: float | None = DEFAULT_TIMEOUT_S
    """Time limit of a call; None if the tool limits its own time."""
    plans_edit: bool = False
    runs_programs: bool = False
    """Whether it runs programs that read and may write the disk: unsaved changes are saved before, and changed files
    are reported after."""
    polls: bool = False
    """Whether it waits for a change: repeated calls are not a loop."""
    sandboxed: bool = False
    """Whether the model or the workspace chooses what it runs, which belongs in the sandbox."""
    runs_commands: bool = False
    """Whether it runs that with `ToolContext.commands`, which may be in a container or on another machine."""
    stays_in_workspace: bool = True
    """Whether a call that names a path outside of the workspace is refused. What another program calls a path may be
    something else."""
    command_argument: str = ""
    """Argument with a command line that a shell outside of the sandbox will run; the rules that deny `shell`, or ask
    about it, are about it too."""
    paths_of: Callable[[Mapping[str, Any]], Sequence[str]] | None = None
    """Finds the paths inside an argument, as in a patch. It takes the arguments as the model gave them, valid or not,
    and raises nothing."""

    @cached_property
    def signature(self) -> ToolSignature:
        """Arguments that the function takes."""
        return ToolSignature(self.run)

    @cached_property
    def definition(self) -> ToolDefinition:
        """Definition that the model is given."""
        return ToolDefinition(name=self.name, description=self.description, schema=self.signature.schema)

    def validate(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments with their types. Raises `ToolError` that names each invalid field."""
        valid, problems = self.signature.convert(given)
        if problems:
            told = "; ".join(one_line(each, MAX_PROBLEM_CHARS) for each in problems[:MAX_PROBLEMS])
            told += f"; and {len(problems) - MAX_PROBLEMS} more" if len(problems) > MAX_PROBLEMS else ""
            required = json.dumps(self.definition.schema.get("required", []))
            known = json.dumps(self.signature.names)
            raise ToolError(
                f"Invalid arguments for {self.name}: {told}. Its arguments are {known}; required: {required}."
            )
        return valid

    def paths_in(self, given: Mapping[str, Any]) -> tuple[str, ...]:
        """Return every path that a call names, in its arguments or inside them; each once."""
        inside = self.paths_of(given) if self.paths_of else ()
        named = dict.fromkeys((*path_arguments(given), *inside))
        return tuple(path for path in named if not is_output(self.name, path))

    def check_paths(self, given: Mapping[str, Any]) -> None:
        """Raises `ToolError` if a call names more than `MAX_PATHS` paths."""
        if (n_paths := len(self.paths_in(given))) > MAX_PATHS:
            raise ToolError(
                f"This call names {n_paths:,} paths, but one call may name at most {MAX_PATHS}. Nothing was done. "
                "Name a folder, or make several calls."
            )

    def title_for(self, given: Mapping[str, Any]) -> str:
        """Return a one-line title for a person, with this call's arguments shortened."""
        return re.sub(r"\s+", " ", self._filled({name: one_line(value) for name, value in self._named(given)}))

    def action_for(self, given: Mapping[str, Any]) -> str:
        """Return what a person is asked to allow: the title with complete arguments. Further lines are indented."""
        return self._filled({name: in_full(text_of(value)) for name, value in self._named(given)})

    def _named(self, given: Mapping[str, Any]) -> Iterable[tuple[str, Any]]:
        named = {**given, "cd": cd_prefix(given)}
        return ({**named, "paths": ", ".join(self.paths_in(given))} if self.paths_of else named).items()

    def _filled(self, values: Mapping[str, str]) -> str:
        return self.title.format_map(defaultdict(str, values)).strip()


def cd_prefix(given: Mapping[str, Any]) -> str:
    """Return the beginning of a command line that runs in the call's `cwd`; empty if it names none."""
    cwd = given.get("cwd")
    return f"cd {shlex.quote(cwd)} && " if isinstance(cwd, str) and cwd not in ("", ".") else ""


def tool(  # noqa: PLR0913 - a declaration, read like a table row
    *,
    risk: ToolRisk,
    category: ToolCategory,
    kind: ToolKind,
    title: str,
    read_only: bool = False,
    cacheable: bool | None = None,
    ttl_s: float = 0.0,
    timeout_s: float | None = DEFAULT_TIMEOUT_S,
    plans_edit: bool = False,
    runs_programs: bool = False,
    polls: bool = False,
    sandboxed: bool = False,
    runs_commands: bool = False,
    paths_of: Callable[[Mapping[str, Any]], Sequence[str]] | None = None,
) -> Callable[[ToolFunction], Tool]:
    """Make a tool of an async function; its name, docstring and signature are what the model is told.

    `cacheable` defaults to true if `read_only` is set and `ttl_s` is positive.
    """

    def declare(function: ToolFunction) -> Tool:
        return Tool(
            name=getattr(function, "__name__", "tool"),
            description=_description(function),
            risk=risk,
            category=category,
            kind=kind,
            run=function,
            title=title,
            read_only=read_only,
            cacheable=(read_only and ttl_s > 0) if cacheable is None else cacheable,
            ttl_s=ttl_s,
            timeout_s=timeout_s,
            plans_edit=plans_edit,
            runs_programs=runs_programs,
            polls=polls,
            sandboxed=sandboxed,
            runs_commands=runs_commands,
            paths_of=paths_of,
        )

    return declare


def _description(function: ToolFunction) -> str:
    """Return the docstring without its section on what is raised, which is for people."""
    text = inspect.getdoc(function) or ""
    return text.partition("\nRaises:")[0].strip()


class ToolRegistry:
    """Tools that a model is offered, by name, in order of registration."""

    def __init__(
        self,
        tools: Sequence[Tool] = (),
        withheld: Mapping[str, str] | None = None,
        on_demand: Collection[str] = (),
        found: set[str] | None = None,
    ) -> None:
        self._tools: dict[str, Tool] = {}
        self._on_demand = on_demand
        self._found = set[str]() if found is None else found
        self.withheld = withheld or {}
        """Tools that are not offered, each with the reason: `is not offered to …`. `on_demand` are the names of tools
        whose definitions are left out until they are in `found`, a set of the session."""
        for each in tools:
            self.register(each)

    def register(self, new: Tool) -> None:
        """Add a tool. Raises ValueError if the name is taken."""
        if new.name in self._tools:
            raise ValueError(f"a tool named {new.name} is already registered")
        self._tools[new.name] = new

    def get(self, name: str) -> Tool | None:
        """Return the tool of that name; None if it is not offered."""
        return self._tools.get(name)

    def list_all(self) -> list[Tool]:
        """Return all tools."""
        return list(self._tools.values())

    def list_by_category(self, category: ToolCategory) -> list[Tool]:
        """Return the tools of one category."""
        return [each for each in self._tools.values() if each.category is category]

    def list_definitions(self) -> list[ToolDefinition]:
        """Return the definitions of all tools, without those on demand that were not found yet."""
        return [
            each.definition for name, each in self._tools.items() if name not in self._on_demand or name in self._found
        ]

    def with_tools(self, tools: Sequence[Tool], withheld: Mapping[str, str]) -> ToolRegistry:
        """Return a registry of these tools, on the same demand."""
        return ToolRegistry(tools, withheld, self._on_demand, self._found)

    def find(self, query: str, limit: int) -> list[Tool]:
        """Return the tools on demand that fit the words best, whose definitions are included from now on."""
        words = re.findall(r"\w+", query.lower().replace("_", " "))
        ranked = [(_fit(each, words), each) for name, each in self._tools.items() if name in self._on_demand]
        best = sorted((pair for pair in ranked if pair[0]), key=lambda pair: -pair[0])[:limit]
        self._found.update(each.name for _, each in best)
        return [each for _, each in best]


def _fit(tool: Tool, words: Sequence[str]) -> int:
    """Return how well a tool fits: a word in its name counts for more than one in its description."""
    name, description = tool.name.lower().replace("_", " "), tool.description.lower()
    return sum(4 * (word in name.split()) + 2 * (word in name) + (word in description) for word in words)


def path_arguments(given: Mapping[str, Any]) -> Iterator[str]:
    """Yield the values of the arguments that name paths."""
    for name in PATH_ARGUMENTS:
        value = given.get(name)
        if isinstance(value, str):
            yield value
        elif isinstance(value, list):
            yield from (part for part in value if isinstance(part, str))  # pyright: ignore[reportUnknownVariableType]


def is_withheld(context: ToolContext, path: Path) -> bool:
    """Whether the text of the file at this resolved path must not be shown."""
    return bool(context.reading.rules) and context.reading.withholds(context.workspace.shown(path)) is not None


def check_readable(context: ToolContext, path: str) -> None:
    """Raises `ToolError` if the text of the file must not be shown, by its own path or that of a link to it.

    A file that an ask rule covers may be shown once the model has read it: the user has then allowed it.
    """
    if not context.reading.rules:
        return
    workspace = context.workspace
    for place in dict.fromkeys((workspace.resolve(path), workspace.resolve(path, follow=False))):
        rule = context.reading.withholds(workspace.shown(place))
        if rule is None or (rule.decision == "ask" and context.reads.knows(place)):
            continue
        how = "Do not attempt it another way. Continue without it, or ask what to do instead."
        if rule.decision == "ask":
            how = f"Read it with {READING} first, which asks the user."
        raise ToolError(
            f"The permission rule {rule.text} prevents {workspace.shown(place)} from being read, so this cannot "
            f"be done with it. {how}"
        )
