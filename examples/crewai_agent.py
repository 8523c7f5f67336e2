"""A crew of one that remembers on Tuesday what it was told on Monday.

Run `memstrata serve` in another shell, then: pip install "memstrata[crewai]" && python examples/crewai_agent.py
The model is a script, so no key is needed: it knows only what is in the request.
"""

import os
from typing import Any

from crewai import Agent, Crew, Task
from crewai.llms.base_llm import BaseLLM

from memstrata.client import MemoryClient, TurnIds
from memstrata.integrations.crewai import CrewMemory


class ScriptedModel(BaseLLM):
    """Knows what the request says, and nothing else."""

    def call(self, messages: Any, *args: Any, **given: Any) -> str:
        asked = "\n".join(str(message["content"]) for message in messages)
        if "May I" not in asked:
            answer = "I will."
        else:
            answer = "No: you are allergic to walnuts." if "allergic to walnuts" in asked else "I do not know."
        return f"Thought: I now can give a great answer\nFinal Answer: {answer}"

    def supports_function_calling(self) -> bool:
        return False


client = MemoryClient(
    os.environ.get("MEMSTRATA_URL", "http://127.0.0.1:8420"),
    team=os.environ.get("MEMSTRATA_TEAM", "examples"),
    agent="helper",
    user="maya",
)
with client:
    memory = CrewMemory(client)
    helper = Agent(
        role="Helper",
        goal="Help.",
        backstory="You are kind.",
        llm=memory.llm(ScriptedModel(model="scripted")),
        tools=memory.tools(),
    )
    task = Task(description="{question}", expected_output="An answer.", agent=helper)
    crew = Crew(agents=[helper], tasks=[task])
    for session, words in [
        ("monday", "Remember that I am allergic to walnuts."),
        ("tuesday", "May I eat walnut cake?"),
    ]:
        output = memory.kickoff(crew, words, inputs={"question": words}, ids=TurnIds(session=session))
        print(f"{session}: {words}\n  → {output.raw}")
        memory.drain()
        client.flush(session=session)  # what happens by itself after a while, now
    memory.close()
