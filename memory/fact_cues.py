"""Owns the words by which the deterministic engine knows a fact: patterns by kind, no logic."""

from __future__ import annotations

import re

from memory.patterns import Pattern


def _any(*parts: str) -> Pattern:
    return Pattern("|".join(f"(?:{part})" for part in parts), re.IGNORECASE)


PEOPLE_EN = (
    r"(?:wife|husband|partner|girlfriend|boyfriend|fianc[eé]e?|mum|mom|mother|dad|father|parents?|sister"
    r"|brother|son|daughter|kids?|children|grand(?:ma|pa|dad|mother|father|parents|son|daughter)|nan|aunt"
    r"|uncle|cousin|niece|nephew|in-laws?|(?:mother|father|sister|brother)-in-law|boss|manager|colleague"
    r"|co-?worker|team ?mate|landlord|landlady|neighbou?rs?|flatmate|roommate|friend|doctor|gp|dentist"
    r"|vet|teacher|tutor|supervisor|therapist|trainer|coach|cat|cats|dog|dogs|puppy|kitten|horse|parrot"
    r"|rabbit|hamster|tortoise|car|van|bike|boat|stepson|stepdaughter|twin|baby|toddler|ex|client)"
)
PEOPLE_ZH = (
    r"(?:爸|妈|爸妈|父亲|母亲|父母|姐|姐姐|妹|妹妹|弟|弟弟|哥|哥哥|爷爷|奶奶|外公|外婆|姥姥|姥爷|老公|老婆"
    r"|媳妇|丈夫|妻子|对象|男朋友|女朋友|女儿|儿子|闺女|孩子|娃|大宝|二宝|老大|老二|婆婆|公公|岳父|岳母"
    r"|丈母娘|舅舅|姑姑|阿姨|叔叔|表姐|表弟|表妹|表哥|堂弟|侄子|外甥|室友|同事|同桌|领导|老板|上司|经理"
    r"|导师|老师|班主任|教练|房东|邻居|楼上|楼下|闺蜜|朋友|发小|同学|客户|猫|狗|兔子|鹦鹉|仓鼠|乌龟"
    r"|金毛|柯基|家里人|家里|前夫|前妻|亲戚|师傅|医生)"
)

NOT_ABOUT_NOW = _any(
    # hypotheticals, fiction, games
    r"\b(?:what if|suppose|supposing|imagine|pretend|let'?s say|if i (?:had|were|was|moved|won|could))\b",
    r"\bif (?:we|i)'?d\b|\bwould(?:n't)? i\b|\bin (?:this|the) (?:play|story|film|song|novel)\b",
    r"^(?:write|compose|draft|tell|make up|give me) (?:me )?(?:a|an|another|the|some)? ?(?:short |silly )?"
    r"(?:story|poem|haiku|song|rap|joke|limerick|letter from|scene|monologue|dialogue)",
    r"\b(?:you are|you're|act as|play) (?:a|an|the|now)\b|\brole ?play\b|\bas if i\b",
    r"^(?:oh|well),? (?:great|joy|wonderful|perfect|brilliant)\b|^(?:just )?(?:great|wonderful|perfect),? another\b",
    r"你演|我演|对戏|剧本杀|谁说我|有矿|听说|据说|假设|假如|假装|如果|要是|万一|倘若|扮演|写(?:一)?(?:首|篇|段|个|封)|编(?:一)?(?:个|段)|作文|歌词|梗|台词",
    # somebody else's words
    r"\b(?:translate|how do (?:i|you) say|in (?:german|french|spanish|italian|japanese|english):)",
    r"翻译|怎么说|咋讲|用.{1,4}语(?:怎么)?说|译成|英文怎么",
    r"\b(?:he|she|they|somebody|someone|people|the (?:sign|ad|paper|horoscope|note|poster|t-?shirt)) (?:say|says|said|wrote|goes)\b",
    r"网上看到|别人发|群里.{0,4}发|大家都说|有人说|老话|常念叨|他说|她说|说什么|小说|电视剧|电影里|标语|朋友圈",
)
PASTED = _any(
    r"^\s*(?:please |pls |can you |could you |plz )?(?:summari[sz]e|proof ?read|rewrite|rephrase|reword|shorten"
    r"|translate|correct|check|fix|edit|improve|polish|turn|convert|review|explain|what does|what'?s wrong"
    r"|tell me what|is this|make this|format|parse|extract)\b",
    r"^(?:帮我|帮忙|请|麻烦)?(?:你)?(?:把|将)?(?:总结|翻译|润色|改|修改|优化|检查|校对|看看|看一下|缩写|解释|哪)",
    r"\btl;?dr\b|:\s*\n|：\s*\n",
)
CODE = Pattern(
    r"^\s*(?:Traceback|File \"|at |def |class |import |from \S+ import|SELECT |UPDATE |INSERT |\$ |>>> |#|//"
    r"|[{}\[\]<]|\w+Error\b|\d{4}-\d\d-\d\d[T ]\d|From:|To:|Subject:|Dear |Hi all|Kind regards|各位|此致)"
    r"|[{};]\s*$|=>|->|\w+\(\w*\)\s*[:;{]|\breturn\b.*\+",
    re.MULTILINE,
)
QUESTION = _any(
    r"[?？]\s*$",
    r"^\s*(?:and |so |but |ok |hey |hi |also |then )*(?:what|who|whom|whose|when|where|why|how|which|is|are|was|were"
    r"|do|does|did|can|could|would|should|will|shall|may|might|has|have (?:i|you|we)|any(?:one|body|thing)?)\b"
    r"(?! i (?:say|tell) you| do i hate)",
    r"吗\s*$|呢\s*$|^(?:什么|怎么|为什么|谁|哪|几点|多少)|能不能|可不可以|是不是|有没有|要不要|好不好|行不行"
    r"|怎么[^样]|咋|什么|多少钱|哪[个里些家款种]|几[个点天岁]|推荐.{0,8}$|合适吗|够不够|算不算|正常吗",
)
REQUEST = _any(
    r"^\s*(?:please |pls |plz |can you |could you |just |ok |now )*(?:tell|show|give|find|search|write|read|run"
    r"|list|explain|translate|help|suggest|recommend|make|set|create|draw|calculate|compute|fix|debug|compare|plan|book|send"
    r"|start|try|open|convert|forget|repeat|continue|go on|stop there|delete|remove|undo)\b",
    r"^(?:请|麻烦|帮我|帮忙|给我|替我|告诉我|讲|说|来个|来一|定个|查|算|推荐|介绍|列|写|画|翻)",
)
PASSING = _any(
    r"^\s*(?:ok(?:ay)?|hi|hello|hey|thanks?|thank you|thx|ty|cheers|lol|haha+|hm+|ugh|wow|yes|yep|no|nope|sure|great"
    r"|good (?:morning|evening|night)|brb|bye|never ?mind|sorry)[\s,!.:)]*$",
    r"\b(?:i'?m|i am|im|so|feeling) (?:so |really |very |just |a bit |pretty |still )*(?:tired|exhausted|hungry|thirsty"
    r"|bored|back|here|home now|late|stuck|sleepy|cold|freezing|knackered|stressed|confused|lost|done|ready"
    r"|waiting|off to|on my way|on the (?:bus|train)|not sure|sure|afraid|curious|wondering|sorry|glad|happy|fine|ok)\b(?! (?:of|with|in the))",
    r"^\s*(?:hm+,? |well,? )?(?:i'?m )?not sure\b|\bdon'?t ask\s*$|\blet me think\b",
    r"\bif i had a (?:euro|dollar|pound|penny)|\bjust (?:kidding|joking)|\bas if\b|\byeah right\b|\bkill me\s*$",
    r"(?:好|真|太|快|都)?(?:困|累|饿|渴|烦|无聊)(?:死|坏)?(?:了|我了)|我回来了|我到(?:家|了)|等(?:下|一下)|稍等|谢谢|辛苦了"
    r"|开玩笑|^(?:哈|呵|嗯|嘿)+$|早上好|晚安|你好$|再见|拜拜|随便聊|眼皮|排队|堵车|下雨了|天气真",
)

CUES: tuple[tuple[str, Pattern], ...] = (
    (
        "decision",
        _any(
            r"\b(?:we|i|team|board|boss|they|everyone)(?:'ve|'re| have| has| had| are)?(?: just| all| finally| now)?"
            r" (?:decided|agreed|settled|voted|picked|chose|chosen|opted|shelved|dropped|scrapped|cancell?ed|called off"
            r"|gone with|going with|went with|go with|ditched|ruled out|parked)\b",
            r"\b(?:decided|agreed) (?:to|on|not to|that|over|against|with)\b|^\s*decided\b|\bvote is in\b|\bdecision(?: is|:)|\bit'?s (?:official|settled|final)",
            r"\bwe(?:'re| are) (?:not )?(?:renewing|switching|moving to|dropping|keeping|sticking|using|inviting|doing)\b",
            r"决定|定了|定下|拍板|商量好|谈好|说好了|说定|敲定|投票|就定|选了|改用|不做了|取消了|最后(?:选|用|定)|达成一致",
        ),
    ),
    (
        "preference",
        _any(
            r"\b(?:prefer|favou?rite|can'?t stand|cannot stand|hate|loathe|dislike|love|adore|enjoy|detest"
            r"|not a (?:big )?fan|big fan|not keen|keen on|allergic to the word|can'?t bear|fond of|sick of|rather (?:have|not|you))\b",
            r"\bi (?:really |do |don'?t |dont |never |always |usually |only |also |still |just )*(?:like|want you|need you|drink|take my|watch|listen|read)\b",
            r"\bfrom now on\b|\bgoing forward\b|\bin (?:the )?future\b|\bby default\b|\bwhenever you\b|\bwhen you (?:write|answer|reply|send)\b",
            r"^\s*(?:and |also |but |please |pls |plz |btw |oh )*(?:don'?t|dont|do not|never|always|stop|no more|keep (?:it|your|the|answers|replies)"
            r"|use (?:metric|celsius|british|bullet|24)|drop the|skip the|leave out|avoid|no (?:emojis?|jargon|exclamation|huge|long|small talk))\b",
            r"\byou can (?:drop|skip|leave|stop)\b|\banswer(?:s)? (?:me )?(?:in|under|short)\b|\bremind me (?:at least|a)\b|\bi(?:'d| would) like you to\b",
            r"喜欢|讨厌|不爱|最爱|爱吃|爱喝|爱看|受不了|看不下去|烦透|偏好|宁愿|宁可|习惯(?:了)?(?:用|喝|吃|在|先)",
            r"以后.{0,5}?(?:都|就|别|不|再|尽量|给|回答|你|用|请|凡|每|要|跟|写|按)|从今(?:天|往)|往后|提前.{1,6}(?:跟|告诉|提醒|叫)我",
            r"(?:你|就|请|也|名|都)?(?:别|不要|尽量|优先|一律|千万别)(?:再|给|用|发|推|跟|叫|放|老|动|总|拿|安排|在|写|带|加|太|这么|表情)",
            r"(?:用|写|说)(?:中文|英文|普通话|文字|公制|[\u4e00-\u9fff]{2}格式)|正常说话|凶一点|只(?:要|看|吃|喝|听|用)",
            r"跟我说话|回答(?:我)?(?:尽量|要|用)|给我推(?:点)?|避开",
        ),
    ),
    (
        "fact",
        _any(
            r"\bcall me\b(?! (?:when|at|back|if|on|later|tomorrow))|\bmy (?:first |last |full |nick)?name(?:'s| is)\b|\b(?:i'?m|i am) called\b|\bgo by\b|\bpronouns?\b",
            r"\ballerg|\bintoleran|\bcoeliac|\bceliac|\bdiabet|\bdyslexi|\bcolou?r.?blind|\bvegan|\bvegetarian|\bpescatarian|\bpregnant"
            r"|\bleft.?handed|\bright.?handed|\bdeaf|\basthma|\bmigraine|\bcan'?t (?:swim|drive|eat|have|drink|ride|do)\b|\bblood (?:type|group|pressure)|\bepi ?pen",
            r"\bi (?:now |still |also |just |only |currently |actually |both |never |don'?t |dont |do not |no longer |can'?t |used to )*"
            r"(?:live|work|drive|own|have (?:a|an|two|three|four|no|my|been|\d)|speak|study|teach|run|play|grew|moved|was born|were born|come from"
            r"|report to|quit|learned|learnt|retired?|commute|rent|carry|weigh|wear|suffer|eat|smoke|drink|keep|volunteer|sing|paint|cook|train"
            r"|manage|lead|freelance|joined|started (?:at|as|working)|finished|graduated|studied|collect|use)\b",
            r"\b(?:i'?m|i am|im|i was) (?:a|an|the|from|based|in my|on (?:call|parental|night)|\d{1,2}\b|married|divorced|single|widowed|retired|half|self-employed"
            r"|freelanc|originally|studying|working|teaching|learning|responsible|training|living|not (?:a|an|from)|turning|currently|henceforth|hard of|short-sighted|bilingual)\b",
            r"\b(?:i'?m|im) [A-Z][a-z]+\b,|^\s*[A-Z][a-z]+ here\b|\bmy (?:birthday|email|e-mail|address|passport|knee|back|eyes?|hearing|left|right|job|blood|shoe|size|car|flat|house|office|desk|budget|time ?zone|native|mother tongue|first language|degree|commute|shift|handle|username)\b",
            r"\b(?:been|be) (?:a|an) \w+ (?:for|since)\b|\bgot the results\b|\bfull.?time\b.*\bi\b|\bi'?ve (?:got|been|lived|worked|had|never|always|moved|stopped|given up)\b",
            r"^\s*(?:just |only )?(?:moved|finished|started|switched|quit|stopped|retired|grew up|born|graduated|haven'?t touched|haven'?t had|saving up)\b|\b(?:saving up|switched to|allergic|off to|gave up|given up|recovering)\b",
            r"叫我|我(?:的名字)?叫|我姓|我是(?!不是|说|想|要|问|真|觉得|认真)|我(?:今年)?\d{1,3}岁?|今年[\d一二三四五六七八九十]+",
            r"过敏|不耐受|夜盲|近视|色盲|色弱|糖尿病|高血压|低血糖|左撇子|怀孕|哮喘|忌口|乳糖|痛风|神经衰弱|失眠|恐高|晕车|晕船",
            r"(?:本人|在下|俺|鄙人).{0,3}(?:是|卖|做|吃|住|在|不|姓|叫|开)|我[一二三四五六七八九十]{2,3}了|我(?:左|右)?(?:胃|耳|眼|腰|膝|手|脚|腿|血压|听力|视力|心脏|颈椎|肠胃)"
            r"|我从.{1,6}搬到|备孕|自由职业|滴酒不沾|摔断|戒了|(?:生|出生)的$|我已经",
            r"我(?:现在|目前|一直|平时|自己|也|就|还|已经|刚|从小|其实|家|不|没|从来|从|们家|这边|这)?(?:都|在|住|养|有|做|学|会|不会|没有|对|得了|患|当|教|开|负责|管|属|吃素|不吃|不喝|不能|戒|搬|辞|换|租|买了|用|常年|说话|每天|每周|老家|出生|毕业|单身|结婚|离婚|信)",
            r"未婚|已婚|单身|独居|在读|读博|读研|退休|转行|房贷|车贷|[一二三四五六七八九十\d]+年(?:经验|工龄|驾龄)|老家|籍贯|属相|血型|码的?鞋",
        ),
    ),
    (
        "person",
        _any(
            rf"\b(?:my|our)\b (?:\w+ ){{0,2}}?{PEOPLE_EN}\b",
            rf"\(my {PEOPLE_EN}\)|\b(?:a|the) {PEOPLE_EN}, [A-Z]|\bwe have an? \w+, [A-Z]\w+",
            r"\b(?:grandad|grandma|grandpa|granny|nan|mum|dad|mom)(?:'s)? (?:is |has |in |lives|can'?t|won'?t)",
            rf"\b{PEOPLE_EN}(?:'s)? (?:is|has|keeps|lives|works|called|named|can'?t|won'?t|doesn'?t|loves|hates|starts|turns)\b",
            rf"我(?:那)?(?:俩|两|三|几)?(?:只|个|条)?{PEOPLE_ZH}|\w绝育|公猫|母猫",
            rf"(?:我|我家|我们|咱|咱家|家里)?(?:的)?{PEOPLE_ZH}(?:们)?(?:[，,]?(?:叫|是|在|姓|住|不|对|有|今年|明年|喜欢|最|刚|想|要|吃|会|爱|怕|养|人|去|属|跟|平时|从|每|也|都|的|已经|一直|又|得|总|才|快))",
        ),
    ),
    (
        "commitment",
        _any(
            r"\bi (?:promised|owe|agreed to|said i'?d|told \w+ i'?d|have to|need to|must|gotta|'?ve got to)\b|\bdon'?t let me forget\b|\bdeadline\b|\bappointment\b|\bdue (?:on|by)\b",
            r"\bevery (?:mon|tues|wednes|thurs|fri|satur|sun)day\b|\bevery (?:second|other|first|month|week|year)\b|\bdue on the\b|\b's due\b",
            r"答应|约了|约好|订了|预约|截止|之前(?:得|要|必须|把|交)|别(?:让我)?忘|每(?:周|月|天|年|个月|隔)",
        ),
    ),
    (
        "lesson",
        _any(
            r"\bturns? out\b|\blearn(?:ed|t) (?:that|the hard way|today)\b|\bnote to self\b|\bfyi\b|\bfor the record\b|\bheads.?up\b|\bnext time\b|\bbit me\b|\bgotcha\b|\bexpires? every\b|\bhas to be (?:off|on)\b",
            r"\b(?:only|never|doesn'?t|don'?t|won'?t|can'?t|didn'?t) (?:works?|answers?|opens?|accepts?|takes?|picks? up|supports?|starts?|runs?|reads?|syncs?|listens?|loads?|prints?)\b",
            r"\b(?:needs?|requires?|wants?) (?:a|an|the|to be|semicolons|\w+ (?:first|before))\b|\bcash only\b|\b(?:jams?|breaks?|fails?|crashes) (?:when|if|whenever|on)\b|\b(?:run|do) the \w+ first\b|\bwork(?:s|ed)? (?:only|best|fine|if|when)\b"
            r"|\b(?:shut|closed) on \w+s\b|\byou (?:have to|need to|must)\b|\botherwise\b.*\b(?:won'?t|doesn'?t|fails?)\b|\blives? (?:in|under|behind) the\b",
            r"只能|只收|只认|只支持|不开门|得用|得先|要先|必须先|打不开|没人接|末班|下次|得打|取不了|传不了|传附件|老版|不支持|才(?:能|行|会|有)|一(?:关|按|点|开)就|才管用|不管用|要不然|否则|坑|记得拿|重启要|别以为",
        ),
    ),
)
"""Kind and cue, the first that fits wins; a sentence without a cue says nothing lasting."""

REMEMBER = _any(
    r"^\s*(?:please |pls |ok |and |so )*(?:remember|note|keep in mind|don'?t forget|for the record|make a note)(?: that|:|,)?\s+(?P<what>.+)$",
    r"^(?:请|帮我|你)*(?:记住|记下|记一下|记得|记着|别忘了|备注)[:：,，]?\s*(?P<zh>.+)$",
)
NO_WISH = _any(
    r"^(?:to|when|how|what|who|where|why|if|me|us|him|her|them|the time|last (?:time|week|year)|that time)\b",
    r"^(?:that |, )?(?:i|we) (?:told|asked|said|mentioned|showed)\b|^(?:that )?you\b",
    r"^(?:去|要|提醒|那次|当时|上次|我(?:跟你)?说过|我告诉过)",
)
"""After "remember": a task or a recollection, not a fact to keep."""
TAKEN_BACK = _any(
    r"\b(?:no,? wait|never ?mind|scratch that|forget (?:that|it)|actually,? (?:no|don'?t)|don'?t (?:remember|store|save) (?:that|it|this))\b",
    r"算了|不用记|别记|当我没说",
)
CORRECTING = _any(
    r"^\s*(?:no|nope|nah|not quite|actually|wrong|that'?s (?:wrong|not)|it'?s .{1,40},? not|i said|i meant|other way|close,? but|almost|hm,? no|wait|correction|small correction|sorry,? (?:it'?s|i meant))\b",
    r",? not (?:the |a |on |in |at )?[\w' ]{1,24}[.!]?\s*$|\bby the way, not\b|\bwrong way round\b|\bwith (?:a|an|one|two) [a-z]\b",
    r"^(?:不对|不是|错了|反了|不,|不，|不。|哎|等等|更正|搞错|弄错)|看错|写错|记错|应该是|改(?:时间|到|成)了|不是.{1,16}(?:是|而是)|，不是|没错，但",
)
NEGATIVE = _any(
    r"\b(?:not|no|never|none|nobody|nothing|without|neither|nor|don'?t|dont|doesn'?t|didn'?t|won'?t|can'?t|cant|cannot|isn'?t|aren'?t|wasn'?t|haven'?t|hasn'?t|stop(?:ped)?|quit|no longer|drop(?:ped)?)\b",
    r"不|没|别|勿|莫|戒|非|无(?!论)",
)
ABOUT_THE_TEXT = _any(
    r"\b(?:shorter|longer|paragraph|sentence|wording|tone|font|rewrite|rephrase|again|version|draft)\b",
    r"重来|再来|太长|太短|换一个|重写|不算",
)
"""A remark on the answer's form corrects no fact."""
SOMEBODY_ELSE = _any(
    r"^(?!.*\b(?:i|i'?m|i'?ve|i'?d|my|me|we|we'?re|our)\b).*\b(?:she|he|they|woman|man|guy|people|someone)\b"
)
"""A sentence about others in which the speaker does not occur."""
TABLE_ROW = Pattern(r"^[^,，\s]{1,12}(?:,[^,，\s]{0,12}){2,}\s*$", re.MULTILINE)
"""A line of comma-separated values; two of them are a table and not talk."""
GOES_ON = _any(
    r"^(?:and |also |but |because |then )*(?:she|he|they|it|that|this|those|these|its|his|her|their|both)(?:'s|'re|'ll|'ve)?\b",
    r"^(?:comes?|has|lives?|works?|likes?|needs?|starts?|takes?|gets?|goes|learned|decided|bit)\b",
    r"^(?:她|他|它|这|那|而且|还有|因为|所以|上次)",
)
"""A sentence that is about what the one before named."""
PERSON_FIRST = _any(
    rf"^\s*(?:and |also |btw,? |oh,? |but |so |fyi,? )*(?:my|our) (?:\w+ ){{0,2}}?{PEOPLE_EN}\b",
    rf"^(?:我|我家|我们|咱|咱家|家里)?(?:的)?{PEOPLE_ZH}",
)
"""A sentence whose subject is somebody around the user."""
