"""Cases of stateful nodes in bodies that no result leads to: which of them run. See Note [Effects that nothing reads] in
graph/functions/needed_parts.h. TensorFlow's graph optimiser is off, except in `waited_for`: what it removes depends on
more than the graph says."""

import numpy as np
import tensorflow as tf
from google.protobuf import text_format

from cases_calls import FLOAT, LOWERED, NOINLINE, attr, inner, node, scalar, types
from golden_case import Case

KEPT = 'attr { key: "_lower_using_switch_merge" value { b: false } }'
BOOL, DTYPE = attr("Tcond", "type: DT_BOOL"), attr("dtype", "type: DT_FLOAT")
ARGS = (("h", "DT_RESOURCE"), ("x", "DT_FLOAT"))
ASSIGN = scalar("one", "DT_FLOAT", "float_val: 1", of="node_def") + inner("set", "AssignVariableOp",
                                                                         ["h", "one:output:0"], DTYPE)


def function(name, results, body, control=None, noinline=False, args=ARGS):
    """`results`: (name, value) each, of float; `control`: the node of the control result."""
    kind = {"hh": "DT_RESOURCE", "c": "DT_BOOL"}
    text = "".join('input_arg { name: "%s" type: %s } ' % arg for arg in args)
    text += "".join('output_arg { name: "%s" type: %s } ' % (r[0], kind.get(r[0], "DT_FLOAT")) for r in results)
    rets = "".join('ret { key: "%s" value: "%s" } ' % result for result in results)
    if control:
        text += 'control_output: "done" '
        rets += 'control_ret { key: "done" value: "%s" } ' % control
    return 'function { signature { name: "%s" is_stateful: true %s } %s %s %s }' % (name, text, body, rets,
                                                                                     NOINLINE if noinline else "")


def sets(name, num_results, control, noinline):
    """Sets the variable. The first result is the argument; the second one is read afterwards."""
    body = ASSIGN + inner("same", "Identity", ["x"], FLOAT) + inner("get", "ReadVariableOp", ["h", "^set"], DTYPE)
    results = [("y", "same:output:0"), ("z", "get:value:0")][:num_results]
    return function(name, results, body, "set" if control else None, noinline)


def loop_functions(control, noinline):
    args = ARGS + (("u", "DT_FLOAT"),)
    less = scalar("six", "DT_FLOAT", "float_val: 6", of="node_def") + inner("less", "Less", ["x", "six:output:0"], FLOAT)
    body = (ASSIGN + scalar("two", "DT_FLOAT", "float_val: 2", of="node_def") +
            inner("add", "AddV2", ["x", "two:output:0"], FLOAT) + inner("get", "ReadVariableOp", ["h", "^set"], DTYPE))
    results = [("hh", "h"), ("y", "add:z:0"), ("z", "get:value:0")]
    return (function("Small", [("c", "less:z:0")], less, args=args) +
            function("Body", results, body, "set" if control else None, noinline, args))


def call(op, variable, of, num_results=2, mark="", inside=False):
    """The attrs and inputs of a node that calls `of`, of each kind, and the slot of its first result."""
    value = 'func { name: "%s" }' % of
    tout = attr("Tout", types(*["DT_FLOAT"] * num_results))
    tin = attr("Tin", types("DT_RESOURCE", "DT_FLOAT"))
    port = ":output:0" if inside else ""
    if op == "direct":
        return of, [variable, "x"], [], 0
    if op.endswith("Call"):
        return op, [variable, "x"], [attr("f", value), tin, tout], 0
    if op.endswith("If"):
        branches = [attr("then_branch", value), attr("else_branch", value)]
        return op, ["yes" + port, variable, "x"], [BOOL, tin, tout, mark] + branches, 0
    if op.endswith("Case"):
        return op, ["zero" + port, variable, "x"], [attr("branches", "list { %s %s }" % (value, value)), tin, tout, mark], 0
    shapes = attr("output_shapes", "list { shape { } shape { } shape { } }")
    loop = [attr("T", types("DT_RESOURCE", "DT_FLOAT", "DT_FLOAT")), attr("cond", 'func { name: "Small" }'),
            attr("body", 'func { name: "Body" }'), shapes, mark]
    return op, [variable, "x", "x"], loop, 1


class Graph:
    """A graph with some calls, each of a variable of its own that is 3 before each step."""

    def __init__(self, library):
        self.text = "library { %s } versions { producer: 1882 } " % library
        self.text += scalar("x", "DT_FLOAT", "float_val: 5") + scalar("three", "DT_FLOAT", "float_val: 3")
        self.text += scalar("yes", "DT_BOOL", "bool_val: true") + scalar("zero", "DT_INT32", "int_val: 0")
        self.calls = []  # Number of results each.

    def add(self, op, of, num_results=2, mark=""):
        n = len(self.calls)
        self.text += node("v%d" % n, "VarHandleOp", (), DTYPE, attr("shape", "shape { }"),
                          attr("shared_name", 's: "v%d"' % n))
        self.text += node("init%d" % n, "AssignVariableOp", ["v%d" % n, "three"], DTYPE)
        self.text += node("read%d" % n, "ReadVariableOp", ["v%d" % n], DTYPE)
        kind, inputs, attrs, slot = call(op, "v%d" % n, of, num_results, mark)
        self.text += node("call%d" % n, kind, inputs, *attrs)
        for i, name in enumerate("yz"[:num_results]):
            self.text += node("%s%d" % (name, n), "Identity", ["call%d:%d" % (n, slot + i)], FLOAT)
        self.text += node("after%d" % n, "NoOp", ["^call%d" % n])
        self.calls.append(num_results)

    def write(self, name, about, optimised=False, without=()):
        """Steps: each result of all calls, all calls as targets, nodes that wait for them; what the variables are then.
        `without`: calls that are left out of the last."""
        case = Case("effects/" + name, about, text_format.Parse(self.text, tf.compat.v1.GraphDef()),
                    needs=["function", "cond", "loop", "resource_variable"], optimised=optimised)
        all_calls = range(len(self.calls))
        reads = ["read%d" % n for n in all_calls]
        steps = [(["y%d" % n for n in all_calls], []), (["z%d" % n for n in all_calls if self.calls[n] == 2], []),
                 ([], ["call%d" % n for n in all_calls]), ([], ["after%d" % n for n in all_calls if n not in without])]
        for fetches, targets in steps:
            if fetches or targets:
                case.run(targets=["init%d" % n for n in all_calls])
                case.run(fetches, targets=targets, compare=False)
                case.run(reads)
        case.write()


def kinds(control, noinline):
    graph = Graph(sets("F", 2, control, noinline) + sets("G", 1, control, noinline) + loop_functions(control, noinline))
    for op in ("If", "StatelessIf", "Case", "While"):
        for mark in (LOWERED, KEPT, ""):
            graph.add(op, "F", mark=mark)
    for num_results, of in ((2, "F"), (1, "G")):
        for op in ("PartitionedCall", "direct", "StatefulPartitionedCall"):
            graph.add(op, of, num_results)
    last = len(graph.calls) - 1
    graph.write("_".join(["kinds"] + ["control_results"] * control + ["noinline"] * noinline),
                "which effects run in calls of all kinds, by what is fetched, run or waited for",
                without=() if control else (last,))


OUTERS = (("PartitionedCall", ""), ("direct", ""), ("If", LOWERED), ("If", KEPT), ("StatefulPartitionedCall", ""))
INNERS = (("PartitionedCall", ""), ("StatefulPartitionedCall", ""), ("direct", ""), ("If", LOWERED), ("If", KEPT))


def nested(used, inner_control, outer_control):
    library, names = sets("F", 1, inner_control, False), []
    for i, (op, mark) in enumerate(INNERS):
        kind, inputs, attrs, _ = call(op, "h", "F", 1, mark, inside=True)
        body = scalar("yes", "DT_BOOL", "bool_val: true", of="node_def") + inner("in", kind, inputs, *attrs)
        body += inner("same", "Identity", ["x"], FLOAT)
        result = "same:output:0" if not used else "in:y:0" if op == "direct" else "in:output:0"
        names.append("Outer%d" % i)
        library += function(names[-1], [("y", result)], body, "in" if outer_control else None)
    graph = Graph(library)
    for op, mark in OUTERS:
        for name in names:
            graph.add(op, name, 1, mark)
    count = len(graph.calls)
    graph.write("_".join(["nested", "used" if used else "unused"] + ["inner"] * inner_control + ["outer"] * outer_control),
                "a call in a body: its result is %s; control results of %s" % (
                    "the body's" if used else "not read", {(0, 0): "none", (1, 0): "the inner function",
                    (0, 1): "the outer function", (1, 1): "both"}[(inner_control, outer_control)]),
                without=() if outer_control else range(count - len(INNERS), count))


def calls_beside_effects():
    """Functions that stay calls, called in the body of a loop that has effects, which stands in a function."""
    x, call_attrs = (("x", "DT_FLOAT"),), (attr("Tin", types("DT_FLOAT")), attr("Tout", types("DT_FLOAT")))
    twice = inner("in", "AddV2", ["x", "x"], FLOAT)
    library = function("Pure2", [("y", "in:z:0")], twice, noinline=True, args=x)
    again = inner("in", "PartitionedCall", ["x"], attr("f", 'func { name: "Pure2" }'), *call_attrs)
    library += function("Pure1", [("y", "in:output:0")], again, noinline=True, args=x)
    args = ARGS + (("u", "DT_FLOAT"),)
    less = scalar("six", "DT_FLOAT", "float_val: 6", of="node_def") + inner("less", "Less", ["x", "six:output:0"], FLOAT)
    body = ASSIGN + inner("in", "PartitionedCall", ["x"], attr("f", 'func { name: "Pure1" }'), *call_attrs)
    body += inner("get", "ReadVariableOp", ["h", "^set"], DTYPE)
    results = [("hh", "h"), ("y", "in:output:0"), ("z", "get:value:0")]
    library += function("Small", [("c", "less:z:0")], less, args=args) + function("Body", results, body, "set", args=args)
    op, _, attrs, _ = call("While", "h", "", mark=LOWERED, inside=True)
    loop = inner("loop", op, ["h", "x", "x"], *attrs)
    for name, noinline in (("Called", True), ("Inlined", False)):
        library += function(name, [("y", "loop:output:1"), ("z", "loop:output:2")], loop, noinline=noinline)
    graph = Graph(library)
    for op in ("StatefulPartitionedCall", "PartitionedCall", "If"):
        for of in ("Called", "Inlined"):
            graph.add(op, of, mark=LOWERED if op == "If" else "")
    graph.write("calls_beside_effects", "functions called in a loop that has effects, in a function", without=range(6))


def control_results_that_choose():
    """A control result that is a conditional or a loop, whose results are not read."""
    body = ASSIGN + inner("same", "Identity", ["x", "^set"], FLOAT)
    library, names = "", []
    for control in (False, True):
        branch = "Branch%d" % control
        library += function(branch, [("y", "same:output:0")], body, "set" if control else None)
        for mark in (LOWERED, KEPT):
            for inner_op in ("If", "Case", "StatefulPartitionedCall"):
                if inner_op == "StatefulPartitionedCall" and mark == KEPT:
                    continue
                op, inputs, attrs, _ = call(inner_op, "h", branch, 1, mark, inside=True)
                choice = scalar("yes", "DT_BOOL", "bool_val: true", of="node_def")
                choice += scalar("zero", "DT_INT32", "int_val: 0", of="node_def") + inner("in", op, inputs, *attrs)
                choice += inner("same", "Identity", ["x"], FLOAT)
                names.append("F%d" % len(names))
                library += function(names[-1], [("y", "same:output:0")], choice, "in")
    graph = Graph(library)
    for op, mark in (("StatefulPartitionedCall", ""), ("PartitionedCall", ""), ("If", LOWERED), ("If", KEPT)):
        for name in names:
            graph.add(op, name, 1, mark)
    graph.write("control_results_that_choose", "a control result that is a conditional whose results are not read")


def main():
    calls_beside_effects()
    control_results_that_choose()
    for control in (False, True):
        for noinline in (False, True):
            kinds(control, noinline)
    for used in (True, False):
        for inner_control in (False, True):
            for outer_control in (False, True):
                # TensorFlow runs the first of 25 calls otherwise here than when it is alone.
                if used or inner_control or not outer_control:
                    nested(used, inner_control, outer_control)
    graph = Graph(sets("G", 1, False, False))
    graph.add("PartitionedCall", "G", 1)
    graph.add("StatefulPartitionedCall", "G", 1)
    graph.write("waited_for", "a node that waits for a StatefulPartitionedCall waits for its effects", optimised=True)
