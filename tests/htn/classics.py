"""Classic domains with problems whose plans are known."""

from __future__ import annotations

from memkit.runtime.htn.core import Domain, HTNPlanner, Method, Operator

BLOCKS = Domain.from_data(
    {
        "name": "blocks",
        "types": {"block": "object"},
        "predicates": {
            "on": ["block", "block"],
            "on_table": ["block"],
            "clear": ["block"],
            "holding": ["block"],
            "hand_empty": [],
        },
        "operators": [
            {
                "name": "pick_up",
                "parameters": "?b - block",
                "preconditions": ["on_table ?b", "clear ?b", "hand_empty"],
                "add": ["holding ?b"],
                "remove": ["on_table ?b", "clear ?b", "hand_empty"],
            },
            {
                "name": "put_down",
                "parameters": "?b - block",
                "preconditions": ["holding ?b"],
                "add": ["on_table ?b", "clear ?b", "hand_empty"],
                "remove": ["holding ?b"],
            },
            {
                "name": "stack",
                "parameters": "?b ?under - block",
                "preconditions": ["holding ?b", "clear ?under"],
                "add": ["on ?b ?under", "clear ?b", "hand_empty"],
                "remove": ["holding ?b", "clear ?under"],
            },
            {
                "name": "unstack",
                "parameters": "?b ?under - block",
                "preconditions": ["on ?b ?under", "clear ?b", "hand_empty"],
                "add": ["holding ?b", "clear ?under"],
                "remove": ["on ?b ?under", "clear ?b", "hand_empty"],
            },
        ],
        "methods": [
            {"name": "is_clear", "task": "clear_off ?b - block", "preconditions": ["clear ?b"]},
            {
                "name": "take_off",
                "task": "clear_off ?b - block",
                "preconditions": ["on ?top ?b"],
                "subtasks": ["clear_off ?top", "unstack ?top ?b", "put_down ?top"],
            },
            {"name": "is_there", "task": "put ?b ?under - block", "preconditions": ["on ?b ?under"]},
            {
                "name": "from_table",
                "task": "put ?b ?under - block",
                "preconditions": ["on_table ?b", "not = ?b ?under"],
                "subtasks": ["clear_off ?b", "clear_off ?under", "pick_up ?b", "stack ?b ?under"],
            },
            {
                "name": "from_block",
                "task": "put ?b ?under - block",
                "preconditions": ["on ?b ?other", "not = ?other ?under"],
                "subtasks": ["clear_off ?b", "clear_off ?under", "unstack ?b ?other", "stack ?b ?under"],
            },
        ],
    }
)
SUSSMAN = {
    "objects": {"a": "block", "b": "block", "c": "block"},
    "state": ["on_table a", "on_table b", "on c a", "clear c", "clear b", "hand_empty"],
    "tasks": ["clear_off a", "put b c", "put a b"],
}

LOGISTICS = Domain.from_data(
    {
        "name": "logistics",
        "types": {"vehicle": "thing", "truck": "vehicle", "plane": "vehicle", "parcel": "thing", "thing": "object",
                  "place": "object", "airport": "place", "city": "object"},
        "predicates": {"at": ["thing", "place"], "in": ["parcel", "vehicle"], "part_of": ["place", "city"]},
        "operators": [
            {"name": "load", "parameters": "?p - parcel ?v - vehicle ?l - place",
             "preconditions": ["at ?p ?l", "at ?v ?l"], "add": ["in ?p ?v"], "remove": ["at ?p ?l"]},
            {"name": "unload", "parameters": "?p - parcel ?v - vehicle ?l - place",
             "preconditions": ["in ?p ?v", "at ?v ?l"], "add": ["at ?p ?l"], "remove": ["in ?p ?v"]},
            {"name": "drive", "parameters": "?t - truck ?from ?to - place ?c - city",
             "preconditions": ["at ?t ?from", "part_of ?from ?c", "part_of ?to ?c", "not = ?from ?to"],
             "add": ["at ?t ?to"], "remove": ["at ?t ?from"]},
            {"name": "fly", "parameters": "?a - plane ?from ?to - airport",
             "preconditions": ["at ?a ?from", "not = ?from ?to"], "add": ["at ?a ?to"], "remove": ["at ?a ?from"]},
        ],
        "methods": [
            {"name": "arrived", "task": "transport ?p - parcel ?to - place", "preconditions": ["at ?p ?to"]},
            {"name": "within_city", "task": "transport ?p - parcel ?to - place",
             "preconditions": ["at ?p ?l", "part_of ?l ?c", "part_of ?to ?c", "at ?t ?x", "part_of ?x ?c"],
             "variables": "?t - truck",
             "subtasks": ["bring ?t ?l", "load ?p ?t ?l", "bring ?t ?to", "unload ?p ?t ?to"]},
            {"name": "between_cities", "task": "transport ?p - parcel ?to - place",
             "preconditions": ["at ?p ?l", "part_of ?l ?c1", "part_of ?to ?c2", "not = ?c1 ?c2", "part_of ?a1 ?c1",
                               "part_of ?a2 ?c2", "at ?plane ?x"],
             "variables": "?a1 ?a2 - airport ?plane - plane",
             "subtasks": ["transport ?p ?a1", "bring_plane ?plane ?a1", "load ?p ?plane ?a1", "bring_plane ?plane ?a2",
                          "unload ?p ?plane ?a2", "transport ?p ?to"]},
            {"name": "truck_is_there", "task": "bring ?t - truck ?to - place", "preconditions": ["at ?t ?to"]},
            {"name": "truck_drives", "task": "bring ?t - truck ?to - place",
             "preconditions": ["at ?t ?from", "part_of ?to ?c", "not = ?from ?to"],
             "subtasks": ["drive ?t ?from ?to ?c"]},
            {"name": "plane_is_there", "task": "bring_plane ?a - plane ?to - airport", "preconditions": ["at ?a ?to"]},
            {"name": "plane_flies", "task": "bring_plane ?a - plane ?to - airport",
             "preconditions": ["at ?a ?from", "not = ?from ?to"], "subtasks": ["fly ?a ?from ?to"]},
        ],
    }
)  # fmt: skip
TWO_CITIES = {
    "objects": {"letter": "parcel", "van": "truck", "lorry": "truck", "jet": "plane", "office": "place",
                "home": "place", "north": "airport", "south": "airport", "oslo": "city", "rome": "city"},
    "state": ["at letter office", "at van north", "at lorry home", "at jet south", "part_of office oslo",
              "part_of north oslo", "part_of home rome", "part_of south rome"],
    "tasks": ["transport letter home"],
}  # fmt: skip

ERRANDS = Domain.from_data(
    {
        "name": "errands",
        "types": {"place": "object", "parcel": "object"},
        "predicates": {"at": ["place"], "has": ["parcel"], "delivered": ["parcel"]},
        "operators": [
            {"name": "go", "parameters": "?from ?to - place", "preconditions": ["at ?from", "not = ?from ?to"],
             "add": ["at ?to"], "remove": ["at ?from"]},
            {"name": "hand_over", "parameters": "?p - parcel", "preconditions": ["has ?p"], "add": ["delivered ?p"],
             "remove": ["has ?p"], "tool": "outbox"},
        ],
        "methods": [
            {"name": "walk_and_give", "task": "deliver ?p - parcel ?to - place",
             "preconditions": ["at ?here", "not = ?here ?to"], "subtasks": ["go ?here ?to", "hand_over ?p"]},
            {"name": "already_there", "task": "deliver ?p - parcel ?to - place", "preconditions": ["at ?to"],
             "subtasks": ["hand_over ?p"]},
        ],
    }
)  # fmt: skip
ERRAND = {"objects": {"home": "place", "shop": "place", "book": "parcel"}, "state": ["at home", "has book"],
          "tasks": ["deliver book shop"]}  # fmt: skip

TRAVEL = Domain(
    operators=(
        Operator("walk ?a ?from ?to", ["at ?a ?from"], ["at ?a ?to", "not at ?a ?from"]),
        Operator("call_taxi ?a ?x", ["at ?a ?x"], ["taxi_at ?x"]),
        Operator("ride ?a ?from ?to", ["at ?a ?from", "taxi_at ?from"], ["at ?a ?to", "not at ?a ?from", "owes ?a"]),
        Operator("pay ?a", ["owes ?a", "has_cash ?a"], ["not owes ?a", "not has_cash ?a"]),
    ),
    methods=(
        Method("on_foot", "travel ?a ?to", ["at ?a ?from", "near ?from ?to"], ["walk ?a ?from ?to"]),
        Method(
            "by_taxi", "travel ?a ?to", ["at ?a ?x", "has_cash ?a"], ["call_taxi ?a ?x", "ride ?a ?x ?to", "pay ?a"]
        ),
    ),
)
FAR = {"state": ["at ann home", "has_cash ann", "near home shop"], "tasks": ["travel ann park"]}
NEAR = {"state": ["at ann home", "has_cash ann", "near home shop"], "tasks": ["travel ann shop"]}

SOLVED = [
    (BLOCKS, SUSSMAN, "unstack c a|put_down c|pick_up b|stack b c|pick_up a|stack a b"),
    (LOGISTICS, TWO_CITIES,
     "drive van north office oslo|load letter van office|drive van office north oslo|unload letter van north|"
     "fly jet south north|load letter jet north|fly jet north south|unload letter jet south|"
     "drive lorry home south rome|load letter lorry south|drive lorry south home rome|unload letter lorry home"),
    (ERRANDS, ERRAND, "go home shop|hand_over book"),
    (TRAVEL, NEAR, "walk ann home shop"),
    (TRAVEL, FAR, "call_taxi ann home|ride ann home park|pay ann"),
]  # fmt: skip


def planner_of(domain: Domain, **settings: object) -> HTNPlanner:
    """Return a planner for a domain."""
    return HTNPlanner(domain=domain, **settings)  # type: ignore[arg-type]
