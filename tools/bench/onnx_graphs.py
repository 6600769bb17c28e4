"""ONNX twins of the graphs of graphs.py: the same nodes and edges where ONNX has them, its If and Loop where TensorFlow
has Switch and NextIteration. Inputs and outputs keep the names of the side files."""
import re

from onnx_writer import BOOL, FLOAT, INT32, INT64, OnnxWriter


def chain(n):
    g = OnnxWriter()
    last = g.input("x:0")
    g.input("c:0")
    for i in range(n):
        last = g.node("Add", [last, "c:0"], f"a{i}")
    g.node("Identity", [last], "y:0")
    return g.output("y:0")


def fan(n, op):
    g = OnnxWriter()
    g.node("Identity", [g.input("x:0")], "src")
    leaves = [g.node(op, ["src"], f"i{i}") for i in range(n)]
    g.node("Sum", leaves, "y:0")
    return g.output("y:0")


def layered():
    g = OnnxWriter()
    layer = [g.node("Identity", [source], f"l0_{j}") for j, source in enumerate([g.input("x:0")] * 100)]
    for i in range(1, 101):
        layer = [g.node("Sum", [layer[(j + d) % 100] for d in (0, 1, 7, 31)], f"l{i}_{j}") for j in range(100)]
    g.node("Sum", layer, "y:0")
    return g.output("y:0")


def dead_branch(n):
    taken, other, g = OnnxWriter(), OnnxWriter(), OnnxWriter()
    taken.node("Identity", ["x:0"], "t")
    last = "x:0"
    for i in range(n):
        last = other.node("Add", [last, "c:0"], f"a{i}")
    g.input("x:0"), g.input("c:0"), g.input("p:0", BOOL)
    g.node("If", ["p:0"], "y:0", then_branch=taken.output("t"), else_branch=other.output(last))
    return g.output("y:0")


def loop(outer, limit, start, variables, make_body, name):
    """Adds a Loop that counts from 0 to `limit`. `variables` are float values; `make_body(graph, names)` gives their new
    ones. Returns the names of the values after the loop."""
    body, after = OnnxWriter(), []
    body.input(f"{name}_n", INT64), body.input(f"{name}_go_in", BOOL), body.input(f"{name}_i", INT32)
    inside = [body.input(f"{name}_v{k}") for k in range(len(variables))]
    body.node("Add", [f"{name}_i", "one"], f"{name}_next")
    body.node("Less", [f"{name}_next", limit], f"{name}_go")
    body.output(f"{name}_go", BOOL).output(f"{name}_next", INT32)
    for value in make_body(body, inside):
        body.output(value)
    after = [f"{name}_r{k}" for k in range(len(variables))]
    outer.node("Loop", ["", "true", start] + variables, [f"{name}_count"] + after, body=body)
    return after


def loop_model():
    g = OnnxWriter()
    g.input("n:0", INT32)
    g.scalar("true", True, BOOL), g.scalar("zero", 0, INT32), g.scalar("one", 1, INT32)
    g.scalar("Mul", 0.5), g.scalar("Add", 1.0), g.scalar("Sub", 0.25)
    return g


def arithmetic(body, value, ops):
    for k in range(ops):
        op = ("Mul", "Add", "Sub")[k % 3]
        value = body.node(op, [value, op], f"{value}_{k}")
    return value


def count(ops):
    g = loop_model()
    if ops == 1:
        loop(g, "n:0", "zero", [], lambda body, values: [], "w")
        g.node("Identity", ["w_count"], "y:0")
        return g.output("y:0", INT32)
    last = loop(g, "n:0", "zero", [g.input("x:0")], lambda body, values: [arithmetic(body, values[0], ops)], "w")
    g.node("Identity", last, "y:0")
    return g.output("y:0")


def many_variables(n):
    g = loop_model()
    g.input("c:0")
    starts = [g.scalar(f"k{k}", float(k)) for k in range(n - 1)]

    def body(graph, values):
        return [graph.node("Add", [value, "c:0"], f"{value}_after") for value in values]
    g.node("Sum", loop(g, "n:0", "zero", starts, body, "w"), "y:0")
    return g.output("y:0")


def nested():
    g = loop_model()

    def outer_body(graph, values):
        return loop(graph, "n:0", "zero", values, lambda body, inner: [arithmetic(body, inner[0], 2)], "inner")
    g.node("Identity", loop(g, "n:0", "zero", [g.input("x:0")], outer_body, "outer"), "y:0")
    return g.output("y:0")


def identity():
    g = OnnxWriter()
    g.node("Identity", [g.input("x:0")], "y:0")
    return g.output("y:0")


def load(n):
    g = OnnxWriter()
    last = g.input("x:0", FLOAT)
    for i in range(n // 2):
        last = g.node("Add", [last, g.scalar(f"c{i}", 0.001 * (i % 1000))], f"layer/add{i}:0")
    return g.output(last)


# By the names of graphs.py's cases. A million nodes take ONNX Runtime hours.
MODELS = (
    (r"B1_chain_(\d+)", lambda m: chain(int(m[1]))),
    (r"B2_fan_(\d+)", lambda m: fan(int(m[1]), "Identity")),
    (r"B2_relu_(\d+)", lambda m: fan(int(m[1]), "Relu")),
    (r"B3_layered_100x100", lambda m: layered()),
    (r"B4_dead_(\d+)", lambda m: dead_branch(int(m[1]))),
    (r"B5_count_(1000|100k)", lambda m: count(1)),
    (r"B5_body10_100k", lambda m: count(10)),
    (r"B6_vars(\d+)_\d+", lambda m: many_variables(int(m[1]))),
    (r"B6_nested_300x300", lambda m: nested()),
    (r"B8_(identity|callers_\d+)", lambda m: identity()),
    (r"B10_load_(\d+)k", lambda m: load(1000 * int(m[1]))),
)


def onnx_bytes(name):
    """The model of a case, or None."""
    for pattern, make in MODELS:
        match = re.fullmatch(pattern, name)
        if match:
            return make(match).bytes()
    return None
