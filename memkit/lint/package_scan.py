# ruff: noqa: E501 (a pattern that is broken over lines is harder to check than a long one)
"""What a person must review in a skill's package before an agent gets it: every file, whatever its kind.

Prose is read as skills are; scripts, fenced code and package hooks by what they run (the guard's shell view) and by
patterns of what no skill needs. Exfiltration is judged by flow: something private is read in one place, and something
is sent in the same file, or in another that works with it.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import PurePosixPath

import yaml

from memkit.errors import UsageError
from memkit.lint.families.hostile import Danger, skill_dangers
from memkit.lint.families.readings import invisible_runs
from memkit.lint.package_code import dangers_of_program, is_warned_of, line_of, signs_in, whole_lines
from memkit.lint.package_programs import (
    FENCE,
    PROSE_SUFFIXES,
    is_document,
    npm_hooks,
    programs_of,
    spelled_out,
)
from memkit.lint.package_signs import (
    DEPENDENCY,
    IN_PROSE,
    POPULAR,
    PROMISES,
    SENDS,
    SIGNS,
    TAKES,
    is_known_installer,
)
from memkit.runtime.guard.checks import words_of
from memkit.runtime.host.terminal import is_unsafe, one_line
from memkit.skills.package import Package, PackageFile
from memkit.skills.sheet_import import read_sheet
from memkit.store.yaml import Document, YamlError, load_yaml


@dataclass(frozen=True)
class PackageFinding:
    """One place in a package, with the reason that it matters."""

    code: str
    severity: str
    """``error`` flags the package; a ``warning`` is only reported."""
    path: str
    line: int
    message: str
    text: str = ""
    """The text there, shortened."""


_CODE = words_of(
    """.sh .bash .zsh .fish .py .pyw .js .mjs .cjs .ts .tsx .rb .pl .php .lua .ps1 .psm1 .bat .cmd .r .go .rs .java
    .kt .swift .scpt .applescript .vbs .command .ipynb .pth"""
)
_DATA = (".csv", ".tsv", ".json", ".jsonl", ".yaml", ".yml", ".xml", ".svg", ".toml", ".ini", ".srt", ".vtt", ".log")
"""Data that an agent may read like a document."""
_MOST_PROSE = 400_000
"""The most prose that is read as skills are; that is slow, and every other check reads the rest."""
_HEAD, _TAIL = 300_000, 100_000
_MOST_FINDINGS = 200
_DOUBLE = re.compile(r"\.(?:pdf|docx?|xlsx?|png|jpe?g|txt|md|csv)\.(?:sh|exe|bat|cmd|py|js|scr|ps1|command|app)$", re.I)
_DOCUMENT = re.compile(r"\.(?:pdf|docx?|xlsx?|pptx?|odt|rtf|png|jpe?g|gif|webp|bmp|ico|mp3|mp4|wav|ttf|woff2?)$", re.I)
_PROGRAMS = (b"\x7fELF", b"MZ", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe", b"#!")
_BINARY = (
    (b"\x7fELF", "a program for Linux"),
    (b"MZ", "a program for Windows"),
    (b"\xcf\xfa\xed\xfe", "a program for macOS"),
    (b"\xca\xfe\xba\xbe", "a program"),
    (b"%PDF", "a PDF"),
)


def scan_package(package: Package) -> list[PackageFinding]:
    """Return what a person must review in a package, errors first, then by place."""
    found = [
        PackageFinding(
            "MKS117" if fault.hostile else "MKS118",
            "error" if fault.hostile else "warning",
            fault.path,
            1,
            fault.message,
        )
        for fault in package.faults
    ]
    texts: list[tuple[PackageFile, str]] = []
    opened = {file.path.rpartition("!")[0] for file in package.files}
    for file in package.files:
        found += _about_name(file)
        text = file.text
        if text is None and file.path not in opened:
            found.append(_unread(file))
        elif text is None:
            continue
        else:
            if len(text) > _HEAD + _TAIL:
                found.append(_too_long(file))
                text = f"{text[:_HEAD]}\n{text[-_TAIL:]}"
            texts.append((file, text))
    subject = _subject(texts)
    left = _MOST_PROSE
    for file, text in sorted(texts, key=lambda one: PurePosixPath(one[0].path).name.lower() != "skill.md"):
        prose = PurePosixPath(file.path).suffix.lower() in PROSE_SUFFIXES
        found += _in_prose(file.path, text, subject) if prose and len(text) <= left else ()
        left -= len(text) if prose else 0
        found += _in_text(file, text, subject)
    found += _flows(texts)
    found += _promises(texts)
    return _sorted(found)


def _sorted(found: Iterable[PackageFinding]) -> list[PackageFinding]:
    kept: dict[tuple[str, str, int], PackageFinding] = {}
    for one in sorted(found, key=lambda one: (one.severity != "error", one.path, one.line, one.code)):
        kept.setdefault((one.code, one.path, one.line), one)
    return list(islice(kept.values(), _MOST_FINDINGS))


def _about_name(file: PackageFile) -> Iterator[PackageFinding]:
    if any(is_unsafe(char) for char in file.path):
        shown = "".join("?" if is_unsafe(char) else char for char in file.path)
        yield PackageFinding("MKS102", "error", shown, 1, "The file name has invisible characters.")
    program = file.content.startswith(_PROGRAMS) and _DOCUMENT.search(file.path)
    if program or _DOUBLE.search(file.path):
        yield PackageFinding(
            "MKS117", "error", file.path, 1, "The name is that of a document, but the file is a program."
        )


def _unread(file: PackageFile) -> PackageFinding:
    what = next((told for magic, told in _BINARY if file.content.startswith(magic)), "a binary file")
    return PackageFinding("MKS118", "warning", file.path, 1, f"This is {what} and was not read.")


def _too_long(file: PackageFile) -> PackageFinding:
    """Return the finding about a text that is searched only in part: nobody reads a program that long."""
    program = PurePosixPath(file.path).suffix.lower() in _CODE or file.content.startswith(b"#!")
    told = f"Only its first {_HEAD:,} and last {_TAIL:,} characters were searched"
    message = f"{told}; nobody reviews a program this long." if program else f"{told}."
    return PackageFinding("MKS118", "error" if program else "warning", file.path, 1, message)


# The subject of a package

_TEACHES = re.compile(
    r"\b(?:security|review\w*|audit\w*|detect\w*|scan\w*|vulnerab\w+|injection|pentest\w*|explains?|teach\w*|learn\w*|harden\w*|guard\w*|forensic\w*)\b",
    re.I,
)
_TAUGHT = ("MKS101", "MKS105", "MKS106", "MKS113", "MKS114")
_KEEPS = re.compile(
    r"\b(?:cron(?:tab|jobs?)?|schedul\w+|launchd|systemd|daemons?|startup|login items?|dotfiles?|servers?|deploy\w*|provision\w*|terraform|ansible|cloud-init|infrastructure|vps|nginx|certificates?|certbot|sysadmin\w*|devops)\b",
    re.I,
)
"""What the description of a skill says whose purpose it is to make something start again."""
_COVERT = re.compile(
    r"\bcurl\b|\bwget\b|/tmp/|/dev/shm|base64|\bnc\b|nohup|/\.(?!config/|local/)\w|authorized_keys|\.git/hooks|\.pth\b|hookspath|\balias\.|CurrentVersion",
    re.I,
)
_COVERT_UNIT = re.compile(r"\bExec\w+=[^\n]*?(?:/tmp/|/dev/shm|/\.\w|\bcurl\b|\bwget\b|base64)")
_ENABLES = re.compile(r"\bsystemctl\b[^\n/]{0,40}\benable\b(?![^\n;&|]*/)")


@dataclass(frozen=True)
class _Subject:
    """The stated subject of a package, which makes some of its content unsurprising."""

    teaches: bool
    """Whether a document says at its top that it is about attacks, so that it names some."""
    keeps: bool
    """Whether the skill says that it sets up something that keeps running."""
    brings_units: bool
    """Whether it has services of its own; otherwise those that it enables are the machine's."""

    def expects(self, text: str, lines: str) -> bool:
        """Return whether what these lines make start again is the skill's purpose, and not covert."""
        if _COVERT.search(lines) or _COVERT_UNIT.search(text):
            return False
        return self.keeps or (not self.brings_units and _ENABLES.search(lines) is not None)


_SAYS = re.compile(r"^(?:name|description|when_to_use)[ \t]*:[^\n]*(?:\n[ \t]+[^\n]*)*", re.MULTILINE)


def _subject(texts: list[tuple[PackageFile, str]]) -> _Subject:
    heads = [(file, text.split("\n---", 1)[0][:4000]) for file, text in texts if text.startswith("---")]
    said = " ".join(
        " ".join(_SAYS.findall(head)) for file, head in heads if PurePosixPath(file.path).name.lower() == "skill.md"
    )
    units = any(
        PurePosixPath(file.path).suffix in (".service", ".timer", ".socket", ".path") or "systemd/" in text
        for file, text in texts
    )
    return _Subject(any(_TEACHES.search(head) for _, head in heads), _KEEPS.search(said) is not None, units)


# Prose


def _in_prose(path: str, text: str, subject: _Subject) -> Iterator[PackageFinding]:
    """Yield what the rules for skills find in a document."""
    front, body = "", text
    try:
        sheet = read_sheet(text, path)
        front = str(sheet.fields.get("description", "")) + "\n" + str(sheet.fields.get("when_to_use", ""))
        body = text.split("---", 2)[-1]
    except UsageError:
        pass
    tools = _front_tools(text)
    parts = [part for part in _parts(body) if part.strip()]
    places = _places(text, parts, len(text) - len(body))
    seen = any(True for _ in invisible_runs(text))
    data: dict[str, object] = {
        "name": "scanned",
        "description": front.strip() or "A document.",
        "steps": parts or ["Read."],
    }
    if tools:
        data["front_matter"] = {"allowed-tools": tools}
    try:
        document = load_yaml(yaml.safe_dump(data, allow_unicode=True, sort_keys=False, width=10_000), name=path)
    except YamlError:
        return
    for danger in skill_dangers(document):
        written = document.text[danger.start : danger.end].strip()
        first = next((line.strip() for line in written.splitlines() if line.strip()), "")[:80]
        place = _place_of(danger, document, places) or max(text.find(first), 0)
        if danger.code == "MKS102" and seen:
            continue  # reported where it is written
        shown = document.text[danger.end : danger.end + 600].partition("\n\n")[0]  # inside the element, if it is one
        if danger.code == "MKS103" and not comment_tells(written + shown):
            continue
        lines = whole_lines(text, place, min(place + len(written), len(text)))
        known = danger.code == "MKS105" and is_known_installer(lines)
        taught = danger.code in _TAUGHT and subject.teaches and is_warned_of(text, place, place + len(written))
        said = danger.code == "MKS111" and subject.expects(text, lines)
        severity = "warning" if known or taught or said or danger.code in ("MKS107", "MKS104") else "error"
        yield PackageFinding(danger.code, severity, path, line_of(text, place), danger.message, one_line(first, 80))


def _places(text: str, parts: list[str], start: int) -> list[int]:
    """Return the positions of a text's parts, which follow each other from ``start`` on."""
    places = []
    for part in parts:
        start = text.index(part, start)
        places.append(start)
        start += len(part)
    return places


def _place_of(danger: Danger, document: Document, places: list[int]) -> int | None:
    """Return the position in a document of a finding in the skill that was made from its parts."""
    spans = document.spans.items()
    path = danger.path or next((path for path, (start, end) in spans if path[1:] and start <= danger.start < end), ())
    if path[:1] != ("steps",) or len(path) != 2 or not places:
        return None
    return places[int(path[1])] + bisect_left(document.offsets(path), danger.start)


def _front_tools(text: str) -> str:
    found = re.search(r"^allowed-tools:[ \t]*(\S[^\n]*)$", text[:4000], re.MULTILINE)
    return found.group(1).strip("\"' ") if found else ""


def _parts(body: str) -> list[str]:
    """Return the paragraphs of a document, with fenced code whole."""
    parts: list[str] = []
    place = 0
    for found in FENCE.finditer(body):
        parts += re.split(r"\n\s*\n", body[place : found.start()])
        parts.append(found.group())
        place = found.end()
    return [*parts, *re.split(r"\n\s*\n", body[place:])]


_TELLING_COMMENT = re.compile(
    r"\b(?:ignore|disregard|forget|override)\b.{0,60}\b(?:previous|prior|above|instructions?|rules?)\b|\bdo not (?:tell|mention|show|reveal|inform|log|display|ask)|\bdon't (?:tell|mention|show|ask)"
    r"|\b(?:you|assistant|agent|claude|gpt|model|ai)\b.{0,50}\b(?:must|should|shall|always|never|have to|need to|will)\b|\bsystem\s*(?:prompt|:|note|override)|\b(?:silently|secretly|quietly|without (?:asking|telling))\b"
    r"|\b(?:curl|wget|base64|eval|rm -rf|chmod|nc|powershell)\b|\b(?:send|upload|post|exfiltrate|forward|copy|append|mail|e-mail)\b.{0,60}\b(?:to|https?|file|key|token|secret|env|credential)|~/\.|\.ssh|\.env\b",
    re.IGNORECASE | re.DOTALL,
)


def comment_tells(comment: str) -> bool:
    """Return whether a comment, or an invisible element, instructs an agent and is not an ordinary note."""
    return _TELLING_COMMENT.search(comment[:20_000]) is not None


# Code


def _in_text(file: PackageFile, text: str, subject: _Subject) -> Iterator[PackageFinding]:
    path, name = file.path, PurePosixPath(file.path).name.lower()
    for start, _, what in islice(invisible_runs(text), 5):
        yield PackageFinding("MKS102", "error", path, line_of(text, start), f"Invisible here: {what}.")
    hooks = npm_hooks(text) if name == "package.json" else []
    for hook in hooks:
        if re.search(r"https?://|\bcurl\b|\bwget\b|\bnode\s+-e\b", hook.code):
            told = "A script that npm runs at install uses the network."
            yield PackageFinding("MKS105", "error", path, line_of(text, hook.start), told, one_line(hook.code, 80))
    read_by_agents = is_document(path, text) or PurePosixPath(name).suffix in _DATA
    for span, code, severity, message, shown in signs_in(text, IN_PROSE) if read_by_agents else ():
        if not (subject.teaches and is_warned_of(text, *span)):
            yield PackageFinding(code, severity, path, line_of(text, span[0]), message, shown)
    for program in (*hooks, *programs_of(path, text)):
        for line, code, severity, message, shown in dangers_of_program(program):
            place = program.start + len("".join(program.code.splitlines(keepends=True)[: line - 1]))
            if code == "MKS111" and subject.expects(text, whole_lines(text, place, place)):
                severity = "warning"
            if not (program.is_shown and code in (*_TAUGHT, "MKS116") and is_warned_of(text, place, place)):
                yield PackageFinding(code, severity, path, line_of(text, program.start) + line - 1, message, shown)
    yield from _dependencies(file, text)


def _dependencies(file: PackageFile, text: str) -> Iterator[PackageFinding]:
    name = PurePosixPath(file.path).name.lower()
    named: list[tuple[int, str]] = []
    for found in islice(DEPENDENCY.finditer(text), 200):
        named += [(found.start(), word) for word in re.split(r"\s+", found.group(1) or found.group(2) or "")]
    if re.fullmatch(r"requirements[\w.-]*\.txt|constraints\.txt", name):
        for span, code, severity, message, shown in signs_in(text, SIGNS):
            yield PackageFinding(code, severity, file.path, line_of(text, span[0]), message, shown)
        named += [
            (found.start(), found.group(1)) for found in re.finditer(r"^\s*([A-Za-z0-9][\w.-]*)", text, re.MULTILINE)
        ]
    if name == "package.json":
        named += [(found.start(), found.group(1)) for found in re.finditer(r'"([@\w./-]+)"\s*:\s*"[\^~]?\d', text)]
    for place, word in named[:2000]:
        plain = re.split(r"[=<>~!\[@;]", word.lower().strip("\"'"), maxsplit=1)[0].replace("_", "-")
        near = _near(plain)
        if near:
            yield PackageFinding(
                "MKS119",
                "error",
                file.path,
                line_of(text, place),
                f"The package {plain!r} is one letter from {near!r}.",
                plain,
            )


def _near(name: str) -> str:
    """Return the well-known name that a name is one letter from."""
    if len(name) < 5 or name in POPULAR or not re.fullmatch(r"[a-z0-9][a-z0-9.-]*", name):
        return ""
    for other in POPULAR:
        if abs(len(other) - len(name)) <= 1 and len(other) >= 5 and name[0] == other[0] and _one_apart(name, other):
            return other
    return ""


def _one_apart(one: str, other: str) -> bool:
    """Return whether one letter was changed, added, left out or swapped with its neighbour."""
    start = next(
        (place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )
    a, b = one[start:], other[start:]
    plural = {one, other} == {one.rstrip("s"), one.rstrip("s") + "s"}
    return not plural and (a[1:] == b[1:] or a[1:] == b or a == b[1:] or (a[:2] == b[1::-1] and a[2:] == b[2:]))


# Flow


def _flows(texts: list[tuple[PackageFile, str]]) -> Iterator[PackageFinding]:
    """Yield where something private is read and something is sent, in one file or in two that work together."""
    takes: list[tuple[str, str, re.Match[str]]] = []
    sends: list[tuple[str, str]] = []
    for file, text in texts:
        prose = PurePosixPath(file.path).suffix.lower() in PROSE_SUFFIXES and not text.startswith("#!")
        code = "\n".join(_code_of(text)) if prose else _whole(file.path, text)
        taken, sent = TAKES.search(code), SENDS.search(code)
        if taken:
            takes.append((file.path, code, taken))
        if sent:
            sends.append((file.path, code))
        if not (taken and sent):
            continue
        place = text.find(taken.group())
        if not (prose and is_warned_of(text, place, place)):
            yield _flow(file.path, text if prose else code, taken, "")
    for path, code, taken in takes[:50]:
        for other, sending in sends[:50]:
            joined = other != path and any(_names_both(text, path, other) for _, text in texts[:200])
            if joined or (other != path and _work_together(path, code, other, sending)):
                yield _flow(path, code, taken, other)


def _whole(path: str, text: str) -> str:
    """Return a program, followed by the lines that read differently once its strings are joined."""
    spelled = "".join(spelled_out(program) for program in programs_of(path, text))
    return text if spelled == text else spelled


_IMPORTS = re.compile(
    r"^\s*(?:from|import|source|\.|use|load|const|let|var)\b[^\n]{0,200}|require[(_][^\n]{0,100}", re.MULTILINE
)


def _names_both(text: str, one: str, other: str) -> bool:
    """Return whether a program uses two others, so that what one reads the other can send."""
    taken = " ".join(_IMPORTS.findall(text))
    return all(re.search(rf"\b{re.escape(PurePosixPath(path).stem)}\b", taken) for path in (one, other))


def _code_of(text: str) -> Iterator[str]:
    yield from (found.group(3) for found in FENCE.finditer(text))
    yield from re.findall(r"`([^`\n]{5,300})`", text)


def _flow(path: str, text: str, taken: re.Match[str], other: str) -> PackageFinding:
    where = f", and {other}, which works with it, sends" if other else ", and the file sends"
    line = line_of(text, max(text.find(taken.group()), 0))
    return PackageFinding(
        "MKS109",
        "error",
        path,
        line,
        f"This sends private data ({one_line(taken.group(), 40)}){where} over the network.",
        one_line(taken.group(), 80),
    )


def _work_together(path: str, code: str, other: str, sending: str) -> bool:
    stems = PurePosixPath(path).stem, PurePosixPath(other).stem
    if any(
        len(stem) > 2 and re.search(rf"\b{re.escape(stem)}\b", text)
        for stem, text in ((stems[0], sending), (stems[1], code))
    ):
        return True
    shared = set(re.findall(r"/tmp/[\w./-]+|[\w-]+\.(?:json|txt|db|tmp|dat|log)\b", code))
    return bool(
        shared & set(re.findall(r"/tmp/[\w./-]+|[\w-]+\.(?:json|txt|db|tmp|dat|log)\b", sending)) - {"package.json"}
    )


def _promises(texts: list[tuple[PackageFile, str]]) -> Iterator[PackageFinding]:
    """Yield where a skill does what its description says it does not."""
    for file, text in texts:
        if PurePosixPath(file.path).name.lower() != "skill.md":
            continue
        head = text.split("\n---", 1)[0][:4000]
        folder = PurePosixPath(file.path).parent
        for promise, breaks, does in PROMISES:
            said = promise.search(head)
            if not said:
                continue
            for other, code in texts:
                in_skill = PurePosixPath(other.path).is_relative_to(folder)
                body = "\n".join(_code_of(code)) if PurePosixPath(other.path).suffix.lower() in PROSE_SUFFIXES else code
                done = breaks.search(body) if in_skill else None
                if done:
                    place = max(code.find(done.group()), 0)
                    yield PackageFinding(
                        "MKS120",
                        "error",
                        other.path,
                        line_of(code, place),
                        f"The description promises {one_line(said.group(), 40)!r}, but this {does}.",
                        one_line(done.group(), 80),
                    )
                    break
