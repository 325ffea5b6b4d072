"""Each rewrite has a fixture of its name: texts, and the rules after the rewrites up to and including it.

In a fixture a line `# ...` names a case, the lines up to `=>` are the text, and the lines after it the rules.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from headwater.language.datalog import parse
from headwater.rules.draft import begin
from headwater.rules.render import render_draft, render_term
from headwater.rules.rewrites import REWRITES
from headwater.values.functions import Functions

FIXTURES = Path(__file__).parent / "fixtures"


def _cases():
    for rewrite in REWRITES:
        text = (FIXTURES / f"{rewrite.__name__}.txt").read_text()
        for block in text.split("# ")[1:]:
            title, _, rest = block.partition("\n")
            source, _, expected = rest.partition("=>\n")
            yield pytest.param(rewrite, source, expected, id=f"{rewrite.__name__}: {title}")


def _after(rewrite, source):
    draft = begin(parse(source), Functions())
    for step in REWRITES:
        draft = step(draft)
        if step is rewrite:
            break
    lines = [render_draft(draft)]
    for relation, selections in draft.selections.items():
        for selection in selections:
            group = ", ".join(str(i) for i in selection.group)
            lines.append(f"{relation}: {selection.best} {selection.value} by ({group})")
    for relation, facts in draft.facts.items():
        lines += [f"fact {relation}({', '.join(render_term(arg) for arg in atom.args)})" for atom in facts]
    lines += [f"facade {relation} {twin}" for relation, twin in draft.facades.items()]
    lines += [f"note {note}" for note in draft.notes]
    return "\n".join(line for line in lines if line)


@pytest.mark.parametrize(("rewrite", "source", "expected"), list(_cases()))
def test_a_rewrite_gives_the_rules_of_its_fixture(rewrite, source, expected):
    assert _after(rewrite, source).splitlines() == expected.strip().splitlines()


def test_every_rewrite_is_in_a_file_of_its_name_and_has_a_fixture():
    for rewrite in REWRITES:
        assert rewrite.__module__ == f"headwater.rules.rewrites.{rewrite.__name__}"
        assert ">>>" in rewrite.__doc__
    assert {path.stem for path in FIXTURES.iterdir()} == {rewrite.__name__ for rewrite in REWRITES}
