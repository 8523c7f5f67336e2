"""The contract's own SDK under our roof: code written for it runs when its import names this package instead.

    from memstrata.client.compat import MemoryClient, MetadataClient, TDAMError

Same names, arguments, dictionaries and errors, and no retries, as there. Two things differ: certificates are always
verified, so `verify=False` is refused; skills, knowledge and offload have no routes here and so no methods. New code is
better served by `memstrata.client`. Source: wire contract §9.1.
"""

from memstrata.client._errors import ParamError
from memstrata.client.compat._memory import AsyncMemoryClient, MemoryClient
from memstrata.client.compat._metadata import AsyncMetadataClient, MetadataClient
from memstrata.client.compat._operators import (
    AsyncMemoryGenerationLogClient,
    AsyncMemoryPromptClient,
    MemoryGenerationLogClient,
    MemoryPromptClient,
)
from memstrata.client.compat._stub import AsyncHttpStub, HttpStub, TDAMError

__all__ = [
    "AsyncHttpStub",
    "AsyncMemoryClient",
    "AsyncMemoryGenerationLogClient",
    "AsyncMemoryPromptClient",
    "AsyncMetadataClient",
    "HttpStub",
    "MemoryClient",
    "MemoryGenerationLogClient",
    "MemoryPromptClient",
    "MetadataClient",
    "ParamError",
    "TDAMError",
]
