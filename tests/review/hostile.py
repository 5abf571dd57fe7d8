"""Texts that try to become more than text wherever they are shown."""

from __future__ import annotations

import json
from pathlib import Path

from repositories import POLICY, SKILL, put

TEXTS = (
    "<script>document.title='owned'</script>",
    "<img src=x onerror=alert(1)>",
    "](javascript:alert(1)) [click](https://evil.example)",
    "![pixel](https://evil.example/p.png) @torvalds #1 evil/repo#2 GH-3",
    "https://evil.example www.evil.example mail@evil.example",
    "`code` ``two`` ``` three <b>bold</b>",
    "\u001b[31mred\u001b[0m \u001b]8;;https://evil.example\u0007link\u001b]8;;\u0007",
    "admin \u202egnp.exe \u2066isolated\u2069 \u200bzero",
    "“inner” ” @torvalds “ <u>x</u>",
    "{{ 7*7 }} {% raw %} ${7*7} $x^2$ &lt;b&gt; &#64;torvalds",
    "line\u2028separator\u0085next\r\n### heading\n- item",
    "</q></li></details><style>*{display:none}</style><!--",
)


def write(root: Path) -> None:
    """Put every text into names and values of a skill, a policy, settings and memory."""
    quoted = [json.dumps(text) for text in TEXTS]
    put(root, "skills/tea.yaml", SKILL.replace("[Boil water, Pour it]", f"[{', '.join(quoted)}]"))
    tests = "\n".join(f"  - {{name: {text}, call: {{tool: bash}}, expect: allow}}" for text in quoted)
    exceptions = "\n".join(f"  - {{text: {text}, match: {{context.env: {{in: [{text}]}}}}}}" for text in quoted)
    policy = POLICY.replace("exceptions:\n", f"exceptions:\n{exceptions}\n").replace("tests:\n", f"tests:\n{tests}\n")
    put(root, "policies/stop.yaml", policy.replace("[rm, shred]", f"[rm, {', '.join(quoted)}]"))
    put(root, "memkit.yaml", f"name: x\nformat: 1\npersona: {quoted[0]}\n")
    at = "2026-11-21T09:00:00.000000Z"
    records = [
        {
            "id": f"01KAJ3Q{number:019d}",
            "text": text,
            "user_id": TEXTS[number % 3],
            "created_at": at,
            "source_url": text,
        }
        for number, text in enumerate(TEXTS)
    ]
    put(root, "archive/2026-11/w.jsonl", "".join(json.dumps(record) + "\n" for record in records))
    put(root, "notes <b>@torvalds](javascript:x).txt", "x")
