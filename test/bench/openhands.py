"""Runs the steps of the benchmark with openhands-sdk, for comparison."""
import os
import tempfile

from openhands.sdk import LLM, Agent, Conversation, Tool
from openhands.tools.terminal import TerminalTool  # noqa: F401  registers the tool

llm = LLM(model="openai/bench", base_url=os.environ["LLM_BASE_URL"], api_key="none",
          usage_id="agent", reasoning_effort="none", stream=False)
agent = Agent(llm=llm, tools=[Tool(name="terminal")])
with tempfile.TemporaryDirectory() as workspace, tempfile.TemporaryDirectory() as store:
    conversation = Conversation(agent=agent, workspace=workspace, persistence_dir=store, visualizer=None)
    conversation.send_message("hello")
    conversation.run()
    conversation.close()
print("BENCH DONE")
