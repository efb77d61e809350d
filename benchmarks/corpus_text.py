"""The text of a made-up corpus: pools of JSON fragments with the sizes and the redundancy of real session logs.

The pools are made once for a seed and drawn from again and again. That is cheap, and invisible in the result: the
frames of a log are compressed one by one, so what recurs in two of them compresses no better.
"""

from __future__ import annotations

import random
from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

VOCABULARY: Final = 6_000
WORDS: Final = 400_000
ZIPF_OFFSET: Final = 12
MOST_TYPES: Final = 4_000
"""Descriptions in the pool: so many agent types can recur."""

PUNCTUATION_SHARE: Final = 0.12
CJK_SHARE: Final = 0.20
"""Up to this share of the tokens, beginning where that of punctuation ends."""
SECOND_CJK_SHARE: Final = 0.6
SPACE_SHARE: Final = 0.8
PHRASE_SHARE: Final = 0.30
PHRASE_FROM: Final = 30
"""Tokens of a text from which on phrases of it recur."""
PHRASE_TOKENS: Final = (3, 14)

_SYLLABLES: Final = (
    "ba be bi bo bu ca ce ci co cu da de di do du fa fe fi fo fu ga ge go gu la le li lo lu ma me mi mo mu "
    "na ne ni no nu pa pe pi po pu ra re ri ro ru sa se si so su ta te ti to tu va ve vi vo wa we wi xe ya yo "
    "za ze ing tion er ed ly ment ness al ic ous ive able"
)
SYLLABLES: Final = tuple(_SYLLABLES.split())
_COMMON_WORDS: Final = (
    "the of to and a in is that for it as was with be by on not this are or from at which but have an "
    "file test function return value error read write line code should let me check see need first then run "
    "change session event parser task message agent team review fix update result output command path"
)
COMMON_WORDS: Final = tuple(_COMMON_WORDS.split())
CJK: Final = (
    "测试文件写入权限读取编辑会话事件团队任务消息解析错误返回结果更新检查修复代码函数参数配置运行输出命令路径模型缓存"
)
PUNCTUATION: Final = (
    ".", ",", ":", " (", ")", "\\n", "\\n\\n", "`", " -", "/", "_", '\\"', ";", "=", " {", "}", "'s",
)  # fmt: skip
GAPS_MS: Final = ("0", "0", "0", "0", "1", "1", "0", "24", "23", "22", "25")
"""Times between two deltas inside a window of 200 ms: mostly none, with pauses."""


def rng(name: str) -> random.Random:
    """Return a generator of numbers that its name alone decides."""
    return random.Random(name)  # noqa: S311 - reproducible on purpose


class Chunks(NamedTuple):
    """A packed row of text deltas: its fields as JSON, and how many deltas it holds."""

    fields: str
    deltas: int


class ArgumentChunks(NamedTuple):
    """A packed row of argument deltas, split where the call's id and name go."""

    gaps: str
    fields: str
    deltas: int


class _Prose:
    """Draws tokens, texts and packed rows in the proportions of real logs."""

    def __init__(self, numbers: random.Random) -> None:
        self.numbers = numbers
        vocabulary = list(COMMON_WORDS)
        while len(vocabulary) < VOCABULARY:
            syllables = numbers.choice((1, 2, 2, 3, 3, 4))
            vocabulary.append("".join(numbers.choice(SYLLABLES) for _ in range(syllables)))
        weights = [1.0 / (rank + ZIPF_OFFSET) for rank in range(len(vocabulary))]
        self.words = numbers.choices(vocabulary, weights, k=WORDS)
        self._place = 0

    def size(self, median: int, sigma: float, most: int) -> int:
        """Draw a length in bytes."""
        return max(8, min(most, int(self.numbers.lognormvariate(0, sigma) * median)))

    def count(self, mean: int, deviation: int, most: int) -> int:
        """Draw how many deltas a packed row holds."""
        return max(3, min(most, int(self.numbers.gauss(mean, deviation))))

    def gaps(self, count: int) -> str:
        """Draw the times between the deltas of a packed row."""
        return ",".join(self.numbers.choice(GAPS_MS) for _ in range(count - 1))

    def row(self, count: int) -> Chunks:
        """Draw a packed row of text."""
        return Chunks(f'"dt":[{self.gaps(count)}],"texts":["{self._deltas(count)}"]', count)

    def argument_row(self, count: int) -> ArgumentChunks:
        """Draw a packed row of arguments."""
        return ArgumentChunks(f'"dt":[{self.gaps(count)}],', f'"args":["{self._deltas(count)}"]', count)

    def text(self, size: int) -> str:
        """Draw a text of at least `size` bytes in which phrases recur, as they do in prose and in code."""
        numbers = self.numbers
        out: list[str] = []
        held = 0
        while held < size:
            tokens: Sequence[str]
            if len(out) > PHRASE_FROM and numbers.random() < PHRASE_SHARE:
                length = numbers.randint(*PHRASE_TOKENS)
                start = numbers.randrange(len(out) - length)
                tokens = out[start : start + length]
            else:
                tokens = (self._token(),)
            out.extend(tokens)
            held += sum(len(token.encode()) for token in tokens)
        return "".join(out)

    def line(self, size: int) -> str:
        """Draw a text that stands on one line and holds no quotation mark."""
        return self.text(size).replace("\\n", " ").replace('\\"', "")

    def _deltas(self, count: int) -> str:
        return '","'.join([self._token() for _ in range(count)])

    def _token(self) -> str:
        numbers = self.numbers
        kind = numbers.random()
        if kind < PUNCTUATION_SHARE:
            return numbers.choice(PUNCTUATION)
        if kind < CJK_SHARE:
            return numbers.choice(CJK) + (numbers.choice(CJK) if numbers.random() < SECOND_CJK_SHARE else "")
        self._place = (self._place + 1) % len(self.words)
        word = self.words[self._place]
        return f" {word}" if numbers.random() < SPACE_SHARE else word


class Pools:
    """All fragments that the logs of one seed are put together from. Each is JSON already, escapes included."""

    def __init__(self, seed: str) -> None:
        prose = _Prose(rng(f"pools/{seed}"))
        self.words = prose.words
        self.reasoning = [prose.row(prose.count(22, 9, 130)) for _ in range(3000)]
        self.argument_chunks = [prose.argument_row(prose.count(33, 11, 94)) for _ in range(1500)]
        self.text_chunks = [prose.row(prose.count(20, 9, 142)) for _ in range(800)]
        self.blocks = [prose.text(prose.size(520, 1.05, 10_000)) for _ in range(1500)]
        self.arguments = [_escaped_twice(prose.text(prose.size(300, 1.1, 6_500))) for _ in range(1200)]
        self.results = [prose.text(prose.size(640, 1.75, 66_000)) for _ in range(1200)]
        self.messages = [prose.text(prose.size(160, 0.8, 2_000)) for _ in range(600)]
        self.system_prompts = [prose.text(33_000) for _ in range(4)]
        self.subjects = [prose.line(prose.numbers.randint(12, 60)) for _ in range(500)]
        self.descriptions = [prose.line(prose.numbers.randint(40, 180)).strip() for _ in range(MOST_TYPES)]


def _escaped_twice(text: str) -> str:
    """Return a text as it stands in a JSON text that is itself a JSON string."""
    return text.replace("\\n", "\\\\n").replace('\\"', '\\\\\\"')


@cache
def pools_of(seed: str) -> Pools:
    """Return the pools of a seed, made once in each process."""
    return Pools(seed)
