"""When a provider may search the web in place of the tool, and what is shown of a search that does not finish."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from pygent_ls.agent.events import LlmError, ToolCall, ToolResult
from pygent_ls.agent.messages import Message
from pygent_ls.agent.ports.model import FinishChunk, ModelFacts, SearchChunk, TextChunk
from pygent_ls.agent.ports.web import SearchResult
from pygent_ls.agent.rules.rule import Rule
from pygent_ls.agent.turn.provider_searches import NOT_FINISHED
from pygent_ls.agent.turn_spec import TurnLimits
from pygent_ls.errors import ModelError
from pygent_ls.tools.web import web_search
from tests.agent.turns import cancel_turn, new_turn, run_turn
from tests.fakes import FakeModel, Gate, Rig, Step, make_rig, say
from tests.hooks import FakeHooks, deny

BEGUN = SearchChunk(id="s1", input={"query": "plums"})
DONE = SearchChunk(id="s1", input={"query": "plums"}, result="Plums\nhttps://plums.example")


class Service:
    """A search service of the settings."""

    async def search(self, query: str, count: int) -> Sequence[SearchResult]:
        """See the port."""
        del query, count
        return []


def model_of(*script: Sequence[Step], searches: bool = True) -> FakeModel:
    model = FakeModel(script)
    model.facts = ModelFacts(searches_web=searches)
    return model


def rig_of(*rules: Rule, has_service: bool = False) -> Rig:
    rig = make_rig(web_search, rules=rules)
    if has_service:
        environment = replace(rig.services.environment, search=Service())
        rig.services = replace(rig.services, environment=environment)
    return rig


async def offered(rig: Rig, model: FakeModel, *, provider_search: bool = True) -> tuple[bool, list[str]]:
    """Whether the provider may search, and the tools that the model is offered."""
    await run_turn(rig, model, provider_search=provider_search)
    (request,) = model.requests
    return request.searches_web, [each.name for each in request.tools]


async def test_the_providers_search_takes_the_place_of_the_tool() -> None:
    assert await offered(rig_of(has_service=True), model_of(say("Hm."))) == (True, [])


async def test_a_model_without_one_gets_the_tool_or_nothing() -> None:
    assert await offered(rig_of(has_service=True), model_of(say("Hm."), searches=False)) == (False, ["web_search"])
    assert await offered(rig_of(), model_of(say("Hm."), searches=False)) == (False, [])


async def test_it_is_off_unless_the_setting_is_on() -> None:
    assert await offered(rig_of(), model_of(say("Hm.")), provider_search=False) == (False, [])


@pytest.mark.parametrize("text", ["web_search", "web_search(*secret*)"])
@pytest.mark.parametrize("decision", ["deny", "ask"])
async def test_a_rule_about_searches_prevents_what_it_could_not_judge(text: str, decision: str) -> None:
    rule = Rule(text=text, decision=decision, origin="user")  # pyright: ignore[reportArgumentType]
    assert await offered(rig_of(rule, has_service=True), model_of(say("Hm."))) == (False, ["web_search"])


async def test_a_hook_that_would_judge_searches_prevents_it() -> None:
    rig = rig_of(has_service=True)
    hooks = FakeHooks({"pre_tool_use": deny()})
    rig.services = replace(rig.services, environment=replace(rig.services.environment, hooks=hooks))
    assert await offered(rig, model_of(say("Hm."))) == (False, ["web_search"])


async def test_an_agent_without_the_tool_has_no_search() -> None:
    assert await offered(make_rig(), model_of(say("Hm."))) == (False, [])


async def test_a_search_that_an_error_ends_is_ended_for_the_user_too() -> None:
    rig = rig_of()
    broken: list[Step] = [TextChunk(text="I look."), BEGUN, ModelError("no", type="invalid_request")]
    await run_turn(rig, model_of(broken), provider_search=True)

    (error,) = rig.events.of(LlmError)
    assert len(error.withdrawn) == 1
    assert [each.content for each in rig.events.of(ToolResult)] == [NOT_FINISHED]


async def test_a_search_that_is_cancelled_is_ended_for_the_user_too() -> None:
    rig, gate = rig_of(), Gate()
    model = model_of([TextChunk(text="I look."), BEGUN, gate])
    history: list[Message] = []
    result = await cancel_turn(rig, new_turn(rig, model, history, provider_search=True), gate.reached)

    assert result.stop_reason == "cancelled"
    assert [each.content for each in rig.events.of(ToolResult)] == [NOT_FINISHED]
    assert history[-1].text.startswith("I look.")


async def test_a_result_whose_search_was_not_shown_is_shown_with_it() -> None:
    rig = rig_of()
    await run_turn(rig, model_of([DONE, TextChunk(text="Ripe."), FinishChunk(reason="stop")]), provider_search=True)

    ((call,), (result,)) = rig.events.of(ToolCall), rig.events.of(ToolResult)
    assert (call.tool_id, result.tool_id, result.content) == ("s1", "s1", DONE.result)


async def test_an_answer_that_pauses_again_and_again_reaches_the_limit_of_calls() -> None:
    rig = rig_of()
    model = model_of(*[[TextChunk(text="…"), FinishChunk(reason="pause_turn")]] * 5)
    result = await run_turn(rig, model, limits=TurnLimits(max_iterations=3), provider_search=True)

    assert (result.stop_reason, result.iterations) == ("max_iterations", 3)
