"""Owns the words that say nothing about what a text is about, by language."""

from __future__ import annotations

ENGLISH = "english"
_LISTS = {
    "english": """a about after all also am an and any are as at be because been before being between
        both but by can could did do does doing down during each few for from further had has have having
        he her here hers him his how i if in into is it its just me more most my no nor not now of off on
        once only or other our out over own same she should so some such than that the their them then
        there these they this those through to too under until up very was we were what when where which
        while who whom whose why will with would you your yours don didn doesn isn ll ve re s t m d""",
    "german": """aber als am an auch auf aus bei bin bis das dass dein dem den der des die dir doch du ein
        eine einem einen einer es für hat haben hatte ich ihm ihn ihr im in ist ja kann kein mein mich mir
        mit nach nicht noch nur oder sein sich sie sind so über um und uns unser von vor war was wann wenn
        wer wie wir wird wo zu zum zur""",
    "french": """à ai au aux avec ce cette ces dans de des du elle en est et était eu il ils je la le les
        leur lui ma mais me mes moi mon ne nous on ou où par pas pour qu quand que quel quelle qui sa se
        ses son sont sur ta te tes toi ton tu un une vos votre vous""",
    "spanish": """al algo como con cuando cuál cuándo de del donde dónde el ella en es era esta este esto
        fue ha había hay la las le lo los me mi mis muy más no nos o para pero por porque que qué quién se
        ser sin sobre son su sus también te tiene tu un una y ya yo""",
    "italian": """a ai al alla anche che chi ci come con cosa da dal dei del della di dove e è era gli ha ho
        i il in io la le lei lo lui ma mi mia mio nel nella noi non per perché più quando quello questa
        questo si sono su sua suo ti tu un una uno""",
    "portuguese": """a ao aos as com como da das de do dos e ela ele em entre era essa esse esta este eu foi
        há isso já mais mas me meu minha na nas no nos não o onde os ou para pela pelo por porque qual
        quando que quem se sem ser seu sua são também te tem um uma você""",
    "dutch": """aan al als bij dan dat de der deze die dit door een en er had heb heeft het hij hoe ik in is
        je kan maar me mijn naar niet nog nu of om onze ook op over te tot uit van voor waar wanneer was
        wat we wel wie wij zijn zo zou""",
    "russian": """а без был была были в вы где для до его если есть же за и из или как когда который кто ли
        меня мне мой моя мы на не нет но о об он она они от по при с что это я ты тебя уже так там то""",
    "chinese": """的 了 吗 呢 是 我 你 他 她 在 有 和 就 都 也 什么 怎么 我们 你们 他们 这个 那个 一个 没有
        不是 可以 知道 记得 是不 不是 了吗 是什 么时 什么时候 时候 哪里 哪个 谁的 多少 为什么 为什 怎样""",
}
STOP_WORDS = {language: frozenset(words.split()) for language, words in _LISTS.items()}
LANGUAGES_OF = {
    word: tuple(language for language, listed in STOP_WORDS.items() if word in listed)
    for word in frozenset().union(*STOP_WORDS.values())
}
"""For each stop word the languages that have it."""
