"""Who there is and who may see what: people, teams, agents, tasks, assets, and the rules between them.

Every verb takes the instance and the user who asks, decides in one transaction whether they may, and does it there.
Errors are those of the house; their texts begin with the contract's code, as in `team_not_found: …` (wire contract §5).
"""

from memstrata.directory.directory import Directory

__all__ = ["Directory"]
