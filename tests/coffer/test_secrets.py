"""Secrets are found in prose and code, taken out whole, and nothing else is touched."""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import fields
from re import _constants, _parser  # type: ignore[attr-defined]

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coffer.domain import secrets
from coffer.domain.secrets import RULES, Finding, find_secrets, scrub

# Put together here, so that no scanner takes this file for a leak.
PASSWORD = "k3Zr9" + "fQw"
LONG = "aB3dE5gH7jK9mN1pQ2rS4tU6vW8yZ0c" * 3
HEX = hashlib.sha256(b"canary").hexdigest()
KEY_BODY = "\n".join([LONG[:64]] * 5)
PEM = "-----BEGIN OPENSSH " + f"PRIVATE KEY-----\n{KEY_BODY}\n-----END OPENSSH " + "PRIVATE KEY-----"

# Each with the kind that is told, and the part that must be gone.
SECRETS = [
    ("private key", f"Deploy key:\n{PEM}\nkeep it safe", KEY_BODY),
    ("private key", PEM.replace("\n", "\\n"), LONG[:64]),
    ("private key", "-----BEGIN " + f"PRIVATE KEY-----\n{KEY_BODY}\n(cut off here)", LONG[:64]),
    ("private key", PEM.replace("OPENSSH ", "PGP ").replace("KEY-----", "KEY BLOCK-----"), KEY_BODY),
    ("AWS access key", "the key AKI" + "AQ3Z7WM5NK2JH4TGP is for the bucket", "Q3Z7WM5NK2JH4TGP"),
    ("AWS secret key", f"aws_secret_access_key={LONG[:40]}", LONG[:40]),
    ("AWS secret key", f'"SecretAccessKey": "{LONG[:40]}"', LONG[:40]),
    ("GitHub token", f"push with gh{'o'}_{LONG[:36]}.", LONG[:36]),
    ("GitHub token", f"https://gh{'p'}_{LONG[:36]}@github.com/a/b", LONG[:36]),
    ("GitHub token", f"github{'_pat_'}11ABCDE0Y0{LONG[:10]}_{LONG[:59]}", LONG[:59]),
    ("GitHub token", f"GH_TOKEN=gh{'s'}_{LONG[:36]}", LONG[:36]),
    ("GitLab token", f"glp{'at'}-{LONG[:20]}", LONG[:20]),
    ("Anthropic key", f"ANTHROPIC_API_KEY=sk-a{'nt'}-api03-{LONG[:93]}AA", LONG[:93]),
    ("OpenAI key", f"sk-{'proj'}-{LONG[:60]}", LONG[:60]),
    ("OpenAI key", f"key: sk-{LONG[:48]}", LONG[:48]),
    ("Google API key", f"?key=AI{'za'}{LONG[:35]}&q=1", LONG[:35]),
    ("Google OAuth secret", f"GOC{'SPX'}-{LONG[:28]}", LONG[:28]),
    ("Slack token", f"xo{'xp'}-24105877-36{LONG[:20]}", LONG[:20]),
    ("Slack webhook", f"https://hooks.{'slack'}.com/services/T0Q3Z7WM5/B0K2JH4TG/{LONG[:24]}", LONG[:24]),
    ("Stripe key", f"rk_{'live'}_{LONG[:24]}", LONG[:24]),
    ("npm token", f"//registry.npmjs.org/:_authToken=np{'m'}_{LONG[:36]}", LONG[:36]),
    ("PyPI token", f"password = pyp{'i'}-AgEIcHlwaS5vcmc{LONG[:70]}", LONG[:70]),
    ("Hugging Face token", f"login(token='h{'f'}_{LONG[:34]}')", LONG[:34]),
    ("SendGrid key", f"S{'G'}.{LONG[:22]}.{LONG[:43]}", LONG[:43]),
    ("Twilio key", f"S{'K'}{HEX[:32]}", HEX[:32]),
    ("Telegram bot token", f"7310582946:{'AA'}{LONG[:33]}", LONG[:33]),
    ("DigitalOcean token", f"do{'p'}_v1_{HEX}", HEX),
    ("Vault token", f"hv{'s'}.{LONG[:90]}", LONG[:90]),
    ("Azure storage key", f"AccountName=app;Account{'Key'}={LONG[:86]}==;EndpointSuffix=x", LONG[:86]),
    ("JSON web token", f"ey{'J'}hbGciOiJIUzI1NiJ9.ey{'J'}zdWIiOiIxMjM0NSJ9.{LONG[:43]}", LONG[:43]),
    ("authorization header", f"curl -H 'Authorization: Bearer {HEX}'", HEX),
    ("authorization header", "authorization: Basic YW5uOm1hNHNlYzIz", "YW5uOm1hNHNlYzIz"),
    ("bearer token", f"send it as Bearer {LONG[:40]}", LONG[:40]),
    ("password in a URL", f"https://ann:{PASSWORD}@git.internal/app.git", PASSWORD),
    ("password in a URL", f"https://ann:{PASSWORD}@x@git.internal/app.git", PASSWORD + "@x"),
    ("database password", f"postgresql+asyncpg://app:{PASSWORD}@db:5432/app", PASSWORD),
    ("database password", f"redis://:{PASSWORD}@localhost:6379/0", PASSWORD),
    ("database password", f"mongodb+srv://app:{PASSWORD}@cluster0.abc.mongodb.net/", PASSWORD),
    ("password on a command line", f"curl -u ann:{PASSWORD} https://api.internal", PASSWORD),
    ("password on a command line", f"mysqldump --password '{PASSWORD}' app", PASSWORD),
    ("password on a command line", f"machine git.internal login ann password {PASSWORD}", PASSWORD),
    ("password", f"the db password is {PASSWORD}", PASSWORD),
    ("password", "the password is hunter2", "hunter2"),
    ("password", f"Password for the staging database: `{PASSWORD}`.", PASSWORD),
    ("password", f"**Password:** {PASSWORD}", PASSWORD),
    ("password", f"| Password | {PASSWORD} |", PASSWORD),
    ("password", 'password = "Hunter!Two"', "Hunter!Two"),
    ("password", f'{{"user": "ann", "password": "{PASSWORD}"}}', PASSWORD),
    ("password", f'"{{\\"password\\": \\"{PASSWORD}\\"}}"', PASSWORD),
    ("password", f"password: str | None = '{PASSWORD}'", PASSWORD),
    ("password", f"export DB_PASS={PASSWORD}", PASSWORD),
    ("password", f"Server=db;User Id=app;Pwd={PASSWORD};", PASSWORD),
    ("password", f"<password>{PASSWORD}</password>", PASSWORD),
    ("password", f"数据库密码为{PASSWORD}。", PASSWORD),
    ("password", f"パスワードは {PASSWORD} です", PASSWORD),
    ("secret", f"client_secret: {LONG[:24]}", LONG[:24]),
    ("secret", f"SECRET_KEY_BASE={HEX}", HEX),
    ("token", f"the token for CI is {LONG[:24]}", LONG[:24]),
    ("token", f'"refresh_token": "{LONG[:24]}"', LONG[:24]),
    ("token", "access_token=550e8400-e29b-41d4-a716-446655440000", "550e8400-e29b-41d4-a716-446655440000"),
    ("secret key", f"X-Api-Key: {LONG[:24]}", LONG[:24]),
    ("secret key", f"const apiKey = '{LONG[:24]}';", LONG[:24]),
    ("secret key", f"the api key {HEX[:32]} belongs to staging", HEX[:32]),
]

BENIGN = [
    "Deploys go through `make release`; never run `make publish` by hand.",
    "The regression came in with commit 8cf98b4 and was fixed in 3b18e512dba79e4c8300dd08aeb37f8e728b8dad.",
    "Request 550e8400-e29b-41d4-a716-446655440000 timed out after 30s.",
    "sha256:" + hashlib.sha256(b"image").hexdigest(),
    "FROM python@sha256:" + hashlib.sha256(b"digest").hexdigest() + " AS build",
    '"integrity": "sha512-' + base64.b64encode(hashlib.sha512(b"pkg").digest()).decode() + '"',
    "![dot](data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==)",
    base64.b64encode(bytes(range(256)) * 4).decode(),
    "-----BEGIN CERTIFICATE-----\n" + KEY_BODY[::-1] + "\n-----END CERTIFICATE-----",
    "A file starting with -----BEGIN " + "RSA PRIVATE KEY----- must not be committed.",
    "-----BEGIN " + "PRIVATE KEY-----\n...\n-----END " + "PRIVATE KEY-----",
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl ann@laptop",
    "The parser reads one token at a time; a token is either a word or a number.",
    "max_tokens = 4096, token_count: 1024, tokens per second: 35.2",
    "self.access_token = access_token",
    "token = request.headers['X-Token-2']",
    "token = get_token2(user)",
    "const token = response2.data.token;",
    "password = os.environ['DB_PASSWORD1']",
    'password = getenv("DB_PASSWORD", "")',
    "password: ${{ secrets.DB_PASSWORD_2 }}",
    "PASSWORD=$(openssl rand -base64 32)",
    "DB_PASSWORD=${DB_PASSWORD1:-none}",
    "api_key: <your-api-key-1>",
    "api_key = 'your_api_key_123'",
    "API_KEY=xxxxxxxx1xxxxxxxx",
    "password: changeme1",
    "password: ********1",
    "password = 'test1234'",
    "The password is required and must have 12 characters.",
    "the password is argon2id-hashed before it is stored",
    "the token is base64url-encoded and expires after 3600s",
    "The secret is mounted at /run/secrets/db-1 and read at start.",
    "secret: projects/1234/secrets/db-password/versions/5",
    "secretName: app-tls-2024",
    "the API key is sha256-hashed in the table api_keys_v2",
    "token: 2026-11-30T09:00:00Z",
    "password: contact ops1@example.com",
    '<input type="password" id="password1" name="password1">',
    "public_key = 'zY9xW8vU7tS6rQ5pO4nM3lK2', cache_key = 'user:1:profile:v2'",
    "next_page_token: CAUQAA2xyz91",
    "Authorization: Bearer <token>",
    "Bearer authentication, basic authentication and digest authentication are supported.",
    "postgres://postgres:postgres@localhost:5432/app",
    "postgres://user:password@host/db",
    "https://user:${TOKEN1}@git.internal/app.git",
    "http://localhost:8080/@scope/package@1.2.3",
    "git@github.com:octo/hello-world.git and ssh://git@git.example:2222/team/app.git",
    "docker run -u 1000:1000 -v /srv:/srv app",
    "ghp_ and github_pat_ begin GitHub's tokens, sk-ant- Anthropic's, glpat- GitLab's.",
    "export GITHUB_TOKEN=gh" + "p_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    "ANTHROPIC_API_KEY=sk-" + "ant-api03-...",
    "AKI" + "AIOSFODNN7EXAMPLE",
    "class sk-cube-grid, branch task-proj-rename-everything-again-2024",
    "hf_hub_download, npm_config_registry, npm_lifecycle_event, pypi-server",
    "SG.Config.load() and SKU12345 and hvs.go",
    "coffer.infrastructure.index.schema.create_virtual_table_for_passages_if_missing_v2",
    "src/coffer/domain/secret_values.py:42: in is_password",
    "C:\\Users\\ann\\AppData\\Local\\Temp\\pytest-of-ann\\test_token_0",
    "https://example.com/a/b?version=3b18e512dba79e4c8300dd08aeb37f8e728b8dad&page=2#L10",
    "0xdAC17F958D2ee523a2206206994597C13D831ec7 is the token contract",
    "Lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do eiusmod tempor incididunt ut labore.",
    "密码保存在保险库里，不要写进代码。令牌的有效期为 3600 秒。",
    "パスワードは環境変数から読みます。トークンは毎日更新されます。",
    "LOG_LEVEL=debug\nPORT=8080\nDATABASE_HOST=db.internal\nFEATURE_X1=on",
    "INSERT INTO users (name, password_hash) VALUES ('ann', crypt($1, gen_salt('bf', 8)))",
    "01ARZ3NDEKTSV4RRFFQ69G5FAV and project-6CKPXC6VFJ0EE05JDN0YZ4B95J",
    "pip install 'uvicorn[standard]>=0.30,<0.40' --hash=sha256:" + HEX,
    "commit-graph key: see the keys section; key = value; Key: Ctrl+Shift+F5",
    "| token | meaning |\n|---|---|\n| token | the OAuth2 token of the user |",
]

ENV = f"""\
# production
DATABASE_HOST=db.internal
DB_PASSWORD={PASSWORD}

export API_TOKEN={LONG[:24]}
PORT=8080"""


@pytest.mark.report("B77")
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.kind)
def test_each_rule_finds_its_example_and_leaves_its_counterexample(rule: secrets.Rule) -> None:
    """If it didn't, that kind of secret would be kept for good, or ordinary text refused."""
    assert [finding.kind for finding in find_secrets(rule.example)] == [rule.kind]
    assert find_secrets(rule.counterexample) == []


@pytest.mark.report("B77")
@pytest.mark.parametrize(("kind", "text", "secret"), SECRETS)
def test_a_secret_is_found_named_and_taken_out(kind: str, text: str, secret: str) -> None:
    """If any part stayed, it would be in git's history and on every machine for ever."""
    assert secret in text
    assert [finding.kind for finding in find_secrets(text)] == [kind]
    cleaned = scrub(text)
    assert secret not in cleaned
    assert f"[removed: {kind}]" in cleaned
    assert not any(line in cleaned for line in secret.splitlines())


@pytest.mark.parametrize("text", BENIGN)
def test_ordinary_text_is_left_alone(text: str) -> None:
    """If it weren't, people would lose notes to false alarms, and learn to insist without looking."""
    assert find_secrets(text) == []
    assert scrub(text) == text


def test_all_ordinary_text_together_is_left_alone() -> None:
    """If neighbouring lines made a secret of each other, long notes would be refused at random."""
    assert find_secrets("\n".join(BENIGN)) == []
    assert find_secrets("\n\n".join(reversed(BENIGN))) == []


@pytest.mark.parametrize("before", ["", " ", "\n", "`", "(", '"', "'", "> ", "\\n", "：", "é "])
@pytest.mark.parametrize("after", ["", ".", ",", ")", "`", '"', "\n", "\\n", "。", " and so on"])
def test_what_stands_around_a_token_hides_nothing(before: str, after: str) -> None:
    """If a bracket or a full stop were enough to hide a token, most tokens in prose would get through."""
    token = f"gh{'p'}_{LONG[:36]}"
    assert scrub(before + token + after) == f"{before}[removed: GitHub token]{after}"


def test_a_value_is_replaced_and_its_name_stays() -> None:
    """If the whole line went, a reader couldn't tell what to look up elsewhere."""
    text = f'host = "db"\npassword = "{PASSWORD}"  # rotate in May\nport = 5432'
    assert scrub(text) == 'host = "db"\npassword = "[removed: password]"  # rotate in May\nport = 5432'
    assert scrub(f"postgres://app:{PASSWORD}@db/app") == "postgres://app:[removed: database password]@db/app"


def test_an_env_block_goes_as_a_whole() -> None:
    """If only the lines with known names went, a secret under an odd name beside them would stay."""
    assert scrub(f"Settings:\n\n{ENV}\n\nRestart after a change.") == (
        "Settings:\n\n# production\n[removed: .env block]\n\nRestart after a change."
    )
    assert scrub(ENV.replace("\n", "\r\n")) == "# production\r\n[removed: .env block]"
    assert scrub(f"```\nA=1\nKEY=sk-{LONG[:48]}\n```") == "```\n[removed: .env block]\n```"
    assert [finding.kind for finding in find_secrets(f"{ENV}\n\n\n\n{ENV}")] == [".env block"] * 2


def test_one_line_or_code_is_no_env_block() -> None:
    """If they were, code around a password would vanish with it."""
    assert scrub(f"DB_PASSWORD={PASSWORD}") == "DB_PASSWORD=[removed: password]"
    code = f"connect(\n    host='db',\n    password='{PASSWORD}',\n    port=5432,\n)"
    assert scrub(code) == code.replace(PASSWORD, "[removed: password]")


def test_a_key_inside_an_env_block_goes_with_it() -> None:
    """If a block ended inside a key of several lines, the rest of the key would stay."""
    assert scrub(f'A=1\nKEY="{PEM}"\nB=2\nend') == "[removed: .env block]\nend"


def test_the_most_telling_kind_names_a_secret() -> None:
    """If a GitHub token were only called a token, its owner wouldn't know where to revoke it."""
    assert [finding.kind for finding in find_secrets(f"token: gh{'p'}_{LONG[:36]}")] == ["GitHub token"]


def test_a_secret_longer_than_its_pattern_goes_to_its_end() -> None:
    """If a pattern's bound cut it, the tail would stay, and be worth guessing the rest."""
    assert scrub(f"sk-{'proj'}-{LONG * 50} end") == "[removed: OpenAI key] end"
    assert scrub(f"token={LONG * 50}") == "token=[removed: token]"
    assert scrub(f'token = "{LONG * 30}"') == 'token = "[removed: token]"'


def test_a_finding_holds_no_text() -> None:
    """If it did, the secret would reach logs and answers with it."""
    assert [field.name for field in fields(Finding)] == ["kind", "start", "end"]


def test_letters_that_grow_in_lower_case_move_nothing() -> None:
    """If places were counted in another text than the one given, the wrong letters would be taken out."""
    assert scrub(f"İİİİ password is {PASSWORD}") == "İİİİ password is [removed: password]"


PIECES = (
    [text for _, text, _ in SECRETS]
    + BENIGN
    + ["\n", " ", "password=", "'", '"', "token: ", "A=1\n", "-----"]
)


@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=20), max_size=8))
def test_findings_are_in_order_apart_and_within_the_text(pieces: list[str]) -> None:
    """If they weren't, taking secrets out would garble the text or leave parts of them."""
    text = "".join(pieces)
    position = 0
    for finding in find_secrets(text):
        assert position <= finding.start < finding.end <= len(text)
        position = finding.end


@given(
    st.sampled_from(SECRETS), st.lists(st.sampled_from(BENIGN), max_size=3), st.sampled_from(["\n", "\n\n"])
)
def test_a_secret_is_found_among_ordinary_lines(
    secret: tuple[str, str, str], lines: list[str], between: str
) -> None:
    """If the lines around it mattered, secrets would be found in tests and missed in transcripts."""
    text = between.join([*lines, secret[1], *lines])
    assert secret[2] not in scrub(text)


# Cost


def repeats(parsed: object) -> list[int]:
    found = []
    for operation, argument in parsed:  # type: ignore[attr-defined]
        if operation in (_constants.MAX_REPEAT, _constants.MIN_REPEAT, _constants.POSSESSIVE_REPEAT):
            found.append(argument[1])
        for part in argument if isinstance(argument, tuple) else (argument,):
            for inner in part if isinstance(part, list) else (part,):
                if isinstance(inner, _parser.SubPattern):
                    found += repeats(inner)
    return found


def test_every_repetition_in_the_table_is_bounded() -> None:
    """If one weren't, a text could be made that keeps the daemon busy for minutes."""
    assert repeats(_parser.parse("a(?:b|c(?=d*))")) == [_constants.MAXREPEAT]
    for rule in RULES:
        parsed = _parser.parse(rule.pattern.pattern)
        assert all(bound <= 32768 for bound in repeats(parsed)), rule.kind
        assert parsed.getwidth()[1] < 70_000, rule.kind


def test_keywords_stand_where_patterns_begin() -> None:
    """If a keyword couldn't begin its pattern, the rule would look thorough and never fire."""
    for rule in RULES:
        for keyword in rule.keywords:
            assert keyword == (keyword.lower() if rule.pattern.flags & re.IGNORECASE else keyword)
        assert any(keyword in rule.example.lower() or keyword in rule.example for keyword in rule.keywords)


@pytest.mark.parametrize("filling", ["", " ", "a1", "=a1", ":", "-----", "'", " for a of "])
def test_a_text_made_to_be_slow_is_tried_only_where_keywords_stand(
    filling: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If tries grew faster than the text, one pasted line could stop all writing."""
    original = secrets._try
    tries = 0

    def counted(*arguments: object) -> Finding | None:
        nonlocal tries
        tries += 1
        return original(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(secrets, "_try", counted)
    for rule in RULES:
        for keyword in rule.keywords:
            text = (keyword + filling) * 40
            tries = 0
            find_secrets(text)
            assert tries <= 40 * 8, (keyword, tries)
