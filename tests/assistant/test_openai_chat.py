"""The OpenAI chat wire, through the real SDK against a server on loopback."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from assistant.errors import Fault, ProviderError
from assistant.providers.base import Delta, Reply, Request, ToolSpec, clean_part
from assistant.providers.openai_chat import OpenAIChat
from memory.transcript import Message, ToolCall
from tests.support.servers import ModelServer, Raw, openai_chunk

NOW = datetime(2026, 11, 30, tzinfo=UTC)
TOOL = ToolSpec(name="get_x", description="d", parameters={"type": "object", "properties": {}})


def said(text: str, context: str = "") -> Message:
    return Message(role="user", text=text, created=NOW, context=context)


def run(
    *replies: Any, messages: list[Message] | None = None, timeout_s: float = 5, **more: Any
) -> tuple[str, Reply, ModelServer]:
    """Return the shown text, the reply, and the server with what it was sent."""
    with ModelServer(replies) as server:
        provider = OpenAIChat("m", api_key="k", base_url=f"{server.origin}/v1", timeout_s=timeout_s)
        request = Request(system="sys", messages=messages or [said("hi")], tools=[TOOL], **more)
        shown, reply = "", None
        for part in map(clean_part, provider.stream(request)):
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
    shown, reply, server = run("Hello 世界 🙂", temperature=0.5)
    assert shown == reply.text == "Hello 世界 🙂"
    assert (reply.stop, reply.usage.input, reply.usage.output) == ("end", 11, 7)
    body = server.requests[0]
    assert body["messages"] == [
        {"role": "system", "content": "sys"},
        {"role": "user", "content": "hi"},
    ]
    assert (body["stream"], body["temperature"], body["max_tokens"]) == (True, 0.5, 8192)
    assert body["tools"][0]["function"]["name"] == "get_x"


def call_chunks(*calls: dict[str, Any]) -> list[Any]:
    return [openai_chunk({"tool_calls": [call]}) for call in calls]


QUIRKS: dict[str, list[Any]] = {
    "id in the first delta only": call_chunks(
        {"index": 0, "id": "a", "function": {"name": "get_x", "arguments": ""}},
        {"index": 0, "function": {"arguments": '{"n":'}},
        {"index": 0, "function": {"arguments": "1}"}},
        {"index": 1, "id": "b", "function": {"name": "get_x", "arguments": '{"n":2}'}},
    ),
    "no index, whole calls": call_chunks(
        {"id": "a", "function": {"name": "get_x", "arguments": '{"n":1}'}},
        {"id": "b", "function": {"name": "get_x", "arguments": '{"n":2}'}},
    ),
    "no index, no id": call_chunks(
        {"function": {"name": "get_x", "arguments": '{"n":1}'}},
        {"function": {"name": "get_x", "arguments": '{"n":2}'}},
    ),
    "index starting at 1": call_chunks(
        {"index": 1, "id": "a", "function": {"name": "get_x", "arguments": '{"n":1}'}},
        {"index": 2, "id": "b", "function": {"name": "get_x", "arguments": '{"n":2}'}},
    ),
    "name repeated or empty in later deltas": call_chunks(
        {"index": 0, "id": "a", "function": {"name": "get_x", "arguments": '{"n"'}},
        {"index": 0, "id": "", "function": {"name": "", "arguments": ":1}"}},
        {"index": 1, "id": "b", "function": {"name": "get_x", "arguments": '{"n":'}},
        {"index": 1, "id": "b", "function": {"name": "get_x", "arguments": "2}"}},
    ),
    "all index 0, other ids": call_chunks(
        {"index": 0, "id": "a", "function": {"name": "get_x", "arguments": '{"n":1}'}},
        {"index": 0, "id": "b", "function": {"name": "get_x", "arguments": '{"n":2}'}},
    ),
    "one id for both": call_chunks(
        {"index": 0, "id": "a", "function": {"name": "get_x", "arguments": '{"n":1}'}},
        {"index": 1, "id": "a", "function": {"name": "get_x", "arguments": '{"n":2}'}},
    ),
    "both in one delta, arguments as an object": [
        openai_chunk(
            {
                "tool_calls": [
                    {"id": "a", "function": {"name": "get_x", "arguments": {"n": 1}}},
                    {"id": "b", "function": {"name": "get_x", "arguments": {"n": 2}}},
                ]
            }
        )
    ],
}


@pytest.mark.parametrize("quirk", QUIRKS)
@pytest.mark.parametrize("finish", ["tool_calls", "stop", ""])
def test_two_tool_calls_arrive_as_two(quirk: str, finish: str) -> None:
    _, reply, _ = run(Raw.sse(*QUIRKS[quirk], openai_chunk({}, finish)))
    assert [json.loads(c.arguments) for c in reply.tool_calls] == [{"n": 1}, {"n": 2}]
    assert len({c.id for c in reply.tool_calls}) == 2
    assert reply.stop == "tool_calls"


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        ("", {}),
        ("null", {}),
        ('{"a": 1,}', {"a": 1}),
        ("{'a': True, 'b': None}", {"a": True, "b": None}),
        ('```json\n{"a": 1}\n```', {"a": 1}),
        ('"{\\"a\\": 1}"', {"a": 1}),
    ],
)
def test_arguments_are_mended(raw: str, value: dict[str, Any]) -> None:
    _, reply, _ = run({"tool_calls": [{"name": "get_x", "arguments": raw}]})
    assert json.loads(reply.tool_calls[0].arguments) == value


@pytest.mark.parametrize("raw", ['{"a": ', "[1]", "plain text", '{"a": 1} trailing {'])
def test_half_arguments_are_an_error_and_still_valid_json(raw: str) -> None:
    _, reply, _ = run({"tool_calls": [{"name": "get_x", "arguments": raw}]})
    assert json.loads(reply.tool_calls[0].arguments) == {"__malformed__": raw}


def test_odd_chunks_do_no_harm() -> None:
    odd = [
        {**openai_chunk({}), "choices": [], "prompt_filter_results": []},
        openai_chunk({"role": "assistant"}),
        openai_chunk(None),
        openai_chunk({"content": None}),
        openai_chunk({"content": "ok"}, ""),
        {**openai_chunk({}), "choices": None},
        openai_chunk({}, "stop"),
        {
            **openai_chunk({}),
            "choices": [],
            "usage": {"prompt_tokens": 5, "completion_tokens": None},
        },
    ]
    shown, reply, _ = run(Raw.sse(*odd))
    assert shown == reply.text == "ok"
    assert reply.usage.input == 5


def test_comments_crlf_and_split_characters() -> None:
    body = ": PROCESSING\r\n\r\ndata: " + json.dumps(
        openai_chunk({"content": "你好 🙂"}), ensure_ascii=False
    )
    body += (
        "\r\n\r\n: again\r\n\r\ndata: "
        + json.dumps(openai_chunk({}, "stop"))
        + "\r\n\r\ndata: [DONE]\r\n\r\n"
    )
    raw = body.encode()
    shown, _, _ = run(Raw(chunks=tuple(raw[i : i + 7] for i in range(0, len(raw), 7))))
    assert shown == "你好 🙂"


@pytest.mark.parametrize(
    ("reply", "fault"),
    [
        (
            Raw.sse(
                openai_chunk({"content": "a"}),
                {"error": {"code": 502, "message": "bad"}, "choices": []},
            ),
            Fault.SERVER,
        ),
        (
            Raw.sse({"error": {"code": 502, "message": "bad gateway"}, "choices": []}, done=False),
            Fault.SERVER,
        ),
        (Raw.sse({"error": {"message": "Rate limit reached"}, "choices": []}), Fault.RATE_LIMIT),
        (Raw.json({"error": {"code": 429, "message": "slow down"}}), Fault.RATE_LIMIT),
        (Raw.json({"choices": None}), Fault.SERVER),
        (Raw(chunks=(b"<html><body>proxy login</body></html>",), kind="text/html"), Fault.SERVER),
        (Raw.json({"error": {"message": "bad key"}}, 401), Fault.AUTH),
        (Raw.json({"error": {"message": "no money"}}, 402), Fault.QUOTA),
        (Raw.json({"error": {"message": "model 'x' not found"}}, 404), Fault.MODEL),
        (Raw.json({"error": {"message": "try later"}}, 429, retry_after="7"), Fault.RATE_LIMIT),
        (Raw.json({"error": {"message": "limit", "resets_in_seconds": 30995}}, 429), Fault.QUOTA),
        (
            Raw.json({"error": {"code": "insufficient_quota", "message": "exceeded"}}, 429),
            Fault.QUOTA,
        ),
        (Raw.json({"error": {"message": "capacity"}}, 503), Fault.OVERLOADED),
        (Raw.json({"error": {"message": "oops"}}, 500), Fault.SERVER),
        (
            Raw.json(
                {"error": {"message": "This model's maximum context length is 4096 tokens"}}, 400
            ),
            Fault.OVERFLOW,
        ),
        (
            Raw.json({"error": "auto tool choice requires --enable-auto-tool-choice"}, 400),
            Fault.TOOLS,
        ),
        (
            Raw.json({"detail": "Conversation roles must alternate user/assistant"}, 500),
            Fault.HISTORY,
        ),
        (Raw.sse(openai_chunk({}, "content_filter")), Fault.FILTERED),
        (Raw.sse(openai_chunk({"content": "  "}), openai_chunk({}, "stop")), Fault.EMPTY),
        (Raw.sse(openai_chunk({"reasoning_content": "hm"}), openai_chunk({}, "stop")), Fault.EMPTY),
        (
            Raw.sse(openai_chunk({"content": "<think>only this"}), openai_chunk({}, "stop")),
            Fault.EMPTY,
        ),
        (Raw.sse(openai_chunk({"content": "half"}), done=False), Fault.CUT),
    ],
)
def test_failures_are_told_apart(reply: Raw, fault: Fault) -> None:
    assert fails(reply).fault is fault


def test_the_wait_that_a_server_asks_for_is_read() -> None:
    assert fails(Raw.json({"error": {}}, 429, retry_after="7")).retry_after == 7
    date = Raw.json({"error": {}}, 429, retry_after="Wed, 21 Oct 2015 07:28:00 GMT")
    assert fails(date).retry_after == 0
    assert "8.6 h" in str(fails(Raw.json({"error": {"resets_in_seconds": 30995}}, 429)))


def test_a_server_that_is_not_there() -> None:
    provider = OpenAIChat("m", api_key="k", base_url="http://127.0.0.1:9/v1", timeout_s=2)
    with pytest.raises(ProviderError) as caught:
        list(provider.stream(Request(system="", messages=[said("hi")])))
    assert caught.value.fault is Fault.CONNECTION


def test_silence_and_keep_alives_end_in_a_time_out() -> None:
    silent = Raw(chunks=(b"", b"x"), pause_s=3)
    assert fails(silent, timeout_s=0.4).fault is Fault.TIMEOUT
    keep_alives = Raw(chunks=(b": ping\n\n",) * 40, pause_s=0.1)
    assert fails(keep_alives, timeout_s=0.5).fault is Fault.TIMEOUT


def refusal(message: str) -> Raw:
    return Raw.json({"error": {"message": message, "type": "invalid_request_error"}}, 400)


def test_parameters_are_adapted_once_and_remembered() -> None:
    no_max = refusal("Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.")
    no_temperature = refusal("Unsupported value: 'temperature' only the default (1) is supported.")
    with ModelServer([no_max, no_temperature, "ok"]) as server:
        provider = OpenAIChat("m", api_key="k", base_url=f"{server.origin}/v1", timeout_s=5)
        for _ in range(2):
            request = Request(system="", messages=[said("hi")], temperature=0.2)
            assert [p.text for p in provider.stream(request) if isinstance(p, Reply)] == ["ok"]
        assert len(server.requests) == 4
        assert "max_completion_tokens" in server.requests[3]
        assert not {"max_tokens", "temperature"} & set(server.requests[3])


def test_a_refused_parameter_is_no_endless_loop() -> None:
    assert fails(refusal("Unsupported parameter: 'frobnication'")).fault is Fault.PARAMETER
    assert (
        fails(refusal("temperature must be 1; temperature is not supported")).fault
        is Fault.PARAMETER
    )


def test_reasoning_goes_back_with_the_tool_calls_of_the_same_provider() -> None:
    chunks = [
        openai_chunk({"reasoning_content": "let me "}),
        openai_chunk({"reasoning_content": "see"}),
        *QUIRKS["no index, whole calls"],
        openai_chunk({}, "tool_calls"),
    ]
    _, reply, _ = run(Raw.sse(*chunks))
    assert reply.thinking == ({"field": "reasoning_content", "text": "let me see"},)

    def history(provider: str) -> list[Message]:
        return [
            said("hi"),
            Message(
                role="assistant",
                text="",
                created=NOW,
                tool_calls=reply.tool_calls,
                thinking=reply.thinking,
                provider=provider,
            ),
            *[Message(role="tool", text="", created=NOW, call_id=c.id) for c in reply.tool_calls],
        ]

    _, _, server = run("ok", messages=history("openai:m"))
    assert server.requests[0]["messages"][2]["reasoning_content"] == "let me see"
    assert [m["content"] for m in server.requests[0]["messages"][3:]] == ["(no output)"] * 2
    _, _, server = run("ok", messages=history("anthropic:other"))
    assert "reasoning_content" not in server.requests[0]["messages"][2]


def test_think_tags_are_no_answer_even_when_cut_in_two() -> None:
    pieces = ["<th", "ink>secret ", "plan</th", "ink>\n\nThe answer", " <think>quoted</think>"]
    shown, reply, _ = run(
        Raw.sse(*[openai_chunk({"content": p}) for p in pieces], openai_chunk({}, "stop"))
    )
    assert shown == reply.text == "The answer <think>quoted</think>"


@pytest.mark.parametrize(
    "text",
    [
        '<tool_call>\n{"name": "get_x", "arguments": {"n": 1}}\n</tool_call>',
        'get_x[ARGS]{"n": 1}',
        "<|tool_call_start|>[get_x(n=1)]<|tool_call_end|>",
        '[TOOL_CALLS] [{"name": "get_x", "arguments": {"n": 1}}]',
    ],
)
def test_a_leaked_call_is_a_call_and_never_shown(text: str) -> None:
    chunks = [openai_chunk({"content": text[i : i + 5]}) for i in range(0, len(text), 5)]
    shown, reply, _ = run(Raw.sse(*chunks, openai_chunk({}, "stop")))
    assert (shown, reply.text) == ("", "")
    assert [json.loads(c.arguments) for c in reply.tool_calls] == [{"n": 1}]


@pytest.mark.parametrize(
    "text",
    [
        'The syntax is <tool_call>{"name": "get_x", "arguments": {}}</tool_call>.',
        '<tool_call>{"name": "unknown_tool", "arguments": {}}</tool_call>',
        "get_x returns a list",
        "[x] is ticked",
    ],
)
def test_a_quoted_call_stays_text(text: str) -> None:
    shown, reply, _ = run(text)
    assert (shown, reply.text, reply.tool_calls) == (text, text, ())


def test_half_a_call_of_a_cut_answer_does_not_run() -> None:
    chunks = [
        openai_chunk({"content": "I will"}),
        *QUIRKS["no index, no id"],
        openai_chunk({}, "length"),
    ]
    _, reply, _ = run(Raw.sse(*chunks))
    assert (reply.stop, reply.tool_calls) == ("length", ())


def test_an_unstreamed_answer_is_an_answer() -> None:
    whole = {
        "choices": [
            {
                "message": {
                    "role": "assistant",
                    "content": "hello",
                    "tool_calls": [{"id": "a", "function": {"name": "get_x", "arguments": "{}"}}],
                },
                "finish_reason": "tool_calls",
            }
        ],
        "usage": {"prompt_tokens": 3, "completion_tokens": 2},
    }
    shown, reply, _ = run(Raw.json(whole))
    assert (shown, len(reply.tool_calls), reply.usage.input) == ("hello", 1, 3)


def strict(body: dict[str, Any]) -> None:
    """What the strictest chat templates and gateways demand."""
    roles = [message["role"] for message in body["messages"]]
    assert "system" not in roles[1:]
    rest = body["messages"][1:] if roles[0] == "system" else body["messages"]
    assert rest[0]["role"] == "user"
    open_ids: list[str] = []
    for before, message in zip([None, *rest], rest, strict=False):
        if message["role"] == "tool":
            assert message["tool_call_id"] == open_ids.pop(0)
            continue
        assert not open_ids
        assert before is None or before["role"] == "tool" or before["role"] != message["role"]
        for call in message.get("tool_calls", []):
            json.loads(call["function"]["arguments"])
            assert len(call["id"]) <= 40
            open_ids.append(call["id"])
        assert message["content"] or message.get("tool_calls")
    assert not open_ids


MESSY: list[Callable[[], list[Message]]] = [
    lambda: [said("a"), said("b")],
    lambda: [said(""), said("   ")],
    lambda: [said("a"), Message(role="assistant", text="", created=NOW), said("b")],
    lambda: [
        said("a"),
        Message(
            role="assistant",
            text="",
            created=NOW,
            tool_calls=(
                ToolCall(id="x" * 90, name="get_x", arguments="{}"),
                ToolCall(id="y/1", name="get_x", arguments="{}"),
            ),
        ),
        Message(role="tool", text="", created=NOW, call_id="y/1"),
        said("b"),
    ],
    lambda: [said("a"), Message(role="tool", text="orphan", created=NOW, call_id="z"), said("b")],
]


@pytest.mark.parametrize("messages", MESSY)
def test_every_history_is_legal_on_the_wire(messages: Callable[[], list[Message]]) -> None:
    _, _, server = run("ok", messages=messages())
    strict(server.requests[0])


def test_text_is_clean_on_both_sides() -> None:
    shown, _, _ = run(
        Raw(
            chunks=(
                b'data: {"choices":[{"delta":{"content":"a\\ud835b\\u0000c\\u001b[31md"}}]}\n\n',
                b'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n',
            )
        )
    )
    assert shown == "a\ufffdb\ufffdcd"


def test_closing_the_stream_ends_the_connection() -> None:
    slow = Raw(
        chunks=tuple(
            f"data: {json.dumps(openai_chunk({'content': str(n)}))}\n\n".encode()
            for n in range(100)
        ),
        pause_s=0.05,
    )
    with ModelServer([slow]) as server:
        provider = OpenAIChat("m", api_key="k", base_url=f"{server.origin}/v1", timeout_s=5)
        stream = provider.stream(Request(system="", messages=[said("hi")]))
        assert isinstance(next(stream), Delta)
        stream.close()
