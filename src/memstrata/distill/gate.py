"""What is worth a distiller's attention: decided before any model is paid, from the shape of a text.

A gate that drops on single words loses real messages (user needs A7), and one that drops on a leading slash loses
questions about paths (pipeline reference W38). So every pattern here describes a whole line or a whole message. What is
kept out stays in L0 untouched; it is only not read.

Answers such as "yes" and "no" are read: with the question before them they can be a fact.
"""

from __future__ import annotations

import re

from memstrata.records import Message

__all__ = ["readable", "worth_reading"]

_DATA_URI = re.compile(r"data:([\w.+-]{1,40}/[\w.+-]{1,80})(?:;[\w=.-]{1,40}){0,4};base64,[A-Za-z0-9+/=_-]+")
_BLOB = re.compile(r"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{160,}={0,2}")
_PLACEHOLDER = re.compile(r"\[base64[^\]\n]{0,130}\]")
_FENCE = re.compile(r"\s{0,8}(`{3,}|~{3,})")

_CLOCK = r"\d{1,2}:\d\d(?::\d\d)?(?:[.,]\d{1,9})?"
_LEVEL = r"(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|ERR|FATAL|CRITICAL|SEVERE)"
_LOG_LINE = re.compile(
    "|".join(
        (
            # 2026-02-11 20:14:03 INFO …, [20:14:03] [ERROR] …, [WARN] …, time=… level=…
            rf"\[?(?:\d{{4}}[-/]\d\d[-/]\d\d[T ]?)?{_CLOCK}(?:Z|[+-]\d\d:?\d\d)?\]?[\s|:-]{{0,6}}\[?{_LEVEL}\]?[\s:|\]].*",
            rf"\[{_LEVEL}\].*",
            r"(?:time|ts|timestamp)=\S{1,60} level=\w{3,8} .*",
            r"\[?\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d\S{0,14}\]?[\s|:-]{1,4}\S{0,80}\[\d{1,9}\].*",
            # syslog, access log
            rf"[A-Z][a-z]{{2}} [ \d]\d {_CLOCK} \S{{1,80}} \S{{1,80}}: .*",
            r'\d{1,3}(?:\.\d{1,3}){3} \S{1,60} \S{1,60} \[[^\]]{10,40}\] ".*',
            # stack traces of Python, the JVM, JavaScript, Go, Rust
            r"Traceback \(most recent call last\):.*",
            r'File "[^"]{1,300}", line \d{1,9}.*',
            r"at [\w.$<>/ -]{1,200}\([^)]{1,300}\)",
            r"(?:Caused by: )?[\w.]{1,120}(?:Error|Exception)(?:: .*)?",
            r"goroutine \d{1,9} \[.*",
            r"thread '[^']{1,80}' panicked at .*",
            r"\.\.\. \d{1,6} more",
            # package managers, compilers, diffs
            r"npm (?:ERR!|WARN|notice).*",
            r"(?:error|warning)(?:\[\w{1,20}\])?: .{0,200} --> .*",
            r"\S{1,200}:\d{1,7}:\d{1,5}: (?:error|warning|note): .*",
            r"@@ -\d{1,7}(?:,\d{1,7})? \+\d{1,7}(?:,\d{1,7})? @@.*",
            r"(?:\+\+\+|---) [ab]/.*",
            r"diff --git .*",
        )
    )
)

_FILLER_WORDS = (
    *("ok", "okay", "k", "kk", "thanks", "thank you", "thank you so much", "thanks a lot", "many thanks", "thx", "ty"),
    *(
        "got it",
        "understood",
        "noted",
        "sure",
        "sure thing",
        "alright",
        "all right",
        "cool",
        "great",
        "nice",
        "perfect",
    ),
    *("awesome", "sounds good", "good", "fine", "hi", "hello", "hey", "bye", "goodbye", "good morning", "good night"),
    *(
        "hmm",
        "hm",
        "uh",
        "um",
        "lol",
        "haha",
        "hahaha",
        "wow",
        "continue",
        "go on",
        "go ahead",
        "next",
        "please continue",
    ),
    *("never mind", "nevermind", "no problem", "no worries", "you're welcome", "welcome"),
    *(
        "好",
        "好的",
        "好吧",
        "好滴",
        "好嘞",
        "好哒",
        "行",
        "行吧",
        "嗯",
        "嗯嗯",
        "哦",
        "哦哦",
        "噢",
        "啊",
        "哈",
        "哈哈",
        "哈哈哈",
        "呵呵",
    ),
    *(
        "谢谢",
        "谢谢你",
        "谢谢您",
        "多谢",
        "谢了",
        "感谢",
        "辛苦了",
        "收到",
        "明白",
        "明白了",
        "知道了",
        "了解",
        "懂了",
        "可以",
        "没问题",
    ),
    *(
        "不客气",
        "不用谢",
        "你好",
        "您好",
        "嗨",
        "早",
        "早上好",
        "晚上好",
        "晚安",
        "再见",
        "拜拜",
        "继续",
        "请继续",
        "接着说",
        "太好了",
        "不错",
    ),
    *("谢謝", "謝謝", "謝謝你", "好喔", "收到了"),
    *(
        "ありがとう",
        "ありがとうございます",
        "どうも",
        "了解",
        "了解です",
        "了解しました",
        "わかりました",
        "分かりました",
    ),
    *(
        "承知しました",
        "なるほど",
        "うん",
        "おはよう",
        "おはようございます",
        "こんにちは",
        "こんばんは",
        "おやすみ",
        "続けて",
        "続けてください",
    ),
    *(
        "감사합니다",
        "고마워",
        "고마워요",
        "알겠습니다",
        "알겠어요",
        "안녕",
        "안녕하세요",
        "ㅋㅋ",
        "ㅋㅋㅋ",
        "ㅎㅎ",
        "계속",
        "계속해",
    ),
    *("спасибо", "понятно", "понял", "поняла", "хорошо", "ок", "окей", "привет", "здравствуйте", "пока", "дальше"),
    *("gracias", "muchas gracias", "vale", "entendido", "de acuerdo", "hola", "adiós", "perfecto", "genial", "sigue"),
    *("danke", "vielen dank", "alles klar", "hallo", "merci", "d'accord", "bonjour", "obrigado", "obrigada", "olá"),
)
_FILLERS = frozenset(_FILLER_WORDS)
_FILLER_LIMIT = 60
_PAUSE = re.compile(r"[,，.。!！~～、;；…·\n]+")

_HEARTBEAT = re.compile(
    r"\W{0,4}(?:heartbeat(?:[_ ]ok)?|keep-?alive|no_reply|ping|pong)\W{0,4}"
    r"|read heartbeat\.md if it exists\b.{0,600}",
    re.IGNORECASE | re.DOTALL,
)


def worth_reading(message: Message) -> bool:
    """Return whether `message` can hold anything to remember. Questions and texts that start with "/" always can."""
    text = readable(message.content).strip()
    if not any(character.isalnum() for character in _PLACEHOLDER.sub("", text)):
        return False
    return not (_HEARTBEAT.fullmatch(text) or _is_filler(text))


def readable(text: str) -> str:
    """Return `text` for a reader's eyes: embedded data as `[base64 …]`, without fenced code and log lines.

    Only for looking; what is stored is what was said. A fence that is never closed hides the rest of the text.
    """
    text = _DATA_URI.sub(r"[base64 \1]", text)
    text = _BLOB.sub("[base64]", text)
    kept: list[str] = []
    fence = ""
    for line in text.split("\n"):
        mark = _FENCE.match(line)
        if fence:
            if mark and mark[1].startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
        elif mark:
            fence = mark[1]
        elif not _LOG_LINE.fullmatch(line.strip()):
            kept.append(line)
    return "\n".join(kept)


def _is_filler(text: str) -> bool:
    """Say whether a short text is nothing but acknowledgements and greetings, whatever stands between them."""
    if len(text) > _FILLER_LIMIT:
        return False
    phrases = (_words(phrase) for phrase in _PAUSE.split(text.casefold().replace("’", "'")))
    return all(" ".join(words) in _FILLERS or all(word in _FILLERS for word in words) for words in phrases)


def _words(text: str) -> list[str]:
    return "".join(character if character.isalnum() or character == "'" else " " for character in text).split()
