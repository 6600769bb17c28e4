#!/usr/bin/env python3
"""Writes the graphs of the executor benchmarks B1 to B10, BM_executor and B18 (tensorflow.md section 3), each with a side
file that says what to feed, what to fetch and what one unit of work is.

    python3 tools/bench/graphs.py --out DIRECTORY [--only REGEX] [--list]
"""
import argparse
import os
import random
import re

from graph_writer import BOOL, FLOAT, INT32, GraphWriter

F = {"T": ("type", FLOAT)}
I = {"T": ("type", INT32)}
CASES = {}


class Side:
    def __init__(self, bench, units, unit):
        self.lines = [f"bench {bench}", f"units {units}", f"unit {unit}", "overhead 1"]

    def feed(self, name, dtype, dims, fill):
        self.lines.append(f"feed {name} {dtype} {'x'.join(map(str, dims)) or 'scalar'} {fill}")
        return self

    def fetch(self, name):
        self.lines.append(f"fetch {name}")
        return self

    def target(self, name):
        self.lines.append(f"target {name}")
        return self

    def setting(self, key, value):
        """callers, threads, devices: see tests/bench/side_file.h."""
        self.lines.append(f"{key} {value}")
        return self


def chain(n):
    g = GraphWriter()
    last = g.placeholder("x")
    g.placeholder("c")
    for i in range(n):
        last = g.node(f"a{i}", "AddV2", [last, "c"], **F)
    g.node("y", "Identity", [last], **F)
    side = Side("B1", n, "node").feed("x:0", "float32", (), "const:1").feed("c:0", "float32", (), "const:0.5")
    return g, side.fetch("y:0")


def fan(n):
    g = GraphWriter()
    g.node("src", "Identity", [g.placeholder("x")], **F)
    leaves = [g.node(f"i{i}", "Identity", ["src"], **F) for i in range(n)]
    g.node("y", "AddN", leaves, N=n, **F)
    return g, Side("B2", n, "node").feed("x:0", "float32", (), "const:1").fetch("y:0")


def fan_relu(n):
    """As fan, of nodes that compute: an Identity is no work where it is only a name."""
    g = GraphWriter()
    g.node("src", "Identity", [g.placeholder("x")], **F)
    leaves = [g.node(f"r{i}", "Relu", ["src"], **F) for i in range(n)]
    g.node("y", "AddN", leaves, N=n, **F)
    return g, Side("B2", n, "node").feed("x:0", "float32", (), "const:1").fetch("y:0")


def layered():
    g = GraphWriter()
    g.placeholder("x")
    for j in range(100):
        g.node(f"l0_{j}", "Identity", ["x"], **F)
    for i in range(1, 101):
        for j in range(100):
            g.node(f"l{i}_{j}", "AddN", [f"l{i - 1}_{(j + d) % 100}" for d in (0, 1, 7, 31)], N=4, **F)
    g.node("y", "AddN", [f"l100_{j}" for j in range(100)], N=100, **F)
    return g, Side("B3", 10000, "node").feed("x:0", "float32", (), "const:1e-30").fetch("y:0")


def layered_work():
    """16 lanes of 40 matrix products of some 10 us, each lane waiting for its neighbour."""
    g = GraphWriter()
    g.placeholder("x", FLOAT, (96, 96))
    rng = random.Random(3)
    g.const("w", [rng.uniform(-0.1, 0.1) for _ in range(96 * 96)], FLOAT, (96, 96))
    for j in range(16):
        g.node(f"l0_{j}", "Identity", ["x"], **F)
    for i in range(1, 41):
        for j in range(16):
            g.node(f"l{i}_{j}", "MatMul", [f"l{i - 1}_{j}", "w", f"^l{i - 1}_{(j + 1) % 16}"], transpose_a=False,
                   transpose_b=False, **F)
    g.node("y", "AddN", [f"l40_{j}" for j in range(16)], N=16, **F)
    return g, Side("B3", 640, "node").feed("x:0", "float32", (96, 96), "lcg").fetch("y:0")


def dead_branch(n):
    g = GraphWriter()
    g.placeholder("x"), g.placeholder("c"), g.placeholder("p", BOOL)
    g.node("sx", "Switch", ["x", "p"], **F)
    g.node("sc", "Switch", ["c", "p"], **F)
    last = "sx"
    for i in range(n):
        last = g.node(f"a{i}", "AddV2", [last, "sc"], **F)
    g.node("t", "Identity", ["sx:1"], **F)
    g.node("y", "Merge", [last, "t"], N=2, **F)
    side = Side("B4", 1, "cond").feed("x:0", "float32", (), "const:1").feed("c:0", "float32", (), "const:0.5")
    return g, side.feed("p:0", "bool", (), "const:1").fetch("y:0")


def count_one(g, scope, values):
    one = g.const(f"{scope}/one", 1, INT32, (), [f"^{values[0][0]}"])
    return (g.node(f"{scope}/add", "AddV2", [values[0][0], one], **I), INT32)


def arithmetic(g, scope, value, ops):
    """`ops` scalar operations on a float32."""
    for k in range(ops):
        op, constant = (("Mul", 0.5), ("AddV2", 1.0), ("Sub", 0.25))[k % 3]
        c = g.const(f"{scope}/c{k}", constant, FLOAT, (), [f"^{scope}/Identity_0"])
        value = g.node(f"{scope}/op{k}", op, [value, c], **F)
    return value


def count(iterations, ops, parallel_iterations=10):
    g = GraphWriter()
    g.placeholder("n", INT32)
    zero = g.const("zero", 0, INT32)
    variables = [(zero, INT32)] + ([(g.placeholder("x"), FLOAT)] if ops > 1 else [])

    def body(g, scope, values):
        after = [count_one(g, scope, values)]
        if ops > 1:
            after.append((arithmetic(g, scope, values[1][0], ops), FLOAT))
        return after
    exits = g.while_loop("while", variables, "n", body, parallel_iterations)
    g.node("y", "Identity", [exits[-1]], **(F if ops > 1 else I))
    side = Side("B5", iterations, "iteration").feed("n:0", "int32", (), f"const:{iterations}")
    if ops > 1:
        side.feed("x:0", "float32", (), "const:1")
    return g, side.fetch("y:0")


def many_variables(n, iterations):
    g = GraphWriter()
    g.placeholder("n", INT32), g.placeholder("c")
    variables = [(g.const("zero", 0, INT32), INT32)]
    variables += [(g.const(f"v{k}", float(k)), FLOAT) for k in range(n - 1)]

    def body(g, scope, values):
        g.node(f"{scope}/c", "Enter", ["c"], is_constant=True, frame_name=scope, parallel_iterations=10, **F)
        after = [(g.node(f"{scope}/add{k}", "AddV2", [v, f"{scope}/c"], **F), FLOAT)
                 for k, (v, _) in enumerate(values[1:])]
        return [count_one(g, scope, values)] + after
    exits = g.while_loop("while", variables, "n", body)
    g.node("y", "AddN", exits[1:], N=n - 1, **F)
    side = Side("B6", iterations, "iteration").feed("n:0", "int32", (), f"const:{iterations}")
    return g, side.feed("c:0", "float32", (), "const:0.5").fetch("y:0")


def nested(n):
    g = GraphWriter()
    g.placeholder("n", INT32), g.placeholder("x")

    def inner_body(g, scope, values):
        return [count_one(g, scope, values), (arithmetic(g, scope, values[1][0], 2), FLOAT)]

    def outer_body(g, scope, values):
        limit = g.node(f"{scope}/n", "Enter", ["n"], is_constant=True, frame_name=scope, parallel_iterations=10, **I)
        zero = g.const(f"{scope}/zero", 0, INT32, (), [f"^{values[0][0]}"])
        exits = g.while_loop(f"{scope}/inner", [(zero, INT32), values[1]], limit, inner_body)
        return [count_one(g, scope, values), (exits[1], FLOAT)]
    exits = g.while_loop("outer", [(g.const("zero", 0, INT32), INT32), ("x", FLOAT)], "n", outer_body)
    g.node("y", "Identity", [exits[1]], **F)
    side = Side("B6", n * n, "inner_iteration").feed("n:0", "int32", (), f"const:{n}")
    return g, side.feed("x:0", "float32", (), "const:1").fetch("y:0")


def pipeline(iterations, parallel_iterations, threads):
    """A loop of 8 stages of some 50 us (a matrix product each), one behind the other within an iteration; a stage needs
    its own result of the iteration before. So nothing can overlap but stages of different iterations."""
    g, size = GraphWriter(), 160
    g.placeholder("n", INT32), g.placeholder("x", FLOAT, (size, size))
    rng = random.Random(7)
    g.const("w", [rng.uniform(-0.13, 0.13) for _ in range(size * size)], FLOAT, (size, size))
    zero = g.const("zero", 0, INT32)

    def body(g, scope, values):
        g.node(f"{scope}/w", "Enter", ["w"], is_constant=True, frame_name=scope,
               parallel_iterations=parallel_iterations, **F)
        after, before = [count_one(g, scope, values)], []
        for k, (value, _) in enumerate(values[1:]):
            stage = g.node(f"{scope}/stage{k}", "MatMul", [value, f"{scope}/w"] + before, transpose_a=False,
                           transpose_b=False, **F)
            after.append((stage, FLOAT))
            before = [f"^{stage}"]
        return after
    exits = g.while_loop("while", [(zero, INT32)] + [("x", FLOAT)] * 8, "n", body, parallel_iterations)
    g.node("y", "AddN", exits[1:], N=8, **F)
    side = Side("B7", 8 * iterations, "stage").feed("n:0", "int32", (), f"const:{iterations}")
    return g, side.feed("x:0", "float32", (size, size), "lcg").fetch("y:0").setting("threads", threads)


def noops(width, depth):
    """The shape of TensorFlow's own executor benchmark: random layers of NoOps behind control edges."""
    g, rng, made = GraphWriter(), random.Random(1729), [0]

    def noop(sources):
        made[0] += 1
        return g.node(f"n{made[0]}", "NoOp", ["^" + s for s in sources])
    ready = [noop(()) for _ in range(1 + rng.randrange(width))]
    for _ in range(depth):
        rng.shuffle(ready)
        cut = 1 + rng.randrange(len(ready))
        sources, ready = ready[-cut:], ready[:-cut]
        join = noop(sources)
        ready += [noop([join]) for _ in range(1 + rng.randrange(width))]
    g.node("done", "NoOp", ["^" + s for s in ready])
    return g, Side("BMX", made[0] + 1, "node").target("done")


def identity(callers=0):
    g = GraphWriter()
    g.node("y", "Identity", [g.placeholder("x")], **F)
    side = Side("B8", 1, "call").feed("x:0", "float32", (), "const:1").fetch("y:0")
    return g, side.setting("callers", callers) if callers else side


def on_threads(case, threads):
    """The same graph, with that many threads to run it."""
    g, side = case()
    return g, side.setting("threads", threads)


def load(n):
    g = GraphWriter()
    last = g.placeholder("x")
    for i in range(n // 2):
        c = g.const(f"layer/c{i}", 0.001 * (i % 1000))
        last = g.node(f"layer/add{i}", "AddV2", [last, c], **F)
    return g, Side("B10", n, "node").feed("x:0", "float32", (), "const:1").fetch(last + ":0")


def devices(n, two, elements=(), cut=False):
    g = GraphWriter()
    last = g.placeholder("x", FLOAT, elements)
    for i in range(n):
        last = g.node(f"i{i}", "Identity", [last], f"/device:CPU:{i % 2 if two else 0}", **F)
    fill = "lcg" if elements else "const:1"
    side = Side("B18", n, "change" if two else "node").feed("x:0", "float32", elements, fill).fetch(last + ":0")
    if two:
        side.setting("devices", 2)
    return g, side.setting("cut", 1) if cut else side


for size in (1000, 10000):
    CASES[f"B1_chain_{size}"] = lambda n=size: chain(n)
    CASES[f"B2_fan_{size}"] = lambda n=size: fan(n)
    CASES[f"B2_relu_{size}"] = lambda n=size: fan_relu(n)
CASES["B3_layered_100x100"] = layered
CASES["B3_work_40x16"] = layered_work
for size in (1, 100, 10000):
    CASES[f"B4_dead_{size}"] = lambda n=size: dead_branch(n)
CASES["B5_count_1000"] = lambda: count(1000, 1)
CASES["B5_count_100k"] = lambda: count(100000, 1)
CASES["B5_count_100k_par1"] = lambda: count(100000, 1, 1)
CASES["B5_body10_100k"] = lambda: count(100000, 10)
CASES["B6_vars100_1000"] = lambda: many_variables(100, 1000)
CASES["B6_vars5000_1000"] = lambda: many_variables(5000, 1000)
CASES["B6_nested_300x300"] = lambda: nested(300)
for count_of in (1, 4, 32):
    for threads in (1, 2):
        CASES[f"B7_par{count_of}_{threads}threads"] = lambda p=count_of, t=threads: pipeline(100, p, t)
for case in ("B2_fan_10000", "B2_relu_10000", "B3_layered_100x100", "B3_work_40x16"):
    CASES[case + "_2threads"] = lambda c=CASES[case]: on_threads(c, 2)
CASES["B8_identity"] = identity
for count_of in (1, 8, 1000):
    CASES[f"B8_callers_{count_of}"] = lambda n=count_of: identity(n)
for size, name in ((1000, "1k"), (10000, "10k"), (100000, "100k"), (1000000, "1M")):
    CASES[f"B10_load_{name}"] = lambda n=size: load(n)
for wide, deep in ((16, 1024), (32, 8192), (1024, 16), (8192, 32), (1024, 1024)):
    CASES[f"BMX_{wide}_{deep}"] = lambda w=wide, d=deep: noops(w, d)
CASES["B18_chain_1dev"] = lambda: devices(1000, False)
CASES["B18_chain_2dev"] = lambda: devices(1000, True)
CASES["B18_chain_2dev_cut"] = lambda: devices(1000, True, cut=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", default="bench-graphs")
    parser.add_argument("--only", default="")
    parser.add_argument("--list", action="store_true")
    arguments = parser.parse_args()
    names = [name for name in CASES if re.search(arguments.only, name)]
    if arguments.list:
        print("\n".join(names))
        return
    os.makedirs(arguments.out, exist_ok=True)
    for name in names:
        graph, side = CASES[name]()
        with open(os.path.join(arguments.out, name + ".pb"), "wb") as file:
            file.write(graph.bytes())
        with open(os.path.join(arguments.out, name + ".side"), "w") as file:
            file.write("\n".join([f"name {name}"] + side.lines) + "\n")


if __name__ == "__main__":
    main()
