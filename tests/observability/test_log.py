"""Logging: what reaches stderr, and what never does above DEBUG."""

from __future__ import annotations

import logging
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pygent_ls.observability.log import SafeFormatter
from pygent_ls.secrets.log_mask import hide, redacted
from tests.house.growth import limited

PROMPT = "please change the colour of the shed"
KEY = "sk-ant-api03-0123456789abcdef"


def stderr_of(code: str, **environment: str) -> str:
    """What a fresh interpreter writes to stderr once logging is set up; it must end well and keep stdout clean."""
    set_up = (
        "import asyncio, logging, os, sys, warnings\nfrom pygent_ls.observability import log\nlog.set_up(os.environ)\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", set_up + code],
        env=environment,
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    assert run.stdout == ""
    return run.stderr


def written(logger: str, message: str, *, details: bool = False, error: BaseException | None = None) -> str:
    """The lines for one record that is logged as an error."""
    info = (type(error), error, error.__traceback__) if error else None
    record = logging.LogRecord(logger, logging.ERROR, "/site/pygls/json_rpc.py", 412, "failed: %s", (message,), info)
    return SafeFormatter(details=details).format(record)


def raised(error: BaseException) -> BaseException:
    try:
        raise error
    except BaseException as caught:
        return caught


# What a line holds


def test_a_value_that_is_hidden_is_masked_whatever_it_looks_like() -> None:
    hide(["my0wnkey of test_log", ""])

    assert redacted("said: my0wnkey of test_log, twice: my0wnkey of test_log") == "said: ***, twice: ***"


def test_our_own_lines_say_what_they_say() -> None:
    assert written("pygent_ls.sessions", "the disk is full").endswith(
        " ERROR pygent_ls.sessions: failed: the disk is full"
    )


@pytest.mark.parametrize("logger", ["pygls.protocol", "asyncio", "LiteLLM", "httpx", "py.warnings", "pygent_lsx"])
def test_a_librarys_line_is_a_place_in_its_source_and_not_its_text(logger: str) -> None:
    line = written(logger, PROMPT)

    assert PROMPT not in line
    assert line.endswith(f" ERROR {logger}: see json_rpc.py:412 (PYGENT_LOG=debug shows the text)")


def test_an_exception_is_its_type_and_stack_and_not_its_text() -> None:
    line = written("pygent_ls", "no answer", error=raised(ValueError(PROMPT)))

    assert PROMPT not in line
    assert "builtins.ValueError\n" in line
    assert "test_log.py" in line
    assert "in raised" in line


def test_a_record_of_any_length_is_a_short_line() -> None:
    assert len(written("pygent_ls.sessions", "x" * 1_000_000)) < 5_000


def test_of_an_endless_recursion_the_first_and_the_last_places_are_shown() -> None:
    def again(number: int) -> int:
        return again(number + 1) + 1

    with pytest.raises(RecursionError) as caught:
        again(0)
    said = written("pygent_ls.sessions", "a bug", error=caught.value)

    assert len(said) < 8_000
    assert "in test_of_an_endless_recursion_the_first_and_the_last_places_are_shown" in said
    assert " more" in said


def test_causes_and_groups_are_shown_each_once_also_where_they_form_a_ring() -> None:
    inner, cause = KeyError(PROMPT), OSError(PROMPT)
    inner.__cause__, cause.__cause__ = cause, inner

    line = written("asyncio", "task", error=ExceptionGroup(PROMPT, [inner, TypeError(PROMPT)]))

    assert PROMPT not in line
    assert [part.strip() for part in line.splitlines()[1:]] == [
        "builtins.ExceptionGroup",
        "builtins.KeyError",
        "builtins.TypeError",
        "builtins.OSError",
    ]


def test_details_show_the_text_as_debug_but_no_key() -> None:
    line = written("pygls.protocol", f"{PROMPT} with {KEY}", details=True, error=raised(ValueError(f"told {KEY}")))

    assert f" DEBUG pygls.protocol: failed: {PROMPT} with ***" in line
    assert "ValueError: told ***" in line
    assert KEY not in line


# The process's logging


def test_warnings_come_out_and_news_does_not() -> None:
    code = """
logging.getLogger("pygent_ls.app").info("hello")
logging.getLogger("pygent_ls.app").warning("careful")
logging.getLogger("pygls").info("noise")
"""
    assert [line.split(" ", 2)[2] for line in stderr_of(code).splitlines()] == ["WARNING pygent_ls.app: careful"]


def test_the_variable_sets_the_level_of_our_own_lines_only() -> None:
    code = """
logging.getLogger("pygent_ls.app").info("hello")
logging.getLogger("pygls").info("noise")
"""
    assert [line.split(" ", 2)[2] for line in stderr_of(code, PYGENT_LOG="Info").splitlines()] == [
        "INFO pygent_ls.app: hello"
    ]


def test_a_level_that_is_none_is_said_and_leaves_warnings_on() -> None:
    text = stderr_of('logging.getLogger("pygent_ls").warning("careful")', PYGENT_LOG="loud")

    assert "PYGENT_LOG=loud is not a log level; use one of debug, info, warning, error" in text
    assert "careful" in text


def test_set_up_twice_writes_each_line_once() -> None:
    code = """
log.set_up(os.environ)
logging.getLogger("pygent_ls").warning("careful")
logging.getLogger("LiteLLM").warning("noise")
"""
    assert len(stderr_of(code).splitlines()) == 2


def test_the_endpoint_logs_no_body_and_no_parameters() -> None:
    code = f"""
import json
from pygent_ls.editors.lsp.rpc.endpoint import RpcEndpoint
def fail(params):
    raise ValueError(params["text"])
endpoint = RpcEndpoint()
endpoint.phase, endpoint.mend, endpoint.write = "running", lambda method, params: params, lambda body: None
endpoint.on_request("x/request", fail)
endpoint.on_notification("x/notification", fail)
params = {{"text": {PROMPT!r}}}
endpoint.receive(json.dumps({{"jsonrpc": "2.0", "id": 1, "method": "x/request", "params": params}}))
endpoint.receive(json.dumps({{"jsonrpc": "2.0", "method": "x/notification", "params": params}}))
endpoint.receive(json.dumps({{"jsonrpc": "2.0", "method": "x/unknown", "params": {PROMPT!r}}}))
"""
    text = stderr_of(code, PYGENT_LOG="info")

    assert PROMPT not in text
    assert text.count("failed: ValueError") + text.count("handled: ValueError") == 2
    assert PROMPT in stderr_of(code, PYGENT_LOG="debug")


def test_a_library_that_gives_itself_a_handler_does_not_get_past_us() -> None:
    code = f"""
logger = logging.getLogger("LiteLLM")
logger.setLevel(logging.DEBUG)
logger.addHandler(logging.StreamHandler())
logger.debug({PROMPT!r})
logger.error({PROMPT!r})
"""
    text = stderr_of(code)

    assert PROMPT not in text
    assert len(text.splitlines()) == 1
    assert " ERROR LiteLLM: see <string>:" in text


def test_a_task_that_fails_unseen_and_a_warning_quote_nothing() -> None:
    code = f"""
async def main():
    async def fail(): raise ValueError({PROMPT!r})
    task = asyncio.get_running_loop().create_task(fail())
    await asyncio.wait([task])
asyncio.run(main())
warnings.warn({PROMPT!r})
"""
    text = stderr_of(code)

    assert PROMPT not in text
    assert " ERROR asyncio: see " in text
    assert "builtins.ValueError" in text
    assert " WARNING py.warnings: see " in text


def test_a_record_that_cannot_be_written_prints_no_arguments() -> None:
    code = f"""
logging.getLogger("pygent_ls").warning("%d", {PROMPT!r})
"""
    assert PROMPT not in stderr_of(code)


# What looks like a secret


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("key sk-proj-0123456789abcdef!", "key ***!"),
        ("AIzaSyA0123456789012345678901234567890", "***"),
        ("ghp_0123456789abcdefghij, then", "***, then"),
        ("AKIAIOSFODNN7EXAMPLE", "***"),
        ("token: hunter22", "token: ***"),
        ('{"api_key": "hunter22", "n": 1}', '{"api_key": "***", "n": 1}'),
        ("Authorization: Bearer abc.def", "Authorization: Bearer ***"),
        ("x-api-key=hunter22&page=2", "x-api-key=***&page=2"),
        ("https://me:hunter2@host/v1", "https://***@host/v1"),
        ("eyJhbGciOiJIUzI1.eyJzdWIiOiIx.c2ln", "***"),
    ],
)
def test_what_looks_like_a_secret_is_masked(text: str, masked: str) -> None:
    assert redacted(text) == masked


@pytest.mark.parametrize(
    "text",
    [
        "max_tokens: 4000",
        "the task-list is done",
        "risk-free",
        "see https://host:8080/v1",
        "tokenizer",
        "a bearer of news",
    ],
)
def test_plain_words_are_left_alone(text: str) -> None:
    assert redacted(text) == text


@given(st.text(max_size=60), st.text(max_size=60))
def test_a_key_is_masked_in_any_surroundings_of_its_own(before: str, after: str) -> None:
    assert KEY not in redacted(f"{before} {KEY} {after}")


@given(st.text(alphabet="sk-_:/@=token .", max_size=200))
def test_masking_twice_masks_no_more(text: str) -> None:
    assert redacted(redacted(text)) == redacted(text)


@pytest.mark.parametrize("piece", ["eyJ-", "sk-", "bearer ", "token:", "://a:", "api_key = '"])
def test_masking_a_megabyte_of_near_misses_takes_no_time(piece: str) -> None:
    with limited():
        redacted(piece * (1_000_000 // len(piece)))
