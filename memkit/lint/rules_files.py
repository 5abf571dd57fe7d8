"""Rules for policies and domains."""

from __future__ import annotations

from memkit.lint.interface import Rule

_POLICY = (
    "name: no_deletes\ndescription: Keeps files.\nrule: Do not delete files without asking.\nenforcement: hard\n"
    "effect: ask\nmatch:\n  tool: bash\n  args.command: {shell: {program: rm}}\n"
    "tests:\n  - {name: asks, call: {tool: bash, args: {command: rm x}}, expect: ask}\n"
)
_VERSIONED = _POLICY + 'version: "1.1.0"\nchangelog: [{version: "1.1.0", changes: Asks.}]\n'
_PLACE = "policies/no_deletes.yaml"
_OUTBOX = "[tee, -a, outbox.jsonl]"
_NEXT = {"policies/no_losses.yaml": _POLICY.replace("no_deletes", "no_losses")}
_DOMAIN = (
    "name: lamp\npredicates: {lit: []}\noperators:\n  - {name: switch_on, add: [lit]}\n"
    "methods:\n  - {name: by_hand, task: light, subtasks: [switch_on]}\n"
)
_ROOMS = (
    "name: lamp\ntypes: {room: object}\npredicates: {lit: [room]}\noperators:\n"
    '  - {name: switch_on, parameters: "?r - room", add: ["lit ?r"]}\n'
    'methods:\n  - {name: by_hand, task: "light ?r - room", subtasks: ["switch_on ?r"]}\n'
)
_GAP = (
    "name: lamp\npredicates: {lit: []}\noperators:\n  - {name: switch_on, add: [lit]}\n"
    "tasks: {light: {effects: [lit]}}\n"
)
_LEARNED = (
    "domain: lamp\nmethods:\n  - name: learned_light_1\n    task: light\n    subtasks: [switch_on]\n    learned: true\n"
    '    provenance: {provider: anthropic, task: light, at: "2026-11-21T10:00:00Z"}\n'
)
_PROBLEM = "domain: lamp\nstate: []\ntasks: [light]\nexpect: {plan: [switch_on]}\n"

POLICY_RULES = (
    Rule(
        "MKP001",
        "invalid-policy",
        "A policy lacks a key, or a value in it does not fit.",
        "A policy set with such a file does not load, and a set that does not load denies every call.",
        _POLICY.replace("effect: ask", "effect: prompt"),
        _POLICY,
        "policies/no_deletes.yaml",
    ),
    Rule(
        "MKP002",
        "policy-name",
        "A policy's name differs from its file's, or is not a name.",
        "A verdict names the policy that decided, and people look for it by its file.",
        _POLICY.replace("name: no_deletes", "name: keep_files"),
        _POLICY,
        "policies/no_deletes.yaml",
    ),
    Rule(
        "MKP003",
        "policy-without-match",
        "A policy has no match, so it is advice to the model and stops nothing.",
        "Its rule is only put into the prompt. Whoever reads `enforcement: hard` believes that it binds. Say with "
        "`match` which calls it is about, or suppress this finding with the reason why advice is enough.",
        "name: no_deletes\ndescription: Keeps files.\nrule: Do not delete files without asking.\nenforcement: hard\n"
        "effect: ask\n",
        _POLICY,
        "policies/no_deletes.yaml",
        severity="warning",
    ),
    Rule(
        "MKP004",
        "unknown-policy-key",
        "A policy has a key that memkit does not know.",
        "A misspelt key is a clause that is not there: an exception that never applies, a condition that never holds.",
        _POLICY + "rational: Prevents data loss.\n",
        _POLICY + "rationale: Prevents data loss.\n",
        "policies/no_deletes.yaml",
    ),
    Rule(
        "MKP005",
        "policy-does-not-compile",
        "A condition of a policy cannot be used as it is written.",
        "A construct that the engine does not support, such as a back-reference in a regular expression, "
        "keeps the whole set from loading, and then every call is denied.",
        _POLICY.replace("{shell: {program: rm}}", "{regex: '(rm) .*\\1'}"),
        _POLICY,
        "policies/no_deletes.yaml",
    ),
    Rule(
        "MKP006",
        "unknown-tool",
        "A policy is about a tool that exists nowhere.",
        "It never matches, and nobody says so: the most common reason why a rule stops nothing. Known are the tools of "
        "memkit.yaml, of skills and domains, those that tests of policies call, memory's own, and names that hosts "
        "commonly use.",
        _POLICY.replace("tool: bash\n", "tool: bsah\n"),
        _POLICY,
        _PLACE,
        severity="warning",
        unsafe_fix="writes the name that is nearest",
    ),
    Rule(
        "MKP007",
        "untested-policy",
        "A policy has no tests.",
        "Nobody knows what it stops, and the next edit can switch it off without a word. `memkit policy test` runs "
        "the tests.",
        _POLICY.partition("tests:")[0],
        _POLICY,
        _PLACE,
        severity="warning",
    ),
    Rule(
        "MKP008",
        "idle-allow",
        "A policy allows, which lifts no other policy.",
        "The strongest effect wins, and what no policy matches is allowed anyway. What is meant is an exception of "
        "the policy "
        "that denies.",
        _POLICY.replace("effect: ask", "effect: allow").replace("expect: ask", "expect: allow"),
        _POLICY,
        _PLACE,
        severity="warning",
    ),
    Rule(
        "MKP009",
        "exception-in-words",
        "An exception has no match, so it never applies.",
        "Exceptions read what the host program sets, and no model or user text; words alone lift nothing.",
        _POLICY + "exceptions: [{text: Not in tests.}]\n",
        _POLICY + "exceptions: [{text: Not in tests., match: {context.env: test}}]\n",
        _PLACE,
        severity="warning",
    ),
    Rule(
        "MKP010",
        "stops-everything",
        "A policy stops every call of every tool.",
        "An agent under it can do nothing, memory included. If that is meant, suppress the finding with the reason.",
        _POLICY.replace("  tool: bash\n  args.command: {shell: {program: rm}}\n", '  tool: "*"\n'),
        _POLICY,
        _PLACE,
        severity="warning",
    ),
    Rule(
        "MKP011",
        "invalid-test-table",
        "A table of policy tests cannot be read.",
        "None of its rows is tried, and `memkit policy test` fails.",
        "policy: no_deletes\ncolumns: [name, args.command, expect]\nrows:\n  - [stops rm, rm x]\n",
        "policy: no_deletes\ncall: {tool: bash}\ncolumns: [name, args.command, expect]\nrows:\n  - [stops rm, rm "
        "x, ask]\n",
        "policies/tests/no_deletes.yaml",
        extra={_PLACE: _POLICY},
    ),
    Rule(
        "MKP401",
        "unchanged-policy-version",
        "A policy's content changed since the last commit, and its version did not.",
        "A verdict in an account names the policy; its version says which text decided. Tests, version and change "
        "log do not "
        "count. `memkit lint --since COMMIT` compares with another commit.",
        "A new exception under the version that is committed already.",
        _VERSIONED,
        _PLACE,
    ),
    Rule(
        "MKP402",
        "lowered-policy-version",
        "A policy's version is lower than in the last commit, or gone.",
        "Versions only rise, so that the higher one is the newer one. To go back, use `memkit policy rollback`: a file "
        "that is just what an earlier commit held, with its version, is no finding.",
        "Version 1.0.0 where 1.1.0 is committed already.",
        _VERSIONED,
        _PLACE,
    ),
    Rule(
        "MKP403",
        "no-policy-changelog-entry",
        "A policy's change log does not tell of its version.",
        "A reviewer looks there for what was tightened and what was loosened.",
        _VERSIONED.replace('version: "1.1.0"\n', 'version: "1.2.0"\n', 1),
        _VERSIONED,
        _PLACE,
        severity="warning",
    ),
    Rule(
        "MKP404",
        "no-policy-successor",
        "A policy is deprecated, and nothing says what takes its place.",
        "A deprecated policy binds until it is removed or switched off. Without a successor nobody dares to remove it.",
        _POLICY + "deprecated: true\n",
        _POLICY + "deprecated: true\nsuperseded_by: no_losses\n",
        _PLACE,
        extra=_NEXT,
        severity="warning",
    ),
    Rule(
        "MKP405",
        "dangling-policy-successor",
        "superseded_by names a policy that is not there.",
        "The rule that was to take over does not exist, or its name is misspelt.",
        _POLICY + "deprecated: true\nsuperseded_by: no_loses\n",
        _POLICY + "deprecated: true\nsuperseded_by: no_losses\n",
        _PLACE,
        extra=_NEXT,
    ),
    Rule(
        "MKP406",
        "cyclic-policy-successor",
        "Policies supersede each other in a circle.",
        "Nobody learns which one to keep.",
        _POLICY + "deprecated: true\nsuperseded_by: no_deletes\n",
        _POLICY + "deprecated: true\nsuperseded_by: no_losses\n",
        _PLACE,
        extra=_NEXT,
    ),
)

DOMAIN_RULES = (
    Rule(
        "MKD001",
        "invalid-domain",
        "A planning domain lacks a key, or a value in it does not fit.",
        "A domain that does not load plans nothing.",
        _DOMAIN.replace("add: [lit]", "add: {lit: true}"),
        _DOMAIN,
        "domains/lamp.yaml",
    ),
    Rule(
        "MKD002",
        "domain-name",
        "A domain's name differs from its file's, or is not a name.",
        "A plan names the domain that it comes from, and people look for it by its file.",
        _DOMAIN.replace("name: lamp", "name: torch"),
        _DOMAIN,
        "domains/lamp.yaml",
    ),
    Rule(
        "MKD003",
        "unknown-domain-key",
        "A domain has a key that memkit does not know.",
        "A misspelt `preconditions` is an operator that may always be applied.",
        _DOMAIN.replace("add: [lit]", "adds: [lit]"),
        _DOMAIN,
        "domains/lamp.yaml",
    ),
    Rule(
        "MKD004",
        "senseless-domain",
        "A domain has the right shape, and something in it cannot be planned with.",
        "An unknown predicate or type, a variable that nothing binds, a wrong number of arguments: the planner would "
        "answer that there is no plan, without the author having meant that.",
        _DOMAIN.replace("add: [lit]", "add: [glowing]"),
        _DOMAIN,
        "domains/lamp.yaml",
    ),
    Rule(
        "MKD005",
        "unknown-operator-tool",
        "An operator is carried out by a tool that memkit.yaml does not declare.",
        "A plan that uses it ends in a step that nothing can do.",
        _DOMAIN.replace("add: [lit]}", "add: [lit], tool: lamp_swich}"),
        _DOMAIN.replace("add: [lit]}", "add: [lit], tool: lamp_switch}"),
        "domains/lamp.yaml",
        extra={"memkit.yaml": f"name: test\ntools: [{{name: lamp_switch, description: Notes it., run: {_OUTBOX}}}]\n"},
        severity="warning",
        unsafe_fix="writes the name that is nearest",
    ),
    Rule(
        "MKD006",
        "unbound-variable",
        "An operator speaks of a variable that is none of its parameters.",
        "Nothing says what the step is done with.",
        _ROOMS.replace('parameters: "?r - room", add', "add"),
        _ROOMS,
        "domains/lamp.yaml",
    ),
    Rule(
        "MKD007",
        "type-clash",
        "An argument can never be of the type that is asked for.",
        "No object is of two types of which neither is above the other, so the step or the condition never applies.",
        _ROOMS.replace("light ?r - room", "light ?r - bulb").replace("room: object}", "room: object, bulb: object}"),
        _ROOMS,
        "domains/lamp.yaml",
    ),
    Rule(
        "MKD008",
        "free-variable",
        "Nothing binds a variable of a method, so every object is tried in its place.",
        "Mostly a slip: the variable has another name in the task or in the conditions. Where it is meant, such as a "
        "free choice, declare the variable with its type under `variables`.",
        _ROOMS.replace("switch_on ?r", "switch_on ?x"),
        _ROOMS,
        "domains/lamp.yaml",
        severity="warning",
    ),
    Rule(
        "MKD009",
        "unknown-task",
        "A subtask is neither an operator nor the task of a method.",
        "A method with such a subtask leads to no plan. A task that only learned methods are to do is declared under "
        "`tasks`, with the effects that they must have.",
        _DOMAIN.replace("subtasks: [switch_on]", "subtasks: [swich_on]"),
        _DOMAIN,
        "domains/lamp.yaml",
        unsafe_fix="writes the name that is nearest",
    ),
    Rule(
        "MKD010",
        "unreachable-method",
        "A method can never be used: its conditions exclude each other, or one of its steps can never be done.",
        "Whoever reads the domain believes that there is this way. Only what holds in every state and for every "
        "problem is reported.",
        _DOMAIN.replace("subtasks: [switch_on]", "preconditions: [lit, not lit], subtasks: [switch_on]"),
        _DOMAIN,
        "domains/lamp.yaml",
        severity="warning",
    ),
    Rule(
        "MKD011",
        "impossible-operator",
        "The conditions of an operator exclude each other, so the step can never be taken.",
        "A fact and its negation, an object that is to differ from itself, a number that no value satisfies.",
        _DOMAIN.partition("methods:")[0].replace("add: [lit]", "preconditions: [lit, not lit], add: [lit]"),
        _DOMAIN.partition("methods:")[0],
        "domains/lamp.yaml",
        severity="warning",
    ),
    Rule(
        "MKD012",
        "shadowed-method",
        "A method adds nothing, because an earlier one does the same whenever it could.",
        "The earlier method does the same task by the same subtasks in the same order, and each of its conditions is "
        "among those of the later one. Methods with other subtasks shadow nothing, for a plan may fail behind them.",
        _DOMAIN + "  - {name: in_the_dark, task: light, preconditions: [not lit], subtasks: [switch_on]}\n",
        _DOMAIN.replace("subtasks:", "preconditions: [not lit], subtasks:")
        + "  - {name: shining, task: light, preconditions: [lit], subtasks: []}\n",
        "domains/lamp.yaml",
        severity="warning",
    ),
    Rule(
        "MKD013",
        "endless-task",
        "Every way to do a task leads back to the task itself.",
        "A recursion needs a method that ends it, often one without subtasks for when nothing is left to do.",
        _DOMAIN.replace("subtasks: [switch_on]", "subtasks: [switch_on, light]"),
        _DOMAIN.replace("subtasks: [switch_on]", "preconditions: [not lit], subtasks: [switch_on, light]")
        + "  - {name: done, task: light, preconditions: [lit], subtasks: []}\n",
        "domains/lamp.yaml",
        severity="warning",
    ),
    Rule(
        "MKD014",
        "contradictory-effects",
        "A step removes a fact and adds it at once.",
        "Facts are removed first and added then, so the removal does nothing.",
        _DOMAIN.replace("add: [lit]", "add: [lit], remove: [lit]"),
        _DOMAIN,
        "domains/lamp.yaml",
        severity="warning",
    ),
    Rule(
        "MKD015",
        "unused-declaration",
        "A predicate, a function or a type is declared, and nothing in the domain uses it.",
        "Mostly what is left of a rename, or a condition that somebody forgot.",
        _DOMAIN.replace("lit: []", "lit: [], broken: []"),
        _DOMAIN,
        "domains/lamp.yaml",
        severity="warning",
    ),
    Rule(
        "MKD016",
        "invalid-learned-methods",
        "A file of learned methods lacks a key, or a value in it does not fit.",
        "It is written by memkit and read in reviews; after an edit by hand the methods in it may not be used.",
        _LEARNED.replace("    task: light\n", ""),
        _LEARNED,
        "domains/learned/lamp.yaml",
        extra={"domains/lamp.yaml": _GAP},
    ),
    Rule(
        "MKD017",
        "unfit-learned-method",
        "A learned method does not fit its domain.",
        "It has the name of another method, or speaks of what the domain does not have any more, so it is not used. "
        "`memkit domain reject` throws it away.",
        _LEARNED.replace("[switch_on]", "[switch_on hall]"),
        _LEARNED,
        "domains/learned/lamp.yaml",
        extra={"domains/lamp.yaml": _GAP},
    ),
    Rule(
        "MKD018",
        "learned-without-origin",
        "Nothing says who proposed a learned method, when, and for which task.",
        "A person who is to promote it has to know where it comes from.",
        _LEARNED.replace("provider: anthropic, ", ""),
        _LEARNED,
        "domains/learned/lamp.yaml",
        extra={"domains/lamp.yaml": _GAP},
        severity="warning",
    ),
    Rule(
        "MKD019",
        "invalid-problem",
        "A recorded problem lacks a key, or a value in it does not fit.",
        "`memkit domain test` and promotions of learned methods solve it, and cannot read it.",
        _PROBLEM.replace("tasks: [light]", "tasks: light"),
        _PROBLEM,
        "domains/problems/lamp/dark.yaml",
        extra={"domains/lamp.yaml": _DOMAIN},
    ),
    Rule(
        "MKD020",
        "unfit-problem",
        "A recorded problem does not fit its domain.",
        "It names objects, facts or tasks in a way that the domain does not know, expects something of that kind, or "
        "lies in a folder that has the name of no domain.",
        _PROBLEM.replace("state: []", "state: [glowing]"),
        _PROBLEM,
        "domains/problems/lamp/dark.yaml",
        extra={"domains/lamp.yaml": _DOMAIN},
    ),
)
