"""Owns the words by which grammar tells use from mention: patterns, no logic."""

from __future__ import annotations

import re

NEGATION = re.compile(
    r"(?:\b(?:never|avoid(?:ing)?|refus(?:e|es|ed|ing)(?: to)?|instead of|rather than|prevent\w{0,3}|block\w{0,3}|reject\w{0,3}"
    r"|forbid\w{0,4}|prohibit\w{0,3}|stop\w{0,4}|disallow\w{0,3}|nunca|jamás|jamais|niemals|nie|evita\w{0,3}|vermeide\w{0,2}"
    r"|никогда|не)\b|\b(?:do|does|must|should|can|could|will|shall|may|is|are)(?: \*{0,2}not\b|n['’]t\b|not\b)"
    r"|\b(?:don|doesn|mustn|shouldn|can)['’]?t\b|\b(?:nicht|kein\w{0,2}|no|ne|non)\s|不要|切勿|禁止|请勿|避免|不得|不能|別|别|ないで|しない)",
    re.IGNORECASE,
)
NO_NEGATION = re.compile(
    r"^\W{0,4}(?:skip|forget|omit|miss|hesitate|fail|ask|wait|worry|stop|tell|mention|inform|show|warn|question|only|just"
    r"|be afraid|matter|problem|need|longer|olvid\w+|vergess\w*|oubli\w+|跳过|忘记|忘|犹豫)",
    re.IGNORECASE,
)
STATED_NOT = re.compile(
    r"no|non|ne|(?:can|could|will|may|is|are|does)(?: not|not|n['’]t)|(?:can|doesn)['’]?t",
    re.IGNORECASE,
)
"""A negation that states something; an order not to do a thing reaches further."""
CANCEL = re.compile(
    r"\b(?:so|then|now|first|instead|always|just|still)\b[^.!?\n]{0,30}\b(?:run|execute|paste|do|install|apply)s? (?:it|this|them|that)\b"
    r"|\b(?:run|execute|paste) (?:it|this|them|that|the (?:command|line|script|block))s?\b[^.!?\n]{0,40}\b(?:first|now|anyway|before|silently|at once|so that|to see)\b"
    r"|\b(?:assistant|agent|model|you)\b[^.!?\n]{0,20}\b(?:now |then |must |should |will )+(?:run|execute)s?\b|\bexecutes? it\b",
    re.IGNORECASE,
)
IF_ASKED = re.compile(
    r"\b(?:if|when|whenever|asks?|asked|asking|tells?|told|attempts?|attempting|tries|trying|claims?|instructs?|instructed|wants?|request\w*|says?|try)\b"
    r"[^.]{0,40}\b(?:to|that|like)\W{0,3}$|\b(?:if|when|whenever)\b[^.]{0,40}\b(?:writes?|says?|types?|sends?|contains?|reads?|claims?)\b\W{0,4}$|如果[^。]{0,20}$|要求[^。]{0,8}$",
    re.IGNORECASE,
)
TEXT_LINE = re.compile(r"^\s{0,40}(?:(?:#|//|--|\*|-|\d{1,3}[.)])\s|[A-Z][a-z]+ [a-z]+ )")
"""A comment, an item, a sentence: words within code."""
BAD = re.compile(
    r"(?:\b(?:bad|wrong|unsafe|insecure|vulnerable|dangerous|malicious|incorrect|anti-?patterns?|not like this|not this|do(?:n['’]t| not)|never"
    r"|avoid|forbidden|attack(?:s|er|ers)?|exploit|refuse|reject|red flags?|malo|mal|schlecht|falsch|mauvais)\b|❌|✗|🚫|⛔|错误|反例|不要|禁止|悪い例)",
    re.IGNORECASE,
)
BAD_MARK = re.compile(
    r"^\W{0,12}(?:bad|wrong|unsafe|insecure|vulnerable|incorrect|dangerous|malicious)(?: (?:example|pattern|practice|code|way|version|usage"
    r"|approach|idea|input)s?)?\s{0,2}(?:[:—–(,.*-]|$)|\banti-?patterns?\b"
    r"|^\W{0,12}(?:please )?(?:don['’]?t|do \*{0,2}not\*{0,2}|never|avoid|not)(?: (?:do|use|run|write|copy|like|ever|this|that|the following|these|so|execute|paste|pipe|it)\b){1,4}"
    r"|^\W{0,12}(?:don['’]?t|do not|avoid|never|not this)\s{0,2}[:—–.-]{0,2}\s{0,2}$"
    r"|❌|✗|🚫|⛔|错误(?:示例|做法|写法|用法|：|:)|反例|不要这样|悪い例",
    re.IGNORECASE,
)
"""A mark that what follows is an example of what not to do."""
ORDER_NOT = re.compile(
    r"(?:^|[.!?:;,]\s|\b(?:you|we|please|must|should)\s)\W{0,4}(?:never|do \*{0,2}not\*{0,2}|don['’]t|avoid|refrain from|must not|should not|must never)\s"
    r"(?:\w+\s){0,3}?(?:run|do|use|pipe|piping|running|using|execute|executing|write|paste|pasting|copy|copying|type|enter|call|install|like)\b"
    r"|(?:不要|切勿|请勿|禁止)(?:运行|执行|使用|这样|复制|粘贴)",
    re.IGNORECASE,
)
"""An order not to do a thing; "so that it does not stall" is none."""
ATTACK = re.compile(
    r"\b(?:attack(?:s|er|ers|ed)?|injections?|injected|jailbreaks?|malicious|adversar\w{0,5}|phishing|suspicious|untrusted|hostile"
    r"|refuse|red flags?|indicators?|signatures?|payloads?|exploits?|threats?|detect\w{0,5}|flag(?:s|ged)?|report (?:it|them|such)"
    r"|treat (?:it|them|such|this)[^.]{0,30} as data|is data|are data|ataques?|inyecci[oó]n|angriff\w{0,3}|attaque\w{0,2}|инъекци\w{0,2}|атак\w{0,2})\b"
    r"|\b(?:findings? of|usual suspects|engaño\w*|sospechos\w+|fraude\w*|trampas?|fallen|betrüg\w*|verdächtig\w*|gemeldet|nicht befolgt|frauduleux"
    r"|pièges?|suspect(?:e|es|s)?|мошенн\w+|подозрительн\w+)\b|紛れ|従うべき指示ではありません|実行しないで|詐欺|骗局|诈骗"
    r"|攻击|注入|恶意|可疑|攻撃|注入攻撃|インジェクション|不審",
    re.IGNORECASE,
)
OBEY = re.compile(
    r"\b(?:obey|follow|do (?:what|as) (?:it|they)|comply|carry (?:it|them) out)\b", re.IGNORECASE
)
REFUSED = re.compile(
    r"\b(?:refuse|never|not|don['’]t|n['’]t)\b[^.]{0,20}\b(?:obey|follow|comply|carry)",
    re.IGNORECASE,
)
RISK_TABLE = re.compile(
    r"pattern|risk|indicator|attack|threat|smell|danger|vulnerab|finding|signature|bad|unsafe|flag|avoid|anti|severity|issue|weakness"
    r"|meaning|example of|why|engaño|sospech|ejemplo|beispiel|falle|betrug|piège|exemple|例|詐欺|风险|攻击|指标|模式|含义|危険",
    re.IGNORECASE,
)
STEPS = re.compile(r"\b(?:commands?|run|steps?|execute|do|how)\b|命令|步骤", re.IGNORECASE)
"""The header of a table that tells what to run."""
IMPERATIVE = re.compile(
    r"\b(?:run(?:ning)?|execut\w{1,3}|paste|type|enter|use|start|launch|call|issue|begin|append|add|put|install\w{0,3}|apply|with|via|then|first"
    r"|ejecuta|führe?|exécute\w{0,2}|запусти\w{0,2})\b|运行|执行|输入|粘贴|実行",
    re.IGNORECASE,
)
SEARCHES = re.compile(
    r"(?:^|[|;&(`]\s{0,3})(?:git )?(?:grep|egrep|rg|ag|ack|findstr|select-string|yara|semgrep)\b|\bre\.(?:compile|search|match|findall)\("
    r"|\bnew RegExp\(|^\s{0,40}(?:assert|expect)\b"
    r"|\b(?:CommandLine|ScriptBlock\w*|ProcessCommandLine|EventID|sourcetype|index)\s{0,2}(?:=|contains|has|matches|in\b|\bLIKE)"
    r"|\b(?:ascii nocase|nocase ascii|has_any|matches regex|=~)\b",
    re.IGNORECASE,
)
"""What begins a search for a thing, so that the thing itself is not done."""
QUERY = re.compile(
    r"\b(?:CommandLine|ScriptBlockText|ProcessCommandLine|DeviceProcessEvents)\b|\|\s{0,3}where\s+match\(|\bascii nocase\b|\bnocase\b"
)
"""Queries of log systems, YARA rules: a line of them does nothing."""
STRINGS = re.compile(
    r"^\s{0,40}(?:const |let |var )?[\w.]{0,30}(?:patterns?|regex(?:es)?|signatures?|blocklist|denylist|forbidden|dangerous|suspicious)\w{0,20}\s{0,3}[=:\[(]"
    r"|^\s{0,40}[\[({]{0,2}\s{0,4}r?(['\"`])(?:(?!\1)[^\n]){1,200}\1(?:\s{0,4}[,:]\s{0,4}r?(['\"`])(?:(?!\2)[^\n]){0,200}\2){0,30}"
    r"\s{0,4}[\])}]{0,2},?\s{0,4}(?:#.{0,120})?$|^\s{0,40}\(?r['\"]",
    re.IGNORECASE,
)
"""Lists of strings: what is looked for more often than what is done."""
SHOWS_ATTACK = re.compile(
    r"\b(?:indicators? of compromise|iocs?|detect(?:ion|ing)|threat hunt\w*|attack (?:chains?|patterns?|examples?|scenarios?|vectors?|techniques?)"
    r"|payloads?|exploit\w*|vulnerable (?:code|patterns?|examples?|to)|penetration|red team\w*|forensic\w*|malware analysis)\b",
    re.IGNORECASE,
)
AFTER_NOT = re.compile(
    r"^(?:\s{0,2}(?:or|and|,|/|oder|und|或)\s{0,2}`[^`\n]{0,160}`){0,4}\s{0,3}(?:[–—:,;-]|\(|\bis\b)?\s{0,3}(?:never\b|not\b|don['’]?t\b|do not\b|no[,!.]|dangerous\b|unsafe\b|不要|切勿)",
    re.IGNORECASE,
)
"""What follows a thing that is not to be done: "`rm -rf /` – never"."""
WOULD = re.compile(
    r"\bwould\b[^.]{0,24}\b(?:accept|run|execute|allow|evaluate|let|match)\b", re.IGNORECASE
)
CASES = re.compile(
    r"^\s{0,40}(?!\w*(?:args|cmds?|commands?)\b)(?:[A-Z][A-Z0-9_]{1,40}|[a-z_]{2,40}s)\s{0,3}(?::[^=\n]{0,40})?=\s{0,3}[\[({]\s{0,3}['\"]"
)
"""A named list of strings, the inputs where a test stands around it; the list of a command is none."""
TESTS = re.compile(r"\b(?:expect|assert\w*|test|it|describe)\(|\bparametrize\b|\bassert\b")
"""A block of tests: its strings are inputs that must be refused."""
LISTED_QUOTES = re.compile(
    r"(?:[\"“„«「‘][^\"”“»」’\n]{1,160}[\"”“»」’]\s{0,2}(?:,|、|，|or|and|oder|und|ou|et|o|y|или|または|や|或者?|和)+\s{0,2}(?:or |and |oder )?){1,6}"
    r"(?=[\"“„«「‘]?$)"
)
"""What stands between a verb of saying and the last of several quotations: says "a", "b" or "c"."""
NOT_FOLLOWED = re.compile(
    r"^[^.!?。]{0,100}(?:\b(?:do(?:es)? not|don['’]t|never|must not|should not)\b[^.]{0,24}\b(?:follow|obey|comply|act on|carry)"
    r"|\b(?:folge|befolge|führe?)\b[^.]{0,24}\bnicht\b|\bnicht\b[^.]{0,16}\b(?:folgen|befolgen|ausführen|beachten)"
    r"|\bno\b[^.]{0,16}\b(?:obede\w+|sigas?|sigue)|\bne\b[^.]{0,16}\b(?:suis|suivez|obéi\w+)\b[^.]{0,8}\bpas\b|не\s+(?:следуй|выполня)\w*"
    r"|(?:不要|别|不得|切勿)[^。]{0,8}(?:照做|执行|遵从|理会|遵守)|(?:従わない|従ってはいけ|実行しない|従わず))",
    re.IGNORECASE,
)
"""What follows a quotation that is not to be obeyed."""
SUBJECT = re.compile(
    r"\b(?:attackers?|adversar(?:y|ies)|malicious (?:users?|actors?|text|content|instructions?|inputs?)|injected (?:text|content|instructions?)|an attack)\b"
    r"[^.:!?\"]{0,90}\b(?:to|could|can|may|might|would|will|that|which|where|tries|attempt\w*|try|embed\w*|craft\w*|uses?|used)\b[^.:\"]{0,40}$",
    re.IGNORECASE,
)
