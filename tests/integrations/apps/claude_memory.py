"""Claude with the memory tool, after the example of Anthropic's SDK: it answers each line of its input."""

import sys

from anthropic import Anthropic
from anthropic.tools import BetaLocalFilesystemMemoryTool

client = Anthropic()
memory = BetaLocalFilesystemMemoryTool()
messages = []

for line in sys.stdin:
    messages.append({"role": "user", "content": line.strip()})
    runner = client.beta.messages.tool_runner(
        model="claude-sonnet-5-5",
        max_tokens=2048,
        system="Keep your memory up to date.",
        messages=messages,
        tools=[memory],
        thread=False,
    )
    answer = runner.until_done()
    messages.append({"role": "assistant", "content": answer.content})
    print(answer.content[-1].text)
