"""L3 with a model: scenes to read, one page to write, and a portrait only if the page passes.

"No change" is an answer that the model must give in so many words; silence, an apology and a page that breaks a rule are
failures, so the portrait stays due (pipeline reference W3). The draft rests on the memories of all scenes, because each
of them was shown at least in one line: a memory that is deleted reaches the portrait, whichever scene it came by.
"""

from __future__ import annotations

import re

from memstrata.distill.calls import CallSettings, failed, new_mark
from memstrata.distill.conversation import Conversation
from memstrata.distill.persona.prompt import UNCHANGED, persona_limit, persona_repair_text, persona_system, persona_text
from memstrata.distill.protocol import PersonaDraft, PersonaRequest
from memstrata.distill.validate import Rejected, valid_persona
from memstrata.distill.workbench import BenchFile, BenchRules, Staged, Workbench
from memstrata.llm.ask import outcome_of
from memstrata.llm.errors import CallFailed
from memstrata.llm.protocol import Chat
from memstrata.llm.tools import says
from memstrata.records import PERSONA_PATH, Poison, Retry

__all__ = ["portray_with_model"]


async def portray_with_model(
    chat: Chat, request: PersonaRequest, settings: CallSettings
) -> PersonaDraft | Retry | Poison:
    """Draw the portrait from the scenes. The old body comes back where the model says that nothing is to change."""
    return await _Run(chat, request, settings).draft()


class _Run:
    """One conversation about one portrait."""

    def __init__(self, chat: Chat, request: PersonaRequest, settings: CallSettings) -> None:
        self._request = request
        self._zone = settings.zone
        self._limit = persona_limit(settings.mode)
        files = [
            BenchFile(view.document.path, view.document.body)
            for view in request.scenes
            if view.document.path != PERSONA_PATH  # the name is the page's own here
        ]
        if request.previous_body.strip():
            files.append(BenchFile(PERSONA_PATH, request.previous_body))
        self._bench = Workbench(files, BenchRules(self._limit, len(files) + 1, frozenset({PERSONA_PATH})))
        system = persona_system(settings.mode, request.custom)
        self._talk = Conversation(chat, "portray", "l3", system, request.custom, settings, self._bench)

    async def draft(self) -> PersonaDraft | Retry | Poison:
        talk = self._talk
        try:
            body = self._body(await talk.say(persona_text(self._request, new_mark(), self._zone)))
            if isinstance(body, Rejected) and self._can_be_mended():
                talk.note(body.reason)
                body = self._body(await talk.say(persona_repair_text(body.reason)))
        except CallFailed as failure:
            return failed(outcome_of(failure), talk.made())
        if isinstance(body, Rejected):
            return Retry(f"the portrait was refused: {body.reason}", provenance=talk.made())
        shown = sorted({memory.seq for view in self._request.scenes for memory in view.memories})
        return PersonaDraft(body, tuple(shown), talk.made())

    def _body(self, answer: str) -> str | Rejected:
        """Return the page as it may be stored, the old one if it is to stay, or what is wrong."""
        previous = self._request.previous_body
        staged = self._staged()
        if staged is None:
            if previous.strip() and says(answer, UNCHANGED):
                return previous
            refusal = self._bench.notes[-1] if self._bench.notes else "nothing was written"
            return Rejected(refusal, PERSONA_PATH)
        body = valid_persona(staged.text)
        if isinstance(body, Rejected):
            return body
        if len(body) > self._limit:
            return Rejected(f"body of {len(body)} characters, at most {self._limit} allowed", PERSONA_PATH)
        paths = (PERSONA_PATH, *(view.document.path for view in self._request.scenes))
        named = [path for path in paths if re.search(rf"(?<![\w-]){re.escape(path)}(?!\w)", body)]
        return Rejected(f"it names a file, {named[0]}", PERSONA_PATH) if named else body

    def _can_be_mended(self) -> bool:
        """Say whether there is a page, or an attempt at one, that the model can be told about."""
        return bool(self._request.previous_body.strip() or self._bench.notes or self._bench.staged)

    def _staged(self) -> Staged | None:
        return self._bench.staged.get(PERSONA_PATH)
