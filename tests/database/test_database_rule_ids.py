"""A rule keeps its id for as long as it is defined."""

from __future__ import annotations

from dataclasses import replace

import headwater as hw
from headwater.catalog.definitions import Definitions
from headwater.language.datalog import parse
from headwater.rules.checked import Checked
from headwater.values.functions import Functions

TEXTS = ["p(X) :- q(X). near p(X) :- r(X).", "p(X) :- s(X), !t(X, _). v(X) :- p(X)."]


def _ids(program: Checked) -> dict[str, str]:
    return {rule.written: rule.relation for s in program.strata for rule in s.rules if rule.written}


def test_ids_are_in_the_log_and_in_checkpoints(tmp_path):
    with hw.connect(tmp_path / "state") as db:
        for text in TEXTS:
            db.define(text)
        ids = _ids(db.program)
        assert ids == {"p#1": "p", "near": "p", "p#2": "p", "v#1": "v"}
    with hw.connect(tmp_path / "state") as db:
        assert _ids(db.program) == ids
        db.checkpoint()
        db.define("p(X) :- u(X).")
    with hw.connect(tmp_path / "state") as db:
        assert _ids(db.program) == {**ids, "p#3": "p"}


def test_other_rules_keep_their_ids_when_one_goes():
    """No number is given twice, whatever was written down in between."""
    definitions = Definitions()
    for text in TEXTS:
        definitions = definitions.with_program(parse(text))
    left = replace(definitions, programs=definitions.programs[1:])
    texts = [(text, "<text>") for text in TEXTS[1:]]
    again = Definitions.of(texts, left.rules()).learned(left.to_json())
    again = again.with_program(parse("p(X) :- w(X)."))
    for found in (left.with_program(parse("p(X) :- w(X).")), again):
        assert set(_ids(found.check(Functions(), {}))) == {"p#2", "v#1", "p#3"}


def test_a_state_without_ids_is_numbered_in_order():
    definitions = Definitions.of([(text, "<text>") for text in TEXTS])
    assert definitions.rules() == [["p#1", "near"], ["p#2", "v#1"]]


def test_types_told_by_the_name_of_a_hidden_twin_are_those_of_its_relation():
    learned = Definitions().learned({"known": {"reach~given": [None]}, "names": {}})
    assert learned.known == {"reach": (None,)}


def test_proofs_and_statistics_name_rules_by_their_ids():
    db = hw.connect()
    for text in TEXTS:
        db.define(text)
    statistics = db.apply(insert={"s": [(1,)]}).statistics
    assert "  by p#2: " in str(db.why("v", (1,)).proof())
    assert {"p#2", "v#1"} <= {label for stratum in statistics.strata for label in stratum.derivations}
