"""Rules for skills: that they load, that they are found, and that they can be followed."""

from __future__ import annotations

from memkit.lint.interface import Rule

PLACE = "skills/walk.yaml"
SKILL = """\
name: walk
description: Walks the dog round the block.
when_to_use: The dog stands at the door.
steps:
  - Find the lead.
  - Walk round the block.
"""
OTHER = """\
name: swim
description: Swims with the dog in the lake.
when_to_use: It is hot.
steps: [Find the towel.]
"""
VERSIONED = (
    SKILL
    + """\
version: "1.1.0"
changelog:
  - {version: "1.1.0", changes: Walks round the block.}
"""
)

SKILL_RULES = (
    Rule(
        "MKS001",
        "invalid-skill",
        "A skill lacks a key, or a value in it does not fit.",
        "A skill that does not load cannot be found, shown or run, and keeps the whole set from reloading.",
        SKILL.replace("steps:\n  - Find the lead.\n  - Walk round the block.", "steps: Find the lead."),
        SKILL,
        PLACE,
    ),
    Rule(
        "MKS002",
        "skill-name",
        "A skill's name differs from its file's, or is not a name.",
        "People look for a skill by its file and agents by its name. Names are lower-case letters, digits, `-` and "
        "`_`, at most 64, so that they are safe as file names everywhere.",
        SKILL.replace("name: walk", "name: stroll"),
        SKILL,
        PLACE,
        unsafe_fix="gives the skill the name of its file",
    ),
    Rule(
        "MKS003",
        "unknown-skill-key",
        "A skill has a key that memkit does not know.",
        "A misspelt key does nothing: `safety_check` checks nothing.",
        SKILL + "safety_check: [Look at the traffic.]\n",
        SKILL + "safety_checks: [Look at the traffic.]\n",
        PLACE,
        unsafe_fix="gives the key the name that it is nearest to",
    ),
    Rule(
        "MKS201",
        "vague-description",
        "A description does not say what the skill is about.",
        'An agent that has many skills sees their descriptions only. "Helps with various tasks" is never chosen, or '
        "always.",
        SKILL.replace("Walks the dog round the block.", "Helps you with various tasks."),
        SKILL,
        PLACE,
        severity="warning",
    ),
    Rule(
        "MKS202",
        "no-trigger",
        "Nothing says when to use a skill: no when_to_use, no example, no word in the description.",
        "What a skill does is half of what routing needs. The other half is the situation in which somebody needs it.",
        SKILL.replace("when_to_use: The dog stands at the door.\n", ""),
        SKILL,
        PLACE,
        severity="warning",
    ),
    Rule(
        "MKS203",
        "repeated-description",
        "when_to_use says what the description says already.",
        "Both stand in the prompt. A repetition costs tokens and adds no situation in which the skill is needed.",
        SKILL.replace("The dog stands at the door.", "Walk the dog round the block."),
        SKILL,
        PLACE,
        severity="warning",
    ),
    Rule(
        "MKS204",
        "confused-example",
        "Another skill fits the input of an example better than the skill that it is an example of.",
        "Requests in these words lead an agent to the wrong skill. Skills are ranked by BM25; the "
        "example itself does not count for its own skill.",
        SKILL + "examples: [{input: Swim with the dog in the lake., approach: Takes the towel.}]\n",
        SKILL + "examples: [{input: Walk the dog to the door., approach: Takes the lead.}]\n",
        PLACE,
        extra={"skills/swim.yaml": OTHER},
        severity="warning",
    ),
    Rule(
        "MKS301",
        "unused-tool",
        "No step of a skill uses a tool that it requires.",
        "A skill is not run where a required tool is missing. A tool that no step names keeps it from running for "
        "nothing, "
        "or a step was forgotten. A step uses a tool when it names it, or says what its name says.",
        SKILL + "required_tools: [weather_forecast]\n",
        SKILL.replace("Find the lead.", "Read the weather forecast.") + "required_tools: [weather_forecast]\n",
        PLACE,
        severity="warning",
    ),
    Rule(
        "MKS302",
        "unchecked-destruction",
        "A step destroys something, and the skill has no safety check.",
        "An agent follows steps to the letter. What is made sure of, or who is asked, has to stand there as well.",
        SKILL.replace("Find the lead.", "Run `rm -rf ~/walks`."),
        SKILL.replace("Find the lead.", "Run `rm -rf ~/walks`.")
        + "safety_checks: [Ask before the old walks are deleted.]\n",
        PLACE,
        severity="warning",
    ),
    Rule(
        "MKS401",
        "unchanged-version",
        "A skill's content changed since the last commit, and its version did not.",
        "Who uses version 1.1.0 relies on what it says. `memkit lint --since COMMIT` compares with another commit, "
        "such as "
        "the one that a pull request starts from. Version and change log themselves do not count.",
        "A new step under the version that is committed already.",
        VERSIONED,
        PLACE,
    ),
    Rule(
        "MKS402",
        "lowered-version",
        "A skill's version is lower than in the last commit, or gone.",
        "Versions only rise, so that the higher one is the newer one. To go back, use `memkit skill rollback`: a file "
        "that is just what an earlier commit held, with its version, is no finding.",
        "Version 1.0.0 where 1.1.0 is committed already.",
        VERSIONED,
        PLACE,
    ),
    Rule(
        "MKS403",
        "no-changelog-entry",
        "A skill's change log does not tell of its version.",
        "A reviewer and everybody who updates look there for what changed.",
        VERSIONED.replace('version: "1.1.0"\n', 'version: "1.2.0"\n', 1),
        VERSIONED,
        PLACE,
        severity="warning",
    ),
    Rule(
        "MKS404",
        "no-successor",
        "A skill is deprecated, and nothing says what to use instead.",
        "An agent that finds it has nowhere to go. Where nothing replaces it, delete it: git keeps it.",
        SKILL + "deprecated: The dog is old.\n",
        SKILL + "deprecated: The dog is old.\nsuperseded_by: swim\n",
        PLACE,
        extra={"skills/swim.yaml": OTHER},
        severity="warning",
    ),
    Rule(
        "MKS405",
        "dangling-successor",
        "superseded_by names a skill that is not there.",
        "Whoever follows it ends nowhere. The skill was renamed, or the name is misspelt.",
        SKILL + "deprecated: The dog is old.\nsuperseded_by: swimm\n",
        SKILL + "deprecated: The dog is old.\nsuperseded_by: swim\n",
        PLACE,
        extra={"skills/swim.yaml": OTHER},
    ),
    Rule(
        "MKS406",
        "cyclic-successor",
        "Skills supersede each other in a circle.",
        "Nobody learns which one to use.",
        SKILL + "deprecated: The dog is old.\nsuperseded_by: walk\n",
        SKILL + "deprecated: The dog is old.\nsuperseded_by: swim\n",
        PLACE,
        extra={"skills/swim.yaml": OTHER},
    ),
    Rule(
        "MKS501",
        "denied-step",
        "A step of a skill does what an active hard policy denies.",
        "The agent would try, be stopped, and not know why. Commands in backticks, calls such as `deploy(to=prod)` "
        "and the "
        "required tools are judged by the engine that judges the agent, in a context that sets nothing. If an "
        "exception of "
        "the policy is meant to hold, say so in the step and suppress the finding with that reason.",
        SKILL.replace("Find the lead.", "Run `rm -rf ~/walks`.") + "safety_checks: [Ask first.]\n",
        SKILL.replace("Find the lead.", "Run `ls ~/walks`.") + "safety_checks: [Ask first.]\n",
        PLACE,
        extra={
            "policies/no_deletes.yaml": "name: no_deletes\ndescription: Keeps files.\nrule: Delete nothing.\n"
            "enforcement: hard\neffect: deny\nmatch: {tool: bash, args.command: {shell: {program: rm}}}\n"
            "tests: [{name: stops rm, call: {tool: bash, args: {command: rm x}}, expect: deny}]\n"
        },
    ),
)
