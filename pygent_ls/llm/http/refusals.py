"""What a model was found to refuse or to demand, and what is sent to it from then on.

Only what is not needed for the answer may be left out, so the request that is repeated asks for the same. A refusal
that says that something is missing never leads to less being sent.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from pygent_ls.agent.model import EFFORTS, Effort
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
    r"|may only be|must be|should be|(must|should) not|only the default"
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
"""The Responses API is there, and does not find something that it was told of."""

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
"""What goes back to its provider, as errors name it."""

_BACK_IS_NAMED = re.compile(rf"\b{_BACK}\b", re.I)

_BACK_IS_MISSING = re.compile(
    rf"\b(?:without|lacks?|lacking|miss(?:es|ing)|no|needs?|requires?|expect(?:s|ed)|omit(?:s|ted)?|pass|provide|include"
    rf"|return|send)\W+(?:(?!not\b)\w+\W+){{0,3}}?{_BACK}\b"
    rf"|\b{_BACK}\b(?:\W+\w+){{0,8}}?\W+(?:missing|required|absent|omitted|null|non.?empty"
    r"|not (?:found|present|returned|included|provided|passed|sent|given|preserved|set)"
    r"|\w*(?:not|n.t) be (?:empty|null|blank|omitted|missing))\b",
    re.I,
)
"""An earlier answer came back without something that the provider wants."""

_BACK_IS_REFUSED = re.compile(
    r"unsupported|not support|unknown|unrecogni[sz]ed|unexpected|\bextra\b|additional propert|not permitted|not allowed"
    r"|\b(?:must|should) not (?:contain|include|have|be (?:sent|passed|included))|deprecated|could not be (?:verified"
    r"|decrypted)|invalid .{0,3}signature|signature.{0,30}\binvalid|cannot be modified|not found|verified to",
    re.I,
)
"""Words of a refusal of such data. Anything else that is said of them teaches nothing."""

_ONE_HISTORY = re.compile(
    r"could not be (?:verified|decrypted)|verified to|invalid .{0,3}signature|signature.{0,30}\binvalid"
    r"|cannot be modified|not found",
    re.I,
)
"""Such data of one conversation are wrong; those of others are not."""

_UNBOUND = re.compile(r"\bprefix_mismatch_behavior\b|bound to a different conversation", re.I)
"""Claude's thoughts are refused because something before them changed
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
"""How errors name what may be left out; the more special before the more general."""

_LIMITS = frozenset({"max_tokens", "max_completion_tokens", "max_output_tokens"})

_EFFORT_NAMES = frozenset({"reasoning_effort", "reasoning", "effort"})

_MANDATORY = r"(?:none|mandatory|cannot be (?:disabled|turned off))"
"""Words of a refusal of the effort `none`."""

_RARE_EFFORTS = frozenset({"none", "minimal", "xhigh", "max"})
"""Efforts that models refuse that take others."""


@dataclass(slots=True, kw_only=True)
class Learned:
    """What one model refused or demanded so far."""

    left_out: dict[str, int] = field(default_factory=dict[str, int])
    """Parameters that it refused, each with the most that it takes (0: it takes none)."""
    efforts: tuple[Effort, ...] | None = None
    """Efforts that it says it takes; None if it has said nothing."""
    is_of_one_history: bool = False
    """What goes back was refused for what one conversation holds: it is left out of that request alone."""
    drops_thoughts: bool = False
    """It refuses thoughts before which something changed, and can be asked to leave them out."""
    wants_reasoning: bool = False
    """It demanded the reasoning of earlier answers back."""
    wants_signatures: bool = False
    """It demanded a thought signature of each call."""
    has_no_tools: bool = False
    """It, or its server, takes no tools."""
    wants_responses: bool = False
    """It asks to be called through the Responses API."""
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
    """Remember in what other way the model wants to be asked."""
    if _SET_NONE.search(said) and learned.efforts is None:
        learned.efforts = ("none",)
        return True
    is_known = learned.wants_responses or learned.has_no_responses
    if "chat" not in sent or is_known or not _ASKS_FOR_RESPONSES.search(said):
        return False
    learned.wants_responses, learned.efforts = True, None
    return True


def _has_no_responses(status: int | None, said: str) -> bool:
    """Whether it is the Responses API that was not found, and neither a model nor an item."""
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
    """Forget what was refused of one conversation; call it once that request is over."""
    if learned.is_of_one_history:
        learned.is_of_one_history = False
        learned.left_out.pop("thinking_back", None)


def _efforts_left(said: str, value: object, learned: Learned) -> tuple[Effort, ...]:
    """Return the efforts that the model takes, by a refusal of one; empty if it takes none, or does not say."""
    sent: object = cast("dict[str, Any]", value).get("effort") if isinstance(value, dict) else value
    named = named_efforts(said, sent)
    if named:
        return () if named == ("none",) else named  # the next effort would switch off what was asked for
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
    """The most that is said to be possible; 0 where no smaller number is said."""
    names_both = "max_completion_tokens" in text and re.search(r"\bmax_tokens\b", text)
    if not isinstance(sent, int) or names_both:
        return 0
    said = [int(each.replace(",", "")) for each in re.findall(r"\b\d[\d,]{2,8}\b", text)]
    return max((each for each in said if each < sent), default=0)
