"""`/v3/proxy/usage`: what went through the proxy, by user, model and day. Ours, for the operator."""

from __future__ import annotations

from memstrata.records.proxy import ProxyTokens, ProxyUsage
from memstrata.server.call import InstanceCall
from memstrata.server.envelope import Data
from memstrata.server.usage import ProxyUsageList

__all__ = ["list_usage"]

USUAL_DAYS = 7


async def list_usage(call: InstanceCall[ProxyUsageList]) -> Data:
    """Answer with a line for each day, user and model, and with their sum. Days are those of UTC."""
    request = call.request
    lines = await call.memory.proxy_usage(call.instance, days=request.days or USUAL_DAYS, user_id=request.user_id)
    total = sum((line.tokens for line in lines), ProxyTokens())
    return {"items": [_line(line) for line in lines], "total": _tokens(total)}


def _line(line: ProxyUsage) -> Data:
    return {"day": line.day, "user_id": line.user, "model": line.model, **_tokens(line.tokens)}


def _tokens(tokens: ProxyTokens) -> Data:
    return {
        "requests": tokens.requests,
        "input_tokens": tokens.input,
        "output_tokens": tokens.output,
        "cache_read_tokens": tokens.cache_read,
        "cache_write_tokens": tokens.cache_write,
    }
