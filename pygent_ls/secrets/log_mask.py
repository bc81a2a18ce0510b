"""Masks for log lines, reports and displayed settings: text that looks like a key, and values known to be secret."""

from __future__ import annotations

import re
from collections.abc import Iterable

MASK = "***"

_SECRETS = r"""
      \b(?: sk | pk | rk ) [-_] [\w-]{12,}              # OpenAI, Anthropic, Stripe and who followed them
    | \b(?: gsk_ | xai- | hf_ | pplx- | nvapi- | r8_ ) [\w-]{12,}
    | \bAIza [\w-]{30,}                                 # Google
    | \b(?: gh[opsur]_ | github_pat_ | glpat- ) \w[\w-]{15,}
    | \b(?: AKIA | ASIA ) [0-9A-Z]{16}\b                # AWS
    | \bxox[abprs]- [\w-]{10,}                          # Slack
    | (?<! [\w-] ) eyJ [\w-]{8,} \. [\w-]{8,} \. [\w-]*   # a JSON web token
    | (?<= :// ) [^\s/:@]{0,256} : [^\s/@]{1,256} (?= @ )   # credentials within an address
"""

_NAMED_SECRETS = r"""
    ( (?: api[-_]?key | access[-_]?key | authorization | password | passwd | secret | (?<! max_ ) token ) \b
      ["']? \s{0,4} [:=] \s{0,4} ["']? (?: (?: bearer | basic ) \s+ )? | \bbearer \s+ )
    [^\s"',;&]{4,}
"""

_hidden: set[str] = set()
"""Values to mask regardless of their form; global, as logging is."""


def hide(values: Iterable[str]) -> None:
    """Mask these values wherever they occur, from now on."""
    _hidden.update(value for value in values if value)


def hidden() -> frozenset[str]:
    """Return the values passed to `hide`."""
    return frozenset(_hidden)


def redacted(text: str) -> str:
    """Replace everything that looks like a key, a token or a password, and all hidden values, with `***`."""
    for value in sorted(_hidden, key=len, reverse=True):
        text = text.replace(value, MASK)
    text = re.sub(_SECRETS, MASK, text, flags=re.VERBOSE)
    return re.sub(_NAMED_SECRETS, rf"\1{MASK}", text, flags=re.VERBOSE | re.IGNORECASE)
