"""Secrets stay out, and ordinary talk passes untouched. All values here are made up."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.redact import redact

BODY = "Zq8Kd02hTnW4rLx7"

SECRETS = [
    ("API_KEY=" + BODY, BODY),
    (f'export FOO_TOKEN="{BODY}"', BODY),
    ("password: hunter2!", "hunter2!"),
    ("my password is hunter2", "hunter2"),
    ("the password for the router is “swordfish”.", "swordfish"),
    ("the wifi password is: Sommer2024!", "Sommer2024"),
    ("The password was changed to hunter2x", "hunter2x"),
    ('PASSWORD="my secret pass phrase"', "pass phrase"),
    ("DB_PASS=hunter2secret", "hunter2secret"),
    ("mysql --password hunter2x -h db", "hunter2x"),
    ("curl -u admin:Passw0rd123 https://example.com", "Passw0rd123"),
    ("postgres://user:p@ssw0rd@example.com/x", "ssw0rd"),
    ("wifi密码hunter2345", "hunter2345"),
    ("Wifi password is “blue-Kettle-77”", "blue-Kettle-77"),
    ("my pin is 4821", "4821"),
    ("Authorization: Bearer " + BODY + BODY, BODY + BODY),
    ("curl -H 'Authorization: Basic dXNlcjpwYXNzd29yZDEyMw=='", "dXNlcjpwYXNzd29yZDEyMw=="),
    ("postgres://ada:s3cr3t@db.example.com/x", "s3cr3t"),
    ("-----BEGIN RSA PRIVATE KEY-----\nMIIEabc\nxyz\n-----END RSA PRIVATE KEY-----", "MIIEabc"),
    ("-----BEGIN OPENSSH PRIVATE KEY-----\nhalf of one", "half of one"),
    ("tvly-dev-" + BODY, BODY),
    ("the key sk-proj-" + BODY + BODY + " works", BODY),
    ("AKIA" + "Q2WERTY7UIOP3ASD", "Q2WERTY7UIOP3ASD"),
    ("ghp_" + "a1B2" * 9, "a1B2a1B2"),
    ("AIza" + "b" * 20 + "C3d4E5f6G7h8I9j", "C3d4E5f6G7h8I9j"),
    ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc123DEF456", "eyJzdWIiOiIxIn0"),
    ("密码是 abc12345", "abc12345"),
    ("我的wifi密码：Rosen2026", "Rosen2026"),
    ("card 4111 1111 1111 1111 exp 12/29", "4111 1111 1111 1111"),
    ("card 4111111111111111", "4111111111111111"),
    ('{"client_secret": "' + BODY + '"}', BODY),
]

ORDINARY = [
    "the commit is 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b",
    "md5 d41d8cd98f00b204e9800998ecf8427e of the file",
    "id 550e8400-e29b-41d4-a716-446655440000",
    "call me at +43 664 1234567 or 0316 123456",
    "order 4111 1111 1111 1112 is no card",
    "my password is too short",
    "the password is wrong again",
    "Password: please change it every year",
    "I forgot my password, how do I reset it?",
    "My password is compromised!",
    "the PIN is blocked.",
    "the access token is refreshed.",
    "密码是不是改了？",
    "密码:请联系管理员",
    "tokenizer=bert-base-uncased",
    "secretary=Anna",
    "api-gateway-service-v2-prod",
    "key_performance_indicators_2024",
    "max_tokens: 8192",
    "tokens: 1500 in, 300 out",
    "the token is expired",
    "see https://example.com/a:b@c and src/main.py",
    "IBAN questions go to the bank, meeting at 12:30",
    "const apiKey = process.env.API_KEY",
    "密码是什么？",
    "我忘记密码了，怎么办",
    "session 20261130-081500-ab12, message 42",
    "the secret of good tea is time",
    "SuperLongCamelCaseIdentifierForTheFactory",
    "turn eb4568vnt034",
    "version 2026.11.30-rc1+build.7781",
]


@pytest.mark.parametrize(("text", "secret"), SECRETS)
def test_credentials_are_replaced(text: str, secret: str) -> None:
    safe = redact(text)
    assert secret not in safe
    assert "[redacted: " in safe
    assert redact(safe) == safe


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_text_is_untouched(text: str) -> None:
    assert redact(text) == text


def test_configured_values_are_masked_wherever_they_stand() -> None:
    assert redact("x=abcdefgh1;yabcdefgh1", ["abcdefgh1"]).count("[redacted") == 2


def test_false_alarms_on_chat_are_rare() -> None:
    folder = Path(__file__).parents[1] / "data" / "facts"
    lines = [line for path in folder.glob("*.jsonl") for line in path.read_text().splitlines()]
    rows = [json.loads(line)["user"] for line in lines]
    changed = [row for row in rows if redact(row) != row]
    assert len(changed) <= 0.01 * len(rows), changed


@given(st.text(max_size=300))
def test_any_text_ends(text: str) -> None:
    assert isinstance(redact(text), str)
