"""What a model was found to refuse or to demand, and what is sent to it from then on.

Only what is not needed for the answer may be left out, so the request that is repeated asks for the same. A refusal
that says that something is missing never leads to less being sent.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from pygent_ls.agent.model import Effort
from pygent_ls.llm.effort import named_efforts

MAX_REPEATS = 5
"""Parameters that one request may lose; each is remembered, so that the next asks once."""

_REFUSED_STATUS = (400, 404, 422)

_NO_ENDPOINT_STATUS = (404, 405, 501)

_NO_MODEL = re.compile(
    r"model_not_found|\bmodel\b.{0,120}\b(not found|not exist|does not|unknown|no access)", re.I | re.S
)

_REFUSES = re.compile(
    r"unsupported|not support|unknown|unrecogni[sz]ed|unexpected|extra|not permitted|not allowed|deprecated|cannot"
    r"|may only be|must be|only the default|invalid|too (large|many|high)|at most|maximum|(greater|less) than|expected"
    r"|could not be (verified|decrypted)|not found|verified to",
    re.I,
)

_MISSING = re.compile(
    r"must be (passed|sent|provided|included|present|supplied|preserved|returned)"
    r"|\b(is|are|was|were) (missing|required)\b|\bmissing (required|a |an |the |`|')|field required"
    r"|without its required"
    r"|\bmust (include|contain|have|start with)\b",
    re.I,
)
"""The request lacks something."""

_WANTS_REASONING = re.compile(r"\breasoning_content\b", re.I)

_THINKING = re.compile(r"\bthinking\b|\bbudget_tokens\b|\boutput_config\b|\beffort\b|\badaptive\b", re.I)
_EFFORT = re.compile(r"\breasoning[_. ]?effort\b|not support thinking|\breasoning is not supported", re.I)

_NAMED: Mapping[str, re.Pattern[str]] = {
    "temperature": re.compile(r"\btemperature\b|sampling param", re.I),
    "max_tokens": re.compile(r"\bmax_tokens\b", re.I),
    "max_completion_tokens": re.compile(r"\bmax_completion_tokens\b", re.I),
    "max_output_tokens": re.compile(r"\bmax_output_tokens\b", re.I),
    "stream_options": re.compile(r"\bstream_options\b|\binclude_usage\b", re.I),
    "prompt_cache_key": re.compile(r"\bprompt_cache_key\b", re.I),
    "response_format": re.compile(r"\bresponse_format\b|\bjson_schema\b|\b(text|output_config)\.format\b", re.I),
    "reasoning_summary": re.compile(r"\breasoning[_. ]?summar", re.I),
    "include": re.compile(r"\binclude\b.*encrypted|encrypted content is not supported", re.I),
    "reasoning_effort": _EFFORT,
    "idle_thoughts": re.compile(r"thinking.{0,3} is disabled", re.I),
    "thinking_back": re.compile(
        r"\breasoning_content\b|\breasoning_details\b|\bsignature\b|\bredacted_thinking\b|\bthinking blocks?\b"
        r"|encrypted content|encrypted_content|\bitem with id 'rs_",
        re.I,
    ),
    "reasoning": re.compile(r"\breasoning\b", re.I),
    "thinking": _THINKING,
    "adaptive_thinking": _THINKING,
    "cache_ttl": re.compile(r"\bttl\b|extended-cache", re.I),
    "cache_control": re.compile(r"\bcache_control\b", re.I),
}
"""How errors name what may be left out; the more special before the more general."""

_LIMITS = frozenset({"max_tokens", "max_completion_tokens", "max_output_tokens"})

_EFFORT_NAMES = frozenset({"reasoning_effort", "reasoning"})


@dataclass(slots=True, kw_only=True)
class Learned:
    """What one model refused or demanded so far."""

    left_out: dict[str, int] = field(default_factory=dict[str, int])
    """Parameters that it refused, each with the most that it takes (0: it takes none)."""
    efforts: tuple[Effort, ...] | None = None
    """Efforts that it says it takes; None if it has said nothing."""
    wants_reasoning: bool = False
    """It demanded the reasoning of earlier answers back."""
    has_no_tools: bool = False
    """It, or its server, takes no tools."""
    has_no_responses: bool = False
    """Its server has no Responses API."""


class Refusals:
    """What was learned of each model; one object a process. A model is its address and its name there."""

    def __init__(self) -> None:
        self._learned: dict[tuple[str, str], Learned] = {}

    def of(self, base: str, model: str) -> Learned:
        """Return what was learned of a model; `learn` adds to the same object."""
        return self._learned.setdefault((base, model), Learned())


def learn(status: int | None, body: object, text: str, sent: Mapping[str, Any], learned: Learned) -> bool:
    """Remember what an error says of the request; False if the same request would be sent again.

    `body` is the error's JSON or None, `text` its words, and `sent` the parameters by the names in `_NAMED`.
    """
    if "responses" in sent and status in _NO_ENDPOINT_STATUS and not _NO_MODEL.search(f"{text} {body}"):
        learned.has_no_responses = True
        return True
    if status not in _REFUSED_STATUS:
        return False
    param, said = _said(body, text)
    if _MISSING.search(said):
        return _learn_missing(said, learned)
    if not _REFUSES.search(said):
        return False
    if re.search(r"set .?reasoning_effort.? to .?none", said, re.I) and learned.efforts != ("none",):
        learned.efforts = ("none",)
        return True
    return any(
        _learn_refused(name, said, sent[name], learned)
        for name, pattern in _NAMED.items()
        if name in sent and (param == name or pattern.search(said))
    )


def _learn_missing(said: str, learned: Learned) -> bool:
    if not _WANTS_REASONING.search(said) or learned.wants_reasoning:
        return False
    learned.wants_reasoning = True
    return True


def _learn_refused(name: str, said: str, value: Any, learned: Learned) -> bool:
    efforts = named_efforts(said, value) if name in _EFFORT_NAMES else ()
    if efforts and learned.efforts != efforts:
        learned.efforts = efforts
        return True
    most = _most(said, value) if name in _LIMITS else 0
    if learned.left_out.get(name) == most:
        return False
    learned.left_out[name] = most
    return True


def _said(body: object, text: str) -> tuple[str, str]:
    inner: object = cast("dict[str, Any]", body).get("error") if isinstance(body, dict) else None
    given = cast("dict[str, Any]", inner) if isinstance(inner, dict) else {}
    return str(given.get("param") or "").replace(".", "_"), f"{given.get('code') or ''} {given.get('message') or text}"


def _most(text: str, sent: object) -> int:
    """The most that is said to be possible; 0 where no smaller number is said."""
    names_both = "max_completion_tokens" in text and re.search(r"\bmax_tokens\b", text)
    if not isinstance(sent, int) or names_both:
        return 0
    said = [int(each.replace(",", "")) for each in re.findall(r"\b\d[\d,]{2,8}\b", text)]
    return max((each for each in said if each < sent), default=0)
