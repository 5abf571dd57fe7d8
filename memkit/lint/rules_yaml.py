"""Rules for every YAML file of a store, memkit.yaml and suppressions included."""

from __future__ import annotations

from memkit.lint.interface import Rule

_SKILL = "skills/walk.yaml"
_HEAD = "name: walk\ndescription: Walks the dog when it wants to.\n"
_GOOD = _HEAD + "steps: [Find the lead]\n"

YAML_RULES = (
    Rule(
        "MKY001",
        "not-yaml",
        "The file is not YAML that memkit reads.",
        "A file that does not load is not there: the skill is missing, and a policy set with such a file denies every "
        "call. The message names the line and column where reading stopped.",
        _HEAD + "steps: [Find the lead\n",
        _GOOD,
        _SKILL,
    ),
    Rule(
        "MKY002",
        "duplicate-key",
        "A key stands twice in one map.",
        "Most YAML readers silently keep the last of two equal keys. A second `enforcement: soft` far below the first "
        "would so disarm a hard policy, and nobody would see it in review.",
        _HEAD + "description: Walks two dogs.\nsteps: [Find the lead]\n",
        _GOOD,
        _SKILL,
    ),
    Rule(
        "MKY003",
        "ambiguous-scalar",
        "A value without quotes means different things to different YAML readers.",
        "YAML 1.1 reads `no` as false, `0755` as 493 and `12:30` as 750; YAML 1.2 reads a string, 755 and a string. "
        "memkit reads 1.2; an editor, a script or a reviewer may not. Quotes settle it.",
        _HEAD + "steps: [no]\n",
        _HEAD + 'steps: ["no"]\n',
        _SKILL,
        severity="warning",
        fix="puts quotes around the value where it is read as a string",
        unsafe_fix="puts quotes around numbers as well, which makes them text",
    ),
    Rule(
        "MKY004",
        "unsupported-yaml",
        "The file uses an anchor, an alias, a merge key, a tag or a directive.",
        "These make the text that a reviewer reads differ from what loads, and nested aliases can grow a small file "
        "to gigabytes. memkit's files are plain maps, lists and scalars.",
        _HEAD.replace("Walks", "&text Walks") + "steps: [*text]\n",
        _GOOD,
        _SKILL,
    ),
    Rule(
        "MKY005",
        "byte-order-mark",
        "The file starts with a byte order mark.",
        "UTF-8 needs none, and tools that do not expect it take it for a part of the first key.",
        "\ufeff" + _GOOD,
        _GOOD,
        _SKILL,
        severity="warning",
        fix="removes the mark",
    ),
    Rule(
        "MKY006",
        "too-large",
        "The file is larger than 1 MB, or nested deeper than 64 levels.",
        "Skills, policies and domains are read by people. Such a file is generated or hostile, and reading it would "
        "cost more than everything else in the store.",
        _HEAD + "steps: " + "[" * 66 + "]" * 66 + "\n",
        _GOOD,
        _SKILL,
    ),
    Rule(
        "MKY007",
        "not-utf-8",
        "The file is not UTF-8.",
        "Text in another encoding shows up as other characters on the next machine, or not at all.",
        "A file saved as Latin-1, in which é is the single byte 0xE9.",
        _GOOD,
        _SKILL,
    ),
    Rule(
        "MKY008",
        "several-documents",
        "The file holds more than one YAML document.",
        "Readers that expect one document take the first and drop the rest, or fail.",
        _GOOD + "---\nname: run\n",
        _GOOD,
        _SKILL,
    ),
    Rule(
        "MKY009",
        "link-out-of-store",
        "The file is a symbolic link to something outside of the store.",
        "What it says is not in the repository: it cannot be reviewed, and it differs from machine to machine.",
        "skills/walk.yaml -> /home/ada/walk.yaml",
        _GOOD,
        _SKILL,
    ),
    Rule(
        "MKY010",
        "ignored-file",
        "The file lies where skills, policies or domains are read, and is not one of them.",
        "Only `*.yaml` directly in the folder is read. A `.yml` file, or one in a folder below, looks as if it "
        "counted, and does not.",
        "A policy saved as policies/no_deletes.yml.",
        "The same file as policies/no_deletes.yaml.",
        "policies/no_deletes.yml",
        severity="warning",
    ),
    Rule(
        "MKY011",
        "suppression-without-reason",
        "A suppression gives no reason, or names no known rule.",
        "A finding that is switched off without a word is asked about again by every reader. Such a comment has no "
        "effect. The form is `# memkit: ignore[CODE] reason`, on the line of the finding or alone on the line above.",
        _HEAD + "steps: [Find the lead]  # memkit: ignore[MKY003]\n",
        _HEAD + "steps: [no]  # memkit: ignore[MKY003] the dog's name is No\n",
        _SKILL,
    ),
    Rule(
        "MKY012",
        "unused-suppression",
        "A suppression has nothing to suppress.",
        "What it was for is gone. Left in place, it would hide the next finding there.",
        _HEAD + "steps: [Find it]  # memkit: ignore[MKY003] the dog's name is No\n",
        _GOOD,
        _SKILL,
        severity="warning",
        fix="removes the comment",
    ),
    Rule(
        "MKY013",
        "invalid-setting",
        "A value in memkit.yaml does not fit.",
        "No command runs on a store whose settings do not load.",
        "name: test\ncontext: {max_tokens: many}\n",
        "name: test\ncontext: {max_tokens: 8000}\n",
        "memkit.yaml",
    ),
    Rule(
        "MKY014",
        "unknown-setting",
        "memkit.yaml has a key that memkit does not know.",
        "A misspelt setting leaves the built-in default in force: the budget or the privacy that was meant is not set.",
        "name: test\ncontext: {max_token: 8000}\n",
        "name: test\ncontext: {max_tokens: 8000}\n",
        "memkit.yaml",
    ),
    Rule(
        "MKY015",
        "secret-in-file",
        "A policy, a domain or memkit.yaml holds a credential.",
        "What is committed once stays in git. Revoke it first, then take it out; tools read secrets from their "
        "environment.",
        "name: test\npersona: Uses the token ghp_" + "a8Bk3LmQ9rTx2VwYz5CdEf7GhJ1KnPs4UvW6.\n",
        "name: test\npersona: Uses the token in ISSUES_TOKEN.\n",
        "memkit.yaml",
    ),
    Rule(
        "MKY016",
        "hidden-characters",
        "A policy, a domain or memkit.yaml has characters that nobody sees.",
        "They make the text that is reviewed differ from the text that decides: a tool's name with a zero-width "
        "character in "
        "it never matches.",
        'name: test\npersona: "Friendly\\u200b and short."\n',
        "name: test\npersona: Friendly and short.\n",
        "memkit.yaml",
    ),
    Rule(
        "MKY017",
        "clashing-names",
        "Two files are one where capital letters do not count.",
        "On macOS and Windows the second of `walk.yaml` and `Walk.yaml` replaces the first, and git shows changes "
        "that nobody "
        "made.",
        "Two files, skills/walk.yaml and skills/Walk.yaml.",
        "The file skills/walk.yaml alone.",
        _SKILL,
    ),
    Rule(
        "MKY018",
        "needs-trust",
        "The file names what runs or is asked once a person trusts the store.",
        "Nothing of a store starts a process, imports a module or chooses a provider before `memkit trust`. What it "
        "would be is said here, where a change of it is reviewed. A note does not fail a run of lint.",
        "name: test\ntools: [{name: lamp_switch, description: Switches a lamp., run: [lamp]}]\n",
        "name: test\ntools: [{name: outbox, description: Keeps a message., run: [tee, -a, outbox.jsonl]}]\n",
        "memkit.yaml",
        severity="note",
    ),
)
