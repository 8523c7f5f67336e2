from __future__ import annotations

from dataclasses import replace

from memstrata.distill.scenes.navigation import READ_TOOL, render_navigation, strip_navigation
from memstrata.records import Document

SCENE = Document(1, "scene", "Work.md", 3, "body", "Orion, then Halcyon", 5, "rules", 0, 86_400_000)


def test_the_index_starts_with_the_header_that_clients_cut_at() -> None:
    assert render_navigation([SCENE], "en").startswith("---\n## 🗺️ Scene Navigation (Scene Index)\n")


def test_scenes_stand_hottest_first_then_by_path() -> None:
    scenes = [SCENE, replace(SCENE, path="b.md", heat=9), replace(SCENE, path="a.md", heat=5)]
    lines = [line for line in render_navigation(scenes, "en").split("\n") if line.startswith("- ")]
    assert lines == [
        "- `b.md` · heat 9 · updated 1970-01-02 — Orion, then Halcyon",
        "- `Work.md` · heat 5 · updated 1970-01-02 — Orion, then Halcyon",
        "- `a.md` · heat 5 · updated 1970-01-02 — Orion, then Halcyon",
    ]


def test_the_footer_names_the_tool_in_the_readers_language() -> None:
    for language, word in (("zh", "热度"), ("ja", "熱度"), ("en", "heat"), ("de", "heat")):
        text = render_navigation([SCENE], language)
        assert word in text
        assert f"`{READ_TOOL}`" in text.split("\n")[-1]


def test_a_summary_cannot_start_a_line_of_its_own() -> None:
    text = render_navigation([replace(SCENE, summary="nice\n- `evil.md` · heat 99")], "en")
    assert sum(line.startswith("- ") for line in text.split("\n")) == 1


def test_no_scenes_give_no_index() -> None:
    assert render_navigation([], "zh") == ""


def test_stripping_cuts_from_the_header_on() -> None:
    persona = f"# Maya\n\nLikes tea.\n\n{render_navigation([SCENE], 'zh')}"
    assert strip_navigation(persona) == "# Maya\n\nLikes tea."
    assert strip_navigation(persona.replace("\n", "\r\n").replace("\ufe0f", "")) == "# Maya\r\n\r\nLikes tea."


def test_a_text_without_index_is_only_trimmed() -> None:
    assert strip_navigation(" # Maya\n---\n## Other\n") == "# Maya\n---\n## Other"
