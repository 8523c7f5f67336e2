"""Writing systems as character ranges, in the form that a class of `re` takes. Data only.

`regex` knows scripts by name, but its classes scan ten times slower than ranges do in `re`, and every stored text is
scanned. All code points are from the Unicode block and script tables.
"""

from __future__ import annotations

__all__ = ["ARABIC", "CYRILLIC", "HAN", "HANGUL", "HEBREW", "KANA", "LATIN", "SYLLABIC", "THAI", "VOWEL_SIGNS"]

HAN = (
    r"\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3038-\u303b\u3105-\u312f\u31a0-\u31bf\u3400-\u4dbf\u4e00-\u9fff"
    r"\uf900-\ufaff\U00016fe0-\U00016ff1\U00020000-\U000323af"
)
"""Han ideographs, their iteration marks, and bopomofo."""

KANA = (
    r"\u3031-\u3035\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\uff66-\uff9d"
    r"\U0001aff0-\U0001b16f"
)
"""Hiragana and katakana with the long-vowel and iteration marks."""

HANGUL = r"\u1100-\u11ff\u3131-\u318e\ua960-\ua97c\uac00-\ud7fb"

THAI = r"\u0e01-\u0e3a\u0e40-\u0e4e"

SYLLABIC = (
    THAI + r"\u0e81-\u0ece\u0edc-\u0edf\u1000-\u103f\u1050-\u108f\u109a-\u109f\u1780-\u17d3\u17d7\u17dc-\u17dd"
    r"\u1950-\u1974\u1980-\u19c9\u1a20-\u1a7e\ua9e0-\ua9ef\ua9fa-\ua9fe\uaa60-\uaadf"
)
"""Scripts without spaces whose letters carry marks: Thai, Lao, Myanmar, Khmer, Tai."""

VOWEL_SIGNS = r"\u07a6-\u07b0\u0900-\u0963\u0970-\u0dff\u0f71-\u0f84\u0f8d-\u0fbc\u1b00-\u1b44\ua980-\ua9c0"
"""Blocks whose marks carry the word though `re` does not count them as word characters: Thaana, Indic, Tibetan, …"""

LATIN = r"A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f\u1e00-\u1eff"
CYRILLIC = r"\u0400-\u052f"
ARABIC = r"\u0610-\u061a\u0620-\u065f\u066e-\u06d3\u06d5-\u06dc\u06fa-\u06ff\u0750-\u077f\ufb50-\ufdff\ufe70-\ufefc"
HEBREW = r"\u0591-\u05bd\u05bf-\u05c7\u05d0-\u05ea\u05ef-\u05f4"
