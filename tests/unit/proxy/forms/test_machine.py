import json

import pytest

from memstrata.proxy.clients.client import QuestionTool
from memstrata.proxy.clients.table import CLIENTS
from memstrata.proxy.forms.machine import (
    Ask,
    Asking,
    Bind,
    Decline,
    NeedTeam,
    Offer,
    Postpone,
    Step,
    answered,
    begin,
    resumed,
)
from memstrata.proxy.forms.pages import MORE, Choice
from memstrata.proxy.forms.rendering import arguments_of

TEAMS = (Choice("team-11111111", "Red"), Choice("team-22222222", "Blue"))
AGENTS = tuple(Choice(f"agt-{at:08}", f"agent {at}") for at in range(11))
TASKS = (Choice("task-11111111", "Ship"), Choice("task-22222222", "Mend"))


def claude() -> QuestionTool:
    return CLIENTS["claude-code"].questions[0]


def asked(step: Step) -> Asking:
    assert isinstance(step, Ask)
    return step.asking


def choose(asking: Asking, label: str) -> str:
    """Answer the form's only question as Claude Code writes it."""
    return f'User has answered your questions: "{asking.questions[0].text}"="{label}". You can now continue.'


def test_all_stages_are_asked_in_turn_and_lists_are_paged() -> None:
    offer = Offer(TEAMS)
    consent = asked(begin(offer, claude(), "en"))
    team = asked(answered(consent, choose(consent, "Yes, use memory"), offer, claude()))
    needs = answered(team, choose(team, "Blue (22222222)"), offer, claude())
    assert isinstance(needs, NeedTeam)
    assert needs.team == "team-22222222"

    offer = Offer(TEAMS, AGENTS, TASKS)
    agent = asked(resumed(needs.asking, offer, claude()))
    for page in range(1, 4):
        agent = asked(answered(agent, choose(agent, "More…"), offer, claude()))
        assert agent.page == page
    task = asked(answered(agent, choose(agent, "agent 10 (00000010)"), offer, claude()))
    assert [option.label for option in task.questions[0].options] == ["No task", "Ship (11111111)", "Mend (22222222)"]

    assert answered(task, choose(task, "Mend (22222222)"), offer, claude()) == Bind(
        "team-22222222", "agt-00000010", "task-22222222"
    )


def test_where_there_is_nothing_to_choose_nobody_is_asked() -> None:
    offer = Offer(TEAMS[:1], AGENTS[:1], TASKS[:1])

    assert begin(offer, claude(), "en") == Bind("team-11111111", "agt-00000000", "task-11111111")
    assert isinstance(begin(offer, claude(), "en", always_consent=True), Ask)


def test_one_team_with_short_lists_is_asked_for_in_a_single_form() -> None:
    offer = Offer(TEAMS[:1], AGENTS[:3], TASKS)
    form = asked(begin(offer, claude(), "en"))
    assert [question.key for question in form.questions] == ["consent", "agent", "task"]
    result = json.dumps(
        {
            "answers": {
                form.questions[0].text: "Yes, use memory",
                form.questions[1].text: "agent 1 (00000001)",
                form.questions[2].text: "No task",
            }
        }
    )

    assert answered(form, result, offer, claude()) == Bind("team-11111111", "agt-00000001", "")


def test_one_choice_of_a_stage_is_picked_without_a_word() -> None:
    offer = Offer(TEAMS, AGENTS[:1], ())
    team = asked(answered(asked(begin(Offer(TEAMS), claude(), "en")), "yes", Offer(TEAMS), claude()))
    needs = answered(team, choose(team, "Red"), Offer(TEAMS), claude())
    assert isinstance(needs, NeedTeam)

    assert resumed(needs.asking, offer, claude()) == Bind("team-11111111", "agt-00000000", "")


@pytest.mark.parametrize(("language", "no"), [("en", "No, not here"), ("zh", "不启用")])
def test_no_is_declined_for_good(language: str, no: str) -> None:
    form = asked(begin(Offer(TEAMS), claude(), "zh" if language == "zh" else "en"))

    assert answered(form, choose(form, no), Offer(TEAMS), claude()) == Decline("the user declined")


def test_an_unclear_answer_asks_again_and_the_third_declines() -> None:
    form = asked(begin(Offer(TEAMS), claude(), "en"))
    for tries in (1, 2):
        form = asked(answered(form, "what?", Offer(TEAMS), claude()))
        assert form.tries == tries
        assert form.questions[0].text.count("That was none of the choices.") == 1

    assert isinstance(answered(form, "what?", Offer(TEAMS), claude()), Decline)


def test_what_could_not_be_asked_is_tried_again() -> None:
    form = asked(begin(Offer(TEAMS), claude(), "en"))

    assert isinstance(
        answered(form, "request_user_input is unavailable in Default mode", Offer(TEAMS), claude()), Postpone
    )
    assert isinstance(begin(Offer(()), claude(), "en"), Postpone)
    assert isinstance(begin(Offer(TEAMS[:1], (), ()), claude(), "en"), Postpone)


@pytest.mark.parametrize("name", ["claude-code", "codex", "workbuddy", "dsh", "codebuddy"])
def test_a_form_keeps_to_what_the_client_can_show(name: str) -> None:
    tool = CLIENTS[name].questions[0]
    offer = Offer(TEAMS, AGENTS, TASKS)
    form = asked(answered(asked(begin(Offer(TEAMS), tool, "zh")), "yes", offer, tool))
    form = asked(answered(form, "Red (11111111)", offer, tool))
    arguments = arguments_of(form, tool)

    questions = arguments["questions"]
    if name == "codebuddy":
        assert isinstance(questions, str)
        questions = json.loads(questions)
    assert isinstance(questions, list)
    options = questions[0]["options"]
    assert 2 <= len(options) <= (tool.most_options or 20)
    assert len(questions[0].get("header", "")) <= 12
    assert (form.questions[0].options[-1].id == MORE) == bool(tool.most_options)
