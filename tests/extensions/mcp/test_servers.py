"""MCP servers as child processes, started by the daemon's own code: the SDK's, and real ones from the registry."""

from __future__ import annotations

import asyncio
import json
import os
import select
import subprocess
import sys
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from pygent_ls.agent.kinds import ToolRisk
from pygent_ls.agent.messages import ImageBlock, TextBlock, Usage
from pygent_ls.agent.ports.questioner import (
    CannotAsk,
    Question,
    QuestionAnswer,
    QuestionAnswered,
    QuestionNotAnswered,
)
from pygent_ls.agent.tools.tool import Tool
from pygent_ls.errors import ToolError
from pygent_ls.extensions.mcp.server import McpHost, Sample, SampleRequest, ServerSpec
from pygent_ls.extensions.mcp.servers import McpServers
from tests.clients.launching import script_program
from tests.extensions.mcp.toy_server import DOT
from tests.fakes import bounded
from tests.tools.tool_bench import Bench

TOY = Path(__file__).with_name("toy_server.py")

WAIT_S = 40.0
"""Longest wait for a state: a server imports the SDK, which takes a second on an idle machine."""


@dataclass
class Keys:
    """A store of tokens in memory."""

    kept: dict[str, str] = field(default_factory=dict[str, str])

    def get(self, provider: str) -> str | None:
        return self.kept.get(provider)

    def save(self, provider: str, key: str) -> str:
        self.kept[provider] = key
        return "memory"

    def forget(self, provider: str) -> bool:
        return self.kept.pop(provider, None) is not None


@dataclass(kw_only=True)
class Place:
    """Servers in a folder, and what the user was told of them."""

    servers: McpServers
    bench: Bench
    told: list[str]
    asked: list[Question]
    answers: list[QuestionAnswer]
    """What the user answers, one after another."""
    sampled: list[SampleRequest]
    """What servers asked the user's model."""
    keys: Keys
    browser: Callable[[str], Awaitable[None]] | None = None
    """What opens an address for the user."""

    @property
    def folder(self) -> Path:
        """The workspace folder."""
        return self.bench.folder

    @property
    def pids(self) -> list[int]:
        """Process ids of the toy server, the newest last."""
        return [int(line) for line in (self.folder / "pids").read_text().split()]

    def tool(self, name: str) -> Tool:
        """The tool that the model is offered."""
        return next(each for each in (*self.servers.tools, *self.servers.resource_tools) if each.name == name)

    async def call(self, name: str, **arguments: Any) -> str:
        """Call a tool as the executor does."""
        return await self.bench.call(self.tool(name), **arguments)

    async def until(self, is_true: Callable[[], object]) -> None:
        """Wait until it is so; looked at whenever a server's state has changed or a call has reported something."""
        async with asyncio.timeout(WAIT_S):
            while not is_true():
                self.bench.heard.clear()
                await self.bench.heard.wait()

    async def until_connected(self, *specs: ServerSpec) -> None:
        """Start the servers, and wait until each is connected."""
        self.servers.apply(specs)
        await self.until(lambda: all(each.state == "connected" for each in self.servers.statuses))


@asynccontextmanager
async def opened(folder: Path, restarts_s: Sequence[float]) -> AsyncGenerator[Place]:
    """Servers that end with the block."""
    told: list[str] = []
    bench = Bench(folder)
    asked: list[Question] = []
    answers: list[QuestionAnswer] = []
    sampled: list[SampleRequest] = []

    async def ask(question: Question) -> QuestionAnswer:
        asked.append(question)
        return answers.pop(0)

    async def sample(request: SampleRequest) -> Sample:
        sampled.append(request)
        return Sample(text="a plum", model="fake/model", usage=Usage(input_tokens=9, output_tokens=2))

    async def open_url(address: str) -> None:
        assert place.browser is not None
        await place.browser(address)

    keys = Keys()
    host = McpHost(
        run=bench.processes.serve,
        find=bench.processes.find,
        folders=lambda: [folder],
        tell=told.append,
        ask=ask,
        sample=sample,
        tokens=keys,
        open_url=open_url,
        on_change=bench.heard.set,
    )
    servers = McpServers(host, restarts_s)
    place = Place(servers=servers, bench=bench, told=told, asked=asked, answers=answers, sampled=sampled, keys=keys)
    try:
        yield place
    finally:
        await bounded(servers.close())
        bench.processes.kill_all()


@pytest.fixture
async def place(tmp_path: Path) -> AsyncGenerator[Place]:
    """Servers that are started anew at once."""
    async with opened(tmp_path, (0.0,) * 5) as made:
        yield made


def toy(place: Place, *args: str, **more: Any) -> ServerSpec:
    """The toy server."""
    given: dict[str, Any] = {"startup_timeout_s": WAIT_S, "timeout_s": WAIT_S, **more}
    env = {"PID_FILE": str(place.folder / "pids")}
    return ServerSpec(name="toy", command=str(script_program(TOY)), args=args, env=env, cwd=place.folder, **given)


def toy_process(place: Place, *args: str, **more: Any) -> ServerSpec:
    """The toy server in a process of its own making, for what ends it."""
    return replace(toy(place, **more), command=sys.executable, args=(str(TOY), *args))


def real(place: Place, name: str, *args: str) -> ServerSpec:
    """A server from the registry."""
    command = str(Path(sys.executable).with_name(f"mcp-server-{name}"))
    return ServerSpec(
        name=name, command=command, args=args, cwd=place.folder, startup_timeout_s=WAIT_S, timeout_s=WAIT_S
    )


@contextmanager
def serving_page(html: str) -> Generator[str]:
    """A site whose pages are all this one, and whose robots.txt forbids `/private/`; its address."""

    class Site(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            is_rules = self.path == "/robots.txt"
            body = (b"User-agent: *\nDisallow: /private/\n") if is_rules else html.encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/plain" if is_rules else "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Write no log."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Site)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


async def ended(pid: int) -> bool:
    """Whether the process ends within the limit, or has ended."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool((await asyncio.to_thread(select.select, [descriptor], [], [], WAIT_S))[0])
    finally:
        os.close(descriptor)


async def all_ended(pids: Sequence[int]) -> bool:
    """Whether all of them do."""
    return all([await ended(pid) for pid in pids])


async def test_servers_of_others_answer_side_by_side(place: Place) -> None:
    await asyncio.to_thread(subprocess.run, ["git", "init", "-q", str(place.folder)], check=True, timeout=20)
    (place.folder / "plum.txt").write_text("blue\n")

    await place.until_connected(real(place, "time", "--local-timezone", "Europe/Berlin"), real(place, "git"))
    time = await place.call(
        "mcp__time__convert_time", source_timezone="UTC", time="12:00", target_timezone="Asia/Tokyo"
    )
    status = await place.call("mcp__git__git_status", repo_path=str(place.folder))

    assert "T21:00:00+09:00" in json.loads(time)["target"]["datetime"]
    assert "plum.txt" in status
    assert place.tool("mcp__git__git_status").read_only
    assert place.tool("mcp__git__git_commit").risk is not ToolRisk.LOW
    assert place.told == []


async def test_the_fetch_server_returns_a_page_as_markdown(place: Place) -> None:
    with serving_page("<html><body><main><h1>Plums</h1><p>They are <b>blue</b>.</p></main></body></html>") as address:
        await place.until_connected(real(place, "fetch", "--allow-private-ips"))
        page = await place.call("mcp__fetch__fetch", url=f"{address}/plums")
        with pytest.raises(ToolError, match="robots"):
            await place.call("mcp__fetch__fetch", url=f"{address}/private/stones")

    assert "They are **blue**" in page
    assert [each.command for each in place.servers.prompts] == ["mcp__fetch__fetch"]


async def test_what_a_server_says_of_its_tools_sets_their_risk_but_never_a_low_one(place: Place) -> None:
    await place.until_connected(toy(place))

    risks = {each.name.removeprefix("mcp__toy__"): each.risk for each in place.servers.tools}

    assert risks["add"] is ToolRisk.MEDIUM  # it says that it only reads
    assert risks["count"] is ToolRisk.MEDIUM  # it says that it destroys nothing
    assert risks["die"] is ToolRisk.HIGH  # it says nothing
    assert place.tool("mcp__toy__add").read_only
    assert not place.tool("mcp__toy__die").read_only
    assert place.tool("mcp__toy__add").title_for({"a": 1, "b": 2}) == 'toy: add {"a": 1, "b": 2}'


async def test_text_on_standard_output_that_is_no_message_is_skipped(place: Place) -> None:
    await place.until_connected(toy(place, "--noisy"))

    assert await place.call("mcp__toy__add", a=19, b=23) == "the sum is 42"


async def test_a_server_that_writes_text_without_end_is_ended(place: Place) -> None:
    place.servers.apply([toy_process(place, "--flood")])

    await place.until(lambda: "left alone" in "".join(place.told))

    assert "are no messages of the protocol" in place.servers.statuses[0].error
    assert place.servers.statuses[0].state == "failed"
    assert await all_ended(place.pids)


async def test_a_server_that_never_answers_holds_up_no_other_and_is_ended_at_its_limit(place: Place) -> None:
    spec = toy(place, startup_timeout_s=0.5)
    stuck = replace(spec, command="sh", args=("-c", 'echo $$ >> "$PID_FILE"; exec sleep 1000'))
    place.servers.apply([stuck, real(place, "time")])

    await place.until(lambda: [each.state for each in place.servers.statuses] == ["failed", "connected"])
    await place.until(lambda: "left alone" in "".join(place.told))

    assert place.servers.statuses[0].error == "The server did not answer within 0.5 s."
    assert await all_ended(place.pids)


async def test_a_server_that_dies_in_a_call_is_an_error_of_the_call_and_is_started_again(place: Place) -> None:
    await place.until_connected(toy(place))

    with pytest.raises(ToolError, match="The MCP server toy"):
        await place.call("mcp__toy__die")
    await place.until(lambda: len(place.pids) == 2 and place.servers.statuses[0].state == "connected")

    assert place.told == [
        "The MCP server toy is not connected: The program ended with exit code 3. It wrote: out of cheese"
    ]
    assert await place.call("mcp__toy__add", a=1, b=1) == "the sum is 2"


async def test_an_error_of_a_tool_and_wrong_arguments_are_errors_of_the_call(place: Place) -> None:
    await place.until_connected(toy(place))

    with pytest.raises(ToolError, match="no plums"):
        await place.call("mcp__toy__fail", why="no plums")
    with pytest.raises(ToolError, match="validation error"):
        await place.call("mcp__toy__add", a="many", b=1)


async def test_progress_is_passed_on_and_a_call_that_is_cancelled_is_cancelled_in_the_server(place: Place) -> None:
    os.mkfifo(place.folder / "cancelled")
    await place.until_connected(toy(place))

    call = asyncio.create_task(place.call("mcp__toy__count", to=3))
    said = place.bench.reported
    await place.until(lambda: "".join(said).endswith("at 3 (3 of 3)\n"))
    call.cancel()

    assert await bounded(asyncio.to_thread((place.folder / "cancelled").read_text)) == "yes"
    assert await place.call("mcp__toy__count", to=1) == "counted"
    assert said[:2] == ["at 1 (1 of 3)\n", "at 2 (2 of 3)\n"]


async def test_a_call_ends_at_its_time_limit(place: Place) -> None:
    await place.until_connected(toy(place, timeout_s=0.5))

    with pytest.raises(ToolError, match=r"The MCP server toy did not answer within 0\.5 s\."):
        await place.call("mcp__toy__count", to=3)

    assert place.servers.log("toy").count("[connected]") == 1
    assert place.servers.statuses[0].state == "connected"


async def test_a_tool_that_the_server_has_added_is_offered(place: Place) -> None:
    await place.until_connected(toy(place))

    await place.call("mcp__toy__grow")

    await place.until(lambda: "mcp__toy__grown" in place.servers.statuses[0].tools)
    assert await place.call("mcp__toy__grown") == "grown"


async def test_a_prompt_and_a_resource_that_the_server_has_added_are_offered(place: Place) -> None:
    await place.until_connected(toy(place))

    await place.call("mcp__toy__grow", what="prompt")
    await place.until(lambda: "mcp__toy__grown" in place.servers.statuses[0].prompts)
    await place.call("mcp__toy__grow", what="resource")
    await place.until(lambda: place.servers.statuses[0].n_resources == 3)

    assert await place.call("read_mcp_resource", resource="toy:toy://grown") == "grown"


async def test_a_server_asks_the_user_field_by_field(place: Place) -> None:
    await place.until_connected(toy(place))
    place.answers += [
        QuestionAnswered(choice="pear"),
        QuestionAnswered(text="many"),
        QuestionAnswered(text="3"),
        QuestionAnswered(choice="Yes"),
    ]

    said = json.loads(await place.call("mcp__toy__order"))

    assert said["action"] == "accept"
    assert said["content"] == {"fruit": "pear", "amount": 3, "wrap": True, "note": "none"}
    assert place.asked[0].text.startswith("The MCP server toy asks: What do you want?\n")
    assert [each.title for each in place.asked[0].choices] == ["plum", "pear", "Decline"]
    assert place.asked[1].is_open
    assert place.asked[2].text.endswith("'many' is not a number.")


@pytest.mark.parametrize(
    ("answer", "action"),
    [
        (QuestionAnswered(choice="Decline"), "decline"),
        (QuestionNotAnswered(), "cancel"),
        (CannotAsk("Nobody is there."), "cancel"),
    ],
)
async def test_a_user_need_not_answer_a_server(answer: QuestionAnswer, action: str, place: Place) -> None:
    await place.until_connected(toy(place))
    place.answers.append(answer)

    assert json.loads(await place.call("mcp__toy__order"))["action"] == action


async def test_a_picture_in_a_result_is_shown_and_a_broken_one_is_named(place: Place) -> None:
    await place.until_connected(toy(place))

    said = await place.call("mcp__toy__look")

    assert said == (
        "[image: image/png, see below]\n[image: image/png, which cannot be shown. The image is not a PNG, JPEG, GIF or "
        "WebP image. Models accept no other format; convert it to one of these.]\nplum"
    )
    assert place.bench.context.images == [ImageBlock(mime_type="image/png", data=DOT)]


# Resources, prompts, sampling, and the log


async def test_resources_are_listed_and_read_with_their_pictures(place: Place) -> None:
    await place.until_connected(toy(place))

    listed = await place.call("list_mcp_resources")
    plum = await place.call("read_mcp_resource", resource="toy:toy://fruit/plum")
    dot = await place.call("read_mcp_resource", resource="toy:toy://dot")

    assert listed.splitlines() == [
        "toy:toy://fruit/plum: All about plums",
        "toy:toy://dot: Give the picture.",
        "toy:toy://fruit/{name}: All about any fruit",
    ]
    assert await place.call("list_mcp_resources", query="PLUM") == "toy:toy://fruit/plum: All about plums"
    assert await place.call("read_mcp_resource", resource="toy:toy://fruit/pear") == "A pear is a fruit."
    assert (plum, dot) == ("Plums are blue.", "[image: image/png, see below]")


@pytest.mark.parametrize(
    ("resource", "problem"),
    [
        ("pear:toy://dot", "'pear:toy://dot' names no connected MCP server"),
        ("toy:", "'toy:' names no connected MCP server"),
        ("toy:toy://nothing", "The MCP server toy answered with an error"),
    ],
)
async def test_a_resource_that_cannot_be_read_is_an_error(resource: str, problem: str, place: Place) -> None:
    await place.until_connected(toy(place))

    with pytest.raises(ToolError, match=problem):
        await place.call("read_mcp_resource", resource=resource)


async def test_a_prompt_is_filled_with_the_words_of_a_command(place: Place) -> None:
    await place.until_connected(toy(place))
    [prompt] = place.servers.prompts

    filled = await prompt.filled('plum "very strict" please')

    assert (prompt.command, prompt.takes) == ("mcp__toy__review", "FRUIT [TONE]")
    assert filled.text == "Review the plum in a very strict please tone.\n\n[image: image/png, see below]"
    assert filled.images == (ImageBlock(mime_type="image/png", data=DOT),)
    assert "in a stern tone" in (await prompt.filled("tone=stern plum")).text
    with pytest.raises(ToolError, match=r"/mcp__toy__review requires fruit. It takes:\n- `fruit`: "):
        await prompt.filled("")


async def test_a_server_may_use_the_model_if_the_user_allows_it(place: Place) -> None:
    await place.until_connected(toy(place))
    place.answers += [QuestionAnswered(choice="Allow once"), QuestionNotAnswered()]

    allowed = json.loads(await place.call("mcp__toy__think"))
    with pytest.raises(ToolError, match="The user rejected the request"):
        await place.call("mcp__toy__think")

    assert (allowed["content"]["text"], allowed["model"]) == ("a plum", "fake/model")
    assert [each.text for each in place.asked] == [
        "The MCP server toy wants to send this to your model, at your cost:\nsystem: Be brief.\nuser: Which fruit?"
    ] * 2
    [request] = place.sampled
    assert (request.system, request.max_tokens) == ("Be brief.", 50)
    assert [each.blocks for each in request.messages] == [(TextBlock(text="Which fruit?"),)]
    assert "sampling: 11 tokens of fake/model, cost unknown" in place.servers.log("toy")


async def test_the_log_has_what_a_server_writes_while_it_runs(place: Place) -> None:
    await place.until_connected(toy(place))

    await place.call("mcp__toy__mutter", text="one\x1b[31mtwo")
    await place.until(lambda: "and more" in place.servers.log("toy"))

    assert place.servers.log("toy")[-2:] == ["one\\x1b[31mtwo", "and more"]
    assert "[connected]" in place.servers.log("toy")
    with pytest.raises(ToolError, match="There is no MCP server 'pear'"):
        place.servers.log("pear")


@contextmanager
def served_by_http() -> Generator[str]:
    """The toy server by HTTP, on this port."""
    with subprocess.Popen([sys.executable, str(TOY), "--http"], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip()
        finally:
            process.kill()


async def test_a_server_is_reached_by_http_with_the_headers_of_the_settings(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    with served_by_http() as port:
        monkeypatch.setenv("TOY_PORT", port)
        spec = ServerSpec(
            name="far",
            url="http://127.0.0.1:${TOY_PORT}/mcp",
            headers={"X-Key": "${KEY:-plum}"},
            startup_timeout_s=WAIT_S,
            timeout_s=WAIT_S,
        )
        await place.until_connected(spec)
        assert await place.call("mcp__far__add", a=2, b=3) == "the sum is 5"
        assert await place.call("mcp__far__whoami") == "plum"


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ({"command": "no-such-program-anywhere"}, "The program no-such-program-anywhere was not found."),
        ({"command": "./none"}, "none cannot be started: the program was not found."),
        ({"command": "true", "env": {"KEY": "${NO_SUCH_VARIABLE}"}}, "NO_SUCH_VARIABLE is not set."),
        ({"command": "true"}, "The program ended with exit code 0."),
        ({"url": "http://127.0.0.1:9/mcp"}, "connect"),
    ],
)
async def test_a_server_that_cannot_be_started_says_why(place: Place, spec: dict[str, Any], problem: str) -> None:
    place.servers.apply(
        [ServerSpec(name="broken", cwd=place.folder, startup_timeout_s=WAIT_S, timeout_s=WAIT_S, **spec)]
    )

    await place.until(lambda: place.servers.statuses[0].state == "failed")

    assert problem in place.servers.statuses[0].error


async def test_settings_that_change_end_and_start_servers(place: Place) -> None:
    await place.until_connected(toy_process(place))
    [first] = place.pids

    place.servers.apply(
        [
            toy_process(place, timeout_s=1.0),
            ServerSpec(name="off", command="false", is_enabled=False, startup_timeout_s=1.0, timeout_s=1.0),
        ]
    )
    await place.until(lambda: len(place.pids) == 2 and place.servers.statuses[0].state == "connected")
    assert await ended(first)

    assert place.servers.statuses[1].state == "disabled"
    place.servers.apply([])
    assert await all_ended(place.pids)
    assert place.servers.tools == []


async def test_a_server_is_restarted_by_name(place: Place) -> None:
    await place.until_connected(toy_process(place))
    place.servers.restart("toy")
    with pytest.raises(ToolError, match="There is no MCP server 'pear'"):
        place.servers.restart("pear")

    await place.until(lambda: len(place.pids) == 2 and place.servers.statuses[0].state == "connected")
    assert await ended(place.pids[0])


async def test_all_servers_have_ended_when_closing_returns(tmp_path: Path) -> None:
    async with opened(tmp_path, ()) as place:
        await place.until_connected(toy_process(place))

    assert await all_ended(place.pids)
