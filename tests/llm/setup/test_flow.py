"""The questions of setup, one after another: what is asked, called and kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from pygent_ls.agent.ports.questioner import CannotAsk, Question, QuestionAnswer, QuestionAnswered, QuestionNotAnswered
from pygent_ls.errors import KeyringError, KeyStoreError, ModelError, SettingError
from pygent_ls.llm.providers.known_providers import provider_named
from pygent_ls.llm.setup.discovery import Discovered, InstalledProgram, LocalServer
from pygent_ls.llm.setup.flow import Candidate, SetUp, SetupPorts, Way, set_up
from tests.fakes import bounded
from tests.questioner import FakeQuestioner

REFUSED = ModelError("mistral refused the key.", type="auth", provider="mistral", status=401)
AWAY = ModelError("The server is not reached.", type="network")

OLLAMA = LocalServer(
    kind="Ollama",
    provider="ollama_chat",
    address="http://127.0.0.1:1",
    models=("a", "b"),
    api_base="http://127.0.0.1:1",
)
EMPTY = LocalServer(kind="Ollama", provider="ollama_chat", address="http://localhost:11434", models=())


def choose(title: str) -> QuestionAnswer:
    return QuestionAnswered(choice=title)


def typed(text: str) -> QuestionAnswer:
    return QuestionAnswered(text=text)


@dataclass
class House:
    """A user, and what is kept for them."""

    answers: Sequence[QuestionAnswer]
    found: Discovered = field(default_factory=Discovered)
    servers: Mapping[str, LocalServer] = field(default_factory=dict[str, LocalServer])
    """By the address that the user types."""
    failures: Sequence[ModelError | None] = ()
    """Errors of the calls, in order; None and beyond the last: success."""
    save_key: Callable[[str, str], str] = lambda _provider, _key: "the drawer"
    save_model: Callable[[Candidate], str] = lambda _candidate: "Kept."
    called: list[Candidate] = field(default_factory=list[Candidate])
    keys: dict[str, str] = field(default_factory=dict[str, str])
    models: list[Candidate] = field(default_factory=list[Candidate])
    questions: list[Question] = field(default_factory=list[Question])

    async def set_up(self, way: Way = "any") -> SetUp:
        questioner = FakeQuestioner(*self.answers)
        self.questions = questioner.questions
        ports = SetupPorts(
            questioner=questioner,
            tell=lambda _: None,
            found=self._found,
            server_at=self._server_at,
            models_of=self._models_of,
            check=self._check,
            save_key=self._save_key,
            save_key_in_file=self._save_key_in_file,
            save_model=self._save_model,
        )
        return await bounded(set_up(ports, way))

    def titles(self, number: int) -> list[str]:
        """The choices of a question."""
        return [each.title for each in self.questions[number].choices]

    async def _found(self) -> Discovered:
        return self.found

    async def _server_at(self, address: str) -> LocalServer | None:
        return self.servers.get(address)

    async def _models_of(self, provider: str) -> Sequence[str]:
        return [] if provider == "nvidia_nim" else [f"{provider}/first", f"{provider}/second"]

    async def _check(self, candidate: Candidate) -> float:
        self.called.append(candidate)
        failure = self.failures[len(self.called) - 1] if len(self.called) <= len(self.failures) else None
        if failure:
            raise failure
        return 1.25

    async def _save_key(self, provider: str, key: str) -> str:
        where = self.save_key(provider, key)
        self.keys[provider] = key
        return where

    async def _save_key_in_file(self, provider: str, key: str) -> str:
        self.keys[provider] = key
        return "the file"

    async def _save_model(self, candidate: Candidate) -> str:
        told = self.save_model(candidate)
        self.models.append(candidate)
        return told


ENTERED = (choose("Enter an API key"), choose("mistral"), typed(" my0wnkey\n"), choose("mistral/first"))


async def test_a_key_is_entered_unseen_tried_and_kept_with_the_model() -> None:
    house = House(ENTERED)

    done = await house.set_up()

    kept = Candidate(model="mistral/first", provider="mistral", key="my0wnkey")
    assert (house.called, house.keys, house.models) == ([kept], {"mistral": "my0wnkey"}, [kept])
    assert done == SetUp(
        text="mistral/first answered in 1.2 s. The key for mistral is saved in the drawer. Kept.", model="mistral/first"
    )
    assert [each.secret for each in house.questions] == [False, False, True, False]
    assert {each.session_id for each in house.questions} == {""}
    assert "my0wnkey" not in repr(kept)


async def test_a_key_that_is_refused_is_not_kept_and_can_be_entered_again() -> None:
    house = House([*ENTERED, choose("Enter the key again"), typed("better-key")], failures=[REFUSED])

    done = await house.set_up()

    assert house.titles(4) == ["Enter the key again", "Choose something else", "Not now"]
    assert house.questions[4].text == "mistral/first cannot be used. mistral refused the key."
    assert [each.key for each in house.called] == ["my0wnkey", "better-key"]
    assert house.keys == {"mistral": "better-key"}
    assert done.model == "mistral/first"


async def test_who_stops_after_a_refused_key_has_changed_nothing() -> None:
    house = House([*ENTERED, choose("Not now")], failures=[REFUSED])

    done = await house.set_up()

    assert (house.keys, house.models, done.model) == ({}, [], "")
    assert done.text.startswith("Nothing was changed.")


async def test_a_provider_that_is_not_reached_can_be_tried_again_or_kept_all_the_same() -> None:
    house = House([*ENTERED, choose("Try again"), choose("Save anyway")], failures=[AWAY, AWAY])

    done = await house.set_up()

    assert house.titles(4) == ["Try again", "Save anyway", "Choose something else", "Not now"]
    assert len(house.called) == 2
    assert house.keys == {"mistral": "my0wnkey"}
    assert done.text.startswith("mistral/first did not answer. The key for mistral is saved in the drawer.")


async def test_something_else_can_be_chosen_after_a_failure() -> None:
    again = [choose("Choose something else"), choose("Program claude")]
    house = House(
        [*ENTERED, *again],
        Discovered(programs=(InstalledProgram(name="claude", model="cli:claude"),)),
        failures=[REFUSED],
    )

    done = await house.set_up()

    assert (house.keys, house.models) == ({}, [Candidate(model="cli:claude")])
    assert done.model == "cli:claude"


async def test_a_local_server_is_chosen_with_one_of_its_models() -> None:
    house = House([choose("Ollama at 127.0.0.1:1"), choose("b")], Discovered(servers=(OLLAMA,)))

    await house.set_up()

    assert house.models == [Candidate(model="ollama_chat/b", api_base="http://127.0.0.1:1")]
    assert house.titles(1) == ["a", "b"]


async def test_a_server_without_models_is_told_and_cannot_be_chosen() -> None:
    house = House([QuestionNotAnswered()], Discovered(servers=(EMPTY,)))

    await house.set_up()

    assert "Ollama at localhost:11434 is running but has no models yet." in house.questions[0].text
    assert house.titles(0) == ["Enter an API key", "Not now"]


async def test_a_key_that_is_there_already_is_not_asked_for() -> None:
    openai, mistral = provider_named("openai"), provider_named("mistral")
    assert openai is not None
    assert mistral is not None
    found = Discovered(keyed=((openai, "OPENAI_API_KEY"), (mistral, "")))
    house = House([choose("openai, with the key in OPENAI_API_KEY"), choose("openai/second")], found)

    await house.set_up()

    assert house.titles(0)[:2] == ["openai, with the key in OPENAI_API_KEY", "mistral, with the saved key"]
    assert (house.keys, house.models) == ({}, [Candidate(model="openai/second")])


async def test_a_provider_of_which_no_model_is_known_is_said() -> None:
    nvidia = provider_named("nvidia_nim")
    assert nvidia is not None
    house = House([choose("nvidia_nim, with the saved key")], Discovered(keyed=((nvidia, ""),)))

    done = await house.set_up()

    assert done.text == ("No models of nvidia_nim are known. Set `model` to nvidia_nim/NAME. Nothing was changed.")


async def test_a_saved_key_that_is_refused_is_replaced() -> None:
    mistral = provider_named("mistral")
    assert mistral is not None
    answers = [
        choose("mistral, with the saved key"),
        choose("mistral/first"),
        choose("Enter the key again"),
        typed("new-key"),
    ]
    house = House(answers, Discovered(keyed=((mistral, ""),)), failures=[REFUSED])

    await house.set_up()

    assert house.keys == {"mistral": "new-key"}


async def test_a_provider_whose_key_is_in_the_environment_takes_no_other_key() -> None:
    openai = provider_named("openai")
    assert openai is not None
    house = House([choose("Enter an API key")], Discovered(keyed=((openai, "OPENAI_API_KEY"),)))

    await house.set_up()

    assert "openai" not in house.titles(1)


async def test_further_providers_are_on_a_second_page_if_a_model_of_theirs_is_known() -> None:
    house = House([choose("Enter an API key"), choose("Another provider")])

    await house.set_up()

    assert len(house.titles(1)) <= 12
    assert house.titles(2) == [
        *("together_ai", "fireworks_ai", "moonshot", "zai", "deepinfra", "sambanova"),
        "Back",
    ]


async def test_back_leads_to_the_first_question() -> None:
    house = House([choose("Enter an API key"), choose("Back")])

    await house.set_up()

    assert house.questions[2].text == house.questions[0].text


async def test_what_cannot_be_a_key_is_asked_for_again_three_times() -> None:
    odd = [typed("two words"), typed("schlüssel"), typed("tab\tkey")]
    house = House([*ENTERED[:2], *odd])

    done = await house.set_up()

    assert [each.secret for each in house.questions[2:]] == [True, True, True]
    assert "This is not a valid key" in house.questions[3].text
    assert "two words" not in house.questions[3].text
    assert (house.keys, done.model) == ({}, "")


async def test_an_answer_that_is_no_choice_is_asked_again() -> None:
    house = House([typed("42"), QuestionNotAnswered()])

    await house.set_up()

    assert house.questions[1].text.startswith("'42' is not one of the choices.\n")


async def test_an_editor_that_cannot_take_a_key_says_what_can() -> None:
    house = House([*ENTERED[:2], CannotAsk("no text here")])

    done = await house.set_up()

    assert "Run `pygent-ls setup` in a terminal, or set MISTRAL_API_KEY" in done.text


async def test_where_nobody_can_be_asked_that_is_said() -> None:
    done = await House([CannotAsk("There is nobody.")]).set_up()

    assert done == SetUp(text="There is nobody. Nothing was changed.")


async def test_a_key_that_cannot_be_kept_changes_nothing() -> None:
    def fail(_provider: str, _key: str) -> str:
        raise KeyStoreError("The keyring is locked.")

    house = House(ENTERED, save_key=fail)

    assert await house.set_up() == SetUp(text="The keyring is locked. Nothing was changed.")
    assert house.models == []


async def test_a_key_that_the_keyring_does_not_take_can_be_tried_again_or_kept_in_a_file() -> None:
    def fail(_provider: str, _key: str) -> str:
        raise KeyringError("The system keyring did not answer.")

    again, in_file = (
        QuestionAnswered(choice="Try again"),
        QuestionAnswered(choice="Save it in a file that only you can read"),
    )
    house = House((*ENTERED, again, in_file), save_key=fail)
    done = await house.set_up()

    assert "The key for mistral is saved in the file." in done.text
    assert (list(house.keys), len(house.models)) == (["mistral"], 1)
    assert house.questions[-1].text == "The key is not saved yet. The system keyring did not answer."


async def test_who_stops_at_a_keyring_that_fails_has_changed_nothing() -> None:
    def fail(_provider: str, _key: str) -> str:
        raise KeyringError("The system keyring did not answer.")

    house = House((*ENTERED, QuestionAnswered(choice="Not now")), save_key=fail)

    assert (await house.set_up()).text.startswith("Nothing was changed.")
    assert (house.keys, house.models) == ({}, [])


async def test_a_settings_file_that_cannot_be_written_is_said_beside_the_key_that_was_kept() -> None:
    def fail(_candidate: Candidate) -> str:
        raise SettingError("config.toml could not be changed.")

    done = await House(ENTERED, save_model=fail).set_up()

    assert "The key for mistral is saved in the drawer. config.toml could not be changed." in done.text
    assert done.model == ""


async def test_a_server_at_an_address_of_the_users_own_is_used() -> None:
    house = House([typed("nowhere"), typed(" box:11434 "), choose("b")], servers={"box:11434": OLLAMA})

    done = await house.set_up("local")

    assert [each.takes_words for each in house.questions] == [True, True, False]
    assert house.questions[1].text.startswith("No server answers at nowhere.\nAddress of the server")
    assert house.models == [Candidate(model="ollama_chat/b", api_base="http://127.0.0.1:1")]
    assert done.model == "ollama_chat/b"


async def test_a_server_that_runs_is_offered_before_an_address_is_asked_for() -> None:
    house = House(
        [choose("Another address"), typed("box"), choose("a")],
        found=Discovered(servers=(OLLAMA,)),
        servers={"box": replace(OLLAMA, api_base="http://box:1")},
    )

    await house.set_up("local")

    assert house.titles(0) == ["Ollama at 127.0.0.1:1", "Another address", "Not now"]
    assert house.models == [Candidate(model="ollama_chat/a", api_base="http://box:1")]


async def test_who_types_no_address_that_answers_is_told_so_in_the_end() -> None:
    house = House([typed("one"), typed("two"), typed("three")], servers={"two": EMPTY})

    done = await house.set_up("local")

    assert house.questions[2].text.startswith("Ollama at two has no models yet.")
    assert done == SetUp(text="No server answers at three. Nothing was changed.")


async def test_an_editor_without_a_line_for_an_address_says_what_to_do() -> None:
    done = await House([CannotAsk("no line")]).set_up("local")

    assert done.text.startswith("This editor cannot ask for an address. Run `pygent-ls setup`")


async def test_only_programs_are_offered_where_one_is_wanted() -> None:
    house = House(
        [choose("claude")],
        found=Discovered(servers=(OLLAMA,), programs=(InstalledProgram(name="claude", model="cli:claude"),)),
    )

    done = await house.set_up("program")

    assert house.titles(0) == ["claude", "Not now"]
    assert done.model == "cli:claude"


async def test_without_a_program_it_is_said_which_could_be_used() -> None:
    done = await House([]).set_up("program")

    assert done.text.startswith("None of these programs was found on the PATH: claude, ")
    assert done.model == ""


async def test_a_key_is_asked_for_at_once_where_one_is_wanted() -> None:
    house = House(ENTERED[1:], found=Discovered(servers=(OLLAMA,)))

    done = await house.set_up("key")

    assert done.model == "mistral/first"
