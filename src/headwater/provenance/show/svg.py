"""A derivation graph as a picture: layers of rows and derivations, the row that was asked about on top.

A layer holds what is as far from that row; within it, things stand near the middle of what they are connected to.
Arcs that lead back up close a cycle, and are drawn in another colour. Large graphs show their nearest part. The text
is well-formed XML whatever strings the rows hold: characters that cannot be seen are written as their escapes.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING
from zlib import crc32

from headwater.notebook import visible

if TYPE_CHECKING:
    from headwater.provenance.show.picture import DerivationGraph

MOST_ROWS_DRAWN = 80
"""How many rows are drawn."""
LETTER, HEIGHT, GAP, LAYER, MARGIN = 7.0, 24.0, 18.0, 62.0, 16.0
COLOURS = {
    "base": ("#e8f5e9", "#2e7d32"),
    "given": ("#e8f5e9", "#2e7d32"),
    "view": ("#e3f2fd", "#1565c0"),
    "part": ("#fffde7", "#9e8600"),
    "rule": ("#ffffff", "#757575"),
    "absent": ("#ffffff", "#b71c1c"),
}


@dataclass
class Box:
    """Something drawn: `below` are the names of what it is derived from."""

    name: str
    text: str
    kind: str
    layer: int
    below: list[str]
    x: float = 0.0

    @property
    def width(self) -> float:
        """Room for the text."""
        return LETTER * len(visible(self.text)) + 16


def draw(graph: DerivationGraph) -> str:
    """The picture as SVG text."""
    boxes, hidden = _boxes(graph)
    layers: dict[int, list[Box]] = {}
    for box in boxes.values():
        layers.setdefault(box.layer, []).append(box)
    _arrange(boxes, layers)
    width = max(box.x + box.width / 2 for box in boxes.values()) + MARGIN + 30
    height = 2 * MARGIN + HEIGHT + LAYER * max(layers) + (HEIGHT if hidden else 0)
    tip = f"tip-{crc32(repr(sorted(boxes)).encode() + boxes['r0'].text.encode()):08x}"  # one page may show several
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}"'
        f' height="{height:.0f}" font-family="Helvetica, Arial, sans-serif" font-size="12">',
        f'<defs><marker id="{tip}" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7"'
        ' orient="auto"><path d="M0,0 L8,4 L0,8 z" fill="#888888"/></marker></defs>',
        f'<rect width="{width:.0f}" height="{height:.0f}" fill="#ffffff"/>',
    ]
    for box in boxes.values():
        parts += [_arc(boxes[name], box, tip) for name in dict.fromkeys(box.below) if name in boxes]
    parts += [_shape(box) for box in boxes.values()]
    if hidden:
        parts.append(
            f'<text x="{MARGIN}" y="{height - MARGIN:.0f}" fill="#757575">and {hidden:,} more rows</text>'
        )
    return "\n".join([*parts, "</svg>"]) + "\n"


def _boxes(graph: DerivationGraph) -> tuple[dict[str, Box], int]:
    """What is drawn, by name, each in its layer; and how many rows are not."""
    rows = graph.rows
    by_head: dict[int, list[int]] = {}
    for number, arrow in enumerate(graph.derivations):
        by_head.setdefault(arrow.head, []).append(number)
    boxes: dict[str, Box] = {}
    level, depth = [0], 0
    boxes["r0"] = Box("r0", rows[0].text, rows[0].kind, 0, [])
    while level:
        following: list[int] = []
        for head in level:
            for number in by_head.get(head, ()):
                arrow = graph.derivations[number]
                name = f"d{number}"
                new = [place for place in dict.fromkeys(arrow.premises) if f"r{place}" not in boxes]
                if len(boxes) + len(new) > 2 * MOST_ROWS_DRAWN:
                    continue
                boxes[name] = Box(
                    name, arrow.rule, "rule", depth + 1, [f"r{place}" for place in arrow.premises]
                )
                boxes[f"r{head}"].below.append(name)
                for place in new:
                    boxes[f"r{place}"] = Box(f"r{place}", rows[place].text, rows[place].kind, depth + 2, [])
                    following.append(place)
                for which, absent in enumerate(arrow.absent):
                    boxes[f"{name}n{which}"] = Box(f"{name}n{which}", absent, "absent", depth + 2, [])
                    boxes[name].below.append(f"{name}n{which}")
        level, depth = following, depth + 2
    drawn = sum(name.startswith("r") for name in boxes)
    return boxes, len(rows) - drawn


def _arrange(boxes: dict[str, Box], layers: dict[int, list[Box]]) -> None:
    """Give every box its place from left to right, without overlaps."""
    above: dict[str, list[Box]] = {}
    for box in boxes.values():
        for name in box.below:
            above.setdefault(name, []).append(box)
    for number in sorted(layers):
        layer = layers[number]
        if number:
            for box in layer:
                over = [other.x for other in above.get(box.name, ()) if other.layer < number]
                box.x = sum(over) / len(over) if over else 0.0
            layer.sort(key=lambda box: box.x)
        _spread(layer)
    left = min(box.x - box.width / 2 for box in boxes.values())
    for box in boxes.values():
        box.x += MARGIN - left


def _spread(layer: list[Box]) -> None:
    """Move boxes apart that overlap, keeping the middle of the layer where it was."""
    wanted = sum(box.x for box in layer) / len(layer)
    edge = float("-inf")
    for box in layer:
        box.x = max(box.x, edge + box.width / 2)
        edge = box.x + box.width / 2 + GAP
    shift = wanted - sum(box.x for box in layer) / len(layer)
    for box in layer:
        box.x += shift


def _y(box: Box) -> float:
    return MARGIN + HEIGHT / 2 + LAYER * box.layer


def _arc(source: Box, target: Box, tip: str) -> str:
    """From a premise up to its derivation, or from a derivation to its row; the other way round in a cycle."""
    dash = ' stroke-dasharray="4 3"' if source.kind == "absent" else ""
    if source.layer < target.layer:
        right = max(source.x + source.width / 2, target.x + target.width / 2)
        from_y, to_y, side = _y(source), _y(target), right + 40
        start = f"{source.x + source.width / 2:.0f},{from_y:.0f}"
        end = f"{target.x + target.width / 2:.0f},{to_y:.0f}"
        bends, colour = f"{side:.0f},{from_y:.0f} {side:.0f},{to_y:.0f}", "#c62828"
    else:
        from_y, to_y = _y(source) - HEIGHT / 2, _y(target) + HEIGHT / 2
        middle = (from_y + to_y) / 2
        start, end = f"{source.x:.0f},{from_y:.0f}", f"{target.x:.0f},{to_y:.0f}"
        bends, colour = f"{source.x:.0f},{middle:.0f} {target.x:.0f},{middle:.0f}", "#888888"
    return f'<path d="M{start} C{bends} {end}" fill="none" stroke="{colour}"{dash} marker-end="url(#{tip})"/>'


def _shape(box: Box) -> str:
    fill, stroke = COLOURS[box.kind]
    x, y = box.x, _y(box)
    text = f'<text x="{x:.0f}" y="{y + 4:.0f}" text-anchor="middle" fill="#212121">{escape(visible(box.text))}</text>'
    if box.kind == "rule":
        shape = (
            f'<ellipse cx="{x:.0f}" cy="{y:.0f}" rx="{box.width / 2:.0f}" ry="{HEIGHT / 2:.0f}" fill="{fill}"'
            f' stroke="{stroke}"/>'
        )
    else:
        dash = ' stroke-dasharray="4 3"' if box.kind == "absent" else ""
        shape = (
            f'<rect x="{x - box.width / 2:.0f}" y="{y - HEIGHT / 2:.0f}" width="{box.width:.0f}"'
            f' height="{HEIGHT:.0f}" rx="3" fill="{fill}" stroke="{stroke}"{dash}/>'
        )
    return shape + text
