"""Process that loads a file with tools, and describes or calls them: `python -m pygent_ls.extensions.own_tools.child`.

The first line of standard input is a job, as JSON: `{"path", "source"}` or `{"module"}`, and for a call `name`,
`arguments` and `folder`. Each line of standard output is a message: `{"tools": […]}`, `{"report": TEXT}`,
`{"read": PATH}`, `{"run": ARGV, "timeout_s": SECONDS}`, `{"result": TEXT}` or `{"error": TEXT}`. The answer to `read`
and `run` is the next line of standard input. What the tool itself writes to standard output goes to standard error.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import IO, Any, get_type_hints

from pygent_ls.api import MARK, Completed, Declaration, ToolError


class Parent:
    """The daemon, by the two pipes to it."""

    def __init__(self, said: IO[str], saying: IO[str]) -> None:
        self._said = said
        self._saying = saying

    def take(self) -> Any:
        """Return the next message from the daemon."""
        return json.loads(self._said.readline())

    def say(self, **message: Any) -> None:
        """Send a message."""
        self._saying.write(json.dumps(message) + "\n")
        self._saying.flush()


class CallContext:
    """The `Context` of a call."""

    def __init__(self, parent: Parent, folder: Path) -> None:
        self._parent = parent
        self.folder = folder

    def read(self, path: str) -> str:
        """Implement `Context`."""
        self._parent.say(read=str(path))
        return str(self._answer()["text"])

    def run(self, argv: Sequence[str], timeout_s: float = 60.0) -> Completed:
        """Implement `Context`."""
        self._parent.say(run=[str(each) for each in argv], timeout_s=timeout_s)
        answer = self._answer()
        return Completed(exit_code=answer["exit_code"], output=answer["output"])

    def report(self, text: str) -> None:
        """Implement `Context`."""
        self._parent.say(report=str(text))

    def _answer(self) -> Mapping[str, Any]:
        answer = self._parent.take()
        if "error" in answer:
            raise ToolError(answer["error"])
        return answer


def loaded(job: Mapping[str, Any]) -> ModuleType:
    """Run the file, or import the module, of a job. Raises whatever it raises."""
    if "module" in job:
        return import_module(job["module"])
    module = ModuleType(Path(job["path"]).stem)
    module.__file__ = job["path"]
    sys.modules[module.__name__] = module  # type hints are looked up there
    exec(compile(job["source"], job["path"], "exec"), module.__dict__)  # noqa: S102 - this is what it is for
    return module


def tools_in(module: ModuleType) -> dict[str, Callable[..., Any]]:
    """Return the functions of a module that are tools, by name."""
    return {each.__name__: each for each in vars(module).values() if isinstance(getattr(each, MARK, None), Declaration)}


def arguments_of(function: Callable[..., Any]) -> tuple[Any, bool]:
    """Return the arguments of a tool as a pydantic model, and whether it takes a context."""
    from pydantic import ConfigDict, create_model

    hints = get_type_hints(function, include_extras=True)
    fields: dict[str, Any] = {}
    takes_context = False
    for index, (name, parameter) in enumerate(inspect.signature(function).parameters.items()):
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
            raise TypeError(f"{function.__name__}: the parameter {name} must be an ordinary one")
        if index == 0 and name == "context":
            takes_context = True
            continue
        if name not in hints:
            raise TypeError(f"{function.__name__}: the parameter {name} has no type hint")
        fields[name] = (hints[name], ... if parameter.default is parameter.empty else parameter.default)
    return create_model(function.__name__, __config__=ConfigDict(extra="forbid"), **fields), takes_context


def described(name: str, function: Callable[..., Any]) -> dict[str, Any]:
    """Return what the daemon is told of a tool. Raises TypeError for one whose arguments have no schema."""
    declaration: Declaration = getattr(function, MARK)
    model, _ = arguments_of(function)
    return {
        "name": name,
        "description": inspect.getdoc(function) or "",
        "risk": declaration.risk,
        "read_only": declaration.read_only,
        "timeout_s": declaration.timeout_s,
        "schema": model.model_json_schema(),
    }


def called(function: Callable[..., Any], given: Mapping[str, Any], context: CallContext) -> str:
    """Return the result of a call as text. Raises whatever the tool raises, and `ToolError` for invalid arguments."""
    from pydantic import ValidationError

    model, takes_context = arguments_of(function)
    try:
        valid = model.model_validate(given)
    except ValidationError as error:
        problems = (f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors(include_url=False))
        raise ToolError(f"Invalid arguments: {'; '.join(problems)}.") from None
    arguments = {name: getattr(valid, name) for name in model.model_fields}
    result = function(*([context] if takes_context else []), **arguments)
    if inspect.iscoroutine(result):
        result = asyncio.run(result)
    if result is None:
        return "Done."
    return result if isinstance(result, str) else json.dumps(result, ensure_ascii=False, default=str)


def told(error: BaseException, path: str) -> str:
    """Return what an error says, with the line of the tool's own file that it comes from."""
    if isinstance(error, ToolError):
        return str(error)
    lines = [each.lineno for each in traceback.extract_tb(error.__traceback__) if each.filename == path]
    if isinstance(error, SyntaxError) and error.filename == path:
        lines = [error.lineno]
    where = f" ({path}:{lines[-1]})" if lines else ""
    return f"{type(error).__name__}: {error}{where}"


def main() -> None:
    """Do the job."""
    saying = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    parent = Parent(os.fdopen(os.dup(0), encoding="utf-8"), saying)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    job = parent.take()
    path = job.get("path", "")
    try:
        found = tools_in(loaded(job))
        if "name" not in job:
            parent.say(tools=[described(name, each) for name, each in found.items()])
            return
        context = CallContext(parent, Path(job["folder"]))
        parent.say(result=called(found[job["name"]], job["arguments"], context))
    except (Exception, SystemExit) as error:  # whatever a tool raises is reported
        parent.say(error=told(error, path))


if __name__ == "__main__":
    main()
