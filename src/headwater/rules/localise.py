"""Make the premises of every rule meet on one node, when relations are split over several (loo-2006, 3.2).

A rule runs where its premises meet: a variable that they share, and by whose value they are all split, says on
which node. A premise that is split otherwise is replaced by an internal *copy* of its relation, split by the
right column, or held everywhere where the premise lacks the variable. Copies are derived by rules like any
other view, so whatever maintains views maintains them, across nodes too. Relations held everywhere meet
with all others.

A rule *decomposes* if the variable that says where it runs also says where its head lives: then a node never
has to tell the others. `choose_homes` looks for homes that make as many rules as possible decompose, above all
recursive ones. With a small `link` held everywhere, both linear forms of transitive closure do.

Three premises without a variable in common are cut in two: an internal relation holds what the first ones give.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

from headwater.language.program import Variable
from headwater.rules.checked import Absent, Checked, CheckedRule, Item, Kind, Premise, RelationInfo, Stratum
from headwater.rules.placement import ALL, EVERYWHERE, HERE, ONE, Localised, Placement, Route, by
from headwater.rules.terms import part_variables

Homes = Mapping[str, Placement]

COPY, BROADCAST, SHIP = 10.0, 40.0, 5.0
LOWER = 0.2
"""What one change of a lower relation counts beside one of the recursion itself."""
MOST_CHOICES = 2048


@dataclass(frozen=True)
class Site:
    """Where a rule runs: which premises are read from copies, and the variable whose owner it runs on.

    `everywhere`: all premises are on all nodes. A site without a variable is where its one split premise is.
    """

    moves: tuple[tuple[int, Placement], ...]
    variable: str | None
    everywhere: bool
    one: bool
    cost: float


# ------------------------------------------------------------------ sites


def placed(rule: CheckedRule, homes: Homes) -> list[tuple[int, Premise | Absent]]:
    """The premises that not all nodes have."""
    return [
        (position, item)
        for position, item in enumerate(rule.body)
        if isinstance(item, Premise | Absent) and homes[item.relation] != EVERYWHERE
    ]


def site(rule: CheckedRule, homes: Homes, own: Iterable[str] = ()) -> Site:
    """The cheapest place to run a rule; `own` are the relations that change in every round."""
    apart = placed(rule, homes)
    positive = [(position, item) for position, item in apart if isinstance(item, Premise)]
    absent = [(position, item) for position, item in apart if isinstance(item, Absent)]
    own = frozenset(own)
    if rule.aggregate is not None and rule.aggregate.demand is not None:
        return _by_demand(rule, apart, homes)
    if not positive:  # all nodes find the same: what is not to be there must be known to all
        return Site(tuple((position, EVERYWHERE) for position, _ in absent), None, True, False, 0.0)
    if all(homes[item.relation] == ONE for _, item in positive):
        elsewhere = [(position, EVERYWHERE) for position, item in absent if homes[item.relation] != ONE]
        return Site(tuple(elsewhere), None, False, True, BROADCAST * LOWER * len(elsewhere))
    head = homes[rule.relation]
    head_variable = _variable(rule.head[head.column]) if head.split else None
    candidates: list[str | None]
    if len(positive) == 1:
        candidates = [_home_variable(positive[0][1], homes)]
    else:
        candidates = [arg.name for _, item in positive for arg in item.args if isinstance(arg, Variable)]
        candidates = list(dict.fromkeys(candidates)) or [None]
    best: Site | None = None
    for variable in candidates:
        moves, cost = _moves(positive, absent, homes, variable, own)
        if variable is None or variable != head_variable:
            cost += SHIP * (1.0 if own & {item.relation for _, item in positive} else LOWER)
        if best is None or cost < best.cost:
            best = Site(tuple(moves), variable, False, False, cost)
    assert best is not None
    return best


def _by_demand(rule: CheckedRule, apart: Sequence[tuple[int, Premise | Absent]], homes: Homes) -> Site:
    """Where the groups are asked for; all that they aggregate is on every node."""
    assert rule.aggregate is not None
    demand = next(item for _, item in apart if item.relation == rule.aggregate.demand)
    moves = tuple((position, EVERYWHERE) for position, item in apart if item is not demand)
    cost = BROADCAST * LOWER * len(moves)
    if homes[demand.relation] == ONE:
        return Site(moves, None, False, True, cost)
    variable = _home_variable(demand, homes)
    head = homes[rule.relation]
    if variable is None or not head.split or _variable(rule.head[head.column]) != variable:
        cost += SHIP
    return Site(moves, variable, False, False, cost)


def _moves(
    positive: Sequence[tuple[int, Premise | Absent]],
    absent: Sequence[tuple[int, Premise | Absent]],
    homes: Homes,
    variable: str | None,
    own: frozenset[str],
) -> tuple[list[tuple[int, Placement]], float]:
    """Which premises have to be read from copies for the rule to run on the owner of the variable's value."""
    moves: list[tuple[int, Placement]] = []
    cost = 0.0
    staying = positive[:1] if len(positive) == 1 or variable is None else []
    for position, item in (*positive[len(staying) :], *absent):
        if variable is not None and _home_variable(item, homes) == variable:
            continue
        columns = [
            c for c, arg in enumerate(item.args) if variable is not None and _variable(arg) == variable
        ]
        moves.append((position, by(columns[0]) if columns else EVERYWHERE))
        cost += (COPY if columns else BROADCAST) * (1.0 if item.relation in own else LOWER)
    return moves, cost


def _home_variable(item: Premise | Absent, homes: Homes) -> str | None:
    home = homes[item.relation]
    return _variable(item.args[home.column]) if home.split else None


def _variable(term: object) -> str | None:
    return term.name if isinstance(term, Variable) else None


# ------------------------------------------------------------------ homes


def choose_homes(
    checked: Checked, sizes: Mapping[str, int], limit: int, fixed: Homes | None = None
) -> dict[str, Placement]:
    """A home for each relation: base relations of up to `limit` rows everywhere, all others split.

    `fixed` homes are kept where they still serve.
    """
    fixed = fixed or {}
    homes: dict[str, Placement] = {}
    for name, info in checked.relations.items():
        if info.base:
            before = fixed.get(name)
            if before is not None and before in _allowed(info, True):
                homes[name] = before
            elif sizes.get(name, 0) <= limit:
                homes[name] = EVERYWHERE
            else:
                homes[name] = _base_home(checked, info)
    for stratum in checked.strata:
        homes.update(_stratum_homes(checked, stratum, homes, fixed))
    return homes


def _allowed(info: RelationInfo, small: bool) -> list[Placement]:
    """Where a relation can live: what belongs together (a key, a group, a bounded size) is on one node."""
    if info.arity == 0 or info.size is not None:
        splits: list[Placement] = [ONE]
    elif info.base:
        splits = [by(column) for column in (info.key or range(info.arity))]
    elif info.selections:
        splits = [by(column) for column in info.selections[0].group] or [ONE]
    elif info.aggregate is not None:
        splits = [by(c) for c in range(info.arity) if c != info.aggregate.position] or [ONE]
    else:
        splits = [by(column) for column in range(info.arity)]
    return [*splits, EVERYWHERE] if info.base and small else splits


def _base_home(checked: Checked, info: RelationInfo) -> Placement:
    """The column by which rules most often join the relation with something else."""
    choices = _allowed(info, False)
    uses = dict.fromkeys(choices, 0.0)
    for stratum in checked.strata:
        for rule in stratum.rules:
            for item in rule.body:
                if isinstance(item, Premise | Absent) and item.relation == info.name:
                    others = {
                        variable.name
                        for other in rule.body
                        if other is not item and isinstance(other, Premise | Absent)
                        for variable in part_variables(other)
                    }
                    for choice in choices:
                        if choice.split and _variable(item.args[choice.column]) in others:
                            uses[choice] += 1.0 if stratum.recursive else LOWER
    return max(choices, key=lambda choice: uses[choice])


def _stratum_homes(
    checked: Checked, stratum: Stratum, homes: Mapping[str, Placement], fixed: Homes
) -> dict[str, Placement]:
    names = stratum.relations
    choices = []
    for name in names:
        allowed = _allowed(checked.relations[name], False)
        choices.append([fixed[name]] if fixed.get(name) in allowed else allowed)
    while _combinations(choices) > MOST_CHOICES:
        longest = max(range(len(choices)), key=lambda i: len(choices[i]))
        choices[longest] = choices[longest][:1]
    best: tuple[float, dict[str, Placement]] | None = None
    for combination in product(*choices):
        tried = dict(zip(names, combination, strict=True))
        merged = {**homes, **tried}
        own = names if stratum.recursive else ()
        cost = sum(site(rule, merged, own).cost for rule in stratum.rules)
        if best is None or cost < best[0]:
            best = cost, tried
    assert best is not None
    return best[1]


def _combinations(choices: Sequence[Sequence[Placement]]) -> int:
    number = 1
    for choice in choices:
        number *= len(choice)
    return number


# ------------------------------------------------------------------ the rewrite


def localise(checked: Checked, homes: Homes) -> Localised:
    """The program with copies and cuts, so that each rule's premises meet; rows of known relations are the same."""
    homes = dict(homes)
    relations = dict(checked.relations)
    strata: list[Stratum] = []
    routes: dict[str, Route] = {}
    notes: list[str] = []
    for stratum in checked.strata:
        own = frozenset(stratum.relations) if stratum.recursive else frozenset()
        before: list[Stratum] = []
        names = list(stratum.relations)
        rules: list[CheckedRule] = []
        for written in stratum.rules:
            for rule in _cut(written, homes, relations):
                if own & {item.relation for item in rule.body if isinstance(item, Premise)}:
                    own |= {rule.relation}
                where = site(rule, homes, own)
                body = list(rule.body)
                for position, target in where.moves:
                    item = body[position]
                    assert isinstance(item, Premise | Absent)
                    copy = _copy(relations[item.relation], target)
                    if copy.relation not in relations:
                        relations[copy.relation] = replace(
                            relations[item.relation],
                            name=copy.relation, kind=Kind.HELPER, owner=_owner(relations[item.relation]),
                            key=None, lifetime=None, size=None, selections=(), aggregate=None,
                        )  # fmt: skip
                        homes[copy.relation] = target
                        routes[copy.label] = _route(copy, site(copy, homes, own), homes)
                        if item.relation in own:
                            own |= {copy.relation}
                            names.append(copy.relation)
                            rules.append(copy)
                        else:
                            before.append(Stratum((copy.relation,), (copy,), False))
                        notes.append(f"{item.relation} is copied, {_words(target, relations[item.relation])}")
                    body[position] = replace(item, relation=copy.relation)
                rule = replace(rule, body=tuple(body))
                if rule.relation not in checked.relations:
                    notes.append(f"rule {written.label} is cut in two at {rule.relation}")
                if rule.relation not in own and rule.relation not in stratum.relations:
                    before.append(Stratum((rule.relation,), (rule,), False))
                else:
                    rules.append(rule)
                    if rule.relation not in names:
                        names.append(rule.relation)
                routes[rule.label] = _route(rule, site(rule, homes, own), homes)
        strata += before
        strata.append(Stratum(tuple(names), tuple(rules), stratum.recursive))
    return Localised(replace(checked, relations=relations, strata=tuple(strata)), homes, routes, tuple(notes))


def _words(target: Placement, info: RelationInfo) -> str:
    return f"split by {info.columns[target.column]}" if target.split else "to every node"


def _owner(info: RelationInfo) -> str:
    """The relation that a helper of this one serves."""
    return info.owner or info.name


def _copy(info: RelationInfo, target: Placement) -> CheckedRule:
    """The rule that copies a relation to another placement."""
    name = f"{info.name}~by_{target.column}" if target.split else f"{info.name}~everywhere"
    variables = tuple(Variable(f"V{column}") for column in range(info.arity))
    types = {variable.name: type_ for variable, type_ in zip(variables, info.types, strict=True)}
    return CheckedRule(
        name, name, variables, (Premise(info.name, variables),), types, text=f"copy of {info.name}"
    )


def _route(rule: CheckedRule, where: Site, homes: Homes) -> Route:
    assert not where.moves, rule.label
    home = homes[rule.relation]
    if where.everywhere:
        return Route(home, home == EVERYWHERE, home != EVERYWHERE, HERE)
    if where.one:
        return Route(home, home == ONE, False, HERE if home == ONE else ALL)
    columns = (
        []
        if where.variable is None
        else [c for c, t in enumerate(rule.head) if _variable(t) == where.variable]
    )
    if home.split and home.column in columns:
        return Route(home, True, False, HERE)
    return Route(home, False, False, columns[0] if columns else ALL)


def _cut(
    rule: CheckedRule, homes: dict[str, Placement], relations: dict[str, RelationInfo]
) -> list[CheckedRule]:
    """The rule, or two rules through an internal relation where three or more premises have nothing in common."""
    apart = placed(rule, homes)
    by_demand = rule.aggregate is not None and rule.aggregate.demand is not None
    if by_demand or len(apart) < 3 or _shared(item for _, item in apart):
        return [rule]
    positive = [(position, item) for position, item in apart if isinstance(item, Premise)]
    end = 0
    for number in range(2, len(positive)):
        if _shared(item for _, item in positive[:number]):
            end = positive[number][0]
    if end == 0:
        return [rule]
    first, rest = rule.body[:end], rule.body[end:]
    bound = {v.name for item in first for v in part_variables(item)}
    needed = _names(rest) | {name for term in rule.head if (name := _variable(term)) is not None}
    if rule.aggregate is not None:  # counted are bindings, so none may be merged
        needed |= bound
    kept = tuple(Variable(name) for name in sorted(bound & needed))
    if not kept:
        return [rule]
    name = f"{rule.label}~first"
    while name in relations:  # a rule that is cut more than once
        name += "~"
    columns, types = tuple(v.name for v in kept), tuple(rule.types[v.name] for v in kept)
    owner = _owner(relations[rule.relation])
    relations[name] = RelationInfo(name, columns, types, Kind.HELPER, owner)
    joins = [column for column, v in enumerate(kept) if v.name in _names(_premises(rest, homes))]
    homes[name] = by(joins[0] if joins else 0)
    head = replace(rule, label=name, relation=name, head=kept, body=first, aggregate=None)
    tail = replace(rule, body=(Premise(name, kept), *rest))
    return [head, *_cut(tail, homes, relations)]


def _names(items: Iterable[Item]) -> set[str]:
    return {variable.name for item in items for variable in part_variables(item)}


def _premises(items: Iterable[Item], homes: Homes) -> list[Item]:
    return [i for i in items if isinstance(i, Premise) and homes[i.relation] != EVERYWHERE]


def _shared(items: Iterable[Item]) -> set[str]:
    """The variables that all these items have."""
    found: set[str] | None = None
    for item in items:
        names = {variable.name for variable in part_variables(item)}
        found = names if found is None else found & names
    return found or set()
