"""Programs that run another program: which options take values, and where the other program starts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from .checks import words_of
from .shell_words import ShellWord

_WITH_VERBS = words_of(
    "git hg svn gh glab docker podman nerdctl kubectl oc helm aws gcloud az doctl terraform tofu pulumi terragrunt"
    " vault systemctl zfs zpool restic borg redis-cli apt apt-get dnf yum gsutil rclone heroku fly flyctl vercel npm"
)


def takes_verb(name: str) -> bool:
    """Return whether the first word of a program's arguments is a verb."""
    return name in _WITH_VERBS


_ONE_VERB = words_of(
    "git hg svn npm pnpm yarn bun pip pip3 cargo go make gmake just task bazel redis-cli valkey-cli keydb-cli apt"
    " apt-get docker podman aptitude yum dnf microdnf zypper apk snap pkg brew port choco winget scoop emerge"
    " flatpak gem"
)
"""Programs whose first word is a verb, followed by names."""
_TWO_VERBS = words_of("memkit")
"""Programs whose first two words are a noun and a verb, followed by texts."""
_VALUELESS = words_of("--json --no-input --debug")
"""Their options that take no value."""
_NO_VERB = words_of(
    "echo printf grep egrep fgrep zgrep rg ag ack awk gawk mawk sed gsed cat bat tac ls ll exa eza tree cd pushd"
    " mkdir touch cp mv ln tar zip unzip gzip rsync scp vi vim nvim nano emacs code less more head tail man tldr"
    " which whereis whatis type hash help file stat du wc sort uniq cut tr diff comm cmp find locate test [ read"
    " export declare set unset alias trap source . jq yq xmllint column tee xargs expr let seq basename dirname"
    " realpath readlink sha256sum md5sum chmod chown chgrp ping dig host nslookup open xdg-open pandoc convert"
    " ffmpeg curl wget http xh python python3 node ruby perl php psql mysql mariadb sqlite3 duckdb mongosh mongo"
    " useradd id groups pytest tox nox jest vitest rspec logger notify-send say wall write mail git-grep apropos"
    " info history for select case command where sudo env time nohup exec kill pkill pgrep killall fd"
)
"""Programs whose words are texts, files, names or code, and do not name an action."""
_MOST_VERBS = 3
_LOOKS = words_of("get describe show explain help info can-i inspect man create install build")
"""Verbs followed by names: ``kubectl auth can-i delete pods``."""
_SIMULATED_BY = {
    **dict.fromkeys(("apt", "apt-get", "aptitude"), "-s"),
    "brew": "-n",
    "restic": "-n",
    "make": "-n",
    "snakemake": "-n",
}
"""Programs with options that make them only announce what they would do."""
_LOOKING_CMDLETS = (
    "get-",
    "select-",
    "write-",
    "where-",
    "test-",
    "measure-",
    "format-",
    "out-",
    "compare-",
    "convert",
)


def has_verbs(name: str) -> bool:
    """Return whether words of a program's arguments may name its action."""
    return name not in _NO_VERB


def verbs_of(name: str, words: Sequence[ShellWord]) -> Iterator[ShellWord]:
    """Yield the words that name a command's action: its first ones that are neither options nor option values.

    Before the first such word an option may or may not take a value, so a word after an option counts there as well.
    """
    left = 0 if name in _NO_VERB else 1 if name in _ONE_VERB else 2 if name in _TWO_VERBS else _MOST_VERBS
    seen, after_option, of_memkit = False, False, name in _TWO_VERBS
    if "-" in name and name.startswith(_LOOKING_CMDLETS):
        return
    if name in _SIMULATED_BY and any(word.text == _SIMULATED_BY[name] for word in words):
        return
    for word in words:
        if not left:
            return
        is_option = word.text.startswith(("-", "+"))
        if not is_option and not (seen and after_option):
            left -= not after_option
            seen = seen or not after_option
            yield word
            if not after_option and word.text in _LOOKS:
                return
        is_flag = of_memkit and word.certain and word.text in _VALUELESS
        after_option = is_option and "=" not in word.text and not is_flag


SHELLS = words_of("sh bash dash zsh ksh mksh ash fish rbash csh tcsh yash osh nu elvish xonsh")
POWER_SHELLS = words_of("pwsh powershell cmd forfiles")


class Wrapper(NamedTuple):
    """How to skip a wrapper's own words."""

    valued: frozenset[str] = frozenset()
    """Options whose value is the next word."""
    flags: frozenset[str] = frozenset()
    """Options without a value; an option listed nowhere may take one or not."""
    operands: int = 0
    """The number of its own operands before the program starts."""
    script: tuple[str, ...] = ()
    """Options whose value is shell text."""
    joined: bool = False
    """Whether the rest is joined to shell text instead of being run word by word."""
    verbs: frozenset[str] = frozenset()
    """Subcommands that run a program; others do not."""
    runs: bool = True
    """Whether it runs what follows its options; otherwise only the text in ``script`` options."""
    anywhere: bool = False
    """Whether the program may start at any word, because options take several values."""
    entry: tuple[str, ...] = ()
    """Options that name the program, which then receives the words that would otherwise start with it."""
    shell: bool = False
    """Whether, without a program, it starts a shell that runs its input."""


def _wrapper(
    valued: str = "",
    operands: int = 0,
    script: str = "",
    verbs: str = "",
    *,
    flags: str = "",
    joined: bool = False,
    runs: bool = True,
    anywhere: bool = False,
    entry: str = "",
    shell: bool = False,
) -> Wrapper:
    return Wrapper(
        words_of(f"{valued} {entry}"),
        _spread(flags),
        operands,
        tuple(script.split()),
        joined,
        words_of(verbs),
        runs,
        anywhere,
        tuple(entry.split()),
        shell,
    )


def _spread(flags: str) -> frozenset[str]:
    """Return ``-a -b --long`` for ``ab --long``."""
    words = flags.split()
    short = [f"-{letter}" for word in words if not word.startswith("--") for letter in word]
    return frozenset([*short, *(word for word in words if word.startswith("--"))])


PLAIN = _wrapper(flags="apvfVwr --yes --auto-servernum")
_PLAIN_NAMES = words_of(
    "nohup setsid command builtin busybox toybox caffeinate unbuffer fakeroot proxychains proxychains4"
    " torsocks tsocks catchsegv valgrind rlwrap dbus-run-session xvfb-run firejail daemonize entr numactl linux32"
    " linux64 bunx pnpx corepack setpriv prlimit eatmydata chronic sem winpty wine torify proot"
    " shx vault-env tini dumb-init ifne with-contenv dbus-launch flatpak-spawn call"
)
_CONTAINER = _wrapper(
    "-e -u -w -v -p -h -l -m --env --env-file --user --workdir --name --volume --network --publish --mount"
    " --hostname --label --memory --cpus",
    operands=1,
    entry="--entrypoint",
    verbs="exec run",
    flags="itdPT --rm --privileged --detach --interactive --tty --init --read-only",
)
_CLUSTER = _wrapper(
    "-n -c --namespace --container --context",
    operands=1,
    verbs="exec run rsh debug",
    flags="it --stdin --tty --rm --quiet",
)
_RUNNER = _wrapper(
    "-n -p -C --name --prefix --python --with --group --extra --cwd",
    verbs="run exec x dlx",
    flags="yq --yes --quiet --no-sync --isolated",
)
_POSIX_SCRIPT = "-c --command"
_ENVIRONMENT = _wrapper("-p -c -e -f --project --config --env --env-file --path", script="--command", verbs="run exec")
"""Programs that run another one with their own versions, settings or secrets."""
WRAPPERS: dict[str, Wrapper] = {
    **dict.fromkeys(_PLAIN_NAMES, PLAIN),
    "sudo": _wrapper(
        "-u -g -h -p -C -r -t -T -U -D -R --user --group --host --prompt --chdir --chroot --role --type",
        flags="AbBEHiKklnPSsVv --preserve-env --login --shell --non-interactive --set-home --background",
    ),
    "doas": _wrapper("-u -C", flags="nsL"),
    "coreutils": _wrapper(script="--coreutils-prog"),
    "pkexec": _wrapper("--user"),
    "npx": _wrapper("-p --package", script="-c --call", flags="yq --yes --no --quiet --no-install"),
    "npm": _RUNNER._replace(script=("-c", "--call")),
    **dict.fromkeys(words_of("gosu su-exec s6-setuidgid envdir setlock"), _wrapper(operands=1)),
    **dict.fromkeys(("chpst", "softlimit"), _wrapper("-u -U -e -n -l -L -m -d -o -p -f -c -r -t -s -a")),
    "runcon": _wrapper(anywhere=True),
    "retry": _wrapper("-t -d -m -x --times --delay --max --min --until --while"),
    "ssh-agent": _wrapper("-a -E -O -P -t", flags="cDdks"),
    "arch": _wrapper("-e -d", flags="chx"),
    **dict.fromkeys(
        words_of("start start-process saps start-job sajb invoke-command icm measure-command"), _wrapper(anywhere=True)
    ),
    "env": _wrapper(
        "-u -C --unset --chdir", script="-S --split-string", flags="i0v --ignore-environment --null --debug"
    ),
    "exec": _wrapper("-a", flags="cl"),
    "nice": _wrapper("-n --adjustment"),
    "ionice": _wrapper("-c -n -p --class --classdata", flags="t --ignore"),
    "time": _wrapper("-f -o --format --output", flags="pavq --portability --verbose --append"),
    "timeout": _wrapper("-s -k --signal --kill-after", operands=1, flags="v --preserve-status --foreground --verbose"),
    "stdbuf": _wrapper("-i -o -e --input --output --error"),
    "chrt": _wrapper("-T -P -D", operands=1, flags="abdfimoprv"),
    "taskset": _wrapper(operands=1),
    "setarch": _wrapper(operands=1),
    "faketime": _wrapper("-f", operands=1),
    "cgexec": _wrapper("-g"),
    "cpulimit": _wrapper("-l -p -e --limit", flags="bfikvz --background --foreground --include-children"),
    "choom": _wrapper("-n --adjust"),
    "trickle": _wrapper("-d -u -w -t -l -L -n", flags="sv"),
    **dict.fromkeys(("ts", "tsp"), _wrapper("-L -N -D", flags="nfmBgE")),
    **dict.fromkeys(("dtach", "abduco"), _wrapper("-n -c -A -N -r -e -l", flags="Ezf")),
    "watchexec": _wrapper("-e -w -i -f -d -s --exts --watch --ignore --filter --signal --debounce", joined=True),
    "nodemon": _wrapper("-e -w -i --ext --watch --ignore", script="-x --exec", runs=False),
    "chroot": _wrapper(operands=1, shell=True),
    "flock": _wrapper("-w -E --timeout", operands=1, script=_POSIX_SCRIPT, flags="sxneuoF"),
    "script": _wrapper(
        "-T -I -O -B", operands=1, script=_POSIX_SCRIPT, flags="aefqt --quiet --append --flush --return"
    ),
    "su": _wrapper("-g -G -s --group --shell", operands=1, script=_POSIX_SCRIPT, flags="lmpfP --login", shell=True),
    "runuser": _wrapper("-u -g -G -s --user --group --shell", script=_POSIX_SCRIPT),
    "sg": _wrapper(operands=1, script=_POSIX_SCRIPT, joined=True),
    "capsh": _wrapper(script="-c"),
    "watch": _wrapper("-n --interval", joined=True, flags="dtbegxc"),
    "hyperfine": _wrapper("-w -r -m -M --warmup --runs", script="-p --prepare -s --setup -c --cleanup", joined=True),
    "parallel": _wrapper("-j --jobs -I -a --arg-file", joined=True, flags="kqt0 --null --keep-order --dry-run"),
    "strace": _wrapper("-e -o -p -s -u", flags="fFqdtTvxyrCcik"),
    "ltrace": _wrapper("-e -o -p -s -u"),
    "perf": _wrapper("-e -o -F -C", verbs="stat record trace"),
    "gdb": _wrapper("-x -ex -p"),
    "xargs": _wrapper(
        "-I -n -P -L -d -a -E -s --max-args --max-procs --max-lines --delimiter --arg-file --replace",
        flags="0rtxpo --null --no-run-if-empty --verbose --interactive --open-tty --exit",
    ),
    "systemd-run": _wrapper(
        "-u -p -M --unit --property --slice --uid --gid",
        flags="Gqtdr --user --system --scope --pty --wait --quiet --collect --no-block --pipe",
    ),
    "start-stop-daemon": _wrapper(
        "-p -n -u -c -g -k -d -r -R --pidfile --name --user --chuid --group --chdir --chroot --signal --retry",
        flags="SKTbmqtvo --start --stop --status --background --make-pidfile --quiet --test --verbose --oknodo",
        entry="-x --exec -a --startas",
    ),
    "unshare": _wrapper("-S -G -R -w", shell=True),
    "nsenter": _wrapper("-t -S -G --target", shell=True),
    "lxc-attach": _wrapper("-n -P -s -v -u -g --name --lxcpath", shell=True),
    "wsl": _wrapper("-d -u --distribution --user --cd", flags="e --exec --system", shell=True),
    "multipass": _wrapper("-d --working-directory", operands=1, verbs="exec"),
    "machinectl": _wrapper("-E --setenv --uid", operands=1, verbs="shell"),
    "adb": _wrapper("-n", joined=True, verbs="shell", flags="Ttx", shell=True),
    "srun": _wrapper("-A -c -D -J -n -N -p -t -w", flags="lQuv --pty"),
    "sbatch": _wrapper(script="--wrap", runs=False),
    **dict.fromkeys(("mpirun", "mpiexec"), _wrapper("-n -np -H -x --np --host --hostfile", flags="v --oversubscribe")),
    **dict.fromkeys(
        ("apptainer", "singularity"), _wrapper("-B -H -W --bind --home --pwd --env --app", operands=1, verbs="exec run")
    ),
    "limactl": _wrapper("--workdir", operands=1, verbs="shell"),
    "toolbox": _wrapper("-c -d -r --container --distro --release", verbs="run"),
    "distrobox": _wrapper(anywhere=True, verbs="enter"),
    "bwrap": _wrapper(anywhere=True),
    "systemd-nspawn": _wrapper(anywhere=True),
    "ssh": _wrapper(
        "-p -i -l -o -F -J -L -R -D -W -b -c -E -e -I -m -O -Q -S -w -B",
        operands=1,
        joined=True,
        flags="46AaCfGgKkMNnqsTtVvXxYy",
        shell=True,
    ),
    "autossh": _wrapper("-M -p -i -l -o -L -R -D", operands=1, joined=True, shell=True),
    "mosh": _wrapper("-p --ssh --server --port", operands=1, joined=True, shell=True),
    "sshpass": _wrapper("-p -f -d -P", flags="eVv"),
    **dict.fromkeys(
        ("pssh", "parallel-ssh", "pdsh"), _wrapper("-h -H -l -w -x -t -o -e -p -O -f -u --hosts --host", joined=True)
    ),
    "salt": _wrapper("-t -b --timeout --batch", joined=True, verbs="cmd.run cmd.run_all cmd.shell"),
    "screen": _wrapper("-S -c -e -h -p -s -t -T"),
    "tmux": _wrapper(
        "-c -n -s -t -F -x -y -e -l -p",
        joined=True,
        verbs="new new-session neww new-window splitw split-window respawnp respawn-pane respawnw respawn-window run"
        " run-shell popup display-popup pipep pipe-pane send send-keys if if-shell",
    ),
    **dict.fromkeys(("eval", "iex", "invoke-expression"), _wrapper(joined=True)),
    "uvx": _wrapper("-p --python --from --with", flags="q --quiet --isolated"),
    "git": _wrapper(
        script="-x --exec --tree-filter --index-filter --msg-filter --env-filter --commit-filter --parent-filter",
        verbs="run foreach",
        joined=True,
    ),
    **dict.fromkeys(("nc", "ncat"), _wrapper(script="-e -c --exec --sh-exec", runs=False)),
    "rsync": _wrapper(script="-e --rsh --rsync-path", runs=False),
    **dict.fromkeys(("scp", "sftp"), _wrapper(script="-S", runs=False)),
    "tcpdump": _wrapper("-i -w -r -c -C -G -W -s -F -B -y", script="-z --postrotate-command", runs=False),
    "man": _wrapper(script="-P --pager", runs=False),
    **dict.fromkeys(("mapfile", "readarray", "complete", "compgen"), _wrapper(script="-C", runs=False)),
    "tar": _wrapper(script="-I -F --to-command --checkpoint-action=exec --use-compress-program", runs=False),
    **dict.fromkeys(("ansible", "ansible-console"), _wrapper(script="-a --args", runs=False)),
    **dict.fromkeys(("vagrant", "gcloud", "nix-shell", "nix"), _wrapper(script="-c --command --run", runs=False)),
    **dict.fromkeys(("docker", "podman", "nerdctl", "docker-compose"), _CONTAINER),
    **dict.fromkeys(("kubectl", "oc", "lxc", "incus"), _CLUSTER),
    **dict.fromkeys(
        words_of("poetry pipenv pipx uv devbox pdm rye hatch bundle conda mamba pnpm yarn bun mise pixi"), _RUNNER
    ),
    **dict.fromkeys(("direnv", "aws-vault", "chamber"), _wrapper(operands=1, verbs="exec")),
    **dict.fromkeys(
        words_of("asdf dotenv doppler op infisical teller rbenv pyenv nodenv jenv goenv rtx volta proto"), _ENVIRONMENT
    ),
    "envchain": _wrapper(operands=1),
    "sops": _wrapper("-i --input-type --output-type", operands=1, verbs="exec-env exec-file", joined=True),
    "aws": _wrapper(script="--command", runs=False),
    "az": _wrapper(script="--scripts", runs=False),
    **dict.fromkeys(("fly", "flyctl", "railway", "render"), _wrapper(script="-C --command", verbs="run ssh console")),
    "heroku": _wrapper("-a --app -r --remote -s --size", verbs="run run:detached local:run", joined=True),
    "newgrp": _wrapper(operands=1, shell=True),
    "zip": _wrapper(script="-TT --unzip-command", runs=False),
}
