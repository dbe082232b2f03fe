"""The Anthropic messages wire, through the real SDK against a server on loopback."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from assistant.errors import Fault, ProviderError
from assistant.providers.anthropic_messages import AnthropicMessages
from assistant.providers.base import Reply, Request, ToolSpec
from memory.transcript import Message, ToolCall
from tests.support.servers import ModelServer, Raw, anthropic_events

NOW = datetime(2026, 11, 30, tzinfo=UTC)
TOOL = ToolSpec(name="get_x", description="d", parameters={"type": "object", "properties": {}})


def said(text: str) -> Message:
    return Message(role="user", text=text, created=NOW)


def run(
    *replies: Any, messages: list[Message] | None = None, timeout_s: float = 5, system: str = "sys"
) -> tuple[str, Reply, ModelServer]:
    with ModelServer(replies) as server:
        provider = AnthropicMessages("m", api_key="k", base_url=server.origin, timeout_s=timeout_s)
        request = Request(system=system, messages=messages or [said("hi")], tools=[TOOL])
        shown, reply = "", None
        for part in provider.stream(request):
            if isinstance(part, Reply):
                reply = part
            elif not part.thinking:
                shown += part.text
        assert reply is not None
        return shown, reply, server


def fails(*replies: Any, timeout_s: float = 5) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        run(*replies, timeout_s=timeout_s)
    assert "Next step:" in str(caught.value)
    return caught.value


def test_text_usage_and_the_shape_of_the_request() -> None:
    shown, reply, server = run("Hello 世界 🙂")
    assert shown == reply.text == "Hello 世界 🙂"
    assert (reply.stop, reply.usage.input, reply.usage.output) == ("end", 11, 7)
    body = server.requests[0]
    assert body["system"] == [
        {"type": "text", "text": "sys", "cache_control": {"type": "ephemeral"}}
    ]
    assert body["messages"] == [{"role": "user", "content": [{"type": "text", "text": "hi"}]}]
    assert body["max_tokens"] == 8192
    assert body["tools"][0]["input_schema"] == TOOL.parameters
    assert server.headers[0]["authorization"] == "Bearer k"


def test_an_empty_system_prompt_is_left_out() -> None:
    _, _, server = run("ok", system="  ")
    assert "system" not in server.requests[0]


def tool_round(thinking: tuple[dict[str, Any], ...] = ()) -> list[Message]:
    calls = tuple(ToolCall(id=f"toolu_{n}", name="get_x", arguments='{"n": 1}') for n in range(2))
    return [
        said("do it"),
        Message(
            role="assistant",
            text="",
            created=NOW,
            tool_calls=calls,
            thinking=thinking,
            provider="anthropic:m",
        ),
        Message(role="tool", text="one", created=NOW, call_id="toolu_0"),
        Message(role="tool", text="", created=NOW, call_id="toolu_1", error=True),
    ]


def test_results_of_one_round_stand_in_one_user_message() -> None:
    _, _, server = run("ok", messages=[*tool_round(), said("and now?")])
    wire = server.requests[0]["messages"]
    assert [m["role"] for m in wire] == ["user", "assistant", "user"]
    assert [b["type"] for b in wire[1]["content"]] == ["tool_use", "tool_use"]
    assert [b["type"] for b in wire[2]["content"]] == ["tool_result", "tool_result", "text"]
    assert wire[2]["content"][1]["content"] == "(no output)"
    assert wire[2]["content"][1]["is_error"] is True


def test_thinking_is_kept_in_the_running_loop_only() -> None:
    call = {"name": "get_x", "arguments": {"n": 1}}
    _, reply, _ = run({"thinking": "hm", "tool_calls": [call]})
    assert reply.thinking == ({"type": "thinking", "thinking": "hm", "signature": "sig(hm)"},)
    blocks = (*reply.thinking, {"type": "redacted_thinking", "data": "xyz"})
    _, _, server = run("ok", messages=tool_round(blocks))
    assert server.requests[0]["messages"][1]["content"][:2] == list(blocks)
    _, _, server = run("ok", messages=[*tool_round(blocks), said("next")])
    kinds = [b["type"] for m in server.requests[0]["messages"] for b in m["content"]]
    assert "thinking" not in kinds


def test_refused_thinking_is_stripped_once() -> None:
    refused = Raw.json(
        {
            "type": "error",
            "error": {
                "type": "invalid_request_error",
                "message": "Invalid signature in thinking block",
            },
        },
        400,
    )
    blocks = ({"type": "thinking", "thinking": "hm", "signature": "bad"},)
    _, reply, server = run(refused, "ok", messages=tool_round(blocks))
    assert reply.text == "ok"
    assert server.requests[1]["messages"][1]["content"][0]["type"] == "tool_use"


def test_parallel_calls_arrive_with_their_arguments() -> None:
    calls = [{"name": "get_x", "arguments": {"n": n, "text": "好"}} for n in (1, 2)]
    _, reply, _ = run({"text": "sure", "tool_calls": calls})
    assert [json.loads(c.arguments)["n"] for c in reply.tool_calls] == [1, 2]
    assert (reply.text, reply.stop) == ("sure", "tool_calls")


def error_event(kind: str) -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": kind.replace("_", " ")}}


@pytest.mark.parametrize(
    ("reply", "fault"),
    [
        (
            Raw.events(*anthropic_events({"text": "a"})[:3], error_event("overloaded_error")),
            Fault.OVERLOADED,
        ),
        (Raw.events(error_event("rate_limit_error")), Fault.RATE_LIMIT),
        (Raw.json(error_event("overloaded_error"), 529), Fault.OVERLOADED),
        (Raw.json(error_event("authentication_error"), 401), Fault.AUTH),
        (
            Raw.json({"error": {"message": "prompt is too long: 250000 tokens"}}, 400),
            Fault.OVERFLOW,
        ),
        (Raw.json({"error": {"message": "Your credit balance is too low"}}, 400), Fault.QUOTA),
        (
            Raw.json(
                {"error": {"message": "messages.2: tool_use ids were found without tool_result"}},
                400,
            ),
            Fault.HISTORY,
        ),
        (Raw.json(error_event("api_error"), 500), Fault.SERVER),
        (Raw.json({"error": {"type": "overloaded_error", "message": "x"}}), Fault.OVERLOADED),
        (Raw.events(*anthropic_events({"text": "half"})[:-2]), Fault.CUT),
        (Raw.events(*anthropic_events({"stop": "end_turn"})), Fault.EMPTY),
        (Raw.events(*anthropic_events({"stop": "refusal"})), Fault.FILTERED),
        (Raw(chunks=(b"<html>login</html>",), kind="text/html"), Fault.SERVER),
    ],
)
def test_failures_are_told_apart(reply: Raw, fault: Fault) -> None:
    assert fails(reply).fault is fault


@pytest.mark.parametrize(
    ("stop", "reason"),
    [
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("pause_turn", "pause"),
        ("stop_sequence", "end"),
        ("refusal", "filtered"),
    ],
)
def test_stop_reasons(stop: str, reason: str) -> None:
    _, reply, _ = run({"text": "x", "stop": stop})
    assert reply.stop == reason


def test_silence_ends_in_a_time_out() -> None:
    assert fails(Raw(chunks=(b"", b"x"), pause_s=3), timeout_s=0.4).fault is Fault.TIMEOUT
    pings = Raw(chunks=(b"event: ping\ndata: {}\n\n",) * 5 + (b": x\n\n",) * 40, pause_s=0.1)
    assert fails(pings, timeout_s=0.5).fault is Fault.TIMEOUT


def test_a_server_that_knows_no_top_level_cache_field() -> None:
    refused = Raw.json({"error": {"message": "cache_control: Extra inputs are not permitted"}}, 400)
    _, reply, server = run(refused, "ok")
    assert reply.text == "ok"
    assert "cache_control" not in json.dumps(server.requests[1])


def test_unstreamed_answers() -> None:
    body = {
        "content": [
            {"type": "text", "text": "hi"},
            {"type": "tool_use", "id": "t", "name": "get_x", "input": {}},
        ],
        "stop_reason": "tool_use",
        "usage": {"input_tokens": 2, "output_tokens": 3},
    }
    shown, reply, _ = run(Raw.json(body))
    assert (shown, len(reply.tool_calls), reply.usage.output) == ("hi", 1, 3)
