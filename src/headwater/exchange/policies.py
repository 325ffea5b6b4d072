"""The trust conditions of all peers, as their descriptions and logs come to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from headwater.errors import ExchangeError
from headwater.exchange.description import ConfederationDescription
from headwater.exchange.edit import PolicyEdit
from headwater.language.mappings import parse_policy
from headwater.language.mappings.policy import TrustCondition
from headwater.spelling import did_you_mean


def statements(text: str, source: str = "<trust>") -> tuple[str, ...]:
    """The conditions of a text, each by itself and in its plain form."""
    return tuple(condition.text for condition in parse_policy(text, source))


@dataclass(frozen=True)
class Policies:
    """Conditions by peer, in the order in which they were stated."""

    texts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @staticmethod
    def of(description: ConfederationDescription) -> Policies:
        """Those that peers begin with."""
        return Policies(
            {
                peer.name: tuple(
                    one for text in peer.trust for one in statements(text, f"<trust of {peer.name}>")
                )
                for peer in description.peers
            }
        )

    def after(self, peer: str, edits: Iterable[PolicyEdit]) -> Policies:
        """With conditions that a peer has stated or taken back."""
        texts = list(self.texts.get(peer, ()))
        for edit in edits:
            if edit.sign == "-":
                texts = [text for text in texts if text != edit.condition]
            elif edit.condition not in texts:
                texts.append(edit.condition)
        return Policies({**self.texts, peer: tuple(texts)})

    def conditions(self) -> dict[str, tuple[TrustCondition, ...]]:
        """All of them, read."""
        return {
            peer: tuple(one for text in texts for one in parse_policy(text, f"<trust of {peer}>"))
            for peer, texts in self.texts.items()
        }

    def stated(self, peer: str, text: str) -> tuple[str, ...]:
        """The conditions of a text, if the peer has stated all of them."""
        there = self.texts.get(peer, ())
        found = statements(text)
        for one in found:
            if one not in there:
                hint = did_you_mean(one, there) or f"there are: {' '.join(there) or 'none'}"
                raise ExchangeError("unknown-condition", f"{peer} has not stated: {one}", hint=hint)
        return found
