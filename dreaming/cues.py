"""Owns the words by which a night tells a lasting statement from the rest: patterns, no logic."""

from __future__ import annotations

import re

from memory.patterns import Pattern


def _any(*parts: str) -> Pattern:
    return Pattern("|".join(f"(?:{part})" for part in parts), re.IGNORECASE)


NO_STATEMENT: tuple[tuple[str, Pattern], ...] = (
    (
        "a command",
        _any(
            r"^\s*(?:[$>#]|>>>|PS>)\s*\w",
            r"^\s*`?(?:sudo|git|cd|ls|rm|cp|mv|cat|grep|curl|wget|ssh|scp|npm|npx|yarn|pip3?|uv|docker|kubectl|make|pytest|python3?|node|apt(?:-get)?|brew"
            r"|chmod|chown|systemctl|psql|tar|export|echo|source|rsync|find|sed|awk|tail|kill|ping|crontab|journalctl)\s+(?:[-+]{1,2}\w|\.{0,2}/|[\w./:@-]+(?:\s|$|/|\.))(?!.*\b(?:is|are|was|does|needs?|should|before|only)\b)",
            r"\s&&\s|\|\|\s|\s\|\s*(?:grep|head|tail|wc|sort|xargs|sh|bash)\b|2>&1|\s>\s?/",
            r"^\s*(?:SELECT|INSERT INTO|UPDATE|DELETE FROM|DROP|CREATE TABLE|ALTER TABLE)\s",
        ),
    ),
    (
        "a heading without a body",
        _any(
            r"^\s*#{1,6}(?:\s|$)",
            r"^[^.。!?！？,，]{1,40}[:：]\s*$",
            r"^\s*(?:\*\*|__)[^*_]{1,40}(?:\*\*|__):?\s*$",
            r"^(?:decisions?|notes?|summary|todo|agenda|ideas?|misc|open questions?|follow.?ups?|action items?|next steps?|meeting notes?|决定|待办|总结|备注|议程|会议纪要|想法)\s*[:：]?$",
        ),
    ),
    (
        "a transcript",
        _any(
            r"^\s*[\[*\"“(]*(?:assistant|user|human|ai|bot|system|agent|tool|reverie|助手|用户|系统)[\]*)]*\s*[:：>]",
            r"^\s*(?:as an ai|as your assistant|sure[,!.]|certainly[,!.]|of course[,!.]|here (?:is|are) (?:the|a|your)|i(?:'ve| have) (?:updated|created|added|saved|noted|finished|completed|generated|summari[sz]ed|stored)|let me know if|i'?d be happy to|great question)",
            r"^(?:好的，|当然|没问题，|以下是|这是您|已为您|我已经?(?:为您|帮您)|作为(?:一个)?AI|希望(?:这|对)|如需|还需要我)",
        ),
    ),
    (
        "metadata",
        _any(
            r"\b(?:message|msg|chat|sender|channel|thread|session|user|request|trace|conversation|event)[_ -]?ids?\b\s*[:=#\"]",
            r"\bmessage_id\b|\bsender_\w+|untrusted metadata|conversation info|\[system\b|\bmetadata\b\s*[:{(]",
            r"\(?\bscore\b\s*[:=]?\s*[01]?\.\d+\)?|\b(?:confidence|similarity|relevance|weight|recalls?|avg)\s*[:=]\s*\d|得分\s*[:：]?\s*\d",
            r"^\s*[\[{].*[\]}]\s*$|^\s*<[/!?\w][^>]*>|^\s*\"?\w+\"?\s*:\s*[\[{\"]",
            r"^\s*(?:\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\[?\d\d:\d\d(?::\d\d)?\]?\s)|\b(?:INFO|WARN(?:ING)?|ERROR|DEBUG|FATAL|Traceback|Exception)\b\s*[:\[(]|^\s*\w*(?:Error|Exception)\b:|\bexit (?:code|status)\b|\bHTTP/?\s?\d",
            r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-|\bsha256:|^\s*[0-9a-f]{7,40}\b|^(?:from|to|subject|date|cc|发件人|收件人|主题)\s*[:：]",
        ),
    ),
    (
        "its own output",
        _any(
            r"^\s*(?:dream(?:ing|s)?|rem sleep|light sleep|deep sleep|reflections?|last night i (?:dreamed|dreamt|kept|promoted)|promoted|promotion|candidates?|kept|let go|heartbeat)\b\s*(?:[:：(\d-]|diary|report|entry|phase)",
            r"\b(?:dream diary|dreaming (?:run|phase|report)|long-term memory|memory\.md|user\.md|dreams\.md|heartbeat_ok|no_reply)\b",
            r"^(?:梦境|做梦|梦日记|昨晚我?(?:梦|整理|保留)|已?提升|晋升|候选|保留了\d)|梦境日记|长期记忆",
        ),
    ),
    (
        "half a sentence",
        _any(
            r"^\s*(?:and|or|but|then|because|which|so that|than|with the|to the|of the|as well as|and then)\b(?!.*\b(?:i|my|we|our|always|never)\b)",
            r"\b(?:and|or|but|the|a|an|of|to|with|because|that|which|for|from|in|on|at|is|are|was|if|when|my|our)\s*(?:\.{2,}|…|-|—)?\s*$",
            r"(?:\.{3,}|…|—|-|,|，|、)\s*$|^\s*(?:\.{2,}|…)",
            r"^(?:然后|还有就?是?那|而且|所以就?|但是|以及|和那)[^，。]{0,8}$|(?:的话|因为|所以|但是|然后|而且|如果|跟|和|或者|就是)\s*[.。…]*$",
        ),
    ),
    (
        "a question",
        _any(
            r"[?？]\s*[\"”)]?\s*$",
            r"^(?:what|who|where|why|how|which|when|can|could|would|should|do|does|did|is|are|shall|any(?:one|body)?)\b(?=.*\b(?:i|you|we|it|there|this|that|the)\b)(?!.*(?:,|:|\bmeans\b))",
            r"(?:吗|呢|么)[?？。]?\s*$|^(?:怎么|为什么|能不能|可不可以|要不要|哪里|谁|什么时候|多少)",
        ),
    ),
    (
        "not about what is",
        _any(
            r"\b(?:what if|suppose|supposing|imagine|pretend|hypothetically|if i (?:had|were|was|won|could|ever)|wouldn'?t it be|i wish|would be (?:nice|cool|fun|great)|one day i(?:'ll| will)|some ?day|maybe (?:i|we)(?:'ll| should| could)?|(?:i|we|he|she|they) (?:might|may|could)\b|might (?:try|buy|go|move|switch|get|be)|thinking (?:about|of)|toying with|considering|not sure (?:if|whether|yet)|i guess|perhaps|in another life)\b",
            r"\b(?:just kidding|joking|haha+|lol|lmao|jk|rofl)\b|😂|🤣|\bas if\b|\byeah,? right\b",
            r"如果|要是|假如|假设|万一|幻想|希望能|真想|想象|也许|说不定|可能会|考虑要?不?要?|在考虑|开玩笑|哈哈|逗你|梦想|下辈子|中(?:了)?(?:彩票|大奖)|要不",
        ),
    ),
    (
        "somebody else's words",
        _any(
            r"\b(?:he|she|they|somebody|someone|people|(?:my|the|our) \w+(?: \w+)?|[A-Z]\w+) (?:says?|said|told me|claims?|claimed|thinks?|reckons?|insists?|joked|asked|wrote|swears?)\b(?! (?:to|not to)\b)",
            r"\baccording to\b|\b(?:article|blog|post|podcast|video|page|website|site|book|e-?mail|newsletter|forum|tweet|ad|sign|headline|leaflet|horoscope) (?:says?|said|claims?|reads?)\b|\bi (?:read|heard) (?:that|somewhere)|^\s*[\"“「].*[\"”」]\s*(?:[-—].*)?$|\bquote[: ]",
            r"(?:他|她|他们|别人|有人|网上|同事|老师|朋友|文章|新闻|邮件|公众号|广告|医生|老板|室友|司机|[\u4e00-\u9fff]{1,3})(?:都)?(?:说|讲|写着|觉得|认为|告诉我|推荐)[:：“\"，,]?|据说|听说|^[“「\"].*[”」\"]",
        ),
    ),
)
"""Reason and pattern: what by its form is nothing that could be remembered."""

PASSING: tuple[tuple[str, Pattern], ...] = (
    (
        "what was to do that day",
        _any(
            r"^\s*(?:todo|to-?do|fixme|wip|\[[ x]\]|action)\b|\b(?:todo|fixme)[: ]|^\s*\[[ xX]?\]",
            r"\b(?:need|needs|have|has|got|want|wants|going|about|forgot|trying|supposed|must|should|time) to (?:buy|call|ring|phone|pick|fix|book|send|ask|check|write|reply|return|finish|clean|pay|print|look|get|bring|collect|email|e-mail|text|water|renew|order|post|go|try|find|update|review|prepare|submit|sort|take|do|see|read|tidy|hoover|vacuum|cancel|move|talk|leave|sleep|eat)\b",
            r"^\s*(?:buy|call|ring|fix|book|send|ask|check|reply|return|finish|pay|print|pick up|order|email|renew|collect|remember to|don'?t forget to|remind me|draft|summari[sz]e|translate|convert|rename|write|find|look up|compare|make me|give me|tell me|show me|help me|explain|proofread|rewrite|set a timer|play)\b",
            r"\b(?:ran|running|rerun|re-ran|restarted|rebooted|deployed|merged|pushed|pulled|committed|reverted|fixed|debugged|refactored|bumped|renamed|tested|compiled|installed|uninstalled|patched|rebased|cherry-picked|closed|opened|reviewed|uploaded|downloaded|printed|sent|posted|called|emailed|cleaned|ordered|paid|booked|finished|submitted|replied|drafted|updated)\b(?!.*\b(?:always|every|each|usually|before|after we|we (?:always|only|never))\b)",
            r"\b\d+ (?:tests? )?(?:failed|passed|errors?|warnings?|skipped)\b|\bline \d+\b|\bcommit [0-9a-f]{6,}|\bPR ?#?\d+|#\d{2,}\b|\bticket\b.*\d|\bbuild (?:failed|passed|is green|is red|broke)|\bbranch\b.*\b(?:merged|pushed|rebase)",
            r"^(?:待办|记得去|别忘了|要去|得去|去买|买点|帮我|给我|查一下|翻译|总结一下|写一|改一下|提醒我)|(?:还没|忘了|需要|得|要|准备|打算|该)(?:去|把|买|交|写|改|还|打电话|回|发|取|拿|约|收拾|洗|修|查|问|整理)",
            r"^(?:跑了|重启了|修了|改了|发了|提交了|合并了|部署了|测试(?:了|通过|失败)|调试|装了|卸载了|回滚)|第\s*\d+\s*行|\d+\s*个(?:用例|测试|报错|错误)|报错|单测",
        ),
    ),
    (
        "it passes",
        _any(
            r"\b(?:today|tonight|this (?:morning|afternoon|evening|week|weekend|month|lunch)|right now|at the moment|just now|for now|currently (?:eating|watching|waiting|on)|yesterday|last (?:night|week|weekend)|tomorrow|later|earlier|again today|so far|these days i feel)\b(?!.*\b(?:from|as of) (?:today|now|this)\b)",
            r"\b(?:i'?m|i am|feeling|feel|felt|so|bit|really) (?:so |really |very |a bit |pretty |quite |still |just |too |totally |absolutely )*(?:tired|exhausted|hungry|thirsty|bored|sleepy|cold|freezing|hot|stressed|confused|lost|annoyed|angry|sad|happy|excited|nervous|sick|ill|drained|proud|glad|relieved|lonely|overwhelmed|grumpy|knackered|fed up|wired|restless|off|down|dizzy|sore|worn out|on edge|in a good mood|in a bad mood|behind|late|stuck|busy|swamped)\b(?! (?:of heights|of dogs|in)\b)",
            r"\b(?:weather|rain(?:ing|ed|y)?|snow(?:ing|ed)?|sunny|foggy|drizzl\w+|storm(?:y|ed)?|windy|humid|thunder\w*|degrees|heatwave|traffic|queue|delayed|the bus was|the train was|power cut|outage|wi-?fi (?:is|was) (?:down|out|slow)|(?:is|was|went|were) down\b|offline|timed out|timeout|unreachable|503|502|500 error|maintenance)\b",
            r"\b(?:for|at) (?:lunch|dinner|breakfast|supper|tea)\b(?!.*\b(?:always|usually|every|never|mostly)\b)|\b(?:had|ate|cooked|baked|made|grabbed|ordered|burnt|burned|spilled|tried) (?:a |an |the |some |my |two |three |leftover )?\w+.*\b(?:soup|pasta|pizza|sandwich|salad|noodles|rice|curry|cake|toast|coffee|tea|dumplings|takeaway|leftovers|porridge|omelette|burger|stew|bread)\b",
            r"\b(?:slept|woke|overslept|missed the|caught the|lost my|found my|bumped into|ran into|watched|saw|met|went|walked|got back|came home|arrived|spilled|dropped|broke|burned|burnt|forgot|took|got stuck|waited|tried|won|beat|scored|bought|sold|picked up|fell|heard|listened|finished reading)\b(?!.*\b(?:always|every|never|usually|since|each)\b)",
            r"今天|今晚|今早|今儿|刚才|刚刚|现在(?:好|有点|在|很|正)|昨天|昨晚|明天|明早|这会儿|待会|等会|一会儿|这周|本周|上周|下周|这个?周末|最近(?:有点|好|很|太|老|总)|中午|早上(?:吃|喝|起|堵)|晚上(?:吃|喝|去)",
            r"好(?:累|困|饿|烦|冷|热|开心|难过|紧张|无聊|激动|吵)|(?:太|真|很|有点|特别)(?:累|困|饿|烦|冷|热|开心|难过|紧张|无聊|激动|吵|郁闷|崩溃)(?:了|$|，|。)|心情|下雨|下雪|天气|降温|升温|雾霾|堵车|停电|断网|挂了|崩了|宕机|打不开|连不上|超时|排队|加班到|睡过头|没睡好|吃了|喝了|点了个?外卖|看了(?:一|个|部|场)|去了趟?|逛了|买了(?:一|两|个|点|件)|遇到|碰到|忘带|丢了|找到了",
        ),
    ),
)
"""Reason and pattern: what is said of a moment, and gone with it."""

SINCE_WHEN = _any(
    r"\b(?:since|born|birthday|anniversary|as of|from|married|moved|started|founded|joined|expires?|valid until|until)\b[^.]{0,40}\d{4}-\d\d-\d\d|\d{4}-\d\d-\d\d[^.]{0,20}\b(?:birthday|anniversary)",
    r"生日|出生|纪念日|结婚|自\s*\d{4}|从\s*\d{4}|(?:起|以来|开始|入职)",
)
"""A day that says since when something holds, or which day of each year; it does not pass."""

STATED = _any(
    r"\b(?:always|never|from now on|remember|keep in mind|for the record|note that|in general|by default|as a rule|every (?:time|day|week|month|year|morning|evening|night|mon|tue|wed|thu|fri|sat|sun|single|other|second|first)\w*|each (?:time|week|month|morning|year)|whenever|usually|no longer|any ?more|for good|permanently|please (?:don'?t|do not|use|keep|call|write|answer|stop)|call me|don'?t (?:ever|call me|use|send|give)|going forward|stop (?:using|calling|sending|adding))\b",
    r"\bmy (?:name|birthday|wife|husband|partner|son|daughter|mum|mom|mother|dad|father|sister|brother|dog|cat|job|address|time ?zone|favou?rite|e-?mail|phone|blood|boss|manager|twins?|kids|children)\b",
    r"\bi(?:'m| am) (?:allergic|intolerant|vegetarian|vegan|diabetic|coeliac|celiac|colou?r.?blind|left.?handed|dyslexic|deaf|married|divorced|a |an |from|based|lactose)|\bi (?:live|work|prefer|hate|love|can'?t (?:stand|eat|drink|drive|swim)|don'?t (?:eat|drink|like|drive|own|have)|speak|have (?:a|two|three|four|no))\b",
    r"一直|从来不?|从不|总是|每(?:天|周|月|年|次|个|逢|晚|早)|以后|往后|记住|记一下|记得我|千万|一律|永远|别再|不再|都(?:要|得|用|是)|习惯|默认|平时|通常|一般|固定|请(?:用|叫|别|不要)|叫我|称呼|必须|规定|约定",
    r"我(?:对.{1,8}过敏|不吃|不喝|不能吃|是(?:一?[个名位])?|叫|姓|住|在.{1,12}(?:工作|上班|教书)|喜欢|讨厌|最爱|最?怕|有(?:一|两|三|个|只|条)|家(?:有|在|住)|属|会|不会|老家)|我(?:老婆|老公|爱人|妻子|丈夫|儿子|女儿|妈|爸|爷爷|奶奶|姐|妹|哥|弟|家)",
)
"""Said outright as something that lasts."""

LASTING: tuple[tuple[str, float, Pattern], ...] = (
    (
        "health",
        1.0,
        _any(
            r"\ballerg|\bintoleran|\bcoeliac|\bceliac|\bdiabet|\bvegan|\bvegetarian|\bpescatarian|\basthma|\bmigraine|\bepilep|\bblood (?:type|group|pressure)|\bcolou?r.?blind|\bpregnan|\bhearing aid|\bpacemaker|\bdoesn'?t agree with me|\bcan'?t (?:eat|have|drink|digest|swim|drive)\b|\bmedication\b|\bpills?\b|\bheart condition|\binsulin",
            r"过敏|不耐受|糖尿病|高血压|低血糖|哮喘|偏头痛|痛风|血型|色盲|色弱|素食|吃素|怀孕|助听器|心脏|不能吃|忌口|近视|甲状腺|胃(?:不好|炎|病)|腰(?:不好|椎|突)|颈椎|失眠",
        ),
    ),
    (
        "identity",
        1.0,
        _any(
            r"\b(?:my name|call me|i go by|nickname|pronouns?|my birthday|i was born|i'?m \d\d\b|i turn(?:ed)? \d\d|my (?:e-?mail|phone|address|time ?zone|surname|initials|native|mother tongue)|mother tongue|native (?:language|speaker))\b",
            r"\b(?:i|we|i'?ve|we'?ve|i'?m|we'?re|my (?:wife|husband|partner|family)(?: and i)?) (?:now |still |both |all |recently |just |finally |have |currently )*(?:live|living|lives|moved|moving|settled|relocated|based|grew up|come from|are from|from|rent|own|bought a (?:house|flat))\b|\b(?:new|our|my) (?:flat|house|home|apartment|place|address)\b[^.]{0,20}\b(?:is|in|at)\b",
            r"\b(?:i|i'?m|i'?ve|i am|my job|my (?:new )?employer|my (?:new )?boss)\b[^.,]{0,30}\b(?:work(?:s|ing|ed)? (?:at|for|as|in|from|part)|teach|study|studying|employ|nurse|teacher|engineer|developer|designer|doctor|freelance|researcher|retired|self-employed|manage|lead|run (?:a|the|our)|report to|joined|started (?:at|as)|is [A-Z])\b",
            r"\bi speak\b|\b(?:i'?m|i am) (?:a|an|the|left|right|married|single|divorced|widowed|fluent|bilingual|half)\b",
            r"我(?:的名字)?叫|叫我|我姓|我的?(?:生日|英文名|邮箱|手机号?|微信|地址|时区|昵称|笔名|母语)|生日是|属[鼠牛虎兔龙蛇马羊猴鸡狗猪]|我(?:今年)?\d{1,2}岁|老家|籍贯|出生在|我(?:们|家|们家)?(?:现在|目前|已经)?(?:住|搬到|搬来|搬去|租|定居)|搬到了?|搬家|新家|新房",
            r"我(?:现在|目前|已经|刚)?(?:是|在|当|做|教|负责|带|管)(?!说|想|觉得)|入职|跳槽|换了?工作|转岗|我的?(?:职业|工作|专业|公司|单位|学校|岗位)|会说|双语|左撇子|单身|已婚|结婚",
        ),
    ),
    (
        "relation",
        1.0,
        _any(
            r"\b(?:my|our|his|her) (?:\w+ ){0,2}?(?:wife|husband|partner|girlfriend|boyfriend|fianc[eé]e?|mum|mom|mother|dad|father|parents?|sister|brother|son|daughter|kids?|child(?:ren)?|grand\w+|nan|gran|aunt|uncle|cousin|niece|nephew|[\w-]+-in-law|boss|manager|colleague|co-?worker|team ?mate|landlord|landlady|neighbou?rs?|flatmate|roommate|friend|doctor|gp|dentist|vet|teacher|tutor|supervisor|therapist|trainer|coach|cats?|dogs?|puppy|kitten|horse|parrot|rabbits?|hamster|tortoise|twins?|baby|toddler|godson|goddaughter|mentor|apprentice|physio\w*|hairdresser|babysitter|intern)\b",
            r"\b(?:mum|mom|dad|grandma|grandpa|granny|nan)(?:'s)? (?:is|has|lives|can'?t|won'?t|turns|loves|hates|likes)\b|\b(?:the|our) (?:cat|dog|puppy|kids?|baby|rabbit|tortoise|parrot)(?:'s| is| has| sleeps| gets| needs| eats| hates| loves| name)\b|\b(?:is|was) (?:my|our) \w+",
            r"(?:我|我家|我们|咱|咱家|家里)?的?(?:爸|妈|父亲|母亲|父母|姐|妹|弟|哥|爷爷|奶奶|外公|外婆|姥姥|姥爷|老公|老婆|爱人|媳妇|丈夫|妻子|先生|太太|男朋友|女朋友|女儿|儿子|闺女|孩子|大宝|二宝|老大|老二|婆婆|公公|岳父|岳母|丈母娘|舅舅|舅妈|姑姑|阿姨|叔叔|表姐|表弟|表妹|表哥|侄女?|外甥女?|室友|同事|领导|老板|上司|组长|校长|主任|导师|班主任|教练|房东|邻居|闺蜜|发小|学生|徒弟|猫|狗|兔子|鹦鹉|仓鼠|乌龟|金毛|柯基|布偶|橘猫)[\u4e00-\u9fff]{0,6}?(?:叫|是|在|姓|住|不|对|有|今年|喜欢|最|怕|会|爱|属|每|也|都|从|患|上|读)",
        ),
    ),
    (
        "preference",
        0.95,
        _any(
            r"\b(?:prefer|favou?rite|can'?t stand|cannot stand|can'?t bear|hate|loathe|dislike|love|adore|enjoy|detest|fond of|big fan|not a fan|keen on|sick of|allergic to the word|rather (?:have|not|you)|into|hooked on|swear by|go-to)\b",
            r"\bi (?:really |do |don'?t |dont |never |always |usually |only |also |still |mostly )*(?:like|drink|eat|read|wear|take my|listen to|use|buy|want)\b(?! (?:a|the|this|that) \w+ (?:today|now))",
            r"\b(?:answers?|repl(?:y|ies)|respond|messages?|summar(?:y|ies)|explanations?|code|examples?|lists?|bullet|emojis?|tables?|metric|celsius|24.?hour|units?|tone|jargon|small talk|english|german|chinese|french)\b.*\b(?:please|prefer|short|brief|no|don'?t|never|always|without|instead|should|first|in)\b",
            r"^\s*(?:please |also |and |but )*(?:don'?t|do not|never|always|stop|no more|no|keep|use|skip|drop|leave out|avoid|when you|whenever you|put|give me|show me|address me|write)\b.*\b(?:me|you|your|answer|repl|emoji|bullet|message|list|summar|code|unit|tone|example|jargon|lines?|sentences?|format)\w*",
            r"喜欢|讨厌|不爱|最爱|爱吃|爱喝|爱看|爱听|受不了|偏好|偏爱|宁愿|宁可|习惯|不太?喜欢|不吃|不喝|爱用|只(?:喝|吃|用|听|看|要)|回答|回复|答案|表情|语气|简短|啰嗦|别(?:用|给|叫|发|写|说)|不要(?:用|给|叫|发|写)|用(?:中文|英文|公制|表格|列表)|分点|先(?:给|说)结论",
        ),
    ),
    (
        "habit",
        0.9,
        _any(
            r"\b(?:every|each) (?:\w+ )?(?:day|week|month|year|morning|evening|night|lunch|mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)\w*|\b(?:on )?(?:mon|tues|wednes|thurs|fri|satur|sun)days\b|\b(?:usually|normally|always|never|as a rule|daily|weekly|monthly|twice a|once a|three times a|whenever|before work|after work|weekday)\b|\bi (?:swim|run|cycle|bike|climb|play|sing|paint|knit|bake|garden|volunteer|train|practi[sc]e|collect|commute|meditate|row|hike|coach|learn|study|write|fish|brew|photograph|sew)\b(?! (?:into|out))",
            r"每(?:天|周|月|年|晚|早|个?周末|隔|逢|学期|季度)|(?:周|星期|礼拜)[一二三四五六日天](?:[都早晚上下固有要去练]|$)|平时|通常|一般|总是|从来|从不|固定|一直(?:在|用|都)|在学|练(?:习)?|坚持|(?:跑步|游泳|骑车|爬山|健身|瑜伽|钓鱼|弹|吉他|钢琴|书法|画画|羽毛球|篮球|摄影|烘焙)",
        ),
    ),
    (
        "convention",
        0.95,
        _any(
            r"\bwe (?:always |never |only |usually |now |no longer |don'?t |do not |all |still |just )*(?:use|squash|merge|rebase|deploy|release|ship|review|tag|name|write|keep|store|run|test|build|ban|require|track|bill|invoice|charge|order|print|work|meet|sign|number|label|call|host|backup|back|archive|freeze|publish|plan|do|have|take|hold|need|close|start|open|share|document)\b",
            r"\b(?:the|our|my) [\w. -]{2,40}? (?:lives?|runs (?:on|at|under)|sits?|goes|needs?|must|should|belongs?|listens?|takes?|opens?|closes?|expects?|wants?|uses?|only|never|always|has to|have to|stands? for|means?|syncs?|jams? (?:when|if|below|above)|breaks? (?:when|if)|fails? (?:when|if))\b",
            r"\b(?:the|our|my) [\w. -]{2,40}? (?:is|are) (?:called|named|kept|stored|numbered|in (?:the|a|our)|on (?:the|a|port)|at (?:the|\d)|behind|under|below|above|next to|from|for|a|an|the|our|my|always|never|only|closed|open|shut|free|due)\b(?! bit\b)",
            r"\b(?:decided|agreed|policy|convention|standard|rule|guideline|deadline for every|code ?word|password manager|naming|house style|branch|staging|production|server|repo(?:sitory)?|database|backup|port \d|project|codename|code name)\b",
            r"\b(?:turns out|learn(?:ed|t)|lesson|gotcha|the trick is|only works?|doesn'?t work|won'?t work|has to be|must be|needs? (?:a|an|the|to be)|otherwise|unless|make sure|first|before you)\b",
            r"\.example\.com|\b[\w-]+\.(?:py|sh|md|ya?ml|toml|json)\b",
            r"我们(?:组|公司|团队|学校|班|部门|科|实验室)?(?:都|一般|统一|规定|约定|决定|改用|用|不|的|是|每|要|只|先|在|从|把)|决定|定了|敲定|统一|规定|约定|规范|流程|必须|只能|要先|得先|一律|改成|改用|项目|服务器|仓库|数据库|分支|上线|发版|部署|评审|密码在|端口|教训|坑|否则|不然|才(?:能|行|会)|原来|代号|负责",
        ),
    ),
)
"""What kind of fact it is and how durable that makes it, the first that fits; the source is the table
of part 6 (identity, allergy, relation, preference, convention before project state before event)."""

CHANGED = _any(
    r"\b(?:now|no longer|any ?more|instead|moved|switched|changed|change of plan|these days|has become|have become|gave up|given up|quit|stopped|not .{1,30} but|new|replaced|renamed|since|turned out|actually|correction|used to|meanwhile|left|dropped|finally|as of)\b",
    r"现在|不再|改成|改为|改到|改用|换成|换了|换到|搬到|搬去|搬了|已经|取消|停了|戒了|新的?|不是.{1,12}(?:而是|是)|更正|不用.{0,6}了|变成|调到|调成|升|辞",
)
"""Says that something has become otherwise: what it is about replaces what was known of it."""

LEAD_IN = _any(
    r"^[^,;.]{0,60}[,;] (?:please )?(?:remember|don'?t forget)(?: that)? (?=\S)",
    r"^(?:oh|ah|well|so|ok(?:ay)?|hey|hi|btw|by the way|fyi|also|and|just so you know|for the record|for your information|as you know|you should know(?: that)?|one more thing|another thing|(?:a )?quick note|note to self|remember(?: that)?|please remember(?: that)?|keep in mind(?: that)?|note(?: that)?|don'?t forget(?: that)?|i (?:should|forgot to) (?:mention|say)(?: that)?|actually|basically|honestly|no,)[,:;.!\s-]+(?=\S)",
    r"^(?:对了|顺便(?:说(?:一下|一句)?|提一下)?|哦|嗯|那个|话说|另外|还有|其实|请?(?:你)?(?:帮我)?(?:记住|记一下|记下|记着)|备注|跟你说(?:一下|个事)?|告诉你)[，,：:。\s]*(?=\S)",
)
TRAIL_OFF = _any(
    r"[,.]?\s*(?:ok(?:ay)?|right|please|thanks|thank you|you know|by the way|btw|lol|haha)[.!?]*\s*$",
    r"[，,。]?\s*(?:谢谢|好吗|哈|哦|呀|啦|记住了?|知道了?吧|麻烦了)[。!！~]*\s*$",
    r"[!！~]+\s*$",
)

ABOUT_WORK = _any(
    r"\b(?:we|our|team|server|repo|staging|production|deploy|release|client|customer|printer|project|branch|build|office|shop|invoice|meeting room|wi-?fi|machine|boiler|key|port|database|script|backup|ward|lab|clinic|company|shelf|supplier|folder)\b",
    r"\.example\.com|我们(?:组|公司|团队|部门|学校|班|科|实验室)|服务器|仓库|项目|上线|部署|打印机|客户|分支|数据库|端口|文档|会议室|办公室|教研|年级|系统|接口",
)
"""About the world that the user works in, not about the user."""
ABOUT_USER = _any(
    r"\b(?:i|i'?m|i'?ve|i'?d|my|me|mine|myself)\b|^\s*(?:please |don'?t |never |always |call )|\byou(?:r)?\b|\banswers?\b",
    r"我(?!们)|叫我|回答|回复|本人|咱家|家里",
)

ONE_AT_A_TIME: tuple[tuple[str, Pattern], ...] = (
    (
        "home",
        _any(
            r"\b(?:i|we|i'?m|we'?re|i'?ve|we'?ve|family|wife and i|husband and i)\b[^.]{0,25}\b(?:live|living|based|moved|settled|relocated)\b(?! (?:with|next to|for)\b)[^.]{0,25}\b(?:in|to|at)\b",
            r"\b(?:new|our|my) (?:flat|house|home|apartment|place) is (?:now )?(?:in|on|at)\b",
            r"^(?:我|我们|咱们?|我们?家|我家|一家)?(?:现在|目前|已经|刚)*(?:都)?(?:住在|搬到|搬来|搬去|定居)|(?:新家|家|房子)(?:就|现在)?在",
        ),
    ),
    (
        "work",
        _any(
            r"\b(?:i|i'?m|i am|i'?ve)\b[^.]{0,20}\b(?:work(?:ing)? (?:at|for)|(?:joined|started at|employed (?:at|by)|moved over to))\b|\bmy (?:new )?(?:employer|company) is\b",
            r"^我?(?:现在|目前|已经|刚)*(?:在[^，。]{2,14}(?:上班|工作|任职|教书)|入职|跳槽(?:到|去))",
        ),
    ),
    ("name", _any(r"\b(?:call me|i go by|address me as)\b", r"叫我|称呼我")),
    (
        "diet",
        _any(
            r"\b(?:i'?m|i am|i'?ve (?:gone|become|been)|went|gone|back to|no longer|started)\b[^.]{0,20}\b(?:vegetarian|vegan|pescatarian|eating (?:meat|fish)|omnivore)\b|\bi eat (?:meat|fish) again\b",
            r"我?(?:现在)?(?:开始|又|不再)?(?:吃素|吃荤|素食|吃肉了)",
        ),
    ),
)
"""What somebody has one of at a time; a later statement about it takes the place of an earlier one."""
