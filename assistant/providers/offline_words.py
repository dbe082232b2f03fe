"""Owns what the offline provider understands and says, by language: patterns and text, no logic."""

from __future__ import annotations

import re
from typing import Literal

Language = Literal["en", "zh"]

_PATTERNS: tuple[tuple[str, str], ...] = (
    ("help", r"^(?:help|what can you do|\?)[?.! ]*$"),
    ("help", r"^(?:帮助|你能做什么|你会什么)[?？。]*$"),
    ("hello", r"^(?:hi|hello|hey|good (?:morning|evening|afternoon))\b[^\n?]{0,20}$"),
    ("hello", r"^(?:你好|您好|早上好|晚上好|嗨)[^\n?？]{0,6}$"),
    ("thanks", r"^(?:thanks|thank you|thx)\b[^\n?]{0,30}$"),
    ("thanks", r"^(?:谢谢|多谢)[^\n]{0,8}$"),
    ("time", r"\bwhat(?:'s| is) the (?:time|date)\b|\bwhat (?:time|day) is it\b"),
    ("time", r"^(?:现在|请问)?几点|^今天(?:是)?(?:几号|星期几|周几)"),
    (
        "remember",
        r"^(?:please |can you |could you )?(?:remember|note|keep in mind|don'?t forget)"
        r"(?: that|:|,)?\s+(?P<what>(?!when\b|how\b|what\b|who\b)[^?？]+)$",
    ),
    (
        "remember",
        r"^(?:请|帮我|麻烦)?(?:你)?(?:记住|记下|记一下|记得|别忘了)[:：,，]?\s*(?P<what>[^?？]+)$",
    ),
    ("forget", r"^(?:please )?forget(?: about| that)?\s+(?P<what>.+)$"),
    ("forget", r"^(?:请|帮我)?(?:忘掉|忘记|忘了|删除关于)(?P<what>.+)$"),
    (
        "about_me",
        r"\bwhat (?:do|did) you (?:know|remember)(?: about me)?[?.! ]*$"
        r"|\bwho am i\b|\btell me about myself\b",
    ),
    ("about_me", r"(?:知道|记得|了解)(?:关于)?我(?:的)?(?:什么|哪些|多少|吗)|我是谁"),
    ("about_me", r"^你(?:都)?(?:知道|记得)(?:些)?什么[?？]?$"),
    (
        "recent",
        r"\b(?:recent|last|past|earlier) (?:sessions|conversations|chats)\b"
        r"|what did we talk about (?:recently|lately|last time)",
    ),
    ("recent", r"(?:最近|之前)(?:的)?(?:对话|会话|聊天)"),
    (
        "search",
        r"\b(?:what (?:did|have) (?:we|i) (?:say|said|talk(?:ed)?|discuss(?:ed)?|decided?)"
        r"(?: about| on)?|have we (?:talked|spoken) about|did (?:i|we) (?:mention|talk about))"
        r"\s+(?P<what>\S.*)$",
    ),
    ("search", r"^search (?:for |our (?:chats|conversations) for )(?P<what>\S.*)$"),
    (
        "search",
        r"(?:我们|我)(?:之前|以前|上次)?(?:聊过|说过|谈过|讨论过|提过)(?P<what>[^吗么什]+?)"
        r"(?:吗|么|没有)?[?？。]*$",
    ),
    (
        "search",
        r"关于(?P<what>.+?)[,，]?(?:我们|我)(?:之前|以前|上次)?(?:说|聊|谈|讨论|决定)(?:过|了)?什么",
    ),
    ("search", r"^(?:搜索|查找|找一下)(?P<what>.+)$"),
    ("about", r"\bwhat do you (?:know|remember) about (?P<what>.+?)[?.! ]*$"),
    ("about", r"(?:关于|对)(?P<what>.+?)[,，]?你(?:都)?(?:知道|记得|了解)(?:些)?(?:什么|多少)"),
    (
        "skills",
        r"^(?:list|show|what)(?: me)?(?: are)?(?: all)?(?: (?:my|your|the))? skills"
        r"(?: do you have| are there)?[?.! ]*$",
    ),
    ("skills", r"^(?:你)?(?:有|会)?(?:哪些|什么)技能[?？]*$|^(?:列出|显示)(?:所有)?技能$"),
    (
        "skill",
        r"^(?:please )?(?:use|show|open|load)(?: me)?(?: the)? skill `?(?P<what>[a-z0-9][a-z0-9-]*)`?[.! ]*$",
    ),
    ("skill", r"^(?:使用|显示|打开)技能\s*`?(?P<what>[a-z0-9][a-z0-9-]*)`?$"),
    (
        "skill_for",
        r"^(?:how (?:do|did|can|should) (?:i|we|you) |is there a skill (?:for|to) |find a skill (?:for|to) )"
        r"(?P<what>\S.*?)[?.! ]*$",
    ),
    ("skill_for", r"^(?:怎么|如何)(?P<what>[^?？]+)[?？]*$"),
    ("todo_add", r"^(?:to-?do:?|add to my (?:list|to-?dos?):?)\s+(?P<what>.+)$"),
    ("todo_add", r"^待办[:：]\s*(?P<what>.+)$"),
    (
        "todo_show",
        r"^(?:show|list|what(?:'s| is| are))(?: on)? my (?:to-?dos?|list)(?: list)?[?. ]*$",
    ),
    ("todo_show", r"^(?:我的)?待办(?:事项|清单)?[?？]?$"),
    (
        "read_file",
        r"^(?:read|open|show)(?: me)?(?: the)?(?: file)?\s+`?(?P<what>[\w./~-]+\.\w+)`?$",
    ),
    ("read_file", r"^(?:读|打开|看一下)(?:文件)?\s*(?P<what>[\w./~-]+\.[a-z0-9]+)$"),
    ("list_files", r"^(?:list|show)(?: the)? files(?: (?:in|of) `?(?P<what>[^`]+?)`?)?[.? ]*$"),
    ("list_files", r"^列出(?P<what>)文件$"),
    ("search_files", r"^(?:search|grep)(?: the)? files for `?(?P<what>.+?)`?$"),
    ("fetch_url", r"^(?:fetch|open|read|get|打开|抓取)\s*(?P<what>https?://\S+)$"),
    ("run_command", r"^(?:run|execute|运行|执行)[:：]?\s*`(?P<what>[^`]+)`$"),
    ("run_command", r"^run:\s*(?P<what>.+)$"),
)
INTENTS = tuple((name, re.compile(p, re.IGNORECASE | re.DOTALL)) for name, p in _PATTERNS)
"""What is understood: intent and pattern, the first that matches wins; ``what`` is its object."""

SAY: dict[str, dict[Language, str]] = {
    "introduction": {
        "en": "(Offline: no language model is set up, so I understand plain requests only. "
        "`help` lists them; `reverie setup` connects a model.)",
        "zh": "（离线模式：没有连接语言模型，我只懂简单的请求。"
        "输入“帮助”查看；运行 `reverie setup` 可连接模型。）",
    },
    "help": {
        "en": "You can say, in plain words:\n"
        "- remember that I take my tea without milk\n"
        "- forget that I take my tea without milk\n"
        "- what do you know about me?\n"
        "- what did we say about the garden?\n"
        "- show recent conversations\n"
        "- todo: buy stamps; show my todos\n"
        "- list files; read notes.txt; search files for invoice\n"
        "- fetch https://example.com\n"
        "- run `date`\n"
        "- what skills do you have? use the skill daily-review\n"
        "What you tell me about yourself goes into today's notes.",
        "zh": "可以这样说：\n- 记住我喝茶不加奶\n- 忘掉我喝茶不加奶\n- 你知道我什么？\n- 我们聊过花园吗？\n"
        "- 最近的对话\n- 我的待办\n- 列出文件\n- 打开 https://example.com\n"
        "- 有哪些技能？使用技能 daily-review\n"
        "你告诉我的关于自己的事会写进今天的笔记。",
    },
    "hello": {
        "en": "Hello. What can I keep or find for you? (`help` shows what I understand.)",
        "zh": "你好。要我记住什么，或者找什么？（输入“帮助”看我能做什么。）",
    },
    "welcome": {"en": "You're welcome.", "zh": "不客气。"},
    "time": {"en": "It is {now}.", "zh": "现在是 {now}。"},
    "noted": {
        "en": "Noted for today: “{text}” Say “remember …” to keep it for good.",
        "zh": "已写进今天的笔记：“{text}”。说“记住……”可以长期保存。",
    },
    "heard": {
        "en": "I have heard that; it stays in our conversations, where I can find it. "
        "Say “remember …” to keep it for good.",
        "zh": "听到了，它会留在我们的对话里，可以查到。说“记住……”可以长期保存。",
    },
    "stored": {"en": "Stored in {file}: “{text}”", "zh": "已存入 {file}：“{text}”"},
    "replaced": {
        "en": "Stored: “{new}”, in place of “{old}”. The old one stays in `reverie memory history`.",
        "zh": "已存入：“{new}”，取代“{old}”。旧的可用 `reverie memory history` 查看。",
    },
    "known": {"en": "I know that already: “{text}”", "zh": "这个我已经知道：“{text}”"},
    "not_stored": {"en": "I did not store it. {why}", "zh": "没有存下来。{why}"},
    "forgotten": {
        "en": "Removed from memory: “{text}” It still stands in notes and conversations; "
        '`reverie forget "{text}"` removes it everywhere.',
        "zh": '已从记忆中删除：“{text}”。笔记和对话里还有；运行 `reverie forget "{text}"` 可彻底删除。',
    },
    "forgotten_everywhere": {
        "en": "Forgotten: no byte of your home holds it any more.",
        "zh": "已忘掉：你的资料里不再有任何痕迹。",
    },
    "not_forgotten": {"en": "I could not remove it. {why}", "zh": "没能删除。{why}"},
    "nothing_to_forget": {
        "en": "Nothing in memory is about “{what}”.",
        "zh": "记忆里没有关于“{what}”的内容。",
    },
    "know": {
        "en": "What I know of you:",
        "zh": "我知道的：",
    },
    "know_nothing": {
        "en": "I know nothing about you yet. Tell me something, or say “remember …”.",
        "zh": "我还不了解你。告诉我一些事，或者说“记住……”。",
    },
    "note": {"en": "notes of {day}", "zh": "{day} 的笔记"},
    "found": {"en": "This is what I have:", "zh": "我找到这些："},
    "found_nothing": {
        "en": "I found nothing about “{what}” in memory or past conversations.",
        "zh": "在记忆和以往的对话里没有找到“{what}”。",
    },
    "said": {"en": "From our conversations:", "zh": "我们说过："},
    "sessions": {"en": "Recent conversations:", "zh": "最近的对话："},
    "skill_called": {
        "en": "Without a model I can show how it is done, not do it:",
        "zh": "没有语言模型，我只能说明怎么做，不能替你做：",
    },
    "failed": {"en": "That did not work: {why}", "zh": "没有成功：{why}"},
    "unknown": {
        "en": "I did not understand that. `help` shows what I understand without a model; "
        "`reverie setup` connects one.",
        "zh": "我没听懂。输入“帮助”看我能做什么；运行 `reverie setup` 可连接语言模型。",
    },
}
