"""Descriptions of template questions for the model, and validation of its answers."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from pygent_ls.agent.ports.templates import QuestionType, Template, TemplateQuestion
from pygent_ls.errors import ToolError

MAX_SHOWN_CHARS = 120
"""Maximum length of a displayed default or condition; expressions are for the template's author."""

_TRUTH = frozenset({"true", "false", "yes", "no", "on", "off", "y", "n", "t", "f", "1", "0"})
"""Words that copier accepts as booleans."""


def describe(templates: Sequence[Template]) -> str:
    """Describe each template with its summary and its questions."""
    return "\n\n".join("\n".join(_lines(each)) for each in templates)


def questions_of(template: Template) -> str:
    """Describe the questions, one line each, with types, defaults and choices."""
    if not template.questions:
        return f"{template.name} has no questions."
    lines = [_question(question) for question in template.questions]
    return "\n".join([f"Questions of {template.name}:", *lines])


def _lines(template: Template) -> Iterable[str]:
    whose = " (the user's own)" if template.is_users else ""
    yield f"{template.name}{whose}: {template.description or 'no description'}"
    if template.problem:
        yield f"  It cannot be used: {template.problem}."
    if template.not_run:
        yield f"  Not run: its {' and '.join(template.not_run)}."
    yield from map(_question, template.questions)


def _question(question: TemplateQuestion) -> str:
    facts: list[str] = [question.type or "depends on other answers"]
    if question.choices:
        which = "any number of" if question.is_multiple else "one of"
        facts.append(f"{which} {', '.join(map(_shown, question.choices))}")
    if question.is_required:
        facts.append("required")
    else:
        facts.append(f"default {'computed: ' if question.is_computed else ''}{_shown(question.default)}")
    if question.condition:
        facts.append(f"only if {_cut(question.condition)}")
    return f"  - {question.name} ({'; '.join(facts)})" + (f": {question.help}" if question.help else "")


def _shown(value: object) -> str:
    return _cut(" ".join(value.split()) if isinstance(value, str) and value else json.dumps(value, ensure_ascii=False))


def _cut(text: str) -> str:
    return text if len(text) <= MAX_SHOWN_CHARS else text[: MAX_SHOWN_CHARS - 1] + "…"


def check_answers(template: Template, given: Mapping[str, object], likely: Mapping[str, object]) -> None:
    """Validate answers. Raises `ToolError` that names all problems and lists the questions.

    Values that depend on other answers are checked by the rendering. `likely` supplies missing answers.
    """
    asked = {question.name: question for question in template.questions}
    problems = [_unknown(name, asked) for name in given if name not in asked]
    for name, question in asked.items():
        if name in given:
            if said := problem_with(question, given[name]):
                problems.append(f"`{name}` {said}")
        elif question.is_required and not question.condition and name not in likely:
            problems.append(f"`{name}` is missing")
    if problems:
        raise ToolError(f"Nothing was created: {'; '.join(problems)}.\n{questions_of(template)}")


def _unknown(name: str, asked: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, list(asked), n=1)
    return f"`{name}` is not a question" + (f" (did you mean `{close[0]}`?)" if close else "")


def problem_with(question: TemplateQuestion, value: object) -> str:
    """Return the problem with an answer, as far as it can be detected beforehand; empty for a valid answer."""
    if question.is_multiple:
        if not isinstance(value, list):
            return "must be a list of choices"
        wrong = [each for each in cast("list[object]", value) if _problem_with_one(question, each)]
        return _problem_with_one(question, wrong[0]) if wrong else ""
    return _problem_with_one(question, value)


def _problem_with_one(question: TemplateQuestion, value: object) -> str:
    if question.type is not None and not _has_type(question.type, value):
        return f"must be {_IN_WORDS[question.type]}, not {_shown(value)}"
    if question.choices and not any(_equal(value, choice) for choice in question.choices):
        return f"must be one of {', '.join(map(_shown, question.choices))}, not {_shown(value)}"
    return ""


def _equal(value: object, choice: object) -> bool:
    """Compare as copier does: values with the same text are equal, including `3` and `"3"`."""
    return value == choice or (not isinstance(value, bool) and str(value) == str(choice))


_IN_WORDS: Mapping[QuestionType, str] = {
    "str": "a string",
    "path": "a string",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "json": "JSON",
    "yaml": "YAML",
}


def _has_type(type_name: QuestionType, value: Any) -> bool:
    match type_name:
        case "str" | "path":
            return isinstance(value, str | int | float) and not isinstance(value, bool)
        case "bool":
            return isinstance(value, bool) or str(value).lower() in _TRUTH
        case "int":
            return _is_number(value, int)
        case "float":
            return _is_number(value, float)
        case "json" | "yaml":
            return True


def _is_number(value: Any, kind: type[int] | type[float]) -> bool:
    if isinstance(value, bool) or (kind is int and isinstance(value, float)):
        return False
    try:
        kind(value)
    except (TypeError, ValueError, OverflowError):
        return False
    return True
