"""Description and questions of a copier template, read from `copier.yml` without running copier.

Reading takes a millisecond, while copier's import takes half a second. The file is untrusted: its contents are treated
as data, and all sizes are bounded.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, TypeGuard, cast, get_args

from pygent_ls.agent.ports.templates import QuestionType, Template, TemplateKind, TemplateQuestion
from pygent_ls.data_files import read_yaml
from pygent_ls.file_access import read_beginning

CONFIGURATIONS = ("copier.yml", "copier.yaml")

MAX_CONFIGURATION_BYTES = 100_000
"""Maximum size; the longest template known for its many questions has 40 kB."""

MAX_QUESTIONS = 100

MAX_CHOICES = 100

MAX_VALUE_CHARS = 10_000
"""Longest default, as JSON: aliases can make a short file a long value."""

_TYPES: Mapping[str, QuestionType] = {name: name for name in get_args(QuestionType)}


class _BrokenTemplateError(Exception):
    """Raised if the configuration cannot be used; the text says why."""


def read_template(folder: Path, name: str, kind: TemplateKind, *, is_users: bool) -> Template:
    """Read the template in this folder, under this name. If it cannot be used, `problem` says why. Blocking."""
    folder = folder.resolve()
    try:
        given = _configuration(folder)
        return Template(
            name=name,
            kind=kind,
            description=" ".join(str(given.get("_description") or "").split())[:200],
            folder=folder,
            is_users=is_users,
            questions=tuple(_questions(given)),
            not_run=tuple(_not_run(given)),
        )
    except _BrokenTemplateError as error:
        return Template(name=name, kind=kind, description="", folder=folder, is_users=is_users, problem=str(error))


def _configuration(folder: Path) -> dict[str, Any]:
    """Return the documents of `copier.yml` as one. Raises `_BrokenTemplateError`."""
    files = [file for file in (folder / each for each in CONFIGURATIONS) if file.is_file()]
    if len(files) > 1:
        raise _BrokenTemplateError("it has both a copier.yml and a copier.yaml")
    if not files:
        if (folder / "cookiecutter.json").exists():
            raise _BrokenTemplateError("it is a template for cookiecutter, but only copier templates are supported")
        return {}
    real = files[0].resolve()
    if not real.is_relative_to(folder):
        raise _BrokenTemplateError(f"its {files[0].name} is a link to a place outside its folder")
    try:
        data = read_beginning(real, MAX_CONFIGURATION_BYTES + 1)
    except OSError as error:
        raise _BrokenTemplateError(f"its {files[0].name} cannot be read: {error.strerror}") from None
    if len(data) > MAX_CONFIGURATION_BYTES:
        raise _BrokenTemplateError(f"its {files[0].name} is larger than {MAX_CONFIGURATION_BYTES // 1000} kB")
    merged = _parsed(data)
    if merged.get("_jinja_extensions"):
        raise _BrokenTemplateError("it needs Jinja extensions, which are programs; templates may not load any")
    return merged


def _parsed(data: bytes) -> dict[str, Any]:
    """Parse YAML. Raises `_BrokenTemplateError`."""
    merged: dict[str, Any] = {}
    try:
        for document in filter(None, read_yaml(data)):
            if not _is_table(document):
                raise _BrokenTemplateError("its copier.yml contains something other than questions and settings")
            merged.update(document)
    except (ValueError, RecursionError) as error:  # also an invalid date, or lists nested too deep
        raise _BrokenTemplateError(f"its copier.yml is invalid: {str(error)[:300]}") from None
    return merged


def _is_table(value: object) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict) and all(isinstance(key, str) for key in cast("dict[object, object]", value))


def _questions(given: Mapping[str, Any]) -> Iterable[TemplateQuestion]:
    """Return the questions. Raises `_BrokenTemplateError` for too many, or for an invalid one."""
    asked = {name: value for name, value in given.items() if not name.startswith("_")}
    if len(asked) > MAX_QUESTIONS:
        raise _BrokenTemplateError(f"it has more than {MAX_QUESTIONS} questions")
    marks = _marks(given)
    for name, value in asked.items():
        details = cast("dict[str, Any]", value) if isinstance(value, dict) else {"default": value}
        if details.get("when", True) not in (False, "false", "no"):  # values with `when: false` are computed, not asked
            yield _question(name, details, marks)


def _marks(given: Mapping[str, Any]) -> tuple[str, str]:
    """Return the marks that begin an expression."""
    options = given.get("_envops")
    options = cast("dict[str, Any]", options) if isinstance(options, dict) else {}
    return str(options.get("variable_start_string", "{{")), str(options.get("block_start_string", "{%"))


def _question(name: str, details: Mapping[str, Any], marks: tuple[str, str]) -> TemplateQuestion:
    default = details.get("default")
    kind = str(details.get("type") or (type(default).__name__ if type(default).__name__ in _TYPES else "yaml"))
    condition = details.get("when", True)
    choices = _choices(details.get("choices"))
    return TemplateQuestion(
        name=name,
        type=_TYPES.get(kind),
        help=" ".join(str(details.get("help") or "").split())[:300],
        default=_bounded(name, default),
        is_required="default" not in details,
        is_computed=_holds(default, marks),
        choices=() if any(_holds(choice, marks) for choice in choices) else choices,
        is_multiple=details.get("multiselect") is True,
        condition="" if condition is True else str(condition)[:200],
    )


def _choices(given: object) -> tuple[object, ...]:
    """Return the values of a list, a list of pairs or a table; empty if one is not a plain value."""
    listed: list[object] = []
    if isinstance(given, dict):
        listed = list(cast("dict[object, object]", given).values())
    elif isinstance(given, list):
        pairs = cast("list[object]", given)
        listed = [cast("list[object]", each)[-1] if isinstance(each, list) and each else each for each in pairs]
    listed = [cast("dict[str, object]", each).get("value") if isinstance(each, dict) else each for each in listed]
    is_plain = all(isinstance(each, str | int | float | bool) for each in listed)
    return tuple(listed) if is_plain and len(listed) <= MAX_CHOICES else ()


def _holds(value: object, marks: tuple[str, str]) -> bool:
    return isinstance(value, str) and any(mark in value for mark in marks)


def _bounded(name: str, value: object) -> object:
    """Return the value as JSON data. Raises `_BrokenTemplateError` for one that is too long or contains itself."""
    try:
        text = "".join(islice(json.JSONEncoder(default=str).iterencode(value), MAX_VALUE_CHARS))
        if len(text) > MAX_VALUE_CHARS:
            raise _BrokenTemplateError(f"the default of {name} is longer than {MAX_VALUE_CHARS:,} characters")
        return json.loads(text)
    except (ValueError, TypeError, RecursionError):
        raise _BrokenTemplateError(f"the default of {name} is not a plain value") from None


def _not_run(given: Mapping[str, Any]) -> Iterable[str]:
    for key, one in (("_tasks", "task"), ("_migrations", "migration")):
        found = given.get(key)
        if isinstance(found, list) and found:
            count = len(cast("list[object]", found))
            yield f"{count} {one}" if count == 1 else f"{count} {one}s"


NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
"""Valid template names; folders with other names, such as `.git`, are ignored."""
