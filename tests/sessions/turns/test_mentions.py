"""What the `@` words of a prompt stand for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from pygent_ls.agent.context.attachments import FilePart, ImagePart, NotePart, PromptPart
from pygent_ls.agent.kinds import ToolCategory, ToolRisk
from pygent_ls.agent.messages import ImageBlock
from pygent_ls.agent.ports.editor_state import FileProblems, LineRange, Problem, View
from pygent_ls.agent.ports.resources import Resource, ResourceContent
from pygent_ls.agent.tools.tool import Tool, ToolContext, tool
from pygent_ls.errors import ToolError
from pygent_ls.sessions.turns.mentions import MAX_MENTIONS, Mention, MentionKinds, expanded, mentions_in
from pygent_ls.sessions.turns.request import TurnRequest
from pygent_ls.tools.files.read_file import list_files
from pygent_ls.workspace.files.disk_workspace import DiskWorkspace
from pygent_ls.workspace.processes.local_processes import LocalProcesses
from tests.agent.abilities import FILE_TOOLS, place
from tests.fakes import Rig, make_rig, with_parts

FILES = {"src/a.py": "one\ntwo\n", "my notes.txt": "x", "shot.png": "not really"}


@dataclass(slots=True)
class FakeEditor:
    """An editor whose user stands still."""

    view: View = field(default_factory=View)
    is_live: bool = False
    recent: Sequence[Path] = ()
    why_silent: str = "It told nothing."
    unsaved_notebooks: tuple[Path, ...] = ()
    told: Sequence[FileProblems] | None = None

    def counts(self) -> Sequence[tuple[Path, int, int]]:
        """None."""
        return ()

    async def problems(self) -> Sequence[FileProblems] | None:
        """What the test put there."""
        return self.told


@tool(risk=ToolRisk.LOW, category=ToolCategory.GIT, kind="read", title="git diff", read_only=True)
async def git_diff(context: ToolContext, revision: str) -> str:
    """Tell what was asked for."""
    return f"diff of {revision} in {context.session_id}, sandboxed: {context.sandboxed}"


@tool(risk=ToolRisk.LOW, category=ToolCategory.GIT, kind="read", title="git diff", read_only=True)
async def broken_diff(context: ToolContext, revision: str) -> str:
    """Fail."""
    raise ToolError("There is no repository.")


async def of(text: str, *tools: Tool, editor: FakeEditor | None = None) -> list[PromptPart]:
    """What a prompt gets beside its words."""
    rig: Rig = make_rig(*FILE_TOOLS, *tools, files=FILES)
    parts = await expanded((text,), with_parts(rig.services, editor=editor or FakeEditor()))
    assert parts[0] == text, "the words stay as they are"
    return list(parts[1:])


# Which words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("see @a.py", ["a.py"]),
        ("@a.py.", ["a.py"]),
        ("(@a.py) and [@b.py], `@c.py`?", ["a.py", "b.py", "c.py"]),
        ('@"my notes.txt"', ["my notes.txt"]),
        ("@./src/ä-1_b.py: why", ["./src/ä-1_b.py"]),
        ("@a @a @b", ["a", "b"]),
        ("me@example.org a@b", []),
        ("@ @. @@x", ["@x"]),
        ("```\n@decorated\n```\n@a", ["a"]),
        ("by @https://example.org/a_(b)?c=1,2#L3-L4.", ["https://example.org/a_(b)?c=1,2#L3-L4"]),
        ("(see @http://localhost:80/x), @https://[::1]/", ["http://localhost:80/x", "https://[::1]/"]),
        ("@https:// @http://.", ["https://", "http://"]),
        ("https://example.org", []),
        ("", []),
    ],
)
def test_a_mention_is_a_word_behind_an_at_sign(text: str, words: list[str]) -> None:
    assert [mention.word for mention in mentions_in(text)] == words


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("@a.py#L10-L20", (10, 20)),
        ("@a.py#L10-20", (10, 20)),
        ("@a.py#L7", (7, 7)),
        ("@a.py#L20-L10.", (10, 20)),
        ("@a.py#L0", (1, 1)),
        ('@"a.py#L3"', (3, 3)),
        ('@"a.py"#L3-L5', (3, 5)),
    ],
)
def test_lines_stand_behind_the_name(text: str, lines: tuple[int, int]) -> None:
    assert mentions_in(text) == [Mention("a.py", LineRange(first=lines[0], last=lines[1]))]


@given(st.text() | st.lists(st.sampled_from(["@", "a", " ", "#L", "1", "-", '"', "```", "\n"])).map("".join))
def test_any_text_has_a_bounded_number_of_mentions_that_name_something(text: str) -> None:
    found = mentions_in(text)

    assert len(found) <= MAX_MENTIONS
    assert all(mention.word for mention in found)
    assert all(mention.lines is None or 1 <= mention.lines.first <= mention.lines.last for mention in found)


# What they stand for


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("@src/a.py", FilePart(path=place("src/a.py"))),
        ("@src/a.py#L2-L3", FilePart(path=place("src/a.py"), lines=LineRange(first=2, last=3))),
        ('@"my notes.txt"', FilePart(path=place("my notes.txt"))),
        ("@shot.png", ImagePart(path=place("shot.png"), mime_type="image/png")),
    ],
)
async def test_a_file_of_the_workspace_is_attached(text: str, part: PromptPart) -> None:
    assert await of(f"What is {text}?") == [part]


@pytest.mark.parametrize("text", ["@nobody", "@src", "@../outside.py", "@/etc/passwd", "@gone.png", "@app.route", "@~"])
async def test_what_is_no_file_of_the_workspace_stands_for_itself(text: str) -> None:
    assert await of(text) == []


async def test_a_file_that_is_attached_already_is_not_attached_twice() -> None:
    rig = make_rig(*FILE_TOOLS, files=FILES)
    given_parts = ("@src/a.py ", FilePart(path=place("src/a.py")), "@./src/a.py")

    assert await expanded(given_parts, rig.services) == given_parts


async def test_the_selection_and_the_buffer_are_where_the_user_is() -> None:
    lines = LineRange(first=1, last=2)
    editor = FakeEditor(View(active=place("src/a.py"), selected=(place("my notes.txt"), lines)))

    assert await of("fix @selection in @buffer", editor=editor) == [
        FilePart(path=place("my notes.txt"), lines=lines),
        FilePart(path=place("src/a.py")),
    ]


@pytest.mark.parametrize("kind", ["selection", "buffer"])
async def test_where_the_user_is_nobody_knows_it_is_said_so(kind: str) -> None:
    assert await of(f"fix @{kind}") == [NotePart(kind=kind, text="The editor has not told where the user is.")]


async def test_diagnostics_are_what_the_tool_tells() -> None:
    problem = Problem(line=1, column=2, severity="error", message="bad")
    told = [FileProblems(path=place("src/a.py"), problems=(problem,), is_stale=False, is_whole=True)]

    (part,) = await of("fix @diagnostics", editor=FakeEditor(told=told))
    assert isinstance(part, NotePart)
    assert part.text.endswith("src/a.py\n  1:2 error: bad")
    assert await of("fix @diagnostics") == [NotePart(kind="diagnostics", text="It told nothing.")]


async def test_the_diff_is_what_is_not_committed() -> None:
    assert await of("review @diff", git_diff) == [
        NotePart(kind="diff", text="diff of HEAD in session-1, sandboxed: False")
    ]
    broken = replace(broken_diff, name="git_diff")
    assert await of("review @diff", broken) == [
        NotePart(kind="diff", text="Could not be created: There is no repository.")
    ]
    assert await of("review @diff") == [
        NotePart(kind="diff", text="There is no workspace folder, or this agent may not look there.")
    ]


@tool(risk=ToolRisk.HIGH, category=ToolCategory.WEB, kind="fetch", title="Fetch", read_only=True)
async def web_fetch(context: ToolContext, url: str) -> str:
    """Fetch, which takes the user's permission."""
    raise AssertionError(f"{url} was fetched although nobody allowed it")


async def test_a_web_address_has_the_model_call_the_tool_that_asks_for_permission() -> None:
    (with_tool,) = await of("by @https://example.org/guide, please", web_fetch)
    (without,) = await of("by @https://example.org/guide, please")

    assert with_tool == NotePart(
        kind="page",
        text="The user names the page https://example.org/guide as context: fetch it with web_fetch before you answer, "
        "and use what it says.",
        from_outside=False,
    )
    assert isinstance(without, NotePart)
    assert "there is no tool here that could fetch it" in without.text
    assert await of("@https:// @http://.") == []


async def test_a_folder_is_what_is_in_it(tmp_path: Path) -> None:
    (tmp_path / "src" / "deep").mkdir(parents=True)
    (tmp_path / "src" / "a.py").write_text("")
    (tmp_path / "src" / "deep" / "b.py").write_text("")
    (tmp_path / "data.bin").write_bytes(b"\0\1")
    rig = make_rig(list_files)
    services = with_parts(rig.services, workspace=DiskWorkspace([tmp_path]), processes=LocalProcesses())

    listing = NotePart(kind="folder", text="src/a.py\nsrc/deep/\nsrc/deep/b.py")
    assert await expanded(("what is in @src/ and @src?",), services) == ("what is in @src/ and @src?", listing)
    assert await expanded(("@data.bin",), services) == ("@data.bin",)


async def test_a_drawing_is_text() -> None:
    rig = make_rig(files={"logo.svg": "<svg/>"})
    assert await expanded(("@logo.svg",), rig.services) == ("@logo.svg", FilePart(path=place("logo.svg")))


# Resources of servers


class FakeResources:
    """One server, `docs`, which has pictures and breaks at `broken`."""

    listed: Sequence[Resource] = ()

    async def read(self, mention: str) -> ResourceContent | None:
        """What the server has."""
        server, _, uri = mention.partition(":")
        if server != "docs":
            return None
        if uri == "broken":
            raise ToolError("The server is gone.")
        return ResourceContent(text=f"all about {uri}", images=(DOT,) if uri == "picture" else ())


DOT = ImageBlock(mime_type="image/png", data="AA==")


async def attached(text: str, kinds: MentionKinds = "all") -> list[PromptPart]:
    """What the mentions of these kinds attach."""
    rig = make_rig(*FILE_TOOLS, files=FILES)
    services = with_parts(rig.services, resources=FakeResources())
    return list(await expanded((text,), services, kinds))[1:]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (
            "see @docs:guide://install.",
            [NotePart(kind="resource", text="docs:guide://install:\nall about guide://install")],
        ),
        ("see @docs:picture", [NotePart(kind="resource", text="docs:picture:\nall about picture"), DOT]),
        ("see @docs:broken", [NotePart(kind="resource", text="docs:broken could not be read: The server is gone.")]),
        ("see @other:guide and @docs", []),
    ],
)
async def test_a_resource_of_a_server_is_attached(text: str, parts: list[PromptPart]) -> None:
    assert await attached(text) == parts


async def test_a_prompt_in_words_of_others_attaches_no_resource_and_that_of_another_agent_nothing() -> None:
    text = "see @docs:guide and @src/a.py"
    users = TurnRequest(parts=(text,))

    assert len(await attached(text, users.mentions)) == 2
    assert await attached(text, replace(users, own_words="").mentions) == [FilePart(path=place("src/a.py"))]
    assert await attached(text, replace(users, own_words="", takes_commands=False).mentions) == []
