"""Secrets that are known by their own form, each rule with a text that has one and a text that hasn't.

A rule is tried only where one of its keywords stands, and its pattern begins there. Repetitions are bounded
and follow one another without overlapping, so a text costs no more than its length however it was made.
The forms are those the providers publish; examples are put together from pieces, lest scanners report them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from coffer.domain.secret_values import is_genuine, is_issued, is_key_block


@dataclass(frozen=True, slots=True)
class Rule:
    """One kind of secret.

    What a named group of the pattern matched is the secret, without one the whole match; `accepts` has the
    last word, and is told whether it stood in quotes. A pattern that ignores case has lower-case keywords.
    """

    kind: str
    keywords: tuple[str, ...]
    pattern: re.Pattern[str]
    example: str
    counterexample: str
    accepts: Callable[[str, bool], bool] = is_genuine


_FILL = "aB3dE5gH7jK9mN1pQ2rS4tU6vW8yZ0c" * 4
_HEX = "3f9a17c05be2d846" * 4

# Nothing may run into the beginning, but for a line break in escaped text; where plain letters and digits follow,
# it also mustn't lie inside base64. It keeps a pattern from being tried again within what it has just read.
_ESCAPED_BREAK = r"(?<=\\[nrt])"
_FREE = rf"(?:(?<![A-Za-z0-9_-])|{_ESCAPED_BREAK})"
_NOT_BASE64 = rf"(?:(?<![A-Za-z0-9+/_-])|{_ESCAPED_BREAK})"
_END = r"(?![A-Za-z0-9])"

ISSUED = (
    Rule(
        "private key",
        ("-----BEGIN ",),
        re.compile(
            r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
            r"(?:(?:[^-]|-(?!----)){32,32768}-----END [A-Z0-9 ]{0,40}-----"
            r"|(?:(?:\s|\\[nr]){1,4}[A-Za-z0-9+/=]{40,256}+){1,200})"
        ),
        "-----BEGIN " + "RSA PRIVATE KEY-----\n" + _FILL + "\n-----END RSA " + "PRIVATE KEY-----",
        "A file that starts with -----BEGIN " + "PRIVATE KEY----- must never be committed.",
        is_key_block,
    ),
    Rule(
        "private key",
        ("AGE-SECRET-KEY-1",),
        re.compile(_FREE + r"AGE-SECRET-KEY-1[A-Z0-9]{58}"),
        "AGE-SECRET-" + "KEY-1" + "Q3Z7" * 14 + "QP",
        "age prints a line that begins with AGE-SECRET-KEY-1.",
    ),
    Rule(
        "AWS access key",
        ("AKIA", "ASIA", "ABIA", "ACCA"),
        re.compile(_NOT_BASE64 + r"A(?:KI|SI|BI|CC)A[A-Z2-7]{16}" + _END),
        "AKI" + "A" + "Q3Z7WM5NK2JH4TGP",
        "AKI" + "AIOSFODNN7EXAMPLE is the key in Amazon's documentation.",
    ),
    Rule(
        "AWS secret key",
        ("secret",),
        re.compile(
            r"(?i)secret[ _-]?access[ _-]?key[\"'`]{0,2}[ \t]{0,4}(?:[=:]|\bis\b)[ \t]{0,4}[\"'`]?"
            r"(?P<secret>[a-z0-9/+]{40})(?![a-z0-9/+=])"
        ),
        "aws_secret_access_key = " + _FILL[:19] + "/" + _FILL[:20],
        "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        is_issued,
    ),
    Rule(
        "GitHub token",
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
        re.compile(
            _FREE
            + r"(?:gh[pousr]_[A-Za-z0-9]{36,255}|ghs_[0-9]{1,12}_[A-Za-z0-9._-]{36,2000}|github_pat_\w{36,255})"
        ),
        "gh" + "p_" + _FILL[:36],
        "Personal tokens begin with ghp_ or github_pat_.",
    ),
    Rule(
        "GitLab token",
        ("glpat-", "gldt-", "glrt-", "glptt-", "glcbt-", "glagent-", "gloas-"),
        re.compile(
            _FREE + r"gl(?:pat|dt|rt|ptt|cbt|agent|oas)-[A-Za-z0-9_-]{20,300}(?:\.[a-z0-9]{2,12}){0,2}"
        ),
        "gl" + "pat-" + _FILL[:20],
        "glpat-<token> goes into the variable",
        is_issued,
    ),
    Rule(
        "Anthropic key",
        ("sk-ant-",),
        re.compile(_FREE + r"sk-ant-[A-Za-z0-9_-]{20,256}"),
        "sk-" + "ant-api03-" + _FILL[:93] + "AA",
        "Set it to sk-ant-api03-... from the console.",
    ),
    Rule(
        "OpenAI key",
        ("sk-",),
        re.compile(
            _FREE
            + r"sk-(?!ant-|or-)(?:(?:proj|svcacct|admin)-[A-Za-z0-9_-]{20,256}|[A-Za-z0-9]{32,64}"
            + _END
            + ")"
        ),
        "sk-" + "proj-" + _FILL[:48],
        "The class sk-cube-grid and the branch task-proj-rename-everything-again.",
    ),
    Rule(
        "OpenRouter key",
        ("sk-or-",),
        re.compile(_FREE + r"sk-or-(?:v[0-9]-)?[a-f0-9]{32,64}"),
        "sk-" + "or-v1-" + _HEX,
        "sk-or-v1-<key>",
    ),
    Rule(
        "Google API key",
        ("AIza",),
        re.compile(_NOT_BASE64 + r"AIza[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])"),
        "AI" + "za" + _FILL[:35],
        "Google's keys begin with AIza.",
    ),
    Rule(
        "Google OAuth secret",
        ("GOCSPX-", "ya29."),
        re.compile(_FREE + r"(?:GOCSPX-[A-Za-z0-9_-]{20,64}|ya29\.[A-Za-z0-9_-]{20,1000})"),
        "GOC" + "SPX-" + _FILL[:28],
        "GOCSPX-your-secret",
        is_issued,
    ),
    Rule(
        "Slack token",
        ("xox", "xapp-"),
        re.compile(_FREE + r"(?:xox[abeoprs](?:\.xox[bp])?|xapp)-[A-Za-z0-9-]{10,400}"),
        "xo" + "xb-" + "241058" + "7736-" + _FILL[:24],
        "xoxb-your-bot-token",
        is_issued,
    ),
    Rule(
        "Slack webhook",
        ("hooks.slack.com/",),
        re.compile(r"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<secret>[A-Za-z0-9+/]{20,120})"),
        "https://hooks.slack.com/" + "services/T0Q3Z7WM5/B0K2JH4TG/" + _FILL[:24],
        "https://hooks.slack.com/services/XXXXXXXXX/XXXXXXXXX/XXXXXXXX",
        is_issued,
    ),
    Rule(
        "Stripe key",
        ("sk_live_", "rk_live_", "whsec_"),
        re.compile(_FREE + r"(?:[sr]k_live_[A-Za-z0-9]{16,250}|whsec_[A-Za-z0-9+/=]{24,250})"),
        "sk_" + "live_" + _FILL[:24],
        "Keys begin with sk_live_ or rk_live_, webhook secrets with whsec_.",
    ),
    Rule(
        "npm token",
        ("npm_",),
        re.compile(_FREE + r"npm_[A-Za-z0-9]{36}" + _END),
        "np" + "m_" + _FILL[:36],
        "npm_config_registry and npm_lifecycle_event are set by npm.",
    ),
    Rule(
        "PyPI token",
        ("pypi-AgE",),
        re.compile(_FREE + r"pypi-AgE[A-Za-z0-9_-]{40,1000}"),
        "py" + "pi-AgEIcHlwaS5vcmc" + _FILL[:70],
        "pypi-AgEIcHlwaS5vcmc... is how they begin",
    ),
    Rule(
        "Hugging Face token",
        ("hf_",),
        re.compile(_FREE + r"hf_[A-Za-z0-9]{30,60}" + _END),
        "h" + "f_" + _FILL[:34],
        "hf_hub_download_with_retries_and_progress(repo)",
    ),
    Rule(
        "SendGrid key",
        ("SG.",),
        re.compile(_FREE + r"SG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{32,64}"),
        "S" + "G." + _FILL[:22] + "." + _FILL[:43],
        "SG.Config.load() reads it",
    ),
    Rule(
        "Twilio key",
        ("SK",),
        re.compile(_NOT_BASE64 + r"SK[0-9a-f]{32}" + _END),
        "S" + "K" + _HEX[:32],
        "SKU 0f9a17c05be2d846",
    ),
    Rule(
        "Telegram bot token",
        (":AA",),
        re.compile(r"(?<=[0-9]{8}):AA[A-Za-z0-9_-]{33}(?![A-Za-z0-9_-])"),
        "731058" + "2946:" + "AA" + _FILL[:33],
        "12:34:AA:BB is an address, 12345678:AA isn't one",
    ),
    Rule(
        "DigitalOcean token",
        ("dop_v1_", "doo_v1_", "dor_v1_"),
        re.compile(_FREE + r"do[opr]_v1_[a-f0-9]{64}"),
        "do" + "p_v1_" + _HEX,
        "dop_v1_<64 hex digits>",
    ),
    Rule(
        "Vault token",
        ("hvs.", "hvb.", "hvr."),
        re.compile(_FREE + r"hv[sbr]\.[A-Za-z0-9_-]{20,400}"),
        "hv" + "s." + _FILL[:90],
        "Tokens begin with hvs. since 1.10.",
        is_issued,
    ),
    Rule(
        "Azure storage key",
        ("AccountKey=", "SharedAccessKey="),
        re.compile(r"(?:Account|SharedAccess)Key=(?P<secret>[A-Za-z0-9+/]{40,88}={0,2})"),
        "DefaultEndpointsProtocol=https;AccountName=app;" + "AccountKey=" + _FILL[:86] + "==",
        "AccountKey=<key>;EndpointSuffix=core.windows.net",
        is_issued,
    ),
    Rule(
        "service token",
        ("gsk_", "xai-", "pplx-", "r8_", "lin_api_", "ntn_", "dckr_pat_", "glsa_", "shpat_", "sbp_", "tskey-")
        + ("dp.pt.", "PMAK-", "figd_", "ATATT3", "rubygems_", "dapi"),
        re.compile(
            _FREE
            + r"(?:(?:gsk_|xai-|pplx-|r8_|lin_api_|ntn_|shpat_|sbp_|glsa_|dp\.pt\.|rubygems_)[A-Za-z0-9]{26,300}"
            r"|(?:dckr_pat_|figd_)[A-Za-z0-9_-]{26,64}|tskey-[a-z]{3,8}-[A-Za-z0-9-]{20,100}"
            r"|PMAK-[a-f0-9]{24}-[a-f0-9]{34}|ATATT3[A-Za-z0-9_=-]{60,300}|dapi[a-f0-9]{32}" + _END + ")"
        ),
        "gs" + "k_" + _FILL[:52],
        "r8_this_is_only_a_very_long_identifier_name",
    ),
    Rule(
        "JSON web token",
        ("eyJ",),
        re.compile(
            _NOT_BASE64 + r"eyJ[A-Za-z0-9_-]{8,2000}\.eyJ[A-Za-z0-9_-]{8,6000}\.[A-Za-z0-9_-]{10,1000}"
        ),
        "ey" + "JhbGciOiJIUzI1NiJ9.ey" + "JzdWIiOiIxMjM0NSJ9." + _FILL[:43],
        "The header eyJhbGciOiJIUzI1NiJ9 is only {alg: HS256}.",
    ),
)
