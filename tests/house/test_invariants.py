"""The house's rules that can be read off the source; docs/architecture.md says why each is one."""

from __future__ import annotations

import ast
import gc
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import cast

import pytest

ROOT = Path(__file__).parents[2]

MAX_LINES = 600

FORBIDDEN_NAMES = {"manager", "utils", "helpers", "common", "base", "types"}

OWNERS: Mapping[str, tuple[str, ...]] = {
    "pygls": (),
    "lsprotocol": (),
    "msgspec": (  # to convert what comes from outside; any module declares structs
        "editors/lsp/",
        "config/",
        "llm/http/stream.py",
        "fleet/",
        "agent/tools/signature.py",
        "tools/",
        "sessions/journal/decoder.py",
        "sessions/saved_format/reader.py",
    ),
    "pydantic": (
        "editors/acp/",
        "editors/mcp/",
        "editors/scripts/",
        "extensions/own_tools/child.py",
        "extensions/mcp/",
    ),
    "litellm": ("llm/litellm/loader.py",),
    "aiohttp": ("llm/http/stream.py", "llm/http/library.py"),
    "certifi": ("llm/http/environment.py",),
    "acp": ("editors/acp/", "extensions/acp/"),
    "mcp": ("extensions/mcp/", "editors/mcp/"),
    "bs4": ("workspace/web/page_process.py",),
    "markdownify": ("workspace/web/page_process.py",),
    "copier": ("workspace/templates/copier_process.py",),
    "nbformat": ("tools/notebooks/notebook_text.py",),
    "PIL": ("workspace/pictures/picture_process.py",),
    "tree_sitter": ("shell/", "syntax/"),
    "tenacity": ("agent/model/retry.py",),
    "opentelemetry": ("observability/otel.py",),
    "jsonschema": ("agent/tools/structured_output.py",),
    "referencing": ("agent/tools/structured_output.py",),
    "markdown_it": ("sessions/export/markdown_html.py", "editors/terminal/markdown.py"),
    "prompt_toolkit": ("editors/terminal/",),
    "rich": ("editors/terminal/markdown.py", "fleet/progress.py"),
    "distributed": ("fleet/dask_executor.py",),
    "keyring": ("llm/keys/keyring_process.py",),
    "tomlkit": ("config/user_file.py",),
    "yaml": ("data_files.py",),
    "pygent_ls.file_access": (
        "workspace/",
        "extensions/front_matter.py",
        "extensions/own_tools/tools.py",
        "config/trust.py",
        "sessions/checkpoints/planned_edit.py",
        "sessions/checkpoints/rewind.py",
        "editors/lsp/documents/buffers.py",
        "editors/lsp/chat_document/files.py",
        "editors/lsp/ports/workspace.py",
    ),
    "pygent_ls.config": ("cli/", "app/", "config/"),
    "pygent_ls.observability": ("cli/", "app/", "observability/"),
}
"""Who alone may import what, as the beginnings of paths in the package."""

CATCHES_ALL: Mapping[str, str] = {
    "agent/calls/executor.py": "the tool guard: whatever a tool raises becomes the model's error result",
    "editors/lsp/transport/stdio.py": "the read loop: no input ends the daemon",
    "editors/lsp/rpc/endpoint.py": "the read loop: no request stays without an answer",
    "extensions/own_tools/child.py": "the process of a tool: whatever the tool raises becomes its error result",
    "llm/packages.py": "the thread of a package: whatever its code raises becomes the error of the call",
    "startup/bytecode_bundle.py": "a module that is imported ahead: its own import statement raises the error again",
    "extensions/mcp/client.py": "a transport of the SDK raises errors of several libraries, and groups of them",
}

OWNED_TASKS: Mapping[str, str] = {
    "editors/lsp/rpc/endpoint.py": "whoever closes the connection awaits its handlers",
    "editors/lsp/handlers/client_extensions.py": "the first registration of a client; turns and `close` wait for it",
    "editors/lsp/ports/client_tools.py": "the live output of a call, which waits for its end",
    "agent/edits/commit.py": "whoever begins an edit awaits it, also where they are cancelled",
    "workspace/processes/remote/remote_processes.py": "`finish` awaits the client and what feeds its standard input",
    "editors/acp/session.py": "`close` awaits what follows the answer to a request",
    "editors/lsp/chat_document/registry.py": "the connection awaits the answers that are written into "
    "documents when it closes",
    "editors/lsp/commands/session_options.py": "the connection ends the open question of a command before it closes",
    "editors/lsp/commands/commit_message.py": "the connection ends the request to the model before it closes",
    "editors/lsp/completion/inline_completion.py": "the connection ends the request to the model before it closes",
    "editors/lsp/connection.py": "the connection awaits the stored review before it closes",
    "editors/lsp/review/store.py": "the connection closes the store, which writes what waits",
    "editors/lsp/review/commands.py": "the connection ends the reports to running turns before it closes",
    "editors/lsp/commands/crash_recovery.py": "the connection ends the question of its client before it closes",
    "editors/lsp/daemon/reconnection.py": "the daemon awaits the ends of servers whose windows stayed "
    "away when it ends",
    "editors/lsp/daemon/socket_server.py": "the daemon awaits the tasks of its clients when it ends",
    "editors/terminal/line_editor.py": "whoever waits for a line awaits the prompt that is being written",
    "extensions/acp/agents.py": "`prompt` awaits its request, and `close` the ends of agents whose settings changed",
    "extensions/acp/connection.py": "`receive` ends what it waits for",
    "extensions/acp/session.py": "a prompt awaits its request, what shows its updates, and its answers to requests",
    "extensions/acp/terminals.py": "a prompt awaits the commands of its terminals",
    "extensions/line_process.py": "`stop` awaits the process and what writes to it",
    "extensions/language_servers/process.py": "`stop` awaits the task of the program and that of its writer",
    "extensions/language_servers/server.py": "`stop` awaits what the server's messages have started",
    "extensions/language_servers/servers.py": "`close` awaits starts, preparations and the ends of servers",
    "extensions/mcp/servers.py": "`close` awaits the task of each server, and that what it has started",
    "extensions/voice.py": "`close` awaits the task that polls the speech server",
    "extensions/mcp/stdio.py": "who leaves the transport awaits the process and what writes to it",
    "llm/packages.py": "the package awaits that each piece of its answer was taken",
    "llm/cli/model.py": "the stream that reads what the program writes awaits its end",
    "sessions/lifecycle/eviction.py": "who wants a session that is being closed awaits it, and the "
    "daemon does when it ends",
    "sessions/background_reports.py": "`close`, which the session calls, awaits the notices to running turns",
    "sessions/side_questions.py": "`close`, which the session calls, awaits the questions that are being answered",
    "sessions/session.py": "the session owns its turn's task and awaits it",
    "app/trust_prompt.py": "the question stays open when a turn that waits for it is cancelled; `close` awaits it",
    "workspace/processes/local_processes.py": "who follows a command awaits what looks at its use; what a thread sets "
    "up for one that was cancelled is removed when the thread is done, or with the daemon",
    "workspace/processes/background.py": "each command's task is awaited when its session ends its commands",
}
"""Files that start a task without a TaskGroup, and who awaits it."""

STARTS_WITHOUT_MSGSPEC: Mapping[str, str] = {
    "api.py": "tools of users import it, in a process of their own",
    "editors/lsp/transport/unix_socket.py": "`pygent-ls connect`, which each window starts",
    "syntax/symbols.py": "the program that parses source files, as all below",
    "workspace/symbols/cache_file.py": "",
    "workspace/symbols/index_process.py": "",
    "workspace/symbols/parsing.py": "",
    "workspace/symbols/ranking.py": "",
}
"""Files whose values are dataclasses since the program that reads them starts sooner than msgspec is imported."""

FIELD_OPTIONS = {"repr", "compare", "hash", "init", "kw_only"}
"""Options of a dataclass's field that a struct's has not; `repr=False` keeps a secret out of messages."""

PURE_OS = {"sep", "altsep", "linesep", "fspath", "PathLike"}
PURE_OS_PATH = {"join", "normpath", "normcase", "basename", "dirname", "split", "splitext", "commonpath", "isabs"}
IO_LIBRARIES = {
    "subprocess",
    "socket",
    "shutil",
    "tempfile",
    "io",
    "mmap",
    "glob",
    "httpx",
    "aiohttp",
    "urllib.request",
}
VALUES = (
    "agent/messages",
    "agent/events",
    "agent/ports/",
    "agent/permissions/permissions",
)
"""The core's modules of values; what others hold while a turn runs may grow."""

IO_METHODS = {
    *("read_text", "write_text", "read_bytes", "write_bytes", "open", "cwd", "home", "exists", "is_file", "is_dir"),
    *("is_symlink", "iterdir", "rglob", "lstat", "unlink", "mkdir", "rmdir", "touch", "symlink_to", "hardlink_to"),
}
"""What a Path does with the disk, less what strings and the ports have too (replace, stat, resolve …)."""


@dataclass(frozen=True, slots=True)
class Source:
    """A Python file and all nodes of its syntax tree; `path` is relative to the folder that was asked for."""

    path: str
    text: str
    nodes: tuple[ast.AST, ...]

    def finds(self, wanted: Callable[[ast.AST], bool]) -> list[str]:
        """`path:line` of each node that is wanted."""
        lines = (getattr(node, "lineno", 0) for node in self.nodes if wanted(node))
        return [f"{self.path}:{line}" for line in lines]


@cache
def sources(folder: str) -> tuple[Source, ...]:
    """Every Python file below a folder of the project, the sample project for the demo aside."""
    top = ROOT / folder
    files = [file for file in sorted(top.rglob("*.py")) if "sample" not in file.relative_to(top).parts]
    assert files, f"nothing below {folder}"
    texts = [(file.relative_to(top).as_posix(), file.read_text(encoding="utf-8")) for file in files]
    gc.disable()  # a million nodes, which all stay: to look through them again and again takes longer than to make them
    try:
        found = tuple(Source(path, text, tuple(ast.walk(ast.parse(text)))) for path, text in texts)
        gc.freeze()
    finally:
        gc.enable()
    return found


def package(*rooms: str) -> list[Source]:
    return [source for source in sources("pygent_ls") if not rooms or source.path.startswith(rooms)]


@cache
def import_statements() -> tuple[Source, ...]:
    """The package with nothing but its import statements: twenty tests look for one library each."""
    return tuple(
        replace(source, nodes=tuple(node for node in source.nodes if isinstance(node, ast.Import | ast.ImportFrom)))
        for source in package()
    )


def imported(node: ast.AST) -> Iterator[str]:
    """The modules that an import statement names, `from a import b` as `a` and `a.b`."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    if isinstance(node, ast.ImportFrom) and node.module:
        yield node.module
        yield from (f"{node.module}.{alias.name}" for alias in node.names)


def imports(node: ast.AST, library: str) -> bool:
    return isinstance(node, ast.Import | ast.ImportFrom) and any(
        name == library or name.startswith(library + ".") for name in imported(node)
    )


def declares_structs(node: ast.AST) -> bool:
    """An import of what declares structs and works with their fields, which neither validates nor converts."""
    if not isinstance(node, ast.ImportFrom):
        return False
    names = {alias.name for alias in node.names}
    return node.module == "msgspec.structs" or (node.module == "msgspec" and names <= {"Struct", "field"})


def dotted(node: ast.AST) -> str:
    """`asyncio.create_task` for the function of a call; a call within it is `()`."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=value, attr=attribute):
            return f"{dotted(value)}.{attribute}"
        case ast.Call(func=function):
            return f"{dotted(function)}()"
        case _:
            return ""


def called(node: ast.AST) -> str:
    return dotted(node.func) if isinstance(node, ast.Call) else ""


# Who may import what


@pytest.mark.parametrize("library", OWNERS)
def test_a_library_is_imported_by_its_owner_alone(library: str) -> None:
    def takes(node: ast.AST) -> bool:
        return imports(node, library) and not declares_structs(node)

    others = [each for each in import_statements() if not each.path.startswith(OWNERS[library])]

    assert [place for source in others for place in source.finds(takes)] == []


# Files and processes


def reaches_outside(node: ast.AST) -> bool:
    name = called(node)
    if name == "open" or (isinstance(node, ast.Call) and name.rpartition(".")[2] in IO_METHODS):
        return True
    if isinstance(node, ast.Attribute) and dotted(node).startswith("os."):
        first, *rest = dotted(node).split(".")[1:]
        return first not in PURE_OS and not (first == "path" and (not rest or rest[0] in PURE_OS_PATH))
    return any(imports(node, library) for library in IO_LIBRARIES)


@pytest.mark.parametrize("room", ["tools/", "agent/", "shell/", "secrets/"])
def test_files_and_processes_are_reached_through_the_context_alone(room: str) -> None:
    assert [place for source in package(room) for place in source.finds(reaches_outside)] == []


@pytest.mark.parametrize(
    "code",
    [
        "open('x')",
        "os.getcwd()",
        "os.path.exists(p)",
        "Path.cwd()",
        "p.read_text()",
        "import subprocess",
        "os.environ['x']",
    ],
)
def test_the_rule_about_files_sees_what_it_is_for(code: str) -> None:
    assert any(reaches_outside(node) for node in ast.walk(ast.parse(code)))


@pytest.mark.parametrize(
    "code", ["os.path.join(a, b)", "a.replace(b, c)", "workspace.resolve(p)", "text.split(os.sep)"]
)
def test_the_rule_about_files_leaves_the_rest_alone(code: str) -> None:
    assert not any(reaches_outside(node) for node in ast.walk(ast.parse(code)))


FOLLOWING = {"read_bytes", "read_text", "write_bytes", "write_text", "unlink", "rmdir", "mkdir", "chmod", "symlink_to"}
"""Methods of a path, which follow links on the way to it."""

WITHOUT_LINKS = (
    "workspace/files/transaction.py",
    "workspace/snapshots/path_state.py",
    "workspace/files/relocation.py",
    "workspace/files/reader.py",
    "workspace/snapshots/restore.py",
    "workspace/snapshots/excluded_files.py",
    "sessions/checkpoints/planned_edit.py",
    "sessions/checkpoints/rewind.py",
    "editors/lsp/documents/buffers.py",
    "editors/lsp/ports/workspace.py",
    "editors/lsp/chat_document/files.py",
)
"""What reads and changes files of the workspace."""


def follows_links(node: ast.AST) -> bool:
    name = called(node)
    is_os = re.fullmatch(r"os\.(?:open|rename|replace|link|unlink|rmdir|mkdir|scandir|listdir|walk|chmod)", name)
    is_method = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in FOLLOWING
    return name == "open" or bool(is_os) or is_method


def test_files_of_the_workspace_are_reached_without_following_a_link() -> None:
    found = [each for each in sources("pygent_ls") if each.path in WITHOUT_LINKS]

    assert len(found) == len(WITHOUT_LINKS)
    assert [place for source in found for place in source.finds(follows_links)] == []


# Errors and tasks


def catches_all(node: ast.AST) -> bool:
    if isinstance(node, ast.ExceptHandler):
        kinds = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
        swallows = not (isinstance(node.body[-1], ast.Raise) and node.body[-1].exc is None)
        return swallows and any(kind is None or dotted(kind) in {"Exception", "BaseException"} for kind in kinds)
    return called(node).endswith("suppress") and any(
        dotted(argument) in {"Exception", "BaseException"} for argument in getattr(node, "args", [])
    )


def test_whatever_is_raised_is_caught_in_the_guard_and_the_read_loop_alone() -> None:
    found = {source.path: source.finds(catches_all) for source in package()}

    assert [place for path, places in found.items() if path not in CATCHES_ALL for place in places] == []


def starts_a_task_for_nobody(node: ast.AST) -> bool:
    """A TaskGroup's own `create_task` is fine; asyncio's, and an event loop's, are not."""
    owner, _, function = called(node).rpartition(".")
    if function not in {"create_task", "ensure_future", "run_coroutine_threadsafe"}:
        return False
    return owner in {"", "asyncio"} or "loop" in owner.lower()


def test_every_task_has_an_owner_that_awaits_it() -> None:
    found = {source.path: source.finds(starts_a_task_for_nobody) for source in package()}

    assert [place for path, places in found.items() if path not in OWNED_TASKS for place in places] == []


@pytest.mark.parametrize(
    "code",
    [
        "asyncio.create_task(f())",
        "asyncio.get_running_loop().create_task(f())",
        "self._loop.create_task(f())",
        "create_task(f())",
    ],
)
def test_the_rule_about_tasks_sees_what_it_is_for(code: str) -> None:
    assert any(starts_a_task_for_nobody(node) for node in ast.walk(ast.parse(code)))


@pytest.mark.parametrize("exceptions", [CATCHES_ALL, OWNED_TASKS, STARTS_WITHOUT_MSGSPEC])
def test_an_exception_to_a_rule_names_a_file_that_is_there(exceptions: Mapping[str, str]) -> None:
    assert set(exceptions) <= {source.path for source in package()}


# Values


def is_frozen(options: Sequence[ast.keyword]) -> bool:
    return any(each.arg == "frozen" and getattr(each.value, "value", None) is True for each in options)


def dataclass_options(node: ast.AST) -> Sequence[ast.keyword] | None:
    """The options of a dataclass; None for anything else."""
    for each in node.decorator_list if isinstance(node, ast.ClassDef) else ():
        if dotted(each).removesuffix("()").rpartition(".")[2] == "dataclass":
            return each.keywords if isinstance(each, ast.Call) else ()
    return None


def thaws(node: ast.AST) -> bool:
    """A dataclass or a struct that can be changed."""
    options = dataclass_options(node)
    if options is not None:
        return not is_frozen(options)
    if not isinstance(node, ast.ClassDef) or not any(dotted(base).endswith("Struct") for base in node.bases):
        return False
    return not is_frozen(node.keywords)


def test_the_cores_values_are_frozen() -> None:
    assert [place for source in package(*VALUES) for place in source.finds(thaws)] == []


def is_slow(node: ast.AST) -> bool:
    """A dataclass that could be a struct: without a base, no field has an option that a struct lacks, and it makes no
    attributes that are not fields."""
    if not isinstance(node, ast.ClassDef) or dataclass_options(node) is None or node.bases:
        return False
    fields = (each for each in ast.walk(node) if called(each).rpartition(".")[2] == "field")
    names = {each.id if isinstance(each, ast.Name) else getattr(each, "name", "") for each in ast.walk(node)}
    return not names & {"__post_init__", "cached_property"} and not any(
        option.arg in FIELD_OPTIONS for each in fields for option in cast("ast.Call", each).keywords
    )


def test_what_has_fields_alone_is_a_struct() -> None:
    others = [each for each in package() if each.path not in STARTS_WITHOUT_MSGSPEC]

    assert [place for source in others for place in source.finds(is_slow)] == []


@pytest.mark.parametrize(
    ("code", "thawed", "slow"),
    [
        ("class A(Struct, frozen=True): ...", False, False),
        ("class A(Struct, kw_only=True): ...", True, False),
        ("@dataclass\nclass A: ...", True, True),
        ("@dataclass\nclass A:\n    def __post_init__(self) -> None: ...", True, False),
        ("@dataclass\nclass A(B): ...", True, False),
        ("@dataclass(frozen=True)\nclass A: ...", False, True),
        ("@dataclasses.dataclass(frozen=True)\nclass A:\n    a: int = field(default=1)", False, True),
        ("@dataclass(frozen=True)\nclass A:\n    a: str = field(repr=False)", False, False),
        ("@dataclass(frozen=True)\nclass A:\n    a: str = dataclasses.field(compare=False)", False, False),
    ],
)
def test_the_rules_about_values_see_what_they_are_for(code: str, thawed: bool, slow: bool) -> None:
    nodes = list(ast.walk(ast.parse(code)))

    assert (any(map(thaws, nodes)), any(map(is_slow, nodes))) == (thawed, slow)


# Files


def test_no_file_is_longer_than_a_person_reads() -> None:
    lengths = {source.path: len(source.text.splitlines()) for source in package()}

    assert {path: length for path, length in lengths.items() if length > MAX_LINES} == {}


@pytest.mark.parametrize("folder", ["pygent_ls", "tests", "benchmarks", "evaluation"])
def test_no_file_or_folder_has_a_name_that_says_nothing(folder: str) -> None:
    parts = {part for source in sources(folder) for part in source.path.removesuffix(".py").split("/")}

    assert not parts & FORBIDDEN_NAMES


def test_every_suppressed_warning_says_which() -> None:
    bare = re.compile(r"#\s*noqa(?!: [A-Z]+[0-9]+)|#\s*type: ignore(?!\[)|#\s*pyright: ignore(?!\[)")
    everything = [*sources("pygent_ls"), *sources("tests")]

    found = [
        source.path for source in everything if source.path != "house/test_invariants.py" and bare.search(source.text)
    ]
    assert found == []


# Tests


def sleeps_or_skips(node: ast.AST) -> bool:
    name = called(node)
    if name == "asyncio.sleep":
        (argument,) = getattr(node, "args", [None])
        return not (isinstance(argument, ast.Constant) and argument.value == 0)
    marks = isinstance(node, ast.Attribute) and re.search(r"\bmark\.(skip|skipif|xfail)$", dotted(node))
    return name == "time.sleep" or bool(re.fullmatch(r"pytest\.(skip|xfail|importorskip)", name) or marks)


def test_no_test_sleeps_or_is_skipped() -> None:
    assert [place for source in sources("tests") for place in source.finds(sleeps_or_skips)] == []


def patches(node: ast.AST) -> bool:
    return imports(node, "unittest.mock") or imports(node, "mock") or called(node) == "monkeypatch.setattr"


def test_no_test_patches_what_it_tests() -> None:
    assert [place for source in sources("tests") for place in source.finds(patches)] == []


def test_a_class_name_is_unique_in_the_package() -> None:
    places: dict[str, list[str]] = {}
    for source in package():
        for node in source.nodes:
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name, []).append(source.path)

    assert {name: paths for name, paths in places.items() if len(paths) > 1} == {}
