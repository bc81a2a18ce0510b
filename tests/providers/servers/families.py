"""All families, by the name that the providers have in a model's name."""

from __future__ import annotations

from collections.abc import Mapping

from tests.providers.servers.anthropic import ANTHROPIC
from tests.providers.servers.gemini import GEMINI
from tests.providers.servers.groq_and_others import GROQ, XAI, ZAI
from tests.providers.servers.mistral import MISTRAL
from tests.providers.servers.openai_chat import OPENAI_CHAT
from tests.providers.servers.openai_responses import OPENAI_RESPONSES
from tests.providers.servers.openrouter import OPENROUTER
from tests.providers.servers.reasoning_back import DEEPSEEK, MOONSHOT
from tests.providers.servers.rules import Family

OPENAI = Family(name="openai", endpoints=(OPENAI_CHAT, OPENAI_RESPONSES))

FAMILIES: Mapping[str, Family] = {
    family.name: family
    for family in (OPENAI, ANTHROPIC, DEEPSEEK, MOONSHOT, OPENROUTER, MISTRAL, GROQ, GEMINI, XAI, ZAI)
}
