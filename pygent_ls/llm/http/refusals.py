"""What each model refuses or requires, learned from its errors and applied to later requests.

Only what the answer does not need may be left out, so a repeated request asks for the same. An error about something
missing never leads to less being sent.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, cast

from msgspec import Struct, field

from pygent_ls.agent.ports.model import EFFORTS, Effort
from pygent_ls.llm.effort import named_efforts

MAX_REPEATS = 5
"""Maximum number of parameters that one request may lose; each is remembered for later requests."""

_REFUSED_STATUS = (400, 404, 422)

_NO_ENDPOINT_STATUS = (404, 405, 501)

_NO_MODEL = re.compile(
    r"model_not_found|\bmodel\b.{0,120}\b(not found|not exist|does not|unknown|no access)", re.I | re.S
)

_REFUSES = re.compile(
    r"unsupported|not support|unknown|unrecogni[sz]ed|unexpected|extra|not permitted|not allowed|deprecated|cannot"
    r"|not enabled|may only be|must be|should be|(must|should) not|only the default"
    r"|invalid|too (large|many|high)|at most|maximum|(greater|less) than|expected"
    r"|could not be (verified|decrypted)|not found|verified to",
    re.I,
)

_NO_RESPONSES = re.compile(
    r"\b(?:unknown|unexpected|unsupported|invalid|no such|no)\b.{0,40}\b(?:endpoint|route|path|url|method)\b"
    r".{0,60}/responses\b",
    re.I,
)
"""How servers without the Responses API say so with another status, such as LM Studio with 200."""

_NO_ITEM = re.compile(r"\bitem with id\b|\bprevious_response|\bnot persisted\b", re.I)
"""The Responses API exists but does not find an item that the request refers to."""

_MISSING = re.compile(
    r"must be (passed|sent|provided|included|present|supplied|preserved|returned)"
    r"|\b(is|are|was|were) (missing|required)\b|\bmissing (required|a |an |the |`|')|field required"
    r"|without its required"
    r"|\bmust (include|contain|have|start with)\b",
    re.I,
)
"""The request lacks something."""

_WANTS_REASONING = re.compile(r"\breasoning_content\b|\bthinking\b.{0,40}must be passed back", re.I)

_WANTS_SIGNATURE = re.compile(r"\bthought_signature\b", re.I)

_BACK = (
    r"(?:reasoning_content|reasoning_details|thought_signature|encrypted_content|encrypted content|redacted_thinking"
    r"|signature|thinking blocks?)"
)
"""Names that errors use for data sent back to its provider."""

_BACK_IS_NAMED = re.compile(rf"\b{_BACK}\b", re.I)

_BACK_IS_MISSING = re.compile(
    rf"\b(?:without|lacks?|lacking|miss(?:es|ing)|no|needs?|requires?|expect(?:s|ed)|omit(?:s|ted)?|pass|provide|include"
    rf"|return|send)\W+(?:(?!not\b)\w+\W+){{0,3}}?{_BACK}\b"
    rf"|\b{_BACK}\b(?:\W+\w+){{0,8}}?\W+(?:missing|required|absent|omitted|null|non.?empty"
    r"|not (?:found|present|returned|included|provided|passed|sent|given|preserved|set)"
    r"|\w*(?:not|n.t) be (?:empty|null|blank|omitted|missing))\b",
    re.I,
)
"""The provider requires data that an earlier answer was sent back without."""

_BACK_IS_REFUSED = re.compile(
    r"unsupported|not support|unknown|unrecogni[sz]ed|unexpected|\bextra\b|additional propert|not permitted|not allowed"
    r"|\b(?:must|should) not (?:contain|include|have|be (?:sent|passed|included))|deprecated|could not be (?:verified"
    r"|decrypted)|invalid .{0,3}signature|signature.{0,30}\binvalid|cannot be modified|not found|verified to",
    re.I,
)
"""Words of a refusal of such data. Nothing is learned from other errors that name it."""

_ONE_HISTORY = re.compile(
    r"could not be (?:verified|decrypted)|verified to|invalid .{0,3}signature|signature.{0,30}\binvalid"
    r"|cannot be modified|not found",
    re.I,
)
"""Such data of one conversation is invalid; other conversations are not affected."""

_UNBOUND = re.compile(r"\bprefix_mismatch_behavior\b|bound to a different conversation", re.I)
"""Claude refuses thinking blocks because something before them changed
(platform.claude.com/docs/en/build-with-claude/preserved-thinking)."""

_SET_NONE = re.compile(r"set .?reasoning_effort.? to .?none", re.I)

_ASKS_FOR_RESPONSES = re.compile(r"/responses\b|\bresponses api\b", re.I)

_THINKING = re.compile(r"\bthinking\b|\bbudget_tokens\b|\boutput_config\b|\beffort\b|\badaptive\b", re.I)
_EFFORT = re.compile(
    r"\breasoning[_. ]?effort\b|not support thinking|\breasoning is (not supported|mandatory)"
    r"|\b(reasoning|thinking) cannot be (disabled|turned off)",
    re.I,
)

_NAMED: Mapping[str, re.Pattern[str]] = {
    "web_search": re.compile(r"\bweb.?search|\b(?:google.?search|tool use with function calling)\b", re.I),
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
    "block_binding": re.compile(r"\bblock_binding\b|thinking-binding-controls", re.I),
    "thinking_back": re.compile(rf"{_BACK_IS_NAMED.pattern}|\bitem with id 'rs_", re.I),
    "reasoning": re.compile(r"\breasoning\b", re.I),
    "effort": re.compile(r"\beffort\b", re.I),
    "thinking": _THINKING,
    "adaptive_thinking": _THINKING,
    "disabled_thinking": _THINKING,
    "cache_ttl": re.compile(r"\bttl\b|extended-cache", re.I),
    "cache_control": re.compile(r"\bcache_control\b", re.I),
}
"""How errors name the parameters that may be left out; the more specific before the more general."""

_LIMITS = frozenset({"max_tokens", "max_completion_tokens", "max_output_tokens"})

_EFFORT_NAMES = frozenset({"reasoning_effort", "reasoning", "effort"})

_MANDATORY = r"(?:none|mandatory|cannot be (?:disabled|turned off))"
"""Words of a refusal of the effort `none`."""

_RARE_EFFORTS = frozenset({"none", "minimal", "xhigh", "max"})
"""Efforts that some models refuse while they take others."""


class Learned(Struct, kw_only=True):
    """What one model refused or required so far."""

    left_out: dict[str, int] = field(default_factory=dict[str, int])
    """Refused parameters, each with the maximum that the model accepts (0: not accepted at all)."""
    efforts: tuple[Effort, ...] | None = None
    """Efforts that the model says it accepts; None if unknown."""
    is_of_one_history: bool = False
    """Whether data sent back was refused for one conversation's content: only that request leaves it out."""
    drops_thoughts: bool = False
    """Whether it refuses thinking whose preceding conversation changed, and can be asked to drop it."""
    wants_reasoning: bool = False
    """Whether it requires the reasoning of earlier answers."""
    wants_signatures: bool = False
    """Whether it requires a thought signature for each call."""
    has_no_tools: bool = False
    """Whether the model or its server does not support tools."""
    wants_responses: bool = False
    """Whether it must be called through the Responses API."""
    has_no_responses: bool = False
    """Whether its server has no Responses API."""


class Refusals:
    """What was learned of each model, identified by its address and its name there; one object per process."""

    def __init__(self) -> None:
        self._learned: dict[tuple[str, str], Learned] = {}

    def of(self, base: str, model: str) -> Learned:
        """Return what was learned of a model; `learn` updates the same object."""
        return self._learned.setdefault((base, model), Learned())


def learn(status: int | None, body: object, text: str, sent: Mapping[str, Any], learned: Learned) -> bool:
    """Remember what an error says about the request; return False if the same request would be sent again.

    `body` is the error's JSON or None, `text` its message, and `sent` the parameters by their names in `_NAMED`.
    """
    if "responses" in sent and _has_no_responses(status, f"{text} {body}"):
        learned.has_no_responses = True
        return True
    if status not in _REFUSED_STATUS:
        return False
    param, said = _said(body, text)
    if "thinking_back" in sent and _UNBOUND.search(said) and not learned.drops_thoughts:
        learned.drops_thoughts = True
        return True
    if not _UNBOUND.search(said) and (_MISSING.search(said) or _BACK_IS_MISSING.search(said)):
        return _learn_missing(said, learned)
    if not _REFUSES.search(said) or (_BACK_IS_NAMED.search(said) and not _BACK_IS_REFUSED.search(said)):
        return False
    if _learn_demanded(said, sent, learned):
        return True
    return any(
        _learn_refused(name, said, sent[name], learned)
        for name, pattern in _NAMED.items()
        if name in sent and (param == name or pattern.search(said))
    )


def _learn_demanded(said: str, sent: Mapping[str, Any], learned: Learned) -> bool:
    """Remember which effort or which API the model requires instead."""
    if _SET_NONE.search(said) and learned.efforts is None:
        learned.efforts = ("none",)
        return True
    is_known = learned.wants_responses or learned.has_no_responses
    if "chat" not in sent or is_known or not _ASKS_FOR_RESPONSES.search(said):
        return False
    learned.wants_responses, learned.efforts = True, None
    return True


def _has_no_responses(status: int | None, said: str) -> bool:
    """Whether the Responses API was not found, as opposed to a model or an item."""
    if status in _NO_ENDPOINT_STATUS:
        return not (_NO_MODEL.search(said) or _NO_ITEM.search(said))
    return bool(_NO_RESPONSES.search(said))


def _learn_missing(said: str, learned: Learned) -> bool:
    if _WANTS_SIGNATURE.search(said) and not learned.wants_signatures:
        learned.wants_signatures = True
        return True
    if not _WANTS_REASONING.search(said) or learned.wants_reasoning:
        return False
    learned.wants_reasoning = True
    return True


def _learn_refused(name: str, said: str, value: Any, learned: Learned) -> bool:
    efforts = _efforts_left(said, value, learned) if name in _EFFORT_NAMES else ()
    if efforts and learned.efforts != efforts:
        learned.efforts = efforts
        return True
    most = _most(said, value) if name in _LIMITS else 0
    if learned.left_out.get(name) == most:
        return False
    learned.left_out[name] = most
    learned.is_of_one_history |= name == "thinking_back" and bool(_ONE_HISTORY.search(said))
    return True


def forget_history(learned: Learned) -> None:
    """Forget a refusal that concerns one conversation; call it after that request."""
    if learned.is_of_one_history:
        learned.is_of_one_history = False
        learned.left_out.pop("thinking_back", None)


def _efforts_left(said: str, value: object, learned: Learned) -> tuple[Effort, ...]:
    """Return the efforts still accepted after a refusal of one; empty if unknown, or if only `none` is."""
    sent: object = cast("dict[str, Any]", value).get("effort") if isinstance(value, dict) else value
    named = named_efforts(said, sent)
    if named:
        return () if named == ("none",) else named  # the only level left would disable what was asked for
    if sent not in _RARE_EFFORTS or not re.search(rf"(?<![\w-]){_MANDATORY if sent == 'none' else sent}\b", said, re.I):
        return ()
    place = EFFORTS.index(cast("Effort", sent))
    kept = EFFORTS if sent in ("none", "minimal") else EFFORTS[:place]
    return tuple(each for each in kept if each != sent and each in (learned.efforts or EFFORTS))


def _said(body: object, text: str) -> tuple[str, str]:
    inner: object = cast("dict[str, Any]", body).get("error") if isinstance(body, dict) else None
    given = cast("dict[str, Any]", inner) if isinstance(inner, dict) else {}
    return str(given.get("param") or "").replace(".", "_"), f"{given.get('code') or ''} {given.get('message') or text}"


def _most(text: str, sent: object) -> int:
    """Return the maximum that the error names; 0 if it names no number below the one sent."""
    names_both = "max_completion_tokens" in text and re.search(r"\bmax_tokens\b", text)
    if not isinstance(sent, int) or names_both:
        return 0
    said = [int(each.replace(",", "")) for each in re.findall(r"\b\d[\d,]{2,8}\b", text)]
    return max((each for each in said if each < sent), default=0)
