"""Cases of functions whose kernels keep state: which calls share it. See Note [State of calls] in
graph/functions/call_states.h. The functions name their effects as control results, as TensorFlow's own tracing does:
without that, what its optimiser inlines depends on details."""

import numpy as np
import tensorflow as tf
from google.protobuf import text_format

from golden_case import Case

NOINLINE = 'attr { key: "_noinline" value { b: true } }'
LOWERED = 'attr { key: "_lower_using_switch_merge" value { b: true } }'


def attr(key, value):
    return 'attr { key: "%s" value { %s } }' % (key, value)


def types(*names):
    return "list { %s }" % " ".join("type: " + name for name in names)


def node(name, op, inputs=(), *attrs, of="node"):
    return '%s { name: "%s" op: "%s" %s %s }' % (of, name, op, " ".join('input: "%s"' % i for i in inputs),
                                                  " ".join(attrs))


def inner(*args):
    return node(*args, of="node_def")


def scalar(name, dtype, value, of="node"):
    tensor = "tensor { dtype: %s tensor_shape { } %s }" % (dtype, value)
    return node(name, "Const", (), attr("dtype", "type: " + dtype), attr("value", tensor), of=of)


FLOAT = attr("T", "type: DT_FLOAT")
RANDOM = (inner("shape", "Const", (), attr("dtype", "type: DT_INT32"),
                attr("value", "tensor { dtype: DT_INT32 tensor_shape { dim { size: 0 } } }")) +
          inner("u", "RandomUniform", ["shape:output:0"], attr("T", "type: DT_INT32"), attr("dtype", "type: DT_FLOAT"),
                attr("seed", "i: 7"), attr("seed2", "i: 9")))


def function(name, results, effects, body, marked=False, args=(("x", "DT_FLOAT"),)):
    """`results`: (name, dtype, value) each; `effects`: nodes that are control results."""
    signature = "".join('input_arg { name: "%s" type: %s } ' % arg for arg in args)
    signature += "".join('output_arg { name: "%s" type: %s } ' % result[:2] for result in results)
    signature += "".join('control_output: "%s" ' % effect for effect in effects)
    rets = "".join('ret { key: "%s" value: "%s" } ' % (result[0], result[2]) for result in results)
    rets += "".join('control_ret { key: "%s" value: "%s" } ' % (effect, effect) for effect in effects)
    return 'function { signature { name: "%s" is_stateful: true %s } %s %s %s }' % (name, signature, body, rets,
                                                                                     NOINLINE if marked else "")


def call(name, of, inputs=("x",), after=None, results=("DT_FLOAT",), op="StatefulPartitionedCall", make=node):
    inputs = list(inputs) + (["^" + after] if after else [])
    if op is None:
        return make(name, of, inputs)
    return make(name, op, inputs, attr("f", 'func { name: "%s" }' % of),
                attr("Tin", types(*["DT_FLOAT"] * sum(not i.startswith("^") for i in inputs))),
                attr("Tout", types(*results)))


def draw(name="Draw", marked=False):
    """x plus the next number."""
    body = RANDOM + inner("y", "AddV2", ["x", "u:output:0"], FLOAT)
    return function(name, [("y", "DT_FLOAT", "y:z:0")], ["u"], body, marked)


def caller(name, of, marked=False):
    return function(name, [("y", "DT_FLOAT", "in:output:0")], ["in"], call("in", of, make=inner), marked)


def loop(name, marked, after=None):
    inputs = ["zero", "x"] + (["^" + after] if after else [])
    return node(name, "While", inputs, attr("T", types("DT_INT32", "DT_FLOAT")), attr("cond", 'func { name: "Less3" }'),
                attr("body", 'func { name: "Body" }'), attr("output_shapes", "list { shape { } shape { } }"),
                LOWERED if marked else "")


def branch(name, of, marked=False, after=None):
    inputs = ["yes", "x"] + (["^" + after] if after else [])
    return node(name, "If", inputs, attr("Tcond", "type: DT_BOOL"), attr("Tin", types("DT_FLOAT")),
                attr("Tout", types("DT_FLOAT")), attr("then_branch", 'func { name: "%s" }' % of),
                attr("else_branch", 'func { name: "%s" }' % of), LOWERED if marked else "")


def loop_functions():
    args = (("i", "DT_INT32"), ("v", "DT_FLOAT"))
    less = (scalar("three", "DT_INT32", "int_val: 3", of="node_def") +
            inner("less", "Less", ["i", "three:output:0"], attr("T", "type: DT_INT32")))
    body = (scalar("one", "DT_INT32", "int_val: 1", of="node_def") +
            inner("next", "AddV2", ["i", "one:output:0"], attr("T", "type: DT_INT32")) +
            inner("zero", "ZerosLike", ["v"], FLOAT) + call("in", "Draw", ["zero:y:0"], make=inner))
    results = [("j", "DT_INT32", "next:z:0"), ("w", "DT_FLOAT", "in:output:0")]
    return (function("Less3", [("c", "DT_BOOL", "less:z:0")], [], less, args=args) +
            function("Body", results, ["in"], body, args=args))


def graph(nodes, library, results=("c1:0", "c2:0")):
    text = node("x", "Placeholder", (), attr("dtype", "type: DT_FLOAT"))
    text += scalar("zero", "DT_INT32", "int_val: 0") + scalar("yes", "DT_BOOL", "bool_val: true")
    for i, result in enumerate(results):
        text += node("y%d" % (i + 1), "Identity", [result], FLOAT)
    text += nodes + " library { %s } versions { producer: 1882 }" % library
    return text_format.Parse(text, tf.compat.v1.GraphDef())


def case(name, about, nodes, library, results=("c1:0", "c2:0"), alone=("y1",)):
    """All results twice, those of `alone` once, which is another signature, and all again. Where a graph is small,
    TensorFlow's optimiser leaves plain calls of plain calls as they are, or some of them: without `alone` then."""
    of_case = Case("call_state/" + name, about, graph(nodes, library, results), needs=["function", "random"])
    names = ["y%d" % (i + 1) for i in range(len(results))]
    for fetches in (names, names, list(alone), names):
        if fetches:
            of_case.run(fetches, {"x": np.float32(0)})
    of_case.write()


def main():
    twice = call("c1", "Draw") + call("c2", "Draw", after="c1")
    case("plain", "each call has its own generator, which goes on in other signatures", twice, draw(), alone=["y2"])
    case("noinline", "calls share a generator, which begins anew in another signature", twice, draw(marked=True))
    case("noinline_by_argument", "the same where one call takes what the other gives",
         call("c1", "Draw") + call("c2", "Draw", ["c1"]), draw(marked=True), alone=["y2"])
    case("kinds_of_calls", "a direct call and a PartitionedCall share nothing, PartitionedCalls do",
         call("c1", "Draw", op=None) + call("c2", "Draw", after="c1") +
         call("c3", "Draw", after="c2", op="PartitionedCall"), draw(marked=True), ["c1:0", "c2:0", "c3:0"])
    for outer in (False, True):
        for marked in (False, True):
            kind = "%s_in_%s" % (("plain", "noinline")[marked], ("plain", "noinline")[outer])
            library = draw(marked=marked) + caller("First", "Draw", outer) + caller("Second", "Draw", outer)
            case(kind, "called by two functions, one of them twice, and by the graph",
                 call("c1", "First") + call("c2", "First", after="c1") + call("c3", "Second", after="c2") +
                 call("c4", "Draw", after="c3"), library, ["c1:0", "c2:0", "c3:0", "c4:0"],
                 alone=["y1", "y2"] if outer else [])
    for lowered in (False, True):
        for marked in (False, True):
            kind = "%s_in_%s_loops" % (("plain", "noinline")[marked], ("kept", "lowered")[lowered])
            case(kind, "in the bodies of two loops of three iterations, and called by the graph",
                 loop("c1", lowered) + loop("c2", lowered, "c1") + call("c3", "Draw", after="c2"),
                 loop_functions() + draw(marked=marked), ["c1:1", "c2:1", "c3:0"])
        case("branches_" + ("kept", "lowered")[lowered], "the function of two Ifs, and of a call",
             branch("c1", "Draw", lowered) + branch("c2", "Draw", lowered, "c1") + call("c3", "Draw", after="c2"),
             draw(), ["c1:0", "c2:0", "c3:0"])
    case("branch_in_noinline", "an If in a function has another instance than one outside",
         branch("c1", "Draw") + call("c2", "Outer", after="c1"), draw() +
         function("Outer", [("y", "DT_FLOAT", "in:output:0")], ["in"],
                  scalar("yes", "DT_BOOL", "bool_val: true", of="node_def") +
                  branch("in", "Draw").replace("node {", "node_def {").replace('"yes"', '"yes:output:0"'), marked=True))
