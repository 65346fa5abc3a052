"""Makes testdata/conversation with the real OpenHands SDK 1.58.0.

    /path/to/openhands/bin/python make.py

A scripted model thinks and answers; then the user goes back to the first
message and takes another branch. Ids and times differ from run to run.
"""

import json
import shutil
import sys
from pathlib import Path

from pydantic import SecretStr

from openhands.sdk import Agent, Conversation
from openhands.sdk.llm import Message, MessageToolCall, TextContent
from openhands.sdk.testing import TestLLM


def text(s):
    return Message(role="assistant", content=[TextContent(text=s)])


def call(name, arguments):
    return Message(
        role="assistant",
        content=[TextContent(text="Let me think.")],
        tool_calls=[MessageToolCall(id="call_1", name=name, arguments=arguments, origin="completion")],
    )


here = Path(__file__).resolve().parent
work = Path("/tmp/deft-fixture")
shutil.rmtree(work, ignore_errors=True)
(work / "workspace").mkdir(parents=True)

llm = TestLLM.from_messages(
    [call("think", '{"thought": "two plus two"}'), text("Four."), text("On the other branch.")],
    usage_id="agent",
)
llm = llm.model_copy(update={"api_key": SecretStr("sk-never-stored")})
conversation = Conversation(
    agent=Agent(llm=llm, tools=[], system_prompt="You answer questions."),
    workspace=str(work / "workspace"),
    persistence_dir=str(work / "conversations"),
    visualizer=None,
    delete_on_close=False,
)
conversation.send_message("What is two plus two?")
conversation.run()
first = next(e for e in conversation.state.events if type(e).__name__ == "MessageEvent")
conversation.navigate_to(first.id)
conversation.send_message("And on another branch?")
conversation.run()
if "--back" not in sys.argv:
    conversation.navigate_to(first.id)
conversation.close()

out = here / "conversation"
shutil.rmtree(out, ignore_errors=True)
[made] = [p for p in (work / "conversations").iterdir() if p.is_dir()]
shutil.copytree(made, out, ignore=shutil.ignore_patterns(".*", "observations"))

# The descriptions of the built-in tools are long and of no use here.
prompt = next(out.glob("events/event-00000-*.json"))
event = json.loads(prompt.read_text())
for tool in event.get("tools", []):
    tool["description"] = tool["title"]
prompt.write_text(json.dumps(event, separators=(",", ":")))
print(out, conversation.id, first.id)
