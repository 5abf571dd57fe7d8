"""The report of a run: rows as JSON, tables as Markdown, and the same as a page."""

from __future__ import annotations

import html
import json
import os
import platform
import subprocess
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from closure.runner import FAIL, PASS, SKIPPED, UNASKED, Cell, Kept, Plan, now
from closure.systems import System
from closure.trial import Suite

SIGNS = {PASS: "✓", FAIL: "✗", SKIPPED: "–"}
HEAD = """# The same questions, put to memkit and to others

What `make closure` writes: every cell was answered by the command beside it, which asks it again. No model judges; a
case is a sequence of calls and what the answers have to hold and to lack. How to read, repeat, doubt and extend it
stands in [closure/README.md](../closure/README.md), the rows in [report.json](../closure/report.json).

✓ it did · ✗ it did not · – it has no way to do that, or is not run here, and the reason says so. Two memories are
wrong on purpose, one remembers nothing, one forgets nothing; a question that they do not fail where they have to is
thrown out.
"""


ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Run:
    """When and how rows were made."""

    begins: tuple[str, ...]
    """When it was begun, and each time that it was gone on with."""
    ended: str
    commit: str
    machine: str
    seed: int
    share: float
    jobs: int

    def told(self, cells: Iterable[Cell], systems: Collection[str]) -> str:
        """Return it in a sentence, with how many of the cells it asked."""
        asked = [cell for cell in cells if cell.run == self.begins[0]]
        names = list(dict.fromkeys(cell.system for cell in asked))
        whom = "every system" if set(names) == set(systems) else ", ".join(names)
        more = f", gone on with {', '.join(self.begins[1:])}" if self.begins[1:] else ""
        how = f"seed {self.seed}, share {self.share:g}, {self.jobs} side by side, {self.machine}"
        return f"{self.begins[0]} to {self.ended} UTC{more}; commit {self.commit}; {how}; {len(asked)} rows, of {whom}."


def run_of(plan: Plan, kept: Kept, cells: Sequence[Cell]) -> Run:
    """Return how the cells of a run that ends now were made."""
    asked = ["git", "-C", str(ROOT), "describe", "--always", "--dirty", "--exclude=*"]
    commit = subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip() or "unknown"
    machine = f"Python {platform.python_version()}, {platform.system()}, {os.cpu_count()} processors"
    return Run(tuple(kept.begins()), now(), commit, machine, plan.seed, plan.share, plan.jobs)


def beside(run: Run, found: Sequence[Cell], path: Path, order: Sequence[str]) -> tuple[list[Run], list[Cell]]:
    """Return runs and rows with those of a new run, which does not take the place of what it did not ask.

    Args:
        run: The new run.
        found: Its cells.
        path: The report as it is.
        order: The systems by name.
    """
    before = {cell.id: cell for cell in read(path) if cell.system in order}
    new = [before.get(cell.id, cell) if cell.reason == UNASKED else replace(cell, run=run.begins[0]) for cell in found]
    systems = {cell.system for cell in found}
    cells = [*new, *(cell for cell in before.values() if cell.system not in systems)]
    named = {cell.run for cell in cells}
    runs = [one for one in (run, *read_runs(path)) if one.begins[0] in named]
    return runs, sorted(cells, key=lambda cell: order.index(cell.system))


def write(
    runs: Sequence[Run],
    cells: Sequence[Cell],
    systems: Mapping[str, System],
    suites: Mapping[str, Suite],
    folder: Path,
) -> None:
    """Write ``report.json`` and ``report.html`` in ``folder``, and the text beside them, or as ``docs/closure.md``."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = f'{{"runs": {_a_line_each(runs)}, "rows": {_a_line_each(cells)}}}'
    text = markdown(runs, cells, systems, suites)
    pages = ROOT / "docs" / "closure.md" if folder.resolve() == ROOT / "closure" else folder / "report.md"
    for path, content in ((folder / "report.json", f"{rows}\n"), (pages, text), (folder / "report.html", page(text))):
        path.write_text(content, encoding="utf-8")


def _a_line_each(values: Sequence[Run] | Sequence[Cell]) -> str:
    """Return a list in JSON with a line for each value, so that an answer that changed is one line of a difference."""
    return "[\n" + ",\n".join(json.dumps(asdict(value), ensure_ascii=False) for value in values) + "\n]"


def read(path: Path) -> list[Cell]:
    """Return the rows of a report, none where there is no file."""
    return [Cell(**row) for row in json.loads(path.read_text(encoding="utf-8"))["rows"]] if path.exists() else []


def read_runs(path: Path) -> list[Run]:
    """Return the runs of a report, none where there is no file."""
    found = json.loads(path.read_text(encoding="utf-8"))["runs"] if path.exists() else []
    return [Run(**{**run, "begins": tuple(run["begins"])}) for run in found]


def markdown(
    runs: Sequence[Run], cells: Sequence[Cell], systems: Mapping[str, System], suites: Mapping[str, Suite]
) -> str:
    """Return the report: how it was made, where memkit loses, the sums, the systems, then every cell."""
    made = ["## How it was made\n", *(f"- {run.told(cells, systems)}" for run in runs), ""]
    parts = [HEAD, *made, *_lost(cells, systems), *_sums(cells, systems, suites), *_who(cells, systems)]
    for suite in suites.values():
        parts += _suite(cells, suite, systems)
    parts += _suite(cells, Suite("environment", "How it was set up, and where it went while it was asked."), systems)
    return "\n".join(parts).rstrip() + "\n"


def _lost(cells: Sequence[Cell], systems: Mapping[str, System]) -> Iterable[str]:
    ours = [cell for cell in cells if systems[cell.system].is_ours]
    yield "## Where memkit loses\n"
    lost = [cell for cell in ours if cell.result == FAIL]
    yield from (f"- ✗ {_link(cell)}: {_flat(cell.reason)}" for cell in lost)
    if not lost:
        yield "- It fails no question of this report."
    yield from (f"- – {_link(cell)}: {_flat(cell.reason)}" for cell in ours if cell.result == SKIPPED)
    yield from (f"- {line}" for line in _beaten(cells, systems))
    yield ""


def _beaten(cells: Sequence[Cell], systems: Mapping[str, System]) -> Iterable[str]:
    """Yield the figures in which somebody else is better: those of ``cost`` and ``recall``, passed or not."""
    figures: dict[str, dict[str, float]] = {}
    for cell in cells:
        counts = {"cost": (PASS,), "recall": (PASS, FAIL)}.get(cell.suite, ())
        if cell.result in counts and not systems[cell.system].is_control and cell.reason[:1].isdigit():
            figures.setdefault(f"{cell.suite}/{cell.case}", {})[cell.system] = float(cell.reason.split()[0])
    for case, of in figures.items():
        # Of recall more is better, of costs less.
        sign = -1 if case.startswith("recall") else 1
        if "memkit-files" in of:
            better = [name for name, value in of.items() if sign * value < sign * of["memkit-files"]]
            rivals = [name for name in better if not systems[name].is_ours]
            if rivals:
                yield f"`{case}`: {of['memkit-files']:g}, and better are " + ", ".join(
                    f"{name} ({of[name]:g})" for name in sorted(rivals, key=lambda name: sign * of[name])
                )


def _sums(cells: Sequence[Cell], systems: Mapping[str, System], suites: Mapping[str, Suite]) -> Iterable[str]:
    yield "## Sums\n\nPassed of asked; what a system has no way to do is not counted in either.\n"
    names = [*suites, "environment"]
    yield "| system | " + " | ".join(names) + " |"
    yield "|---|" + "---|" * len(names)
    for system in systems:
        row = []
        for name in names:
            of = [cell.result for cell in cells if cell.system == system and cell.suite == name]
            asked = sum(result != SKIPPED for result in of)
            row.append(f"{of.count(PASS)} / {asked}" if asked else "–")
        if any(cell.system == system for cell in cells):
            yield f"| {system} | " + " | ".join(row) + " |"
    yield ""


def _who(cells: Sequence[Cell], systems: Mapping[str, System]) -> Iterable[str]:
    yield "## Systems\n\n| system | what it is here | packages | |\n|---|---|---|---|"
    for name, system in systems.items():
        said = [cell.reason for cell in cells if cell.id == f"{name}/environment/set-up" and cell.result == SKIPPED]
        yield f"| {name} | {system.about} | {', '.join(system.packages)} | {_flat(said[0]) if said else ''} |"
    yield ""


def _suite(cells: Sequence[Cell], suite: Suite, systems: Mapping[str, System]) -> Iterable[str]:
    of = [cell for cell in cells if cell.suite == suite.name]
    if not of:
        return
    yield f"## {suite.name.capitalize()}\n\n{suite.about}\n"
    rules = {case.id: case.rule for case in suite.cases}
    for case in dict.fromkeys(cell.case for cell in of):
        yield f'<a id="{suite.name}-{case}"></a>\n'
        yield f"### {suite.name}/{case}\n"
        if case in rules:
            yield f"{rules[case]}\n"
        yield "| | system | what was seen |\n|---|---|---|"
        for cell in of:
            if cell.case == case:
                yield f"| {SIGNS[cell.result]} | {cell.system} | {_flat(cell.reason)} |"
        example = next(cell for cell in of if cell.case == case)
        yield f"\n`{example.command.replace(example.system, 'SYSTEM', 1)}`\n"


def _link(cell: Cell) -> str:
    return f"[{cell.id}](#{cell.suite}-{cell.case})"


def _flat(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


STYLE = """body{font:16px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem;
color:#1b1f24;background:#fff}
table{border-collapse:collapse;display:block;overflow-x:auto}
td,th{border:1px solid #8886;padding:.25rem .6rem;text-align:left}
code{background:#8882;padding:.1rem .3rem;border-radius:4px;overflow-wrap:anywhere}
@media(prefers-color-scheme:dark){body{color:#e6e6e6;background:#16181c}a{color:#8ab4f8}}"""


def page(text: str) -> str:
    """Return the report as a page that loads nothing: headings, tables, lists and paragraphs, which is all it has."""
    shown: list[str] = []
    rows: list[str] = []
    for line in [*text.splitlines(), ""]:
        if line.startswith("|"):
            if not set(line) <= set("|- "):
                cells = line.replace("\\|", "&#124;").strip("|").split("|")
                rows.append("<tr>" + "".join(f"<td>{_inline(cell.strip())}</td>" for cell in cells) + "</tr>")
            continue
        if rows:
            shown.append(f"<table>{''.join(rows)}</table>")
            rows = []
        if line.startswith("#"):
            level = len(line) - len(line.lstrip("#"))
            shown.append(f"<h{level}>{_inline(line.strip('# '))}</h{level}>")
        elif line.startswith("- "):
            shown.append(f"<p>• {_inline(line[2:])}</p>")
        elif line.startswith("<a id="):
            shown.append(line)
        elif line:
            shown.append(f"<p>{_inline(line)}</p>")
    title = "<title>The same questions, put to memkit and to others</title>"
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width">{title}<style>{STYLE}</style>'
    return f'<!doctype html><html lang="en"><head>{head}</head><body>\n' + "\n".join(shown) + "\n</body></html>\n"


def _inline(text: str) -> str:
    """Return a line with its links and code; what systems said is only ever text."""
    safe = html.escape(html.unescape(text), quote=True)
    pieces = safe.split("`")
    for place in range(1, len(pieces), 2):
        pieces[place] = f"<code>{pieces[place]}</code>"
    safe = "".join(pieces)
    while (begin := safe.find("](")) >= 0:
        start, end = safe.rfind("[", 0, begin), safe.find(")", begin)
        if start < 0 or end < 0:
            break
        target = safe[begin + 2 : end]
        safe = f'{safe[:start]}<a href="{target}">{safe[start + 1 : begin]}</a>{safe[end + 1 :]}'
    return safe
