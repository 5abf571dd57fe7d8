"""An agent with long-term memory, after LangMem's quick start: it answers each line of its input."""

import sys

from langchain.agents import create_agent
from langgraph.store.memory import InMemoryStore
from langmem import create_manage_memory_tool, create_search_memory_tool

PLACE = ("{langgraph_user_id}", "memories")

agent = create_agent(
    "openai:gpt-test",
    tools=[create_manage_memory_tool(namespace=PLACE), create_search_memory_tool(namespace=PLACE)],
    store=InMemoryStore(),
)

for line in sys.stdin:
    asked = {"messages": [{"role": "user", "content": line.strip()}]}
    answer = agent.invoke(asked, {"configurable": {"langgraph_user_id": "ada"}})
    print(answer["messages"][-1].content)
