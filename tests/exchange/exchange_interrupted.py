"""A process that edits, publishes and updates at random until it is killed; it says what it was acknowledged.

python exchange_interrupted.py FOLDER SEED
"""

from __future__ import annotations

import json
import random
import sys

from exchange_support import ALL, PEERS

import headwater as hw

RELATIONS = {"GUS": ("G", 3), "BioSQL": ("B", 2), "uBio": ("U", 2)}
POLICIES = ("distrust B(i, n) from GUS if n >= 3.", "distrust B(i, n) by m4 if n != 2.")


def main(folder: str, seed: int) -> None:
    chance = random.Random(seed)
    found = hw.exchange(peers=PEERS, mappings=ALL, path=folder)
    for name in PEERS:
        found[name]
    print(json.dumps(["ready"]), flush=True)
    while True:
        name = chance.choice(list(PEERS))
        peer, (relation, arity) = found[name], RELATIONS[name]
        step = chance.choice(("insert", "insert", "delete", "publish", "update", "trust"))
        if step in ("insert", "delete"):
            row = tuple(chance.randint(0, 3) for _ in range(arity))
            done = peer.edit(**{step: {relation: [row]}})
            print(json.dumps([name, done.number]), flush=True)
        elif step == "publish":
            peer.publish()
        elif step == "update":
            peer.update()
        elif name == "BioSQL":
            text = chance.choice(POLICIES)
            peer.trust(remove=text) if text in peer.trust() else peer.trust(text)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
