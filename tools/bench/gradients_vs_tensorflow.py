#!/usr/bin/env python3
"""Gradients and training steps: Sluice's own against TensorFlow's, interleaved in one run.

    python3 tools/bench/gradients_vs_tensorflow.py --tensorflow-python VENV/bin/python [--graphs FOLDER] [--rounds N]

  - B11: what adding gradients to a graph costs, in us for each node of the graph: chains of scalar ops (TensorFlow's
    up to --tensorflow-nodes), and a ResNet-50 with respect to its weights.
  - L1: a loop of 100,000 iterations with a body of 10 scalar ops, forward and backward: ns an iteration, and the most
    memory of the process in the first run. TensorFlow's gradients of the same loop: on stacks (v1), on TensorLists (v2).
  - B17: training steps. FOLDER holds graphs NAME.pb with NAME.side, made by TensorFlow, with a scalar `loss`, variables,
    and an update `train`; ours is AddTrainStep on the same loss, beside TensorFlow's nodes run by us, and TensorFlow.

TensorFlow is in that environment only (development); builds what it needs. Prints Markdown tables: medians, in brackets
the least, TensorFlow's time / ours.
"""
import argparse
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

from bench_runs import build, measure

FIND = "import importlib.util as u, os; print(os.path.dirname(u.find_spec('tensorflow').origin))"
CONFIGS = ("rewriting", "caller", "single", "pool")

# Run by the Python that has TensorFlow. "chain N", "resnet OUT.pb": times tf.gradients. "loop OUT v1|v2": writes a loop
# with its gradient.
TF_CHILD = r'''
import json, os, sys, time
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow as tf
t = tf.compat.v1
t.disable_eager_execution()
t.disable_control_flow_v2()
def timed(y, xs):
    before = len(t.get_default_graph().get_operations())
    start = time.perf_counter()
    t.gradients(y, xs)
    ms = (time.perf_counter() - start) * 1e3
    print(json.dumps({"min": ms, "median": ms, "nodes": before,
                      "added": len(t.get_default_graph().get_operations()) - before}))
def write(path):
    with open(path, "wb") as file:
        file.write(t.get_default_graph().as_graph_def().SerializeToString())
if sys.argv[1] == "chain":
    x, c = t.placeholder(tf.float32, (), name="x"), t.placeholder(tf.float32, (), name="c")
    y = x
    for i in range(int(sys.argv[2])):
        y = (tf.multiply(y, c), tf.add(y, c), tf.tanh(y))[i % 3]
    timed(y, [x])
if sys.argv[1] == "resnet":
    weights = []
    def conv(h, size, depth, stride):
        w = t.placeholder(tf.float32, (size, size, h.shape[3], depth))
        weights.append(w)
        h = tf.nn.conv2d(h, w, stride, "SAME")
        ones = tf.ones((depth,))
        return t.nn.fused_batch_norm(h, ones, ones, ones, ones, is_training=False)[0]
    h = tf.nn.relu(conv(t.placeholder(tf.float32, (1, 224, 224, 3), name="image"), 7, 64, 2))
    h = tf.nn.max_pool2d(h, 3, 2, "SAME")
    for depth, count, first in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for i in range(count):
            stride = first if i == 0 else 1
            short = conv(h, 1, 4 * depth, stride) if i == 0 else h
            b = tf.nn.relu(conv(h, 1, depth, stride))
            h = tf.nn.relu(conv(tf.nn.relu(conv(b, 3, depth, 1)), 1, 4 * depth, 1) + short)
    w = t.placeholder(tf.float32, (2048, 1000))
    weights.append(w)
    y = tf.reduce_sum(tf.nn.softmax(tf.matmul(tf.reduce_mean(h, (1, 2)), w)), name="y")
    write(sys.argv[2])
    timed(y, weights)
if sys.argv[1] == "loop":
    if sys.argv[3] == "v2":
        t.enable_control_flow_v2()
    x, n = t.placeholder(tf.float32, (), name="x"), t.placeholder(tf.int32, (), name="n")
    def body(i, v):
        for k in range(10):
            v = v * x if k % 2 else tf.tanh(v)
        return i + 1, v
    y = tf.identity(t.while_loop(lambda i, v: i < n, body, [tf.constant(0), x])[1], name="y")
    tf.identity(t.gradients(y, x)[0], name="dx")
    write(sys.argv[2])
'''


def side(path, units, fetches, extra=()):
    with open(path, "w") as file:
        file.write(f"units {units}\n" + "".join(f"fetch {name}\n" for name in fetches) + "".join(extra))


def table(title, head, rows):
    print(f"\n{title}\n\n| " + " | ".join(head) + " |\n" + "|---" * len(head) + "|")
    for row in rows:
        print("| " + " | ".join(row) + " |", flush=True)


def text(figures, column, scale=1.0, key="median", least="min"):
    if column not in figures:
        return "n/a"
    return f"{figures[column].median(key) * scale:.4g} ({figures[column].least(least) * scale:.4g})"


def ratios(figures, ours, theirs):
    return ", ".join(f"{figures[c].median() / figures[ours].median():.3g}" if c in figures and ours in figures else "n/a"
                     for c in theirs)


class Bench:
    def __init__(self, arguments, folder):
        self.arguments, self.folder = arguments, folder
        self.once, self.ours, self.theirs = (build("//tests/bench:" + name)
                                             for name in ("gradient_once", "graph_bench", "tensorflow_bench"))
        found = subprocess.run([arguments.tensorflow_python, "-c", FIND], capture_output=True, text=True, check=True)
        self.library = glob.glob(os.path.join(found.stdout.strip(), "libtensorflow_cc.so.2"))[0]

    def path(self, name):
        return os.path.join(self.folder, name)

    def child(self, *words):
        return [self.arguments.tensorflow_python, "-c", TF_CHILD, *map(str, words)]

    def construction(self):
        rows = []
        resnet = self.path("resnet.pb")
        subprocess.run(self.child("resnet", resnet), check=True, capture_output=True)
        cases = [(f"chain of {n:,}", n, [self.once, "--chain", str(n)], self.child("chain", n))
                 for n in (1_000, 10_000, 100_000, 1_000_000)]
        cases.append(("ResNet-50, its weights", 0, [self.once, resnet, "--of", "Conv2D,MatMul"],
                      self.child("resnet", resnet)))
        for name, nodes, ours, theirs in cases:
            commands = {"Sluice": ours}
            if nodes <= self.arguments.tensorflow_nodes:
                commands["TensorFlow"] = theirs
            figures = measure(commands, self.arguments.rounds)
            count = figures["Sluice"].median("nodes")
            rows.append([name, f"{count:.0f}", text(figures, "Sluice"), text(figures, "Sluice", 1e3 / count),
                         text(figures, "TensorFlow"), ratios(figures, "Sluice", ["TensorFlow"])])
        table("B11: gradients added", ["graph", "nodes", "Sluice, ms", "us a node", "tf.gradients, ms", "ratio"], rows)

    def loops(self):
        files = {}
        for form in ("v1", "v2"):
            files[form] = self.path(f"loop_{form}.pb")
            subprocess.run(self.child("loop", files[form], form), check=True, capture_output=True)
        own = self.path("loop_own.pb")
        subprocess.run([self.once, files["v1"], "--y", "y:0", "--x", "x:0", "--rounds", "1", "--out", own], check=True,
                       capture_output=True)
        feeds = ["feed x:0 float32 scalar const:0.9\n", f"feed n:0 int32 scalar const:{self.arguments.iterations}\n"]
        for name, fetch in (("own", "own/0"), ("v1", "dx:0"), ("v2", "dx:0")):
            side(self.path(f"loop_{name}.side"), self.arguments.iterations, ["y:0", fetch], feeds)
        run = lambda name: [self.ours, self.path(f"loop_{name}.pb"), self.path(f"loop_{name}.side"), "--batches", "3"]
        commands = {"Sluice, own gradient": run("own"), "Sluice, TensorFlow's v1": run("v1"),
                    "Sluice, TensorFlow's v2": run("v2")}
        for form in ("v1", "v2"):
            for config in ("caller", "pool"):
                commands[f"TensorFlow {form}, {config}"] = [
                    self.theirs, self.library, files[form], self.path(f"loop_{form}.side"), "--config", config,
                    "--batches", "3"]
        figures = measure(commands, self.arguments.rounds)
        rows = [[column, text(figures, column), ratios(figures, "Sluice, own gradient", [column]),
                 text(figures, column, 1.0, "peak_mb", "peak_mb")] for column in commands]
        table(f"L1: loop of {self.arguments.iterations:,} iterations, forward and backward",
              ["who", "ns an iteration", "time / ours", "peak, MB"], rows)

    def training(self):
        rows = []
        for graph in sorted(glob.glob(os.path.join(self.arguments.graphs or self.folder, "B17_*.pb"))):
            name = os.path.basename(graph)[:-len(".pb")]
            given, made = graph[:-len(".pb")] + ".side", self.path(name + "_own.side")
            own = self.path(name + "_own.pb")
            subprocess.run([self.once, graph, "--loss", "loss:0", "--out", own], check=True, capture_output=True)
            with open(given) as file:
                words = file.read()
            with open(made, "w") as file:
                file.write(re.sub(r"(?m)^target train$", "target own_update", words))
            commands = {"own": [self.ours, own, made, "--simplify", "on"],
                        "graph": [self.ours, graph, given, "--simplify", "on"]}
            for config in CONFIGS:
                commands[config] = [self.theirs, self.library, graph, given, "--config", config]
            figures = measure(commands, self.arguments.rounds)
            best = min((c for c in CONFIGS if c in figures), key=lambda c: figures[c].median(), default="caller")
            rows.append([name, text(figures, "own", 1e-3), text(figures, "graph", 1e-3),
                         f"{text(figures, best, 1e-3)} {best}", ratios(figures, "own", [best]),
                         text(figures, "own", 1.0, "peak_mb", "peak_mb"), text(figures, best, 1.0, "peak_mb", "peak_mb")])
        if rows:
            table("B17: training steps, one thread", ["graph", "Sluice with its own gradients, us",
                                                      "Sluice on TensorFlow's nodes, us", "TensorFlow's best, us",
                                                      "ratio", "peak, MB", "TensorFlow's, MB"], rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tensorflow-python", required=True, help="a Python with tensorflow-cpu")
    parser.add_argument("--graphs", help="a folder with training graphs, B17_*.pb")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--iterations", type=int, default=100_000, help="of the loop")
    parser.add_argument("--tensorflow-nodes", type=int, default=10_000, help="longest chain that TensorFlow is given")
    parser.add_argument("--parts", default="construction,loops,training")
    arguments = parser.parse_args()
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    folder = tempfile.mkdtemp()
    try:
        bench = Bench(arguments, folder)
        for part in arguments.parts.split(","):
            getattr(bench, part)()
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
