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
HEAD = """# The same questions, put to memkit and to other memories

`make closure` writes this page. Each question is a sequence of calls, and what the answers must hold or lack; no model
judges them. What was seen in each cell, and the command that asks it again, stand in
[report.json](../closure/report.json), a cell a line; [closure/README.md](../closure/README.md) says how to read, repeat
and doubt them.

✓ passed · ✗ failed · – not possible with this system, or not run here. Two systems are controls, wrong on purpose: one
remembers nothing, one forgets nothing. A question that they do not fail where they must is thrown out.
"""


ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Run:
    """When and how rows were made."""

    begins: tuple[str, ...]
    """When it was begun, and each time that it was resumed."""
    ended: str
    commit: str
    machine: str
    seed: int
    share: float
    jobs: int
    cells: tuple[str, ...] = ()
    """The ids of the rows that it made."""

    def told(self, systems: Collection[str]) -> str:
        """Return it in a sentence, with the number of cells it asked."""
        names = list(dict.fromkeys(cell.partition("/")[0] for cell in self.cells))
        whom = "every system" if set(names) == set(systems) else ", ".join(names)
        more = f", gone on with {', '.join(self.begins[1:])}" if self.begins[1:] else ""
        how = f"seed {self.seed}, share {self.share:g}, {self.jobs} side by side, {self.machine}"
        when = f"{self.begins[0]} to {self.ended} UTC{more}; commit {self.commit}"
        return f"{when}; {how}; {len(self.cells)} rows, of {whom}."


def run_of(plan: Plan, kept: Kept, cells: Sequence[Cell]) -> Run:
    """Return how the cells of a run that ends now were made."""
    machine = f"Python {platform.python_version()}, {platform.system()}, {os.cpu_count()} processors"
    asked_now = tuple(cell.id for cell in cells if cell.reason != UNASKED)
    return Run(tuple(kept.begins()), now(), _commit(), machine, plan.seed, plan.share, plan.jobs, asked_now)


def _commit() -> str:
    """Return the commit of the sources; the report written by the first part of a run does not count."""
    git = ["git", "-C", str(ROOT)]
    named = [*git, "rev-parse", "--short=8", "HEAD"]
    commit = subprocess.run(named, capture_output=True, text=True, check=False).stdout.strip()
    sources = [".", ":!closure/report.*", ":!closure/runs.json", ":!docs/closure.md"]
    same = subprocess.run([*git, "diff", "--quiet", "HEAD", "--", *sources], capture_output=True, check=False)
    return f"{commit}{'-dirty' if same.returncode else ''}" if commit else "unknown"


def beside(run: Run, found: Sequence[Cell], path: Path, order: Sequence[str]) -> tuple[list[Run], list[Cell]]:
    """Return runs and rows with those of a new run, which replaces only what it asked.

    Args:
        run: The new run.
        found: Its cells.
        path: The present report.
        order: The systems by name.
    """
    before = {cell.id: cell for cell in read(path) if cell.system in order}
    new = [before.get(cell.id, cell) if cell.reason == UNASKED else cell for cell in found]
    systems = {cell.system for cell in found}
    cells = [*new, *(cell for cell in before.values() if cell.system not in systems)]
    ids, taken = {cell.id for cell in cells}, set(run.cells)
    older = [replace(one, cells=tuple(i for i in one.cells if i in ids - taken)) for one in read_runs(path)]
    return [run, *(one for one in older if one.cells)], sorted(cells, key=lambda cell: order.index(cell.system))


def write(
    runs: Sequence[Run],
    cells: Sequence[Cell],
    systems: Mapping[str, System],
    suites: Mapping[str, Suite],
    folder: Path,
) -> None:
    """Write rows, runs and page in ``folder``, and the text beside them, or as ``docs/closure.md``."""
    folder.mkdir(parents=True, exist_ok=True)
    text = folder / "report.md" if folder.resolve() != ROOT / "closure" else ROOT / "docs" / "closure.md"
    text.write_text(markdown(runs, cells, systems, suites), encoding="utf-8")
    (folder / "report.html").write_text(page(markdown(runs, cells, systems, suites, whole=True)), encoding="utf-8")
    (folder / "report.json").write_text(_lines([asdict(cell) for cell in cells]), encoding="utf-8")
    (folder / "runs.json").write_text(_lines([asdict(run) for run in runs]), encoding="utf-8")


def _lines(rows: Iterable[Mapping[str, object]]) -> str:
    """Return a JSON list with one line per row, so that a change of a cell is a changed line."""
    return "[\n" + ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows) + "\n]\n"


def read(path: Path) -> list[Cell]:
    """Return the rows of a report, empty if there is no file."""
    return [Cell(**row) for row in json.loads(path.read_text(encoding="utf-8"))] if path.exists() else []


def read_runs(path: Path) -> list[Run]:
    """Return the runs of a report, empty if there is no file."""
    file = path.with_name("runs.json")
    found = json.loads(file.read_text(encoding="utf-8")) if file.exists() else []
    return [Run(**{**run, "begins": tuple(run["begins"]), "cells": tuple(run["cells"])}) for run in found]


def markdown(
    runs: Sequence[Run],
    cells: Sequence[Cell],
    systems: Mapping[str, System],
    suites: Mapping[str, Suite],
    whole: bool = False,
) -> str:
    """Return the report: where memkit loses, the sums, the systems, every question; ``whole`` with observations."""
    parts = [HEAD, *_lost(cells, systems), *_sums(cells, systems, suites), *_who(cells, systems)]
    others = Suite("environment", "How it was set up, and where it went while it was asked.")
    for suite in (*suites.values(), others):
        of = [cell for cell in cells if cell.suite == suite.name]
        if of:
            parts += [f"## {suite.name.capitalize()}\n\n{suite.about}\n", *(_seen if whole else _signs)(of, suite)]
    parts += ["## How it was made\n", *(f"- {run.told(systems)}" for run in runs)]
    return "\n".join(parts).rstrip() + "\n"


def _lost(cells: Sequence[Cell], systems: Mapping[str, System]) -> Iterable[str]:
    ours = [cell for cell in cells if systems[cell.system].is_ours]
    yield "## Where memkit loses\n"
    yield from _by_reason([cell for cell in ours if cell.result == FAIL]) or ["- It fails no question of this report."]
    yield from (f"- {line}" for line in _beaten(cells, systems))
    if skipped := [cell for cell in ours if cell.result == SKIPPED]:
        yield "\n## What memkit does not answer here\n"
        yield from _by_reason(skipped)
    yield ""


def _by_reason(cells: Iterable[Cell]) -> list[str]:
    """Return a line for each reason, with the cells of each system that have it."""
    alike: dict[str, dict[str, list[str]]] = {}
    for cell in cells:
        alike.setdefault(f"{SIGNS[cell.result]} {_flat(cell.reason)}", {}).setdefault(cell.system, []).append(
            f"[{cell.suite}/{cell.case}](#{cell.suite}-{cell.case})"
        )
    return [
        f"- {reason}: " + "; ".join(f"{system} {', '.join(links)}" for system, links in of.items())
        for reason, of in alike.items()
    ]


def _beaten(cells: Sequence[Cell], systems: Mapping[str, System]) -> Iterable[str]:
    """Yield the figures in which another system is better: those of ``cost`` and ``recall``, passed or not."""
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
        parts = ", ".join((*system.packages, *system.model))
        yield f"| {name} | {system.about} | {parts} | {_flat(said[0]) if said else ''} |"
    yield ""


def _signs(cells: Sequence[Cell], suite: Suite) -> Iterable[str]:
    """Yield for each question who passed, who failed, and who cannot; with figures if the suite measures."""
    for case, rule in _rules(cells, suite).items():
        yield f'<a id="{suite.name}-{case}"></a>\n\n### {suite.name}/{case}\n'
        if rule:
            yield f"{rule}\n"
        of = [cell for cell in cells if cell.case == case]
        for result, sign in SIGNS.items():
            if names := [_named(cell) for cell in of if cell.result == result]:
                yield f"- {sign} {', '.join(names)}"
        yield ""
    yield f"`{cells[0].command.replace(cells[0].id, f'SYSTEM/{suite.name}/QUESTION')}`\n"


def _named(cell: Cell) -> str:
    is_figure = cell.suite in ("cost", "recall") and cell.reason[:1].isdigit() and cell.result != SKIPPED
    return f"{cell.system} ({cell.reason.split()[0]})" if is_figure else cell.system


def _seen(cells: Sequence[Cell], suite: Suite) -> Iterable[str]:
    """Yield for each question a table of observations, and the command of each cell."""
    for case, rule in _rules(cells, suite).items():
        yield f'<a id="{suite.name}-{case}"></a>\n'
        yield f"### {suite.name}/{case}\n"
        yield f"{rule}\n\n| | system | what was seen | asked again by |\n|---|---|---|---|"
        for cell in cells:
            if cell.case == case:
                yield f"| {SIGNS[cell.result]} | {cell.system} | {_flat(cell.reason)} | `{cell.command}` |"
        yield ""


def _rules(cells: Sequence[Cell], suite: Suite) -> dict[str, str]:
    """Return the questions asked, in order, each with its rule."""
    rules = {case.id: case.rule for case in suite.cases}
    return {case: rules.get(case, "") for case in dict.fromkeys(cell.case for cell in cells)}


def _flat(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


STYLE = """body{font:16px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem;
color:#1b1f24;background:#fff}
table{border-collapse:collapse;display:block;overflow-x:auto}
td,th{border:1px solid #8886;padding:.25rem .6rem;text-align:left}
code{background:#8882;padding:.1rem .3rem;border-radius:4px;overflow-wrap:anywhere}
@media(prefers-color-scheme:dark){body{color:#e6e6e6;background:#16181c}a{color:#8ab4f8}}"""


def page(text: str) -> str:
    """Return the report as a page that loads nothing: headings, tables, lists and paragraphs."""
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
    title = "<title>The same questions, put to memkit and to other memories</title>"
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width">{title}<style>{STYLE}</style>'
    return f'<!doctype html><html lang="en"><head>{head}</head><body>\n' + "\n".join(shown) + "\n</body></html>\n"


def _inline(text: str) -> str:
    """Return a line with its links and code; systems' own words are only ever text."""
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
