"""What lint says of planning domains, in YAML and in HDDL, with the place in the file."""

from __future__ import annotations

import re
from collections.abc import Iterator

from memkit.domains.files import load_domain
from memkit.errors import UsageError
from memkit.lint.checked import Checked
from memkit.lint.interface import Edit, Finding
from memkit.lint.planning.faults import Fault, domain_faults
from memkit.runtime.htn.core import Domain
from memkit.store.yaml import KeyPath

_PLACE = re.compile(r".*?:(\d+):(\d+): (.*)", re.DOTALL)
_SECTIONS = {"operators": ":action", "methods": ":method"}


def domain_rules(file: Checked) -> Iterator[Finding]:
    """Yield what is wrong in a domain in YAML that loads."""
    for fault in domain_faults(Domain.from_data(file.document.data)):
        yield _placed(fault, file)


def hddl_rules(file: Checked, invalid: str) -> Iterator[Finding]:
    """Yield what keeps a domain in HDDL from loading, under the code ``invalid``, or else what is wrong in it."""
    path = file.source.path
    try:
        domain = load_domain(path, name=path.name)
    except UsageError as error:
        place = _PLACE.fullmatch(str(error))
        line, column, message = (int(place[1]), int(place[2]), place[3]) if place else (1, 1, str(error))
        yield Finding(invalid, message[:1].upper() + message[1:], path, line, column)
        return
    text = path.read_bytes().decode("utf-8-sig")
    for fault in domain_faults(domain):
        offset = _offset(fault, domain, text)
        before = text[:offset]
        yield Finding(fault.code, fault.message, path, before.count("\n") + 1, offset - before.rfind("\n"))


def _placed(fault: Fault, file: Checked) -> Finding:
    if fault.slip is not None:
        wrong, meant = fault.slip
        spans = file.document.spans
        for path in (fault.path, (*fault.path, "task"), (*fault.path, 0), (*fault.path, "task", 0)):
            if path in spans and str(_value(file, path)).startswith(wrong):
                offsets = file.document.offsets(path)
                edit = Edit(offsets[0], offsets[len(wrong)], meant, is_safe=False)
                return file.found(fault.code, fault.message, path, part=(0, len(wrong)), edit=edit)
    return file.found(fault.code, fault.message, fault.path, at_key=fault.at_key)


def _value(file: Checked, path: KeyPath) -> object:
    value = file.document.data
    for part in path:
        value = value[part]
    return value


def _offset(fault: Fault, domain: Domain, text: str) -> int:
    """Return where the definition begins that a fault is in; names of HDDL are the same in capital letters."""
    section, key = fault.path[0], fault.path[1]
    if section in _SECTIONS and isinstance(key, int):
        name = domain.operators[key].name if section == "operators" else domain.methods[key].name
        pattern = rf"\({_SECTIONS[str(section)]}\s+({re.escape(name)})(?=[\s()])"
    else:
        pattern = rf"\(:{section}\b[\s\S]*?[\s(]({re.escape(str(key))})(?=[\s()])"
    found = re.search(pattern, text, re.IGNORECASE)
    return found.start(1) if found else 0
