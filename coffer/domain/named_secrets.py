"""Secrets that have no form of their own and are known by what stands beside them.

A finding covers the value alone, so that a reader still sees what was there. Here most of the judging is left
to `secret_values`: in prose and code far more names, paths and placeholders follow "token" than tokens.
"""

from __future__ import annotations

import re

from coffer.domain.secret_rules import Rule
from coffer.domain.secret_values import is_issued, is_password, is_token, is_url_password

_LONG = "aB3dE5gH7jK9mN1pQ2rS"
_SHORT = "k3Zr9" + "fQw"

# Between the name of a value and the value: end of a quoted or emphasised name, a type, then `=`, `:`, "is" …
_ASSIGNS = (
    r"(?:[_-]?(?:base|value|prod|production|dev|development|staging|live|main|primary|[0-9]{1,3}))?"
    r"\\?[\"'`*]{0,3}(?:[ \t]\([^()\n]{1,30}\))?"
    r"(?:[ \t]{0,3}:[ \t]{0,3}[a-z]{2,12}(?:[ \t]?\|[ \t]?none)?[ \t]{0,3}(?==))?"
    r"(?:[ \t](?:for|of|to|on|in|at)(?:[ \t][^\s:=,.;|]{1,30}){1,4})?"
    r"(?:[ \t]{0,8}(?:=>|->|:=|:(?![:=])|=(?![=~>])|\||→|：|＝)\*{0,2}[ \t]{0,8}"
    r"|[ \t](?:is|was)(?:[ \t]now)?:?[ \t]{1,3}|[ \t]?(?:是|为|は|が)[ \t]?"
    r"|[ \t]{1,3}(?=\\?[\"'`]|[A-Za-z0-9_-]{24,512}(?![\w.(\[-]))|>(?=[^\s<>]{6,200}</))"
)
_VALUE = (
    r"(?:[bru]{0,2}\\?([\"'`])(?P<quoted>[^\s\"'`\\]{6,4096})\\?\1"
    r"|\*{0,2}(?P<bare>[^\s\"'`,;<>(){}\[\]|\\。，、]{6,128}+)(?![(\[]))"
)
# Which keys are secret; `cache_key` and `public_key` aren't. A lookbehind must have one length.
_WHOSE = "|".join(
    f"(?<={words})|(?<={words}[ _-])"
    for words in (
        "(?:api|app)",
        "auth",
        "(?:access|master|client)",
        "(?:private|signing|account|service|license|webhook|session|storage)",
        "encryption",
    )
)

_URL_PASSWORD = (
    r"://(?P<user>[^\s/?#@:\"'`<>]{0,100}):(?!(?P=user)@)(?P<secret>[^\s/?#\"'`<>]{3,200})@[^\s@/]"
)

NAMED = (
    Rule(
        "authorization header",
        ("authorization",),
        re.compile(
            r"(?i)authorization[\"'`]?[ \t]{0,3}[:=][ \t]{0,3}[\"'`]?(?:basic|bearer|token|apikey|digest)[ \t]{1,3}"
            r"(?P<secret>[A-Za-z0-9_.=+/~-]{10,2000})"
        ),
        "Authorization: Bas" + "ic YW5uOm1hNHNlYzIz",
        "Authorization: Bearer <token>",
        is_issued,
    ),
    Rule(
        "bearer token",
        ("bearer ",),
        re.compile(r"(?i)(?<![a-z0-9])bearer[ \t]{1,3}(?P<secret>[a-z0-9_.=+/~-]{16,2000})"),
        "curl -H 'Bea" + "rer " + _LONG + "'",
        "Bearer authentication_with_oauth2 needs a bearer token-endpoint-v2.",
        is_token,
    ),
    Rule(
        "database password",
        ("postgres", "mysql", "mariadb://", "mongodb", "redis", "amqp", "mssql://", "clickhouse://"),
        re.compile(
            r"(?:postgres(?:ql)?|mysql|mariadb|mongodb|rediss?|amqps?|mssql|clickhouse)(?:\+[a-z0-9]{2,12})?"
            + _URL_PASSWORD
        ),
        "DATABASE_URL=postgres://app:" + _SHORT + "@db.internal/app",
        "postgres://postgres:postgres@localhost/app and mysql://root:$PASS@db/app",
        is_url_password,
    ),
    Rule(
        "password in a URL",
        ("://",),
        re.compile(_URL_PASSWORD),
        "git clone https://ann:" + _SHORT + "@git.internal/app.git",
        "https://user:password@host/path, http://localhost:8080/@scope/pkg",
        is_url_password,
    ),
    Rule(
        "password on a command line",
        ("--pass", "--token ", "--api-key ", "--secret ", "-u ", "--user ", "sshpass -p", "login "),
        re.compile(
            r"(?:(?<![\w-])--(?:password|passwd|pass|token|api-key|secret) {1,3}"
            r"|(?<![\w-])(?:-u|--user) {1,3}[\"']?[\w.@-]{1,64}:"
            r"|sshpass -p ?|login[ \n]\S{1,64}\s{1,4}password\s)[\"']?(?P<bare>[^\s\"'`<>()]{6,200})"
        ),
        "curl -u ann:" + _SHORT + " https://api.internal",
        "docker run -u 1000:1000 --token $TOKEN --password hunter",
        is_password,
    ),
    Rule(
        "password",
        ("passw", "passphrase", "passcode", "pwd", "_pass", "pw", "密码", "密碼", "パスワード", "비밀번호"),
        re.compile(
            r"(?i)(?:passw(?:or[dt]|d)|passphrase|passcode|pwd|(?<![a-z0-9])pw|_pass|密码|密碼|パスワード|비밀번호)"
            + _ASSIGNS
            + _VALUE
        ),
        "the db password is " + _SHORT,
        "the db password is in the vault; password = os.environ['DB_PASSWORD1']",
        is_password,
    ),
    Rule(
        "secret",
        ("secret", "credential", "密钥", "密鑰"),
        re.compile(r"(?i)(?:secret(?:[ _-]?key)?|credentials?|密钥|密鑰)" + _ASSIGNS + _VALUE),
        "client_secret: " + _LONG,
        "secret: <your-secret>, client_secret = get_secret2()",
        is_token,
    ),
    Rule(
        "token",
        ("token", "令牌"),
        re.compile(r"(?i)(?:(?<!page[_-])(?<!next[_-])(?<!next)(?<!page)token|令牌)" + _ASSIGNS + _VALUE),
        '"access_token": "' + _LONG + '"',
        "self.access_token = access_token; the token is base64-encoded",
        is_token,
    ),
    Rule(
        "secret key",
        ("key",),
        re.compile(rf"(?i)(?:{_WHOSE})key" + _ASSIGNS + _VALUE),
        "api_key: " + _LONG,
        "api_key = settings.api_key2 and API key: see 1Password",
        is_token,
    ),
)
