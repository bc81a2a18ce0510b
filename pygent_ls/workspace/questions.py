"""What a copier template says of itself: its description and its questions, from `copier.yml`, without running copier.

Reading takes a millisecond, where copier's import takes half a second. Who wrote the file is unknown: nothing that it
holds is more than data, and nothing grows beyond a bound.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, TypeGuard, cast, get_args

from pygent_ls.agent.scaffolding import Question, QuestionType, Template, TemplateKind
from pygent_ls.data_files import read_yaml
from pygent_ls.file_access import read_beginning

CONFIGURATIONS = ("copier.yml", "copier.yaml")

MAX_CONFIGURATION_BYTES = 100_000
"""The longest of the templates that are known for their many questions has 40 kB."""

MAX_QUESTIONS = 100

MAX_CHOICES = 100

MAX_VALUE_CHARS = 10_000
"""Longest default, as JSON: aliases make a short file a long one."""

_TYPES: Mapping[str, QuestionType] = {name: name for name in get_args(QuestionType)}


class _BrokenError(Exception):
    """The configuration cannot be used; the text says why."""


def read_template(folder: Path, name: str, kind: TemplateKind, *, is_users: bool) -> Template:
    """The template in this folder, by this name. One that cannot be used says why in `problem`. Blocking."""
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
    except _BrokenError as error:
        return Template(name=name, kind=kind, description="", folder=folder, is_users=is_users, problem=str(error))


def _configuration(folder: Path) -> dict[str, Any]:
    """The documents of `copier.yml` as one. Raises `_BrokenError`."""
    files = [file for file in (folder / each for each in CONFIGURATIONS) if file.is_file()]
    if len(files) > 1:
        raise _BrokenError("it has both a copier.yml and a copier.yaml")
    if not files:
        if (folder / "cookiecutter.json").exists():
            raise _BrokenError("it is a template for cookiecutter, but only copier templates are supported")
        return {}
    real = files[0].resolve()
    if not real.is_relative_to(folder):
        raise _BrokenError(f"its {files[0].name} is a link to a place outside its folder")
    try:
        data = read_beginning(real, MAX_CONFIGURATION_BYTES + 1)
    except OSError as error:
        raise _BrokenError(f"its {files[0].name} cannot be read: {error.strerror}") from None
    if len(data) > MAX_CONFIGURATION_BYTES:
        raise _BrokenError(f"its {files[0].name} is larger than {MAX_CONFIGURATION_BYTES // 1000} kB")
    merged = _parsed(data)
    if merged.get("_jinja_extensions"):
        raise _BrokenError("it needs Jinja extensions, which are programs; templates may not load any")
    return merged


def _parsed(data: bytes) -> dict[str, Any]:
    """Raises `_BrokenError`."""
    merged: dict[str, Any] = {}
    try:
        for document in filter(None, read_yaml(data)):
            if not _is_table(document):
                raise _BrokenError("its copier.yml contains something other than questions and settings")
            merged.update(document)
    except (ValueError, RecursionError) as error:  # also a date that is none; lists in lists without end
        raise _BrokenError(f"its copier.yml is invalid: {str(error)[:300]}") from None
    return merged


def _is_table(value: object) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict) and all(isinstance(key, str) for key in cast("dict[object, object]", value))


def _questions(given: Mapping[str, Any]) -> Iterable[Question]:
    """Raises `_BrokenError` for too many, or for one that is none."""
    asked = {name: value for name, value in given.items() if not name.startswith("_")}
    if len(asked) > MAX_QUESTIONS:
        raise _BrokenError(f"it has more than {MAX_QUESTIONS} questions")
    marks = _marks(given)
    for name, value in asked.items():
        details = cast("dict[str, Any]", value) if isinstance(value, dict) else {"default": value}
        if details.get("when", True) not in (False, "false", "no"):  # a value that it computes for itself
            yield _question(name, details, marks)


def _marks(given: Mapping[str, Any]) -> tuple[str, str]:
    """What an expression begins with."""
    options = given.get("_envops")
    options = cast("dict[str, Any]", options) if isinstance(options, dict) else {}
    return str(options.get("variable_start_string", "{{")), str(options.get("block_start_string", "{%"))


def _question(name: str, details: Mapping[str, Any], marks: tuple[str, str]) -> Question:
    default = details.get("default")
    kind = str(details.get("type") or (type(default).__name__ if type(default).__name__ in _TYPES else "yaml"))
    condition = details.get("when", True)
    choices = _choices(details.get("choices"))
    return Question(
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
    """The values of a list, a list of pairs or a table; none where they are not all plain values."""
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
    """The value as JSON has it. Raises `_BrokenError` for one that is too long, or holds itself."""
    try:
        text = "".join(islice(json.JSONEncoder(default=str).iterencode(value), MAX_VALUE_CHARS))
        if len(text) > MAX_VALUE_CHARS:
            raise _BrokenError(f"the default of {name} is longer than {MAX_VALUE_CHARS:,} characters")
        return json.loads(text)
    except (ValueError, TypeError, RecursionError):
        raise _BrokenError(f"the default of {name} is not a plain value") from None


def _not_run(given: Mapping[str, Any]) -> Iterable[str]:
    for key, one in (("_tasks", "task"), ("_migrations", "migration")):
        found = given.get(key)
        if isinstance(found, list) and found:
            count = len(cast("list[object]", found))
            yield f"{count} {one}" if count == 1 else f"{count} {one}s"


NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
"""Names of templates; folders with others, as `.git`, are none."""
