"""Rules for skills, policies and domains."""

from __future__ import annotations

from memkit.lint.interface import Rule

_SKILL = "name: walk\ndescription: Walks the dog.\nsteps: [Find the lead]\n"
_POLICY = (
    "name: no_deletes\ndescription: Keeps files.\nrule: Do not delete files without asking.\nenforcement: hard\n"
    "effect: ask\nmatch:\n  tool: bash\n  args.command: {shell: {program: rm}}\n"
)
_DOMAIN = (
    "name: lamp\npredicates: {lit: []}\noperators:\n  - {name: switch_on, add: [lit]}\n"
    "methods:\n  - {name: by_hand, task: light, subtasks: [switch_on]}\n"
)

SKILL_RULES = (
    Rule(
        "MKS001",
        "invalid-skill",
        "A skill lacks a key, or a value in it does not fit.",
        "A skill that does not load cannot be found, shown or run, and keeps the whole set from reloading.",
        "name: walk\ndescription: Walks the dog.\nsteps: Find the lead\n",
        _SKILL,
        "skills/walk.yaml",
    ),
    Rule(
        "MKS002",
        "skill-name",
        "A skill's name differs from its file's, or is not a name.",
        "People look for a skill by its file and agents by its name. Names are lower-case letters, digits, `-` and "
        "`_`, at most 64, so that they are safe as file names everywhere.",
        "name: stroll\ndescription: Walks the dog.\nsteps: [Find the lead]\n",
        _SKILL,
        "skills/walk.yaml",
    ),
    Rule(
        "MKS003",
        "unknown-skill-key",
        "A skill has a key that memkit does not know.",
        "A misspelt key does nothing: `safety_check` checks nothing.",
        _SKILL + "safety_check: [Look at the traffic]\n",
        _SKILL + "safety_checks: [Look at the traffic]\n",
        "skills/walk.yaml",
    ),
)

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
)
