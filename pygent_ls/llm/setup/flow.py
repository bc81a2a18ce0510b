"""Questions of `pygent-ls setup` and of the command `pygent.setup`, asked through the front end's questioner.

Nothing is saved before a call of the model has succeeded, or the user chooses to save it anyway.
"""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from msgspec import Struct

from pygent_ls.agent.ports.questioner import AnswerChoice, CannotAsk, Question, QuestionAnswered, Questioner
from pygent_ls.errors import KeyringError, KeyStoreError, ModelError, SettingError, SetupError
from pygent_ls.llm.cli.programs import PRESETS
from pygent_ls.llm.providers.known_providers import OTHERS, PROVIDERS, Provider
from pygent_ls.llm.providers.provider_keys import can_be_sent
from pygent_ls.llm.setup.discovery import Discovered, LocalServer

Way = Literal["any", "key", "local", "program"]
"""Start of the questions: everything, or one kind of model."""

ENTER = "Enter an API key"
OTHER_ADDRESS = "Another address"
STOP = "Not now"
MORE = "Another provider"
BACK = "Back"
AGAIN = "Try again"
OTHER_KEY = "Enter the key again"
OTHER_MODEL = "Choose something else"
SAVE = "Save anyway"
IN_FILE = "Save it in a file that only you can read"

MAX_MODELS = 9
"""Maximum number of models in one question; others can be named in the settings."""

MAX_KEY_CHARS = 4096
MAX_ATTEMPTS = 3
"""Maximum number of attempts to enter a valid value."""

UNCHANGED = "Nothing was changed."
ADDRESS = "Address of the server, such as http://localhost:11434 (Ollama) or http://localhost:1234 (LM Studio):"
NO_LINE_FOR_AN_ADDRESS = (
    "This editor cannot ask for an address. Run `pygent-ls setup` in a terminal, or set `model` and `api_base` in "
    "the settings."
)
NO_LINE_FOR_A_KEY = (
    "This editor cannot ask for a key without showing it. Run `pygent-ls setup` in a terminal, or set {variable} in "
    "the environment and restart the editor."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A model that the user chose, before it is saved."""

    model: str
    provider: str = ""
    """Provider whose key it needs; empty if no key is entered for it."""
    api_base: str = ""
    """Its address, if its name does not imply that."""
    key: str | None = field(default=None, repr=False)
    """The key that the user entered."""
    is_wanted_anyway: bool = False
    """Whether it is saved although its call failed."""


class SetupPorts(Struct, frozen=True, kw_only=True):
    """Ports of the questions to the rest of the program."""

    questioner: Questioner
    tell: Callable[[str], None]
    """Shows a line of progress."""
    found: Callable[[], Awaitable[Discovered]]
    server_at: Callable[[str], Awaitable[LocalServer | None]]
    """Returns the model server at an address that the user typed, if one answers."""
    models_of: Callable[[str], Awaitable[Sequence[str]]]
    """Returns a provider's models with tool calls, the default first."""
    check: Callable[[Candidate], Awaitable[float]]
    """Calls the model once and returns the seconds taken. Raises `ModelError`, or `SettingError` before the call."""
    save_key: Callable[[str, str], Awaitable[str]]
    """Saves a provider's key and returns where. Raises `KeyStoreError`; `KeyringError` if a file may still be used."""
    save_key_in_file: Callable[[str, str], Awaitable[str]]
    """Saves it in a file instead. Raises `KeyStoreError`."""
    save_model: Callable[[Candidate], Awaitable[str]]
    """Makes it the user's default and returns a message about it. Raises `SettingError`."""


class SetUp(Struct, frozen=True, kw_only=True):
    """Result of the setup."""

    text: str
    """Message to the user."""
    model: str = ""
    """The new default model; empty if nothing was changed."""


class _StoppedError(SetupError):
    """The user stops the setup."""


async def set_up(ports: SetupPorts, way: Way = "any") -> SetUp:
    """Ask, check and save. Raises only a cancellation; other reasons for an early end are in the text."""
    try:
        return await _Flow(ports).run(way)
    except _StoppedError as stopped:
        return SetUp(text=str(stopped))
    except (KeyStoreError, SettingError, SetupError) as error:
        return SetUp(text=f"{error} {UNCHANGED}")


class _Flow:
    def __init__(self, ports: SetupPorts) -> None:
        self._ports = ports

    async def run(self, way: Way) -> SetUp:
        found = await self._ports.found()
        while True:
            candidate = await self._chosen_by(way, found)
            done = await self._checked(candidate) if candidate else None
            if done is not None:
                return done

    # Choice of a model

    async def _chosen_by(self, way: Way, found: Discovered) -> Candidate | None:
        """Return the chosen candidate; None asks again."""
        match way:
            case "any":
                return await self._chosen(found)
            case "key":
                return await self._with_key(found)
            case "local":
                return await self._on_server(found)
            case "program":
                return await self._by_program(found)

    async def _on_server(self, found: Discovered) -> Candidate:
        servers = {f"{each.kind} at {_host(each)}": each for each in found.servers if each.models}
        title = OTHER_ADDRESS
        if servers:
            choices = [AnswerChoice(title=name, description=_counted(each.models)) for name, each in servers.items()]
            title = await self._ask(
                "Which server?", [*choices, AnswerChoice(title=OTHER_ADDRESS), AnswerChoice(title=STOP)]
            )
        return await self._model_at(servers.get(title) or await self._typed_server("\n".join(_empty_servers(found))))

    async def _typed_server(self, said: str) -> LocalServer:
        """Return a server with models at an address that the user types."""
        for _ in range(MAX_ATTEMPTS):
            answer = await self._ports.questioner.ask(_question(f"{said}\n{ADDRESS}".strip(), is_open=True))
            if isinstance(answer, CannotAsk):
                raise SetupError(NO_LINE_FOR_AN_ADDRESS)
            address = answer.text.strip() if isinstance(answer, QuestionAnswered) else ""
            if not address:
                raise _stopped()
            server = await self._ports.server_at(address)
            if server is not None and server.models:
                return server
            said = f"{server.kind} at {address} has no models yet." if server else f"No server answers at {address}."
        raise SetupError(said)

    async def _by_program(self, found: Discovered) -> Candidate:
        programs = {each.name: each for each in found.programs}
        if not programs:
            names = ", ".join(name for name, each in PRESETS.items() if not each.needs_model)
            raise SetupError(f"None of these programs was found on the PATH: {names}. Install one and log in.")
        choices = [
            AnswerChoice(title=name, description=("uses the account that the program is logged in to"))
            for name in programs
        ]
        return Candidate(model=programs[await self._ask("Which program?", [*choices, AnswerChoice(title=STOP)])].model)

    async def _chosen(self, found: Discovered) -> Candidate | None:
        """Return the chosen candidate; None asks again."""
        keyed = {_keyed_title(provider, variable): (provider, variable) for provider, variable in found.keyed}
        servers = {f"{each.kind} at {_host(each)}": each for each in found.servers if each.models}
        programs = {f"Program {each.name}": each for each in found.programs}
        choices = [
            *(AnswerChoice(title=title, description=provider.default_model) for title, (provider, _) in keyed.items()),
            *(AnswerChoice(title=title, description=_counted(each.models)) for title, each in servers.items()),
            *(
                AnswerChoice(title=title, description=("uses the account that the program is logged in to"))
                for title in programs
            ),
            AnswerChoice(title=ENTER, description="saved in the system keyring, or in a file that only you can read"),
            AnswerChoice(title=STOP),
        ]
        title = await self._ask("\n".join(["Which model do you want to use?", *_empty_servers(found)]), choices)
        if title in keyed:
            provider, variable = keyed[title]
            return await self._model_of(Candidate(model="", provider="" if variable else provider.name), provider)
        if title in servers:
            return await self._model_at(servers[title])
        if title in programs:
            return Candidate(model=programs[title].model)
        return await self._with_key(found)

    async def _with_key(self, found: Discovered) -> Candidate | None:
        provider = await self._provider(found)
        if provider is None:
            return None
        return await self._model_of(
            Candidate(model="", provider=provider.name, key=await self._key(provider)), provider
        )

    async def _provider(self, found: Discovered) -> Provider | None:
        """Return a provider whose key is not in the environment, which would take precedence over the one entered."""
        in_environment = {provider.name for provider, variable in found.keyed if variable}
        first = {each.name: each for each in PROVIDERS if each.name not in in_environment}
        title = await self._ask(
            "Which provider is the key for?", [AnswerChoice(title=name) for name in (*first, MORE, BACK)]
        )
        if title == MORE:
            first = {each.name: each for each in OTHERS if each.needs_key and await self._ports.models_of(each.name)}
            title = await self._ask(
                "Which provider is the key for?", [AnswerChoice(title=name) for name in (*first, BACK)]
            )
        return first.get(title)

    async def _key(self, provider: Provider) -> str:
        problem = ""
        for _ in range(MAX_ATTEMPTS):
            text = f"{problem}API key for {provider.name} (hidden; never written to a settings file):"
            answer = await self._ports.questioner.ask(_question(text, is_secret=True))
            if isinstance(answer, CannotAsk):
                raise _StoppedError(NO_LINE_FOR_A_KEY.format(variable=provider.key_variables[0]))
            key = answer.text.strip() if isinstance(answer, QuestionAnswered) else ""
            if not key:
                raise _stopped()
            if len(key) <= MAX_KEY_CHARS and can_be_sent(key) and " " not in key:
                return key
            problem = "This is not a valid key: it contains a space or another invalid character. "
        raise _stopped()

    async def _model_of(self, candidate: Candidate, provider: Provider) -> Candidate:
        models = list(await self._ports.models_of(provider.name))[:MAX_MODELS]
        if not models:
            raise SetupError(f"No models of {provider.name} are known. Set `model` to {provider.name}/NAME.")
        return replace(candidate, model=await self._model(f"Which model of {provider.name}?", models))

    async def _model_at(self, server: LocalServer) -> Candidate:
        name = await self._model(f"Which model of {server.kind}?", server.models[:MAX_MODELS])
        return Candidate(model=server.name_of(name), api_base=server.api_base)

    async def _model(self, text: str, names: Sequence[str]) -> str:
        if len(names) == 1:
            return names[0]
        return await self._ask(text, [AnswerChoice(title=name) for name in names])

    # Check of the model

    async def _checked(self, candidate: Candidate) -> SetUp | None:
        """Check and save the candidate; None returns to the choice of a model."""
        while True:
            self._ports.tell(f"Calling {candidate.model}…")
            try:
                seconds = await self._ports.check(candidate)
            except ModelError as error:
                what_next = await self._failed(candidate, error)
                if what_next is None:
                    return None
                if what_next.is_wanted_anyway:
                    return await self._kept(candidate, f"{candidate.model} did not answer.")
                candidate = what_next
            else:
                return await self._kept(candidate, f"{candidate.model} answered in {seconds:.1f} s.")

    async def _failed(self, candidate: Candidate, error: ModelError) -> Candidate | None:
        """Return the candidate to call or save next; None returns to the choice. A refused key is not saved."""
        was_refused = error.type == "auth"
        ways = [OTHER_KEY] if was_refused and candidate.provider else [AGAIN]
        ways += [] if was_refused else [SAVE]
        title = await self._ask(
            f"{candidate.model} cannot be used. {error.message}",
            [AnswerChoice(title=each) for each in (*ways, OTHER_MODEL, STOP)],
        )
        if title == OTHER_KEY:
            provider = next(each for each in (*PROVIDERS, *OTHERS) if each.name == candidate.provider)
            return replace(candidate, key=await self._key(provider))
        return None if title == OTHER_MODEL else replace(candidate, is_wanted_anyway=title == SAVE)

    async def _kept(self, candidate: Candidate, result: str) -> SetUp:
        """Save the key, then the model, which would be useless without its key."""
        told = [result]
        if candidate.key is not None:
            where = await self._saved(candidate.provider, candidate.key)
            told.append(f"The key for {candidate.provider} is saved in {where}.")
        try:
            told.append(await self._ports.save_model(candidate))
        except SettingError as error:
            return SetUp(text=" ".join([*told, str(error)]))
        return SetUp(text=" ".join(told), model=candidate.model)

    async def _saved(self, provider: str, key: str) -> str:
        """Save the key and return where; a keyring that fails does not end the setup."""
        while True:
            try:
                return await self._ports.save_key(provider, key)
            except KeyringError as error:
                choices = [AnswerChoice(title=each) for each in (AGAIN, IN_FILE, STOP)]
                if await self._ask(f"The key is not saved yet. {error}", choices) == IN_FILE:
                    return await self._ports.save_key_in_file(provider, key)

    # Questions

    async def _ask(self, text: str, choices: Sequence[AnswerChoice]) -> str:
        """Return the title of the user's choice; an invalid answer asks again, a missing one ends the setup."""
        shown = text
        for _ in range(MAX_ATTEMPTS):
            answer = await self._ports.questioner.ask(_question(shown, choices))
            if isinstance(answer, CannotAsk):
                raise SetupError(answer.reason)
            if not isinstance(answer, QuestionAnswered) or answer.choice == STOP:
                raise _stopped()
            if answer.choice:
                return answer.choice
            shown = f"{answer.text!r} is not one of the choices.\n{text}"
        raise _stopped()


def _stopped() -> _StoppedError:
    return _StoppedError(f"{UNCHANGED} To start again, run `pygent-ls setup` or the command pygent.setup.")


def _question(
    text: str, choices: Sequence[AnswerChoice] = (), *, is_secret: bool = False, is_open: bool = False
) -> Question:
    """Return a question that belongs to no session."""
    return Question(
        question_id=str(uuid.uuid4()),
        session_id="",
        tool_id="",
        text=text,
        choices=tuple(choices),
        from_model=False,
        secret=is_secret,
        is_open=is_open,
    )


def _keyed_title(provider: Provider, variable: str) -> str:
    return f"{provider.name}, with the key in {variable}" if variable else f"{provider.name}, with the saved key"


def _host(server: LocalServer) -> str:
    return server.address.partition("://")[2]


def _counted(models: Sequence[str]) -> str:
    return models[0] if len(models) == 1 else f"{models[0]} and {len(models) - 1} more"


def _empty_servers(found: Discovered) -> list[str]:
    return [
        (f"{each.kind} at {_host(each)} is running but has no models yet.") for each in found.servers if not each.models
    ]
