"""Random programs that keep NDlog's constraints."""

from __future__ import annotations

import random


def link_restricted(chance: random.Random) -> str:
    """A random program of link-restricted rules: predicates at either end of one link, the head at either."""
    lines = []
    for number in range(chance.randint(2, 5)):
        link = chance.choice(["link", "wire"])
        body = [f"#{link}(@S, @D, C)"]
        for name in chance.sample(["p", "q", "r", "b"], chance.randint(1, 3)):
            here, there = chance.choice([("S", "D"), ("D", "S")])
            body.append(f"{name}(@{here}, {chance.choice(['@' + there, '@Z', '@Y'])})")
        chance.shuffle(body)
        bound = [v for v in "SDZY" if any(f"@{v}" in part for part in body)]
        head = f"{chance.choice('pqr')}(@{chance.choice('SD')}, @{chance.choice(bound)})"
        lines.append(f"r{number} {head} :- {', '.join(body)}.")
    lines += [f"{name}0 {name}(@S, @D) :- #link(@S, @D, C)." for name in "pqr"]
    return "\n".join(lines)
