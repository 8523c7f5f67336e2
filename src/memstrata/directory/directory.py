"""The directory of all instances: one object that holds the verbs of each noun.

caller, key = await memory.directory.people.caller("default", "sk-mem-…")
team = await memory.directory.teams.create("default", caller, name="kitchen", owner_user_id=caller.user_id)
"""

from __future__ import annotations

from memstrata.clock import Clock
from memstrata.directory.access import Access
from memstrata.directory.agents import ForgetAgents, TeamAgents
from memstrata.directory.announcing import AnnouncingStore
from memstrata.directory.assets import TeamAssets
from memstrata.directory.bindings import AgentAssets
from memstrata.directory.bootstrap import Bootstrap
from memstrata.directory.borrowing import Lenders
from memstrata.directory.configuration import Configuration
from memstrata.directory.grants import AccessLists
from memstrata.directory.keys import Keys
from memstrata.directory.members import Members
from memstrata.directory.participations import Participations
from memstrata.directory.people import People
from memstrata.directory.tasks import TeamTasks
from memstrata.directory.teams import Teams
from memstrata.directory.verification import Verification
from memstrata.settings import DirectorySettings
from memstrata.store.protocol import Store

__all__ = ["Directory", "ForgetAgents"]


class Directory:
    """All verbs of the directory, by noun."""

    def __init__(self, store: Store, clock: Clock, settings: DirectorySettings, forget_agents: ForgetAgents) -> None:
        verification = Verification(store, clock)
        # Neither the use of a key nor a line of who took part changes what a user may do.
        self.participations = Participations(store, clock)
        self.access = Access(store, clock)
        store = AnnouncingStore(store, self.access.changed)
        self.people = People(store, clock, settings, verification)
        self.keys = Keys(store, clock, settings, verification)
        self.teams = Teams(store, clock, settings, forget_agents)
        self.members = Members(store, clock)
        self.configuration = Configuration(store, clock, settings)
        self.bootstrap = Bootstrap(store, clock, verification)
        self.agents = TeamAgents(store, clock, forget_agents)
        self.tasks = TeamTasks(store, clock)
        self.assets = TeamAssets(store, clock, forget_agents)
        self.bindings = AgentAssets(store, clock)
        self.grants = AccessLists(store, clock)
        self.lenders = Lenders(store, clock)
