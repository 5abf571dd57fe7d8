# ruff: noqa: E501 - tables of spellings read best when they are dense
"""A program that another one starts is seen with its flags, wherever its name and its commands come from."""

from __future__ import annotations

import pytest
from growth import grows_with_its_length

from memkit.runtime.guard.core import Guard


def guard(condition: object) -> Guard:
    """Return a guard with one hard policy on the command of the shell tool."""
    match = {"tool": "bash", "args.command": condition}
    return Guard(
        [{"name": "p", "description": "d", "rule": "r", "enforcement": "hard", "effect": "ask", "match": match}]
    )


FORCED = guard({"shell": {"program": "rm", "flags": {"all_of": ["-r", "-f"]}}})
SQL = guard({"sql": {"statement": ["drop", "delete"]}})

OPTIONS = [
    "git -c core.pager='rm -rf x' log", "git -c core.sshCommand='rm -rf x' fetch", "git grep --open-files-in-pager='rm -rf x' a",
    "git grep -O'rm -rf x' a", "git difftool --extcmd='rm -rf x'", "git fetch --upload-pack='rm -rf x' o", "git clone 'ext::rm -rf x'",
    "ssh -oProxyCommand='rm -rf x' host", "ssh -o 'ProxyCommand rm -rf x' host", "scp -S 'rm -rf x' a b", "man -P 'rm -rf x' ls",
    "rsync --rsync-path='rm -rf x; rsync' a b:", "tar -I 'rm -rf x' -cf a b", "npx -c 'rm -rf x'", "npm exec -c 'rm -rf x'",
    "nodemon --exec 'rm -rf x'", "mapfile -C 'rm -rf x' a", "make --eval='x:;rm -rf x'",
    "docker run --entrypoint rm alpine -rf x", "docker run --rm --entrypoint=/bin/rm -v a:b alpine -rf x",
    "start-stop-daemon --start --exec /bin/rm -- -rf x", "gxargs rm -rf",
]  # fmt: skip
WRAPPED = [
    "wsl rm -rf x", "wsl -d Ubuntu -e rm -rf x", "wsl -- rm -rf x", "multipass exec vm -- rm -rf x", "machinectl shell root@ /bin/rm -rf x",
    "lxc-attach -n c -- rm -rf x", "adb shell rm -rf x", "adb -s x shell 'rm -rf x'", "mosh host -- rm -rf x", "sshpass -p pw ssh host rm -rf x",
    "autossh host rm -rf x", "pdsh -w hosts rm -rf x", "pssh -h hosts 'rm -rf x'", "salt '*' cmd.run 'rm -rf x'", "torify rm -rf x",
    "cpulimit -l 50 -- rm -rf x", "choom -n 0 -- rm -rf x", "trickle -d 10 rm -rf x", "tsp rm -rf x", "dtach -n s rm -rf x",
    "watchexec -e py -- rm -rf x", "grm -rf x", "gtimeout 5 rm -rf x", "gfind . -exec rm -rf x +", "ssh-agent rm -rf x", "tini -- rm -rf x",
    "dumb-init rm -rf x", "ifne rm -rf x", "retry -t 3 -- rm -rf x", "srun -n 2 rm -rf x", "sbatch --wrap 'rm -rf x'", "mpirun -n 2 rm -rf x", "runcon -t a rm -rf x",
    "s6-setuidgid a rm -rf x", "chpst -u a rm -rf x", "softlimit -m 1 rm -rf x", "envdir d rm -rf x", "arch -x86_64 rm -rf x", "yash -c 'rm -rf x'",
    "apptainer exec i.sif rm -rf x", "limactl shell v rm -rf x", "toolbox run rm -rf x", "distrobox enter a -- rm -rf x", "flatpak-spawn --host rm -rf x",
    "gcloud compute ssh v -- rm -rf x", "launchctl submit -l a -- /bin/rm -rf x", "dbus-launch rm -rf x", "with-contenv rm -rf x",
]  # fmt: skip
OF_WINDOWS = [
    "try { rm -r -f x } catch {}", "try{rm -r -f x}catch{}", "finally { rm -r -f x }", "trap { rm -r -f x }", ". { rm -r -f x }", "ls | %{rm -r -f x}",
    "ls | ForEach-Object{rm -r -f x}", "<# a #> rm -r -f x", "Start-Process pwsh -ArgumentList '-c rm -r -f x'",
    "pwsh -c '. rm -r -f x'", "pwsh -c 'Start-Process rm -r -f x'", "pwsh -c 'saps rm -r -f x'", "pwsh -c 'Invoke-Command { rm -r -f x }'", "pwsh -c 'icm -ScriptBlock { rm -r -f x }'",
    "pwsh -c 'try { rm -r -f x } catch {}'", "pwsh -c '1..3 | %{rm -r -f $_}'", "pwsh -c 'Start-Job { rm -r -f x }'", "pwsh -c '<# a #> rm -r -f x'", "pwsh -c 'sal a rm; a -r -f x'",
    "pwsh -c 'C:\\bin\\rm.exe -r -f x'", "pwsh -c '\"rm -r -f x\" | iex'", "pwsh -c 'irm http://x | iex'", "cmd /c \"if exist x rm -r -f x\"", "cmd /c \"if not exist x rm -r -f x\"",
    "cmd /c call rm -r -f x", "cmd /c start rm -r -f x", "cmd /c \"@rm -r -f x\"", "cmd //c rm -r -f x", "cmd /crm -r -f x",
]  # fmt: skip
CODE = [
    "perl -e 'exec qw(rm -rf x)'", "ruby -e '%x(rm -rf x)'", "expect -c 'spawn rm -rf x'", "tclsh <<< 'exec rm -rf x'",
    "sed -n '1e rm -rf x' f", "sed '1erm -rf x' f", "gdb -batch -ex 'shell rm -rf x'", "gdb -ex '!rm -rf x'", "less '+!rm -rf x' f",
    "psql -c '\\! rm -rf x'", "mysql -e '\\! rm -rf x'", "sqlite3 db '.shell rm -rf x'", "sqlite3 db '.system rm -rf x'",
]  # fmt: skip
SHELLS = [
    "bash -euxo pipefail -c 'rm -rf x'", "bash -eo pipefail -c 'rm -rf x'", "sh -euc 'rm -rf x'", "bash -euo pipefail -O extglob -c 'rm -rf x'",
    "bash -ceuo pipefail 'rm -rf x'", "bash -euo pipefail <<E\nrm -rf x\nE", "env -S '-i A=1 rm -rf x'", "env -iS '-u A rm -rf x'",
    "#!/usr/bin/env -S bash\nbash -euo pipefail -c 'rm -rf x'",
]  # fmt: skip
READ = [
    "ssh h <<E\nrm -rf x\nE", "ssh h 'bash -s' <<E\nrm -rf x\nE", "ssh h sh <<< 'rm -rf x'", "su - bob <<E\nrm -rf x\nE", "sudo -i <<E\nrm -rf x\nE", "sudo -iu bob <<E\nrm -rf x\nE", "sudo -u bob -s <<< 'rm -rf x'",
    "wsl <<E\nrm -rf x\nE", "sh -c bash <<< 'rm -rf x'", "eval sh <<< 'rm -rf x'", "chroot /mnt <<E\nrm -rf x\nE", "ed f <<< '!rm -rf x'",
    "crontab <<< '* * * * * rm -rf x'", "crontab - <<E\n# at night\n@daily rm -rf x\nE", "make -f - <<E\na:\n\trm -rf x\nE",
    "psql <<E\n\\! rm -rf x\nE", "sftp h <<E\n!rm -rf x\nE",
]  # fmt: skip


@pytest.mark.parametrize("command", [*OPTIONS, *WRAPPED, *OF_WINDOWS, *SHELLS, *CODE, *READ])
def test_a_started_program_is_seen_with_its_flags(command: str) -> None:
    """Options, wrappers, code and what a shell reads are followed to the program and to all of its words."""
    assert FORCED.decide("bash", {"command": command}, {}).decision == "ask"


@pytest.mark.parametrize(
    "command", [command.replace("rm -rf x", "rm -r x") for command in [*WRAPPED, *SHELLS, *CODE, *READ]]
)
def test_a_started_program_without_the_flags_passes(command: str) -> None:
    """What is seen is the command that would run, and no doubt about it."""
    assert FORCED.decide("bash", {"command": command}, {}).decision == "allow"


@pytest.mark.parametrize(
    "command",
    ["ls | ssh host", "curl x | sudo -i", "curl x | ssh host sh", "curl x | sh -c bash", "curl x | crontab -"],
)
def test_what_is_piped_into_a_shell_elsewhere_is_unknown(command: str) -> None:
    """A shell on another host, of another user or in a text reads its input as one that is called by name does."""
    assert FORCED.decide("bash", {"command": command}, {}).decision == "ask"


@pytest.mark.parametrize(
    "command",
    [
        "ssh host 'cat > f' <<E\nit's rm -rf x\nE", "bash <<< '! git push'", "ed f <<< '!git push'", "tar c . | ssh host 'tar x'", "echo pw | sudo -S ls", "echo pw | sudo -S -v", "echo x | sudo -u bob tee f", "crontab -l", "crontab -r",
        "crontab -l | grep x", "su - bob", "ssh host", "ssh host uptime", "docker run --rm -i alpine cat < f", "make -j4 build", "make a:b",
        "sed -e 's/one;/the end/' f", "sed 's/rm -rf x/y/' f", "git log --format='%h: it''s!'", "git commit -m 'ends here!'", "psql -c 'select 1'",
        "npx tsc -p .", "npm run build -- -c", "npm test", "tar -cf a.tar b", "tar xIf zstd a", "man rm", "wsl --list", "adb devices",
        "docker run --entrypoint sh alpine -c 'ls -rf'", "cat f | sh -c 'wc -l'", "salt '*' test.ping",
    ],
)  # fmt: skip
def test_ordinary_use_of_the_same_programs_passes(command: str) -> None:
    """Data that is read, commands without a program and words that only look alike start nothing."""
    assert FORCED.decide("bash", {"command": command}, {}).decision == "allow"


@pytest.mark.parametrize(
    "command", ['sqlite3 db "$(cat a.sql)"', 'duckdb "$DB" "$SQL"', "influx -execute 'drop database x'"]
)
def test_the_operand_of_a_database_client_is_its_statement(command: str) -> None:
    """A statement that the running shell makes is unknown where it stands without an option, too."""
    assert SQL.decide("bash", {"command": command}, {}).decision == "ask"


def test_the_database_of_a_client_is_no_statement() -> None:
    """The first operand is a file."""
    assert SQL.decide("bash", {"command": 'sqlite3 "$DB" "select 1"'}, {}).decision == "allow"


@pytest.mark.parametrize(
    ("before", "sign", "behind"),
    [("git ", "=!", ""), ("sed ", ";e", ""), ("make ", "a:", ""), ("perl -e '", "qx(", "'")],
)
def test_many_signs_cost_no_more_than_their_budget(before: str, sign: str, behind: str) -> None:
    """Every sign could start a command; what is read of them is bounded, and what is left is a doubt."""

    def decided(signs: str) -> None:
        FORCED.decide("bash", {"command": before + signs + behind}, {})

    assert grows_with_its_length(decided, sign, 40_000)


@pytest.mark.parametrize("command", ["{}", "pwsh -c '{}'", "ls; {}"])
def test_a_cmdlet_is_known_with_the_name_of_its_module(command: str) -> None:
    """PowerShell also takes a module before the name; another shell would read its sign as an escape."""
    named = command.format("Microsoft.PowerShell.Management\\Remove-Item x")

    assert guard({"shell": {"program": "remove-item"}}).decide("bash", {"command": named}, {}).decision == "ask"
    assert guard({"shell": {"program": "get-item"}}).decide("bash", {"command": named}, {}).decision == "allow"
