"""What a statement is a value of, and when two values of one slot cannot both hold.

Most slots have one value: a later residence takes the place of the earlier. Tastes have a slot per thing, with liking or
disliking as the value. Meat dishes share the slot of the diet, because giving up meat ends the liking of all of them
while two liked dishes do not contradict each other.
"""

from __future__ import annotations

import re

__all__ = ["DIET", "TASTE", "contradict", "taste_of"]

DIET = "diet"
TASTE = "taste"

_LIKED, _DISLIKED = "likes ", "dislikes "
_MEAT_DISH = re.compile(
    r"肉|牛排|烤鸭|炸鸡|排骨|羊|培根|香肠|ステーキ|唐揚げ|\b(?:steak|beef|pork|lamb|bacon|ham|burger|sausage|rib"
    r"|chicken|meat)(?:s|es)?\b",
    re.IGNORECASE,
)
_WITHOUT_MEAT = re.compile(
    r"吃素|素食|纯素|全素|不吃肉|不吃荤|不沾荤|蛋奶素|鱼素|veg(?:etari)?an|veggie|pescatarian|\bno meat\b|菜食"
    r"|ベジタリアン|ヴィーガン",
    re.IGNORECASE,
)


def taste_of(thing: str, *, liked: bool) -> tuple[str, str]:
    """Return slot and value of liking or disliking `thing`, a folded short name; no slot when the name is empty."""
    if not thing:
        return "", ""
    slot = DIET if _MEAT_DISH.search(thing) else f"{TASTE} {thing}"
    return slot, f"{_LIKED if liked else _DISLIKED}{thing}"


def contradict(slot: str, later: str, earlier: str) -> bool:
    """Return whether the later of two values of a slot takes the place of the earlier."""
    if slot != DIET:
        return True
    if _is_taste(later):
        return _is_taste(earlier) and later != earlier and _thing(later) == _thing(earlier)
    if _is_taste(earlier):
        return earlier.startswith(_LIKED) and _WITHOUT_MEAT.search(later) is not None
    return True


def _is_taste(value: str) -> bool:
    return value.startswith((_LIKED, _DISLIKED))


def _thing(value: str) -> str:
    return value.partition(" ")[2]
