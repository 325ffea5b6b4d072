"""What every node of a program runs: relations by number, and the strands that a row of each sets off."""

from __future__ import annotations

from dataclasses import dataclass

from headwater.networks.strands.network_program import Located, NetworkProgram
from headwater.networks.strands.scalars import Evaluator
from headwater.networks.strands.strand import Strand, StrandMaker
from headwater.rules.checked import CheckedRule, Premise
from headwater.values.functions import Functions


@dataclass(frozen=True)
class NodePlan:
    """Shared by all nodes of a process: nothing in it changes.

    `triggered` has the strands that start with a row of a relation, `deriving` those that start with a row of a head.
    `indexes` are the sets of columns that rows of a relation are looked up by.
    """

    program: NetworkProgram
    relations: tuple[Located, ...]
    numbers: dict[str, int]
    rules: tuple[CheckedRule, ...]
    heads: tuple[int, ...]
    triggered: tuple[tuple[Strand, ...], ...]
    deriving: tuple[tuple[Strand, ...], ...]
    indexes: tuple[tuple[tuple[int, ...], ...], ...]


def plan_nodes(program: NetworkProgram, functions: Functions | None = None) -> NodePlan:
    """Compile all strands of a program."""
    relations = tuple(program.relations.values())
    numbers = {relation.name: number for number, relation in enumerate(relations)}
    maker = StrandMaker(numbers, Evaluator(functions or Functions()))
    triggered: list[list[Strand]] = [[] for _ in relations]
    deriving: list[list[Strand]] = [[] for _ in relations]
    indexes: list[dict[tuple[int, ...], None]] = [{} for _ in relations]
    for number, rule in enumerate(program.rules):
        premises = [item for item in rule.body if isinstance(item, Premise)]
        strands = [maker.from_premise(number, rule, position) for position in range(len(premises))]
        for strand, premise in zip(strands, premises, strict=True):
            triggered[numbers[premise.relation]].append(strand)
        from_head = maker.from_head(number, rule)
        deriving[numbers[rule.relation]].append(from_head)
        for strand in (*strands, from_head):
            for table, columns in strand.lookups:
                indexes[table][columns] = None
    return NodePlan(
        program,
        relations,
        numbers,
        program.rules,
        tuple(numbers[rule.relation] for rule in program.rules),
        tuple(map(tuple, triggered)),
        tuple(map(tuple, deriving)),
        tuple(map(tuple, indexes)),
    )
