#!/usr/bin/env python3
"""Records gradients of random programs from TensorFlow, as cases for `sluice conform`.

  record_programs.py DIR --seed 1 --count 2000
  sluice conform DIR

Of each program, DIR/programs/NNNNNN_first holds TensorFlow's first gradients, and NNNNNN_second what second gradients
must be: differences of TensorFlow's first ones, as TensorFlow itself has no second gradients of loops in frames. Needs
TensorFlow 2.19; no test runs it.
"""

import argparse
import json
import os
import random
import signal
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

from random_programs import SIZE, build_graph  # noqa: E402

tf1 = tf.compat.v1
STEP = 1e-3


class Case:
    """A case folder under construction."""

    def __init__(self, about, rtol, atol, gradients):
        self.tensors, self.steps = [], []
        self.json = {"about": about, "graph": "graph.pb", "rtol": rtol, "atol": atol,
                     "needs": ["loop", "cond", "function", "gradient"], "gradients": gradients, "steps": self.steps}

    def keep(self, value):
        self.tensors.append(np.asarray(value))
        return f"t{len(self.tensors) - 1:03d}.npy"

    def add(self, feeds, fetches):
        fed = {name: self.keep(value) for name, value in feeds.items() if name != "v_in:0"}
        if "v_in:0" in feeds:
            self.steps.append({"feeds": {"v_in:0": self.keep(feeds["v_in:0"])}, "targets": ["assign"]})
        self.steps.append({"feeds": fed, "fetches": [
            [name, "none" if value is None else self.keep(value)] for name, value in fetches]})

    def write(self, folder, graph_bytes):
        os.makedirs(folder)
        self.json["name"] = "/".join(folder.split("/")[-2:])
        with open(os.path.join(folder, "graph.pb"), "wb") as out:
            out.write(graph_bytes)
        np.savez(os.path.join(folder, "tensors.npz"), **{f"t{k:03d}": v for k, v in enumerate(self.tensors)})
        with open(os.path.join(folder, "case.json"), "w", encoding="utf-8") as out:
            json.dump(self.json, out, indent=1)


class Recording:
    """One program, its gradients, and a session that computes them."""

    def __init__(self, seed, frames, max_parts):
        self.graph, self.program = build_graph(seed, frames, max_parts)
        self.bytes = self.graph.as_graph_def().SerializeToString()
        self.random = np.random.RandomState(seed % 2**31)
        with self.graph.as_default():
            xs = [self.graph.get_tensor_by_name(f"x{k}:0") for k in range(2)]
            self.feed_names = ["x0:0", "x1:0"]
            self.x_names = ["x0:0", "x1:0"]
            if self.program.has_variable:
                xs.append(self.program.variable.handle)
                self.feed_names.append("v_in:0")
                self.x_names.append(self.program.variable.handle.name)
            self.y = self.graph.get_tensor_by_name("y:0")
            found = tf.gradients(self.y, xs)
            self.gradients = [None if g is None else tf.convert_to_tensor(g) for g in found]
            self.assign = self.graph.get_operation_by_name("assign") if self.program.has_variable else None
        config = tf1.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1)
        # What is computed, not what rewriting makes of it; and programs are run a few times only.
        config.graph_options.rewrite_options.disable_meta_optimizer = True
        self.session = tf1.Session(graph=self.graph, config=config)

    def feeds(self, number):
        feeds = {name: self.random.uniform(-1, 1, SIZE) for name in self.feed_names}
        # Most rounds first: then none.
        feeds["n:0"] = np.int32([2, 0, 3, 1][number % 4])
        feeds["i:0"] = np.int32(self.random.randint(0, 4))
        feeds["b:0"] = np.bool_(self.random.randint(2))
        return feeds

    def run(self, feeds, what):
        # Some of TensorFlow's own gradients never end.
        limits = tf1.RunOptions(timeout_in_ms=20000)
        if self.assign is not None:
            self.session.run(self.assign, {"v_in:0": feeds["v_in:0"]}, options=limits)
        return self.session.run(what, {k: v for k, v in feeds.items() if k != "v_in:0"}, options=limits)

    def weighted(self, feeds, weights):
        values = self.run(feeds, [g for g in self.gradients if g is not None])
        weights = [w for w, g in zip(weights, self.gradients) if g is not None]
        return sum(float(np.sum(w * v)) for w, v in zip(weights, values))

    def second(self, feeds, weights):
        """The gradients of the weighted first ones; None where they jump."""
        found = []
        for name in self.feed_names:
            of_x = np.zeros(SIZE)
            for k in range(SIZE):
                def at(moved_by):
                    moved = dict(feeds)
                    moved[name] = feeds[name].copy()
                    moved[name][k] += moved_by
                    return self.weighted(moved, weights)
                near = (at(STEP) - at(-STEP)) / (2 * STEP)
                far = (at(2 * STEP) - at(-2 * STEP)) / (4 * STEP)
                if not np.isfinite(near) or abs(near - far) > 1e-3 * max(1, abs(near)):
                    return None
                of_x[k] = (4 * near - far) / 3
            found.append(of_x)
        return found


def record(folder, seed, frames, args):
    """Writes both cases of a program. Returns how many steps of the second order were left out."""
    recording = Recording(seed, frames, args.parts)
    about = f"seed {seed}, {'frames' if frames else 'functional'}, parts {args.parts}"
    count = len(recording.x_names)
    ys = [f"g/{k}" for k in range(count) if recording.gradients[k] is not None]
    weights = [f"w{k}:0" for k in range(count) if recording.gradients[k] is not None]
    nones = [f"none{k}:0" for k in range(count)]
    of_first = {"ys": ["y:0"], "xs": recording.x_names, "prefix": "g"}
    first = Case(about, 1e-9, 1e-11, [of_first])
    second = Case(about, 1e-5, 1e-6, [of_first, {"ys": ys + nones, "xs": recording.x_names,
                                                 "grad_ys": weights + nones, "prefix": "h"}])
    left_out = 0
    for number in range(args.feeds):
        feeds = recording.feeds(number)
        values = recording.run(feeds, [recording.y] + [g for g in recording.gradients if g is not None])
        given = iter(values[1:])
        fetches = [["y:0", values[0]]]
        fetches += [[f"g/{k}", None if g is None else next(given)] for k, g in enumerate(recording.gradients)]
        first.add(feeds, fetches)
        weight = [recording.random.uniform(0.5, 1.5, SIZE) for _ in range(count)]
        found = recording.second(feeds, weight) if ys else None
        if found is None:
            left_out += 1 if ys else 0
            continue
        fed = dict(feeds)
        fed.update({f"w{k}:0": weight[k] for k in range(count)})
        second.add(fed, [[f"h/{k}", found[k]] for k in range(count)])
    recording.session.close()
    first.write(folder + "_first", recording.bytes)
    if second.steps:
        second.write(folder + "_second", recording.bytes)
    return left_out


def record_apart(seed, args):
    """Records a program in a process of its own. Returns how many steps it left out, and why there is no case or None."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        signal.alarm(args.limit)  # Ends the process, whatever TensorFlow waits for.
        try:
            folder = os.path.join(args.dir, "programs", f"{seed:09d}")
            frames = random.Random(seed).random() < 0.5
            answer = [record(folder, seed, frames, args), None]
        except Exception as error:  # pylint: disable=broad-except
            text = str(error).strip()
            answer = [0, f"{type(error).__name__}: {text.splitlines()[-1][:110]}" if text else repr(error)]
        os.write(writer, json.dumps(answer).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        answer = pipe.read()
    os.waitpid(child, 0)
    return json.loads(answer) if answer else (0, f"TensorFlow did not end in {args.limit} s, or crashed")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("dir")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--parts", type=int, default=7, help="conditionals, loops and calls of a program, at most")
    parser.add_argument("--feeds", type=int, default=3, help="sets of inputs of a program")
    parser.add_argument("--limit", type=int, default=60, help="seconds for a program")
    args = parser.parse_args()
    made = jumps = refused = 0
    reasons = {}
    number = 0
    while made < args.count:
        seed = args.seed * 1000003 + number
        number += 1
        left_out, reason = record_apart(seed, args)
        if reason is None:
            jumps += left_out
            made += 1
        else:
            # TensorFlow itself does not take all programs.
            refused += 1
            print(f"left out: seed {seed}: {reason}", file=sys.stderr, flush=True)
            reasons[reason] = reasons.get(reason, 0) + 1
    print(f"{made} programs, {refused} that TensorFlow refuses, {jumps} steps of the second order at a jump")
    for text, times in sorted(reasons.items(), key=lambda item: -item[1])[:20]:
        print(f"  {times:4d} {text}", file=sys.stderr)


if __name__ == "__main__":
    main()
