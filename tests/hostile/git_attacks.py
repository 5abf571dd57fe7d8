"""Repositories that try to run programs through whatever git does in them, and to write where they do not lie."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from traps import Trap

Attack = Callable[[Path, Path, Trap], None]
"""Makes an honest store hostile; gets the store, the folder beside it that nobody may touch, and the trap."""

HOOKS = (
    "applypatch-msg", "commit-msg", "fsmonitor-watchman", "post-applypatch", "post-checkout", "post-commit",
    "post-index-change", "post-merge", "post-rewrite", "post-update", "pre-applypatch", "pre-auto-gc", "pre-commit",
    "pre-merge-commit", "pre-push", "pre-rebase", "pre-receive", "prepare-commit-msg", "proc-receive",
    "push-to-checkout", "reference-transaction", "sendemail-validate", "update",
)  # fmt: skip

RUNNING = (
    "alias.add", "alias.commit", "alias.log", "alias.status", "core.alternateRefsCommand", "core.askPass",
    "core.editor", "core.fsmonitor", "core.gitProxy", "core.pager", "core.sshCommand", "credential.helper",
    "diff.external", "diff.evil.command", "diff.evil.textconv", "diff.memkit.textconv", "filter.evil.clean",
    "filter.evil.smudge", "filter.evil.process", "filter.memkit.clean", "filter..clean", "filter.a.b.clean",
    "gpg.openpgp.program", "gpg.program", "gpg.ssh.defaultKeyCommand", "gpg.ssh.program", "gpg.x509.program",
    "hook.evil.command", "interactive.diffFilter", "merge.evil.driver", "merge.memkit.driver", "pager.log",
    "pager.status", "remote.origin.receivepack", "remote.origin.uploadpack", "sendemail.sendmailCmd",
    "sequence.editor", "submodule.sub.update", "trailer.sign.cmd", "trailer.sign.command",
    "uploadpack.packObjectsHook", "web.browser", "man.viewer", "difftool.evil.cmd", "mergetool.evil.cmd",
)  # fmt: skip
"""Settings whose value git starts as a program, in one situation or another."""

STEERING = {
    "commit.gpgSign": "true", "tag.gpgSign": "true", "log.showSignature": "true", "merge.verifySignatures": "true",
    "diff.evil.cachetextconv": "true", "diff.submodule": "diff", "status.submoduleSummary": "true",
    "submodule.recurse": "true", "fetch.recurseSubmodules": "true",
    "protocol.ext.allow": "always",
    "protocol.allow": "always", "hook.evil.event": "pre-commit", "filter.evil.required": "true",
    "commit.verbose": "true",
    "gc.auto": "1", "maintenance.auto": "true", "rerere.enabled": "true", "format.pretty": "format:%G? %H",
    "core.untrackedCache": "true", "merge.tool": "evil", "diff.tool": "evil", "help.autocorrect": "immediate",
}  # fmt: skip
"""Settings that bring git into these situations."""


def git(folder: Path, *words: str, given: bytes = b"") -> str:
    """Run plain git, as the attacker does."""
    return subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, input=given).stdout.decode()


def configure(folder: Path, settings: dict[str, str], *options: str) -> None:
    """Write settings into a repository."""
    for key, value in settings.items():
        git(folder, "config", *options, "--add", key, value)


def traps_by_setting(trap: Trap) -> dict[str, str]:
    """Return each setting that runs something with a command that fires its trap."""
    passing = ("filter.", "diff.")
    named = {key: trap.command(key, passes=key.startswith(passing)) for key in RUNNING}
    shell = {key: f"!{named[key]}" for key in RUNNING if key.startswith(("alias.", "submodule.", "credential."))}
    # Git starts these by themselves and not by a shell.
    programs = [key for key in RUNNING if key.startswith("gpg.") or key in ("core.askPass", "core.gitProxy")]
    places = {key: trap.folder.with_name("programs") / key for key in programs}
    return named | shell | {key: str(trap.program(place, key)) for key, place in places.items()}


def hooks(store: Path, outside: Path, trap: Trap) -> None:
    """Every hook git knows, where git looks for them."""
    for name in HOOKS:
        trap.program(store / ".git" / "hooks" / name, f"hook {name}")


def settings(store: Path, outside: Path, trap: Trap) -> None:
    """Every setting that git runs, and files and a commit that ask for them."""
    ask_for_all(store)
    configure(store, traps_by_setting(trap) | STEERING)


def ask_for_all(store: Path) -> None:
    """Let attributes name each file for filters and drivers, and sign the last commit, so that it asks for a check."""
    attributes = "* filter=evil diff=evil merge=evil\n*.md filter=\n*.jsonl filter=evil diff=memkit merge=memkit\n"
    (store / ".gitattributes").write_text(attributes)
    (store / ".git" / "info").mkdir(exist_ok=True)
    (store / ".git" / "info" / "attributes").write_text("skills/* filter=a.b\npolicies/* filter=\n")
    _sign_head(store)


def set_hooks_path(store: Path, outside: Path, trap: Trap) -> None:
    """Hooks in a folder of the store, which a setting of one working tree names."""
    for name in HOOKS:
        trap.program(store / "tools" / name, f"hooksPath {name}")
    git(store, "config", "extensions.worktreeConfig", "true")
    tree = {"core.hooksPath": "tools", "core.fsmonitor": trap.command("worktree fsmonitor")}
    tree |= {"filter.evil.clean": trap.command("worktree clean", passes=True)}
    (store / ".gitattributes").write_text("* filter=evil\n")
    configure(store, tree, "--worktree")


def includes(store: Path, outside: Path, trap: Trap) -> None:
    """Settings in files of the store that its configuration includes, one under a condition."""
    with (store / ".gitattributes").open("a") as attributes:
        attributes.write("archive/** filter=one\nskills/* filter=two\n")
    for name in ("one", "two"):
        place = store / f"{name}.cfg"
        found = {f"filter.{name}.clean": trap.command(f"included {name}", passes=True)}
        found["core.fsmonitor"] = trap.command(f"included fsmonitor {name}")
        for key, value in found.items():
            git(store, "config", "--file", str(place), key, value)
    configure(store, {"include.path": "../one.cfg", "includeIf.onbranch:main.path": "../two.cfg"})


def submodules(store: Path, outside: Path, trap: Trap) -> None:
    """Other repositories inside of the folders that memkit commits, with settings of their own."""
    inner = traps_by_setting(trap)
    modules = ""
    for place in ("archive/2026-01/sub", "skills/sub", "sub"):
        module = store / place
        module.mkdir(parents=True)
        git(module, "init", "-q")
        (module / "file.txt").write_text("one\n")
        (module / ".gitattributes").write_text("* filter=evil diff=evil\n")
        git(module, "add", ".")
        git(module, "commit", "-q", "-m", "One")
        git(store, "add", place)
        modules += f'[submodule "{place}"]\n\tpath = {place}\n\turl = ext::sh -c touch% {trap.folder}/url\n'
        modules += f"\tupdate = !{trap.command('update')}\n\tignore = none\n"
    (store / ".gitmodules").write_text(modules)
    git(store, "add", ".gitmodules")
    git(store, "commit", "-q", "-m", "Submodules")
    for place in ("archive/2026-01/sub", "skills/sub", "sub"):
        (store / place / "file.txt").write_text("two\n")
        hooks(store / place, outside, trap)
        configure(store / place, {f"{key}": value for key, value in inner.items()} | STEERING)
        configure(store, {f"submodule.{place}.active": "true", f"submodule.{place}.ignore": "none"})
    configure(store, {"submodule.recurse": "true", "status.submoduleSummary": "true", "diff.submodule": "diff"})


def lazy_objects(store: Path, outside: Path, trap: Trap) -> None:
    """A partial clone: what it lacks is fetched when it is asked for, by programs that the remote's settings name."""
    remote = {"remote.origin.url": f"ext::sh -c touch% {trap.folder}/url", "remote.origin.promisor": "true"}
    remote |= {"remote.origin.partialclonefilter": "blob:none", "remote.origin.uploadpack": trap.command("uploadpack")}
    remote |= {"protocol.ext.allow": "always", "extensions.partialClone": "origin", "core.repositoryFormatVersion": "1"}
    configure(store, remote)
    configure(store, {"remote.second.url": str(store), "remote.second.promisor": "true", "remote.second.vcs": "evil"})
    configure(store, {"remote.second.uploadpack": trap.command("uploadpack of a folder")})
    for line in git(store, "ls-tree", "-r", "HEAD~1").splitlines():
        blob, path = line.split()[2], line.split("\t")[1]
        if path.startswith(("skills/", "policies/", "archive/")):
            (store / ".git" / "objects" / blob[:2] / blob[2:]).unlink(missing_ok=True)


def bare_in_project(store: Path, outside: Path, trap: Trap) -> None:
    """A store inside of a project that is itself laid out as a repository: a clone brings its settings along."""
    shutil.move(store / ".git", store.parent / ".git")
    git(store, "init", "-q", "--bare", ".")
    configure(store, {"core.bare": "false", "core.worktree": "."}, "--file", "config")
    traps = traps_by_setting(trap)
    traps["core.hooksPath"] = "hooks"
    for key, value in (traps | STEERING).items():
        git(store, "config", "--file", "config", "--add", key, value)
    for name in HOOKS:
        trap.program(store / "hooks" / name, f"bare hook {name}")


def foreign_tree(store: Path, outside: Path, trap: Trap) -> None:
    """A working tree that lies elsewhere."""
    configure(store, {"core.worktree": str(outside)})


def foreign_gitfile(store: Path, outside: Path, trap: Trap) -> None:
    """A file ``.git`` that names the repository of somebody else."""
    shutil.rmtree(store / ".git")
    (store / ".git").write_text(f"gitdir: {outside / 'project' / '.git'}\n")


def foreign_link(store: Path, outside: Path, trap: Trap) -> None:
    """A link ``.git`` to the repository of somebody else."""
    shutil.rmtree(store / ".git")
    (store / ".git").symlink_to(outside / "project" / ".git")


def foreign_common(store: Path, outside: Path, trap: Trap) -> None:
    """A repository that says that its branches and objects are kept in somebody else's."""
    (store / ".git" / "commondir").write_text(f"{outside / 'project' / '.git'}\n")


def foreign_objects(store: Path, outside: Path, trap: Trap) -> None:
    """Folders of the repository that are links out of it."""
    for name in ("objects", "refs", "logs"):
        if (store / ".git" / name).exists():
            kept = outside / f"kept-{name}"
            shutil.move(store / ".git" / name, kept)
            (store / ".git" / name).symlink_to(kept)


def foreign_branch(store: Path, outside: Path, trap: Trap) -> None:
    """Single files of the repository that are links out of it."""
    for name in ("index", "refs/heads/main", "logs/HEAD", "config", "COMMIT_EDITMSG"):
        place = store / ".git" / name
        kept = outside / f"kept-{name.replace('/', '-')}"
        if place.exists():
            shutil.move(place, kept)
        else:
            kept.write_text("mine\n")
        place.symlink_to(kept)


def borrowed_objects(store: Path, outside: Path, trap: Trap) -> None:
    """Objects that are borrowed from a folder outside, and objects and history that stand for others."""
    alternates = store / ".git" / "objects" / "info" / "alternates"
    alternates.parent.mkdir(exist_ok=True)
    alternates.write_text(f"{outside / 'project' / '.git' / 'objects'}\n")
    git(store, "replace", "HEAD", "HEAD~1")
    configure(store, {"core.alternateRefsCommand": trap.command("alternateRefsCommand")})


def _sign_head(store: Path) -> None:
    """Give the last commit a signature, so that showing it asks a program to verify it."""
    head, _, message = git(store, "cat-file", "commit", "HEAD").partition("\n\n")
    signature = "gpgsig -----BEGIN PGP SIGNATURE-----\n \n bm8=\n -----END PGP SIGNATURE-----"
    signed = f"{head}\n{signature}\n\n{message}".encode()
    made = git(store, "hash-object", "-t", "commit", "-w", "--stdin", given=signed).strip()
    git(store, "update-ref", "HEAD", made)


def together(store: Path, outside: Path, trap: Trap) -> None:
    """Submodules, hooks, settings and includes in one store."""
    for attack in (submodules, hooks, settings, includes):
        attack(store, outside, trap)


GIT: dict[str, Attack] = {
    "git together": together,
    "git hooks": hooks,
    "git settings": settings,
    "git settings of a tree": set_hooks_path,
    "git includes": includes,
    "git submodules": submodules,
    "git lazy objects": lazy_objects,
    "git bare in a project": bare_in_project,
    "git foreign tree": foreign_tree,
    "git foreign gitfile": foreign_gitfile,
    "git foreign link": foreign_link,
    "git foreign common folder": foreign_common,
    "git foreign objects": foreign_objects,
    "git foreign branch": foreign_branch,
    "git borrowed objects": borrowed_objects,
}
