"""Agent of Harbor that installs pygent-ls from a wheel in a task's environment and runs one turn of it there.

    harbor run -a evaluation.agent:PygentAgent --ak wheel=dist/pygent_ls-….whl -m anthropic/… …

The turn is `pygent-ls run --output-format stream-json`, whose lines become a trajectory of Harbor's. The container is
the sandbox: nothing asks for permission, and commands run outside bubblewrap.
"""

from __future__ import annotations

import json
import shlex
from pathlib import Path, PurePosixPath
from typing import Annotated, override

from harbor.agents.agent_auth_resolution import ModelConnectionSpec
from harbor.agents.capabilities import AgentCapabilities
from harbor.agents.installed.base import (
    AgentAuthenticationError,
    AgentSafetyRefusalError,
    ApiInternalServerError,
    ApiOverloadedError,
    ApiRateLimitError,
    ApiResponseStalledError,
    ApiUsageLimitError,
    BaseInstalledAgent,
    ContextWindowExceededError,
    ErrorPattern,
    NetworkConnectionError,
    with_prompt_template,
)
from harbor.agents.options import Cli, InstalledAgentOptions
from harbor.environments.base import BaseEnvironment
from harbor.models.agent.context import AgentContext
from harbor.utils.trajectory_utils import format_trajectory_json
from pydantic import Field

from evaluation.trajectory import Line, result_of, to_trajectory

FOLDER = PurePosixPath("/installed-agent")
PYTHON = "3.11"
"""Version that uv looks for in the image and otherwise brings; UV_PYTHON names another one."""

LOG = "pygent-ls.jsonl"
ERRORS = "pygent-ls.stderr"

LIMITS = "error_max_turns|error_max_budget_usd|error_limit"
"""Results of a turn that a limit ended, which is graded like any other."""

FAILURES = (
    ErrorPattern(r"Could not connect to ", NetworkConnectionError),
    ErrorPattern(r" took too long to answer", ApiResponseStalledError),
    ErrorPattern(r"Rate limit reached at ", ApiRateLimitError),
    ErrorPattern(r"Quota of .+ used up", ApiUsageLimitError),
    ErrorPattern(r" is overloaded", ApiOverloadedError),
    ErrorPattern(r" failed or sent an unreadable answer", ApiInternalServerError),
    ErrorPattern(r" did not accept the API key|No key for ", AgentAuthenticationError),
    ErrorPattern(r"The conversation is too long for ", ContextWindowExceededError),
    ErrorPattern(r" refused the content of the conversation", AgentSafetyRefusalError),
)
"""Errors of model calls (`pygent_ls/llm/errors/model_errors.py`): Harbor neither grades nor counts some of them."""


class PygentOptions(InstalledAgentOptions):
    """Options of `--ak NAME=VALUE`. Any setting of pygent-ls can also be given as `--ae PYGENT_NAME=VALUE`."""

    wheel: Path | None = Field(default=None, description="Wheel of pygent-ls; required unless skip_install is set.")
    constraints: Path | None = Field(default=None, description="Versions of the dependencies, as pip's constraints.")
    reasoning_effort: Annotated[str | None, Cli("--effort")] = Field(default=None, description="Reasoning effort.")
    max_turns: Annotated[int | None, Cli("--max-turns")] = Field(default=None, description="Limit of model calls.")
    max_tokens: Annotated[int | None, Cli("--max-tokens")] = Field(default=None, description="Limit of tokens.")
    max_budget_usd: Annotated[float | None, Cli("--max-budget-usd")] = Field(default=None, description="Limit of cost.")


class PygentAgent(BaseInstalledAgent):
    """pygent-ls in one trial."""

    capabilities = AgentCapabilities(atif=True, reasoning_effort=True, native_web_tools=True)
    options_model = PygentOptions
    options: PygentOptions
    MODEL_CONNECTION = ModelConnectionSpec()
    ERROR_PATTERNS = [*BaseInstalledAgent.ERROR_PATTERNS, *FAILURES]  # noqa: RUF012

    _instruction = ""

    @staticmethod
    @override
    def name() -> str:
        return "pygent-ls"

    @override
    def get_version_command(self) -> str:
        return f"{FOLDER}/venv/bin/pygent-ls --version"

    @override
    def parse_version(self, stdout: str) -> str:
        return stdout.rsplit(maxsplit=1)[-1]

    @override
    async def install(self, environment: BaseEnvironment) -> None:
        wheel, constraints = self.options.wheel, self.options.constraints
        if wheel is None:
            raise ValueError("the option wheel is missing: --ak wheel=FILE")
        path = f'export PATH="{FOLDER}:$PATH" UV_PYTHON_INSTALL_DIR={FOLDER}/python'
        if (await environment.exec(f"{path}; command -v uv", user="root")).return_code:
            await self.ensure_system_dependencies(environment, ("curl",))
            await self.exec_as_root(
                environment, f"curl -LsSf https://astral.sh/uv/install.sh | env UV_UNMANAGED_INSTALL={FOLDER} sh"
            )
        await environment.upload_file(wheel, f"{FOLDER}/{wheel.name}")
        pins = ""
        if constraints is not None:
            await environment.upload_file(constraints, f"{FOLDER}/constraints.txt")
            pins = f"--constraints {FOLDER}/constraints.txt"
        await self.exec_as_root(
            environment,
            f"{path} UV_PYTHON=${{UV_PYTHON:-{PYTHON}}}; set -e; uv venv --clear {FOLDER}/venv; "
            f"uv pip install --python {FOLDER}/venv --no-build {pins} {FOLDER}/{shlex.quote(wheel.name)}",
        )

    @override
    @with_prompt_template
    async def run(self, instruction: str, environment: BaseEnvironment, context: AgentContext) -> None:
        if self.model_name is None:
            raise ValueError("the model is missing: -m PROVIDER/MODEL")
        self._instruction = instruction
        prompt = self.logs_dir / "instruction.md"
        prompt.write_text(instruction)
        await environment.upload_file(prompt, f"{FOLDER}/{prompt.name}")
        command = [f"{FOLDER}/venv/bin/pygent-ls", "run", "--output-format", "stream-json", "--yes"]
        command += ["--model", self.model_name]
        if self.options.disable_web_search:
            command += ["--disallowed-tools", "web_fetch,web_search"]
        logs = self.environment_logs_dir
        await self.exec_as_agent(
            environment,
            f"{shlex.join(command)} {self.build_cli_flags()} "
            f"<{FOLDER}/{prompt.name} >{logs}/{LOG} 2>{logs}/{ERRORS} || "
            f'tail -n 1 {logs}/{LOG} | grep -qE \'"subtype": "({LIMITS})"\' || '
            f'{{ tail -n 1 {logs}/{LOG} | grep \'"type": "result"\' || tail -n 20 {logs}/{ERRORS} >&2; exit 1; }}',
            env={"PYGENT_SANDBOX": "off", **self.model_connection.env},
        )

    @override
    def populate_context_post_run(self, context: AgentContext) -> None:
        lines = _lines(self.logs_dir / LOG)
        result = result_of(lines)
        trajectory = to_trajectory(lines, self._instruction, self.version() or "unknown", self.model_name)
        (self.logs_dir / "trajectory.json").write_text(format_trajectory_json(trajectory.to_json_dict()))
        if totals := trajectory.final_metrics:
            context.n_input_tokens = totals.total_prompt_tokens
            context.n_cache_tokens = totals.total_cached_tokens
            context.n_output_tokens = totals.total_completion_tokens
            context.cost_usd = totals.total_cost_usd
        names = ("subtype", "stop_reason", "num_turns", "errors", "permission_denials", "session_id")
        context.metadata = {name: result.get(name) for name in names} if result else None


def _lines(log: Path) -> list[Line]:
    """Return the lines that are whole: a turn that was cut off may have left a part of one."""
    lines: list[Line] = []
    if log.exists():
        for text in log.read_text(errors="replace").splitlines():
            try:
                lines.append(json.loads(text))
            except ValueError:
                continue
    return lines
