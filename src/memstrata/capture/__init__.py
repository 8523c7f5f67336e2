"""L0: what is said goes in, once."""

from memstrata.capture.append import append
from memstrata.capture.message import MAX_CHARACTERS, MAX_KEY, MAX_MESSAGE_ID, MAX_MESSAGES, MessageInput
from memstrata.capture.redaction import Redaction

__all__ = ["MAX_CHARACTERS", "MAX_KEY", "MAX_MESSAGES", "MAX_MESSAGE_ID", "MessageInput", "Redaction", "append"]
