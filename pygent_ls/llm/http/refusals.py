"""Parameters that a model refuses: which one an error names, and what is sent in its place from then on.

Only what is not needed for the answer may be left out, so the request that is repeated asks for the same.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, cast

from pygent_ls.llm.http.answers import AnswerError

MAX_REPEATS = 5
"""Parameters that one request may lose; each is remembered, so that the next asks once."""

_REFUSED_STATUS = (400, 404, 422)

_REFUSES = re.compile(
    r"unsupported|not support|unknown|unrecogni[sz]ed|unexpected|extra|not permitted|not allowed|deprecated|cannot"
    r"|may only be|must be|only the default|invalid|too (large|many|high)|at most|maximum|(greater|less) than|expected",
    re.I,
)

_THINKING = re.compile(r"\bthinking\b|\bbudget_tokens\b|\boutput_config\b|\beffort\b|\badaptive\b", re.I)

_NAMED: Mapping[str, re.Pattern[str]] = {
    "temperature": re.compile(r"\btemperature\b|sampling param", re.I),
    "max_tokens": re.compile(r"\bmax_tokens\b", re.I),
    "max_completion_tokens": re.compile(r"\bmax_completion_tokens\b", re.I),
    "stream_options": re.compile(r"\bstream_options\b|\binclude_usage\b", re.I),
    "reasoning_effort": re.compile(
        r"\breasoning[_. ]?effort\b|not support thinking|\breasoning is not supported", re.I
    ),
    "reasoning": re.compile(r"\breasoning\b", re.I),
    "thinking_back": re.compile(
        r"\breasoning_content\b|\bsignature\b|\bredacted_thinking\b|\bthinking blocks?\b", re.I
    ),
    "thinking": _THINKING,
    "adaptive_thinking": _THINKING,
    "cache_control": re.compile(r"\bcache_control\b", re.I),
}
"""How errors name what may be left out; the more special before the more general."""


class Refusals:
    """What each model refused so far; one object a process. A model is its address and its name there."""

    def __init__(self) -> None:
        self._learned: dict[tuple[str, str], dict[str, int]] = {}

    def of(self, base: str, model: str) -> dict[str, int]:
        """What this model refused: the parameter, and the most that it takes (0: it takes none)."""
        return self._learned.setdefault((base, model), {})


def learn(error: AnswerError, sent: Mapping[str, Any], refused: dict[str, int]) -> bool:
    """Remember the parameter that the error names; False where it names none that could be left out.

    `sent` are the parameters by the names in `_NAMED` and their values.
    """
    if error.status_code not in _REFUSED_STATUS:
        return False
    param, text = _said(error)
    if not _REFUSES.search(text):
        return False
    for name, pattern in _NAMED.items():
        if name not in sent or not (param == name or pattern.search(text)):
            continue
        most = _most(text, sent[name]) if name in ("max_tokens", "max_completion_tokens") else 0
        if refused.get(name) == most:
            continue
        refused[name] = most
        return True
    return False


def _said(error: AnswerError) -> tuple[str, str]:
    body = error.body
    inner: object = cast("dict[str, Any]", body).get("error") if isinstance(body, dict) else None
    given = cast("dict[str, Any]", inner) if isinstance(inner, dict) else {}
    return str(given.get("param") or ""), f"{given.get('code') or ''} {given.get('message') or error}"


def _most(text: str, sent: object) -> int:
    """The most that is said to be possible; 0 where no smaller number is said."""
    names_both = "max_completion_tokens" in text and re.search(r"\bmax_tokens\b", text)
    if not isinstance(sent, int) or names_both:
        return 0
    said = [int(each.replace(",", "")) for each in re.findall(r"\b\d[\d,]{2,8}\b", text)]
    return max((each for each in said if each < sent), default=0)
