"""An assistant that remembers a conversation, after the Agents SDK's guide to sessions: it answers each line."""

import sys

from agents import Agent, Runner, SQLiteSession

agent = Agent(name="Assistant", instructions="Reply very concisely.", model="gpt-test")
session = SQLiteSession("conversation_123")

for line in sys.stdin:
    result = Runner.run_sync(agent, line.strip(), session=session)
    print(result.final_output)
