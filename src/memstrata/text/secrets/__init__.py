"""Finding secrets in text and taking them out: the one redactor of the house."""

from memstrata.text.secrets.redaction import Redacted, Secret, placeholders, redact, secrets_of

__all__ = ["Redacted", "Secret", "placeholders", "redact", "secrets_of"]
