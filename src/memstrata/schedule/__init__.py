"""When to distill, and the workers that do it."""

from memstrata.schedule.arming import Arming
from memstrata.schedule.engine import Engine, Handler
from memstrata.schedule.flush import flush_step
from memstrata.schedule.housekeeping import Housekeeping
from memstrata.schedule.planner import PolicyPlanner
from memstrata.schedule.status import layer_statuses

__all__ = ["Arming", "Engine", "Handler", "Housekeeping", "PolicyPlanner", "flush_step", "layer_statuses"]
