# ruff: noqa: E501 - tables of spellings read best when they are dense
"""Shell text: a forbidden command is seen however it is spelt, and a word that only names it is not."""

from __future__ import annotations

import pytest
from growth import grows_with_its_length
from hypothesis import given
from hypothesis import strategies as st

from memkit.runtime.guard.core import Guard
from memkit.runtime.guard.shell_wrappers import in_code


def policy(condition: object, *, enforcement: str = "hard", effect: str = "ask") -> dict[str, object]:
    """Return a policy on the command of the shell tool."""
    return {
        "name": "probe",
        "description": "d",
        "rule": "r",
        "enforcement": enforcement,
        "effect": effect,
        "match": {"tool": "bash", "args.command": condition},
    }


NO_RM = Guard([policy({"shell": {"program": ["rm", "shred"]}})])
NO_RM_SOFT = Guard([policy({"shell": {"program": ["rm", "shred"]}}, enforcement="soft")])


def decision(command: object, guard: Guard = NO_RM) -> str:
    """Return what a guard says about a command."""
    return guard.decide("bash", {"command": command}, {}).decision


PLAIN = ["rm x", "/bin/rm x", "./rm x", "RM x", "\trm x", "rm\tx", "rm", "rm;", "rm\r\n", "r\\m x", "'r'm x", '"rm" x']
QUOTED = [
    "$'rm' x",
    "$'\\x72m' x",
    "$'\\162m' x",
    "r''m x",
    'r""m x',
    '$"rm" x',
    "rm${IFS}-rf${IFS}/",
    "rm$IFS-rf",
    "r\\\nm x",
]
LISTS = [
    "ls; rm x", "ls && rm x", "ls || rm x", "ls & rm x", "ls | rm x", "ls |& rm x", "ls\nrm x", "ls # c\nrm x",
    "ls # c \\\nrm x", "echo a\\\\\nrm x", "(rm x)", "{ rm x; }", "((1)); rm x", "((rm x))", "((rm x) )", "( (rm x) )", "! rm x",
    "<f rm x", "2>/dev/null rm x", ">out rm x", "rm>out x", "rm</dev/null", "{fd}>x rm y", "&>/dev/null rm x", "A=1 rm x",
    "A=1 B=$C rm x", "a=(1 2); rm x", "a=(1 2) rm x", "echo a\\\r\nrm x", "coproc rm x", "coproc N { rm x; }", "time rm x",
    "time -p rm x", "time (rm x)", "time while rm x; do :; done",
]  # fmt: skip
BRANCHES = [
    "if true; then rm x; fi", "if rm x; then ls; fi", "i\\\nf rm x; then ls; fi", "while :; do rm x; done",
    "until rm x; do :; done", "for i in 1; do rm x; done", "for i in $(rm x); do :; done", "for i do rm x; done",
    "for ((i=0;i<1;i++)) { rm x; }", "for ((i=0;i<1;i++)); do rm x; done", "select i in a; do rm x; done",
    "case a in a) rm x;; esac", "case a in (a|b) rm x;; *) ls;; esac", "case a in b) ls;; a) rm x; esac",
    "case $(rm x) in a) ls;; esac", "case a in $(rm x)) ls;; esac", "f() { rm x; }; f", "function f { rm x; }; f",
    "function f (rm x)", "[[ a && b ]] && rm x", "[[ $(rm x) ]]", "if [ -f y ]; then rm x; fi",
]  # fmt: skip
SUBSTITUTIONS = [
    "echo $(rm x)", "echo `rm x`", 'echo "$(rm x)"', 'echo "`rm x`"', "echo `echo \\`rm x\\``", "cat <(rm x)",
    "tee >(rm x)", "a=$(rm x)", "echo ${a:-$(rm x)}", 'echo "${a:-$(rm x)}"', "echo $((1+$(rm x)))", "echo $(( $(rm x) ))",
    "echo $((rm x) )", "echo $((1+'$(rm x)'))", "cat <<E\n$(rm x)\nE", "cat <<-E\n\t$(rm x)\n\tE\n", "cat <<<$(rm x)",
    "cat <<'E'\nx\nE\nrm x", "cat <<E >f\nx\nE\nrm x", "echo ${a:-'}'}; rm x", 'echo "${a:-\'}"; rm x; echo "\'"',
    "ls >$(rm x)", "echo a$(ls $(rm x))b",
]  # fmt: skip
WRAPPERS = [
    "sudo rm x", "sudo -u root rm x", "sudo -n -- rm x", "sudo A=1 rm x", "sudo --unheard of rm x", "doas rm x", "env rm x",
    "env -i A=b rm x", "env -u A rm x", "env -S 'rm x'", "env --split-string='rm x'", "env -S'rm x'", "nohup rm x &",
    "nice -n 5 rm x", "ionice -c 3 rm x", "timeout 5 rm x", "timeout -s KILL 5 rm x", "stdbuf -oL rm x", "setsid rm x",
    "exec rm x", "exec -a ls rm x", "command rm x", "builtin rm x", "busybox rm x", "chroot /mnt rm x", "flock f rm x",
    "flock f -c 'rm x'", "watch -n 1 rm x", "watch 'rm x'", "strace -f rm x", "xargs rm", "ls | xargs -n 1 rm",
    "ls | xargs -I{} rm {}", "ls | xargs sh -c 'rm x'", "find . -exec rm {} \\;", "find . -execdir sh -c 'rm x' \\;",
    "find . -name a -exec ls {} + -exec rm {} +", "fd -x rm", "sh -c 'rm x'", "bash -lc 'rm x'", "bash -c -- 'rm x'",
    "bash -o pipefail -c 'rm x'", "bash -c -o pipefail 'rm x'", "bash --norc -c 'rm x'", "/bin/bash -c 'rm x'",
    "sh -c \"sh -c 'rm x'\"", "bash <<'E'\nrm x\nE", "bash <<< 'rm x'", "bash -s <<E\nrm x\nE", "eval rm x", "eval 'rm' x",
    "eval \"r\"'m x'", "eval $(echo rm x)", "su -c 'rm x'", "su root -c 'rm x'", "ssh host rm x", "ssh -p 22 host 'rm x'",
    "docker exec -it web rm x", "docker run --rm -v a:b alpine rm x", "kubectl exec -n a pod -- rm x", "trap 'rm x' EXIT",
    "alias l='rm x'", "sudo env A=1 nohup nice sh -c 'cd /; rm x'", "script -c 'rm x'", "parallel rm ::: a",
]  # fmt: skip
MORE_WRAPPERS = [
    "sudo -uroot rm x", "sudo -nEu root rm x", "sudo --unheard of -Q 2 rm x", "env -iS 'rm x'", "env -vS'rm x'", "env A-B=1 rm x",
    "fish --command='rm x'", "fish --command 'rm x'", "pwsh -c 'rm x'", "powershell -NoProfile -Command rm x", "cmd.exe /c rm x", "rm.exe x",
    "ssh host -t 'rm x'", "kubectl exec pod -it -- rm x", "kubectl exec -it pod -c c -- sh -c 'rm x'", "oc rsh pod rm x", "script -qc 'rm x' /dev/null",
    "docker run --entrypoint rm alpine x", "docker-compose exec web rm x", "xargs -0n1 rm", "sh -co errexit 'rm x'", "pkexec --user root rm x",
    "gosu root rm x", "sg root 'rm x'", "faketime '1 day' rm x", "bwrap --bind / / rm x", "/lib64/ld-linux-x86-64.so.2 /bin/rm x",
    "hyperfine 'rm x'", "poetry run rm x", "uv run --with a rm x", "npx rm x", "conda run -n x rm x", "nix-shell --run 'rm x'",
    "vagrant ssh -c 'rm x'", "gcloud compute ssh h --command='rm x'", "ansible all -m shell -a 'rm x'", "tmux new -d 'rm x'", "screen -dm rm x",
    "at now <<< 'rm x'", "git -c alias.x='!rm x' x", "git rebase --exec 'rm x' main", "git submodule foreach 'rm x'", "rsync -e 'rm x' a b",
    "tar cf a --to-command='rm x' b", "GIT_SSH_COMMAND='rm x' git fetch", "ssh -o ProxyCommand='rm x' h", "vim -c ':!rm x'", "socat - EXEC:'rm x'",
    "python3 -c 'import os; os.system(\"rm x\")'", "python -c \"import subprocess; subprocess.run(['rm', 'x'])\"", "perl -e 'system(\"rm x\")'",
    "awk 'BEGIN { system(\"rm x\") }'", "ruby -e '`rm x`'", "python <<'E'\nimport os\nos.system('rm x')\nE", "$'\\x{72}m' x",
]  # fmt: skip
RUN_TIME = [
    "$X -rf /", "${X} /", "$(echo rm) x", "`echo rm` x", "r$@m x", "/bin/r? x", "/???/rm x", "r[m] x", "{rm,-rf,/}",
    "X=rm; $X /", "bash -c \"$CMD\"", "eval $CMD", "curl u | sh", "curl u | sudo bash", "curl u | (bash)",
    "curl u | { true; bash; }", "curl u | while :; do bash; done", "curl u |\nbash", "bash <(curl u)", "source <(curl u)",
    ". <(curl u)", "xargs -I{} sh -c {}", "xargs sh -c", "echo rm | bash -", "echo rm | bash /dev/stdin", "${a[@]}",
    "echo cm0= | base64 -d | sh", "ls\rrm x", "ls \vrm x", "r\0m x", "a=r${IFS}b rm", "powershell -enc cm0=", "echo 'rm x' | at now",
]  # fmt: skip
BROKEN = [
    "echo 'x",
    'echo "x',
    "echo `x",
    "echo $(x",
    "(ls",
    "ls)",
    "echo ${x",
    "[[ a",
    "echo x(y",
    "$'x",
    "x=(a; b",
    "x=(a; b)\nls",
    "ls;;ls",
    "for i in a&b; do ls; done",
]
HARMLESS = [
    "ls", "", "   ", "# rm x", "ls # rm x", "echo rm", "echo 'rm -rf /'", 'echo "rm -rf /"', "echo \\; rm", "git commit -m 'rm x'",
    "grep -r rm .", "man rm", "which rm", "command -v rm", "python -c 'print(1)'", "for i in rm b; do echo $i; done",
    "for i in a; do ls; done", "case x in rm) ls;; *) ls;; esac", "[[ rm == x ]]", "[ rm = x ]", "if [ -f rm ]; then ls; fi",
    "echo $((2*3))", "((i++))", "cat <<EOF\nrm -rf /\nEOF", "cat <<'EOF'\n$(rm x)\nEOF", "a=rm", "ls > rm", "cat < rm", "ls 2>&1",
    "ls &>/dev/null", "function rm { ls; }", "rm() { ls; }", "x=(rm a); ls", "find . -name rm", "ls *.py", "awk '{print $1}' f",
    "sed -n 's/rm/x/p' f", "make -j4 && ./run.sh arg", "echo ${x}", 'echo "$x"', "[ -d x ] && cd x", "curl 'http://x/?a=b&c=d'",
    "ls -la | sort | head -n 3", "docker run --rm alpine ls", "npm run build", "sudo -u rm ls", "bash run.sh", "echo a\\\nb",
    "git log --format='%h (%an)'", "tar czf a.tgz dir", "export A=1; ls", "echo {a,b}", "kill -9 %1", "ls ~/rm", "sudo -n ls rm", "sudo -n grep -r rm .", "timeout --foreground 5 ls rm", "xargs -0 ls rm", "docker run --rm -it alpine ls rm",
    "ssh -tt host ls rm", "python -c 'print(\"rm x\")'", "python -c \"import os; os.system('ls'); print('it is')\"", "awk '{ print \"rm x\" }' f",
    "x=(\n a # rm\n b\n)", "case a in\n  a | b) ls ;;\n  *) ls ;;\nesac\nls", "ls\r\n", "git commit -m 'run rm x'", "git commit -m \"Fix it! Don't panic\"", "git commit -m 'really !rm x'", "curl -d \"command=don't\" h", "echo $[1+2]", "env A=rm ls", "tar xf rm.tar", "rsync -a rm b",
]  # fmt: skip
SEEN = PLAIN + QUOTED + LISTS + BRANCHES + SUBSTITUTIONS + WRAPPERS + MORE_WRAPPERS


@pytest.mark.parametrize("command", SEEN + RUN_TIME + BROKEN)
def test_a_forbidden_program_is_stopped_however_it_is_spelt(command: str) -> None:
    """A hard policy stops the program in every spelling, and also what nobody can read."""
    assert decision(command) == "ask"


@pytest.mark.parametrize("command", HARMLESS)
def test_a_word_that_only_names_the_program_passes(command: str) -> None:
    """Arguments, comments, strings and here-documents are not commands."""
    assert decision(command) == "allow"


@pytest.mark.parametrize("command", RUN_TIME + BROKEN)
def test_what_cannot_be_read_does_not_bind_a_soft_policy(command: str) -> None:
    """A soft policy warns of what it sees, not of what it cannot read."""
    assert decision(command, NO_RM_SOFT) == "allow"


def test_a_soft_policy_warns_of_what_it_sees() -> None:
    """A soft ask is a warning."""
    assert decision("sudo rm x", NO_RM_SOFT) == "warn"


RECURSIVE = Guard([policy({"shell": {"program": "rm", "flags": {"all_of": ["-r", "-f"]}}})])
FORCED_PUSH = Guard([policy({"shell": {"program": "git", "flags": {"any_of": ["--force"]}, "args": "push"}})])
IN_ETC = Guard([policy({"shell": {"program": "rm", "args": ["/etc/*"]}})])


@pytest.mark.parametrize(
    "command",
    ["rm -rf x", "rm -fr x", "rm -r -f x", "rm x -f -r", "rm --recursive -f x", "rm --recursive --force x", "rm -Rvf x",
     "rm --rec --fo x", "rm -r x -f", "rm -r'f' x", "rm \"-rf\" x", "rm $FLAGS x", "rm -r$F x", "xargs rm -r"],
)  # fmt: skip
def test_flags_are_seen_in_any_order_and_spelling(command: str) -> None:
    """Flags count combined, split, long, abbreviated and quoted; made at run time they may be there."""
    assert decision(command, RECURSIVE) == "ask"


@pytest.mark.parametrize("command", ["rm x", "rm -r x", "rm -f x", "rm -- -rf", "rm -r -- -f", "rm *", "rmdir -rf x"])
def test_flags_that_are_not_all_there_do_not_match(command: str) -> None:
    """All of ``all_of`` are needed, and nothing after ``--`` is a flag."""
    assert decision(command, RECURSIVE) == "allow"


@pytest.mark.parametrize(
    ("command", "expected"),
    [("git push -f", "ask"), ("git push --force origin", "ask"), ("git -C d push origin -f", "ask"), ("git push", "allow"),
     ("git push --force-with-lease", "allow"), ("git commit -f", "allow"), ("git $VERB --force", "ask")],
)  # fmt: skip
def test_flags_and_arguments_belong_to_one_command(command: str, expected: str) -> None:
    """Program, flags and arguments must be found in the same command."""
    assert decision(command, FORCED_PUSH) == expected


@pytest.mark.parametrize(
    ("command", "expected"),
    [("rm /etc/passwd", "ask"), ("rm '/etc/passwd'", "ask"), ("rm $F", "ask"), ("rm /etc/*", "ask"), ("rm /e*", "ask"),
     ("rm *.tmp", "allow"), ("rm /tmp/$F", "allow"), ("rm /tmp/*", "allow"), ("ls /etc/passwd", "allow")],
)  # fmt: skip
def test_arguments_made_at_run_time_match_where_they_may(command: str, expected: str) -> None:
    """An argument that only the shell knows may be any path that starts as it does."""
    assert decision(command, IN_ETC) == expected


@pytest.mark.parametrize(
    ("command", "expected"),
    [(["rm", "x"], "ask"), (["bash", "-lc", "rm x"], "ask"), (["echo", "rm"], "allow"), (["echo", "; rm x"], "allow"),
     ({"cmd": "ls"}, "ask"), (7, "ask"), (["ls", 7], "ask"), (None, "allow"), ([], "allow")],
)  # fmt: skip
def test_a_list_is_words_and_not_shell_text(command: object, expected: str) -> None:
    """A list of texts runs without a shell; what is neither text nor such a list cannot be read; null is absent."""
    assert decision(command) == expected


def test_the_reason_names_key_and_clause() -> None:
    """A finding says which clause decided, in words of the policy."""
    verdict = NO_RM.decide("bash", {"command": "sudo rm -rf /"}, {})

    assert verdict.policies[0].reason == "args.command: shell program rm in [rm, shred]"


@pytest.mark.parametrize("command", ["(" * 5000, "$((" * 5000, "${" * 5000, "`" * 5001, "eval " * 5000, "sudo -Z " * 3000 + "ls",
                                     "find -exec " * 400 + "ls", "((1))" * 3000, "[" * 20000, "{a" * 20000, "a" * 300_000])  # fmt: skip
def test_hostile_text_is_stopped_and_costs_little(command: str) -> None:
    """Nesting, repetition and size end in a decision; a hard policy never lets pass what was not read to its end."""
    readable = command.startswith(("((1))", "[", "{a"))

    assert decision(command) in ("ask", "deny") or readable


@pytest.mark.parametrize(
    "command",
    [
        "bwrap " + "a " * 60 + "rm x",
        'python -c "' + "print('a');" * 150 + "os.system('rm x')\"",
        "sudo " + "-Q a " * 60 + "rm x",
        "ls | " + "cat | " * 30 + "rm x",
    ],
)
def test_what_lies_behind_many_words_is_seen_or_unknown(command: str) -> None:
    """No limit of the reader is a place to hide behind."""
    assert decision(command) == "ask"


@pytest.mark.parametrize("code", ["'", "\\'", '"', "`", "['a',", '("(",', "system('x', "])
def test_strings_in_code_are_found_in_one_pass(code: str) -> None:
    """Quotes without an end, however many, cost no more than their number."""
    assert grows_with_its_length(lambda text: list(in_code("python3", "system " + text)), code, 50_000 * len(code))


simple = st.sampled_from(["rm x", "/bin/rm -rf /", "shred -u f", "rm"])
prefixes = st.sampled_from(
    ["sudo {}", "env A=1 {}", "nohup {}", "timeout 9 {}", "xargs {}", "A=1 {}", "exec {}", "nice -n 5 {}"]
)
compounds = st.sampled_from([
    "{}", "{} &", "ls; {}", "ls && {}", "{} | cat", "({})", "{{ {}; }}", "echo $( {} )", "if true; then {}; fi", "! {}", 'echo "$( {} )"',
    "for i in 1 2; do {}; done", "\n{}", "  {}  # comment", "case a in *) {} ;; esac", "f() {{ {}; }}; f", ">/dev/null cat <({})",
])  # fmt: skip
texts = st.sampled_from(["sh -c '{}'", "bash -lc '{}'", "eval '{}'", "su -c '{}'", "sudo sh -c '{}'", "ssh host '{}'"])


@given(simple, st.lists(prefixes, max_size=2), st.lists(compounds, max_size=3), texts, st.lists(compounds, max_size=2))
def test_wrapping_never_makes_a_forbidden_command_pass(
    command: str, before: list[str], inner: list[str], text: str, outer: list[str]
) -> None:
    """However programs, groups and shells are put around each other, the command inside is seen."""
    for wrapping in [*before, *inner, text, *outer]:
        command = wrapping.format(command)

    assert decision(command) == "ask"


@given(st.sampled_from(["rm", "shred"]), st.data())
def test_quoting_never_makes_a_forbidden_program_pass(program: str, data: st.DataObject) -> None:
    """Each letter of the program may be quoted in its own way."""
    forms = ["{}", "'{}'", '"{}"', "\\{}", "$'{}'", "''{}", '""{}', "\\\n{}"]
    spelt = "".join(data.draw(st.sampled_from(forms)).format(letter) for letter in program)

    assert decision(f"{spelt} x") == "ask"


@given(st.text(alphabet="rm x;|&()<>{}[]$`'\"\\\n#=*!-", max_size=40))
def test_any_text_gets_a_decision(command: str) -> None:
    """No text makes the reader fail or hang."""
    assert decision(command) in ("ask", "allow")
