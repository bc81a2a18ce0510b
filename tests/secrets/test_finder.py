"""What counts as a secret, and what must never: a wrong mask in a program is worse than none."""

from __future__ import annotations

import base64
import hashlib
import json
import random
import uuid
from collections.abc import Sequence
from pathlib import Path

import pytest

from pygent_ls.secrets.env_files import is_env_file
from pygent_ls.secrets.finder import find_secrets
from tests.house.growth import grows_too_fast
from tests.house.patterns import repeating

ROOT = Path(__file__).parents[2]

_RANDOM = random.Random(7)


def characters(n: int, alphabet: str = "abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ0123456789") -> str:
    """Return a made-up key in a provider's format: the same in each run."""
    return "".join(_RANDOM.choice(alphabet) for _ in range(n))


def found(text: str, path: str | None = None) -> list[str]:
    """The secrets of a text, each once, in their order."""
    spans = sorted(find_secrets(text, path), key=lambda each: (each.start, -each.end))
    return list(dict.fromkeys(text[each.start : each.end] for each in spans))


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("postgres://ada:s3cr3t-word@db.example.org/shop", "s3cr3t-word"),
        ("redis://:Zq81kd0P@cache:6379/0", "Zq81kd0P"),
        ("git remote add origin https://x-token:0a1b2c3d4e@git.example.org/a.git", "0a1b2c3d4e"),
        ("curl -H 'Authorization: Bearer 8f2kd93jKDk29fjKs02'", "8f2kd93jKDk29fjKs02"),
        ("Authorization: Bearer " + "8f2kd93jKDk29fjKs02." * 200, "8f2kd93jKDk29fjKs02." * 200),
        ("Authorization: Basic YWRhOnNlY3JldDEyMw==", "YWRhOnNlY3JldDEyMw=="),
        ('API_KEY = "k8Fj2LmQ9zXw"', "k8Fj2LmQ9zXw"),
        ("  apiKey: 'k8Fj2LmQ9zXw',", "k8Fj2LmQ9zXw"),
        ('{"client_secret": "9fK2mZ0qLxV7"}', "9fK2mZ0qLxV7"),
        ('db.connect(password="hunter2")', "hunter2"),
        ("DB_PASSWORD=hunter2", "hunter2"),
        ("     3\texport MYSQL_PWD=tr0ub4dor", "tr0ub4dor"),
        ("SECRET_KEY=" + hashlib.sha256(b"seed").hexdigest(), hashlib.sha256(b"seed").hexdigest()),
        ("//registry.npmjs.org/:_authToken=" + str(uuid.UUID(int=7**40)), str(uuid.UUID(int=7**40))),
        (
            "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYzL0q8T5aBc",
            "wJalrXUtnFEMI/K7MDENG/bPxRfiCYzL0q8T5aBc",
        ),
        ('secret: "p4!x%y_Z1"', "p4!x%y_Z1"),
    ],
)
def test_a_value_is_known_by_what_it_stands_at(text: str, secret: str) -> None:
    assert found(text) == [secret]


@pytest.mark.parametrize(
    "text",
    [
        "token = get_token(request)",
        "password = self.form.password2",
        "password: SecretStr",
        "max_tokens = 16384",
        'token_type = "refresh_token"',
        'encoding = "cl100k_base"',
        "secret_name: my-secret-name",
        'password = os.environ["DB_PASSWORD"]',
        "PASSWORD=${DB_PASSWORD}",
        "API_KEY=$API_KEY_2",
        'api_key = "<your key>"',
        'api_key = "your-api-key-123"',
        'password = "****************"',
        'password = "{{ vault_password_1 }}"',
        "postgres://user:password@localhost/test",
        "postgres://postgres:${PGPASS1}@localhost/test",
        "https://example.org/a:b@c",
        "def check_password_1(password1: str, password2: str) -> bool:",
        'f"token-{uuid4().hex[:12]}"',
        "if token.kind == TokenKind.STRING2: return tokens[12]",
        "secretmanager.googleapis.com/v1beta2",
        "The password field2 is required",
        '<input type="password" name="password_confirmation">',
        "https://login.example.org/oauth2/v2.0/token",
        "AKIA",
        "class SkipToken1(BaseTokenizer3): pass",
        ".sk-fading-circle-container .sk-circle12:before {",
        '"AWS::SecretsManager::Secret": "c85175a4ebcce361",',
        '"arn:aws:secretsmanager:us-west-2:123456789012:secret:MyTestDatabase-a1b2c3"',
        'secret_arn = "arn:aws:secretsmanager:eu-1:12345:secret:Plum-Ab12Cd"',
        '"NextToken": "AAAAKgAAAAEAAAAAAAAAA2QJKNtidVgd49TT"',
        'processorArchitecture="*" publicKeyToken="1fc8b3b9a1e18e3b"',
        '"PasswordLastUsed": "2016-09-08T21:47:36Z"',
        '"SigningKeyAlgorithm": "RSA_2048"',
        'key_or_pass = r"(?:key|pwd|password|pass|token)"',
        "passwordResetRequired:l?.password_reset_required===!0",
        "SECRET_HASH = base64.b64encode(new_digest)",
        "v1_api_key = _async_v1_api_key",
        "private_key: Ed25519PrivateKey | PKCS7PrivateKeyTypes",
        "token: OAuth2AccessToken, jwt_token: X509CertificateToken",
        "madatnlp/sk-kogptv2-kormath-causal",
        "Authorization: Bearer sk-test-example-key-123",
        "Account SID (ACxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx)",
        "key_id = 'AKIAIOSFODNN7EXAMPLE'",
        "new URL('https://a:b@host/'); new URL('https://abc:xyz@example.com')",
        "the file before the '-----BEGIN RSA PRIVATE KEY-----' and\nafter\nit",
        "`-----BEGIN PRIVATE KEY-----${s}`,className:tU})}),(0,t.jsx)(e7.MountedFormField12,{label:1})",
        "-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA\n-----END PUBLIC KEY-----",
    ],
)
def test_what_only_reads_like_a_secret_is_left_alone(text: str) -> None:
    assert found(text) == []


def test_hashes_uuids_and_digests_of_lock_files_are_left_alone() -> None:
    sha1, sha256, sha512 = (hashlib.new(name, b"plum") for name in ("sha1", "sha256", "sha512"))
    digests = [base64.b64encode(each.digest()).decode() for each in (sha1, sha256, sha512)]
    lock = {
        "node_modules/a": {
            "version": "1.2.3",
            "resolved": "https://registry.npmjs.org/a/-/a-1.2.3.tgz",
            "integrity": f"sha512-{digests[2]}",
        },
        "node_modules/b": {"integrity": f"sha1-{digests[0]}"},
    }
    text = "\n".join(
        [
            json.dumps(lock, indent=2),
            f"  integrity sha512-{digests[2]}",
            f"github.com/a/b v1.2.3 h1:{digests[1]}",
            f'    {{file = "a.whl", hash = "sha256:{sha256.hexdigest()}"}},',
            f"    --hash=sha256:{sha256.hexdigest()} \\",
            f'checksum = "{sha256.hexdigest()}"',
            f"commit {sha1.hexdigest()} (HEAD -> aws-key-rotation)",
            f"{sha1.hexdigest()} aws: rotate the key",
            f"aws key {sha1.hexdigest()}",
            f"index {sha1.hexdigest()[:7]}..{sha1.hexdigest()[7:14]} 100644",
            f"id: {uuid.UUID(int=11**30)}",
            f'ETag: "{hashlib.new("md5", b"plum", usedforsecurity=False).hexdigest()}"',
        ]
    )

    assert found(text) == []


def own_files() -> list[str]:
    """What a model would read of this project; its tests hold made-up keys."""
    ours = (ROOT / "pygent_ls").rglob("*.*")
    listed = [*(file for file in ours if file.suffix in (".py", ".toml")), *ROOT.glob("*.md"), *ROOT.glob("docs/*")]
    listed += [*ROOT.glob("*.toml"), ROOT / "Makefile", *ROOT.glob("clients/**/*.lua")]
    return [str(file) for file in listed if file.is_file()]


def test_nothing_of_this_project_is_taken_for_a_secret() -> None:
    files = own_files()
    assert len(files) > 100

    texts = {file: Path(file).read_text(encoding="utf-8", errors="replace") for file in files}

    assert {file: found(text, file) for file, text in texts.items() if find_secrets(text, file)} == {}


# Private keys

BODY = [characters(64, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/") for _ in range(5)]
LAST = "Qk9ESw=="


@pytest.mark.parametrize("kind", ["", "RSA ", "EC ", "OPENSSH ", "ENCRYPTED "])
def test_each_line_of_a_private_key_is_a_secret_of_its_own(kind: str) -> None:
    lines = [f"-----BEGIN {kind}PRIVATE KEY-----", *BODY, LAST, f"-----END {kind}PRIVATE KEY-----", "after it = 1"]

    assert found("\n".join(lines)) == [*BODY, LAST]
    assert found("\r\n".join(lines)) == [*BODY, LAST]
    assert found("\n".join(f"{n:6}\t{line}" for n, line in enumerate(lines, 1))) == [*BODY, LAST]
    assert found("\n".join(f"+{line}" for line in lines)) == [*BODY, LAST]
    assert found("\n".join(f"keys/a.pem:{n}:{line}" for n, line in enumerate(lines, 1))) == [*BODY, LAST]


def test_a_private_key_with_headers_and_one_that_is_cut_off_are_found() -> None:
    headers = ["-----BEGIN RSA PRIVATE KEY-----", "Proc-Type: 4,ENCRYPTED", "DEK-Info: AES-128-CBC,0A1B", "", *BODY]

    assert [each for each in BODY if each not in found("\n".join(headers))] == []


def test_a_private_key_on_one_line_leaves_nothing_of_itself() -> None:
    text = json.dumps(
        {"private_key": "\n".join(["-----BEGIN PRIVATE KEY-----", *BODY, "-----END PRIVATE KEY-----", ""])}
    )

    rest = text
    for secret in found(text):
        rest = rest.replace(secret, "")

    assert not any(each[1:] in rest for each in BODY)


# Files of environment variables


@pytest.mark.parametrize("name", [".env", ".env.local", "deploy/prod.env", ".env.production", ".envrc", "a\\.flaskenv"])
def test_files_of_environment_variables_are_known_by_their_names(name: str) -> None:
    assert is_env_file(name)


@pytest.mark.parametrize(
    "name", [".env.example", "environment.py", "env", ".env.sample", "vite-env.d.ts", ".env.dist", "a.envy"]
)
def test_other_files_and_examples_are_not(name: str) -> None:
    assert not is_env_file(name)


def values(*lines: str) -> list[str]:
    return found("\n".join(lines), ".env")


@pytest.mark.parametrize(
    ("line", "secret"),
    [
        ("DB_PASS=abc", "abc"),
        ("export SECRET='eu'", "eu"),
        ('LOGIN_TOKEN="two words" # a comment', "two words"),
        ("CUSTOMER = 7f3K-92Lm-qqP1", "7f3K-92Lm-qqP1"),
        ("ADMIN_EMAIL=ada@lovelace.example", "ada@lovelace.example"),
        ("     2\tPIN=4711", "4711"),
        ("+PIN=4711", "4711"),
        (".env:12:PIN=4711", "4711"),
        ("HOOK=https://hooks.example.org/T0A1B2C3D4E5F6G7H8I9", "https://hooks.example.org/T0A1B2C3D4E5F6G7H8I9"),
        ("AWS_ACCESS_KEY_ID=AKIAQ3EGW7MJ5NPXU4TR\r", "AKIAQ3EGW7MJ5NPXU4TR"),
    ],
)
def test_a_value_of_an_env_file_is_secret(line: str, secret: str) -> None:
    assert values("A=1", line, "B=2") == [secret]


def test_a_password_in_an_address_of_an_env_file_is_a_secret_of_its_own() -> None:
    assert values("DATABASE_URL=postgres://ada:s3cr3t@db/shop") == ["postgres://ada:s3cr3t@db/shop", "s3cr3t"]


@pytest.mark.parametrize(
    ("line", "secret"),
    [
        ("REGION=eu", "eu"),
        ("AWS_REGION=eu-central-1", "eu-central-1"),
        ('NODE_ENV="production"', "production"),
        ("LOG_LEVEL=debug,sql", "debug,sql"),
        ("HOST=localhost:8080", "localhost:8080"),
        ("SITE=https://www.example.org/shop/", "https://www.example.org/shop/"),
        ("DATA=/var/lib/data", "/var/lib/data"),
        ("TIMEOUT=30s", "30s"),
        ("VERSION=1.2.3", "1.2.3"),
        ("ACCOUNT=123456", "123456"),
        ("APP_NAME='Plum Shop'", "Plum Shop"),
        ("KEY_FILE=/run/secrets/key.pem", "/run/secrets/key.pem"),
        ("MODEL=claude-3-5-sonnet-20241022", "claude-3-5-sonnet-20241022"),
        ("KEYBOARD=us", "us"),
        ("COLOUR=#fff # not a comment, and one", "#fff"),
        ("# OLD=abc", "abc"),
        ("#OLD='abc'", "abc"),
        ("COUNTRY_CODE: de", "de"),
        ("REGION=${OTHER:-eu}", "${OTHER:-eu}"),
        ("A_HOST='x'y # z", "'x'y # z"),
        ("declare -x REGION='eu'", "eu"),
    ],
)
def test_a_value_of_an_env_file_is_masked_there_and_only_there_however_harmless_it_is(line: str, secret: str) -> None:
    assert values("A=1", line, "B=2") == [secret]
    assert telling(line, ".env") == []


@pytest.mark.parametrize(
    "line",
    [
        "DEBUG=true",
        "DEBUG='off'",
        "PORT=8080",
        "MAX_TOKENS=100",
        "TOKEN_TTL=3600",
        "EMPTY=",
        'EMPTY=""',
        "EMPTY=  # to be set",
        "DB_PASSWORD=${OTHER_PASSWORD}",
        "DB_PASSWORD=${OTHER_PASSWORD:-}",
        "API_KEY=op://vault/item/field",
        "API_KEY=<your key>",
        "# what REGION = eu means",
        "Error: there is no such text",
    ],
)
def test_what_holds_no_value_of_its_own_and_a_small_number_stay(line: str) -> None:
    assert values("A=1", line, "B=2") == []


@pytest.mark.parametrize("shown", ["{}", "     7\t{}", "+{}", "a b/.env:7: {}", ".env-7-{}"])
def test_a_value_over_several_lines_is_masked_line_by_line(shown: str) -> None:
    lines = ["A=1", 'LETTER="dear Ada,', "  plums=ripe", 'bye" # said he', "B=2", "C='never closed", "D=3"]

    text = "\n".join(shown.format(line) for line in lines)

    assert found(text, ".env") == ["dear Ada,", "plums=ripe", "ripe", "bye", "'never closed"]


def test_lines_of_an_env_file_are_known_in_diffs_and_among_matches() -> None:
    diff = "--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-PIN=4711\n--- a/.env\n+++ b/.env\n@@ -1 +1 @@\n-PIN=4712\n+PIN=4713\n"
    gone = (
        "diff --git a/.env b/.env\n--- a/.env\n+++ /dev/null\n@@ -1 +0,0 @@\n-PIN=4714\ndiff --git a/y b/y\n+PIN=4715\n"
    )
    spaced = "--- a/my shop/.env\t\n+++ b/my shop/.env\t\n@@ -1 +1 @@\n-PIN=4719\n+PIN=4720\n REGION=eu\n"
    matches = "my shop/.env:3: PIN=4716\n.env.eu-1-4-CODE=47170\nsrc/env.py:3: PIN=4718\n./.env:REGION=us\n"

    assert found(diff + gone + spaced) == ["4712", "4713", "4714", "4719", "4720", "eu"]
    assert found(matches) == ["4716", "us"]


def telling(text: str, path: str | None = None) -> Sequence[str]:
    return [text[each.start : each.end] for each in find_secrets(text, path) if each.everywhere]


def test_short_and_common_values_count_only_where_they_stand() -> None:
    assert telling("DB_PASS=abc\nPIN=4711\nDB_PASSWORD=postgres\nOWNER=ada@x.example", ".env") == []
    assert telling("DB_PASS=hunter2\nCUSTOMER=7f3K-92Lm-qqP1", ".env") == ["hunter2", "7f3K-92Lm-qqP1"]


@pytest.mark.parametrize("part", ["a", "Aa", "aa1", "AA1", "a-", "v1"])
def test_a_word_that_is_none_after_all_takes_no_time(part: str) -> None:
    def make(length: int) -> str:
        return f'token = "{(part * length)[:length]}1+"\n' * 20

    assert not grows_too_fast(find_secrets, make, length=50, times=10, floor_s=0.05)


NEAR_MISSES = [
    *("token", "://a:", "secret=", "A", "a1B2", "BEGIN PRIVATE KEY-----", "eyJ.", "A=1\n", "sk-", "sk-a", "--- .env"),
    *("env-1-", "A= ", "A='\n", 'A="\\', "     1\t", "token: ", "Bearer a1", "BEGIN PRIVATE KEY-----\nAAAA\n"),
]


@pytest.mark.parametrize("part", NEAR_MISSES)
@pytest.mark.parametrize("path", [None, ".env"])
def test_no_text_takes_long(part: str, path: str | None) -> None:
    def run(text: str) -> None:
        find_secrets(text, path)

    assert not grows_too_fast(run, repeating("", part, "!"), length=4_000, times=10, floor_s=0.05)
