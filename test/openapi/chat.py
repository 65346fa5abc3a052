"""Calls the gateway with OpenAI's client and prints the answers as JSON.

    python chat.py http://127.0.0.1:8000 KEY
"""
import json
import sys

import openai

client = openai.OpenAI(base_url=sys.argv[1] + "/v1", api_key=sys.argv[2], max_retries=0)
MODEL, HEADER = "openhands_default", "X-OpenHands-ServerConversation-ID"


def ask(text, **more):
    return {"model": MODEL, "messages": [{"role": "system", "content": "be brief"}, {"role": "user", "content": text}], **more}


got = {"models": [m.id for m in client.models.list()]}
first = client.chat.completions.with_raw_response.create(**ask("hi"))
talk = first.headers[HEADER]
got["first"] = first.parse().choices[0].message.content
got["tokens"] = first.parse().usage.total_tokens > 0
again = client.chat.completions.with_raw_response.create(**ask("more", extra_headers={HEADER: talk}))
got["same"] = again.headers[HEADER] == talk
chunks = list(client.chat.completions.create(**ask("stream"), stream=True, stream_options={"include_usage": True}))
got["streamed"] = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
got["usage"] = chunks[-1].usage.total_tokens > 0
got["response"] = client.responses.create(model=MODEL, input="hi", instructions="be kind").output_text
try:
    client.chat.completions.create(**{**ask("x"), "model": "nobody"})
except openai.NotFoundError as e:
    got["error"] = e.body["message"]
try:
    openai.OpenAI(base_url=sys.argv[1] + "/v1", api_key="wrong", max_retries=0).models.list()
except openai.AuthenticationError as e:
    got["refused"] = e.status_code
print(json.dumps(got))
