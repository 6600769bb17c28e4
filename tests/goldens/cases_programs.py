"""First and second gradients of random programs that were wrong once, or refused; see record_programs.py. And what
TensorFlow counts as connected through calls."""

import argparse
import os
import random
import sys

import numpy as np
import tensorflow as tf
from tensorflow.python.ops import cond_v2

import golden_case

sys.path.append(os.path.join(golden_case.ROOT, "..", "executor", "gradients"))
import record_programs  # noqa: E402

tf1 = tf.compat.v1

# Seeds, and what their programs show.
PROGRAMS = {
    11000227: "replaced_variable",
    11000225: "replaced_by_zeros",
    11000070: "second_of_loop",
    11000125: "variable_in_branches",
    11000200: "second_of_loops",
    11000099: "case",
    11000107: "case_of_mixed_ways",
    11000036: "empty_array",
    11000142: "case_in_conditional",
    11000124: "first_of_loop",
    7001021653: "second_of_array",
    7001021730: "second_of_arrays_in_loops",
    7001021129: "second_of_empty_array",
}


def function(body):
    return tf.function(body, autograph=False)


def loop(start, body, rounds=3):
    return tf.while_loop(lambda i, *_: i < rounds, lambda i, value: (i + 1, body(value)), [tf.constant(0), start])[1]


def unused(value, _):
    """Gives `value`; the other one is computed, too."""
    return value


# What x and w are written into: w is connected where a call of a function has it, not where nothing has a gradient.
CONNECTIONS = {
    "if_result_not_read": lambda x, w, b: tf.cond(b, lambda: (tf.sin(x), tf.cos(w)), lambda: (x * 2, w + 1.0))[0],
    "if_not_in_a_result": lambda x, w, b: tf.cond(b, lambda: unused(tf.sin(x), tf.sin(w)), lambda: x * 2),
    "if_zeros": lambda x, w, b: tf.cond(b, lambda: tf.sin(x) + tf.zeros_like(w), lambda: x * 2),
    "case_result_not_read": lambda x, w, b: cond_v2.indexed_case(
        tf.cast(b, tf.int32), [lambda: (tf.sin(x), tf.cos(w)), lambda: (x * 2, w + 1.0)])[0],
    "call_result_not_read": lambda x, w, _: function(lambda x, w: (tf.sin(x), tf.cos(w)))(x, w)[0],
    "call_not_in_a_result": lambda x, w, _: function(lambda x, w: unused(tf.sin(x), tf.sin(w)))(x, w),
    "call_in_call": lambda x, w, _: function(
        lambda x, w: function(lambda x, w: (tf.sin(x), tf.cos(w)))(x, w)[0])(x, w),
    "loop_not_in_a_result": lambda x, w, _: loop(x, lambda v: unused(tf.sin(v), tf.sin(w))),
    "loop_in_call": lambda x, w, _: function(lambda x, w: loop(x, lambda v: unused(tf.sin(v), tf.sin(w))))(x, w),
    "loop_in_branch": lambda x, w, b: tf.cond(
        b, lambda: loop(x, lambda v: unused(tf.sin(v), tf.sin(w))), lambda: tf.sin(x)),
    "loop_before_stop": lambda x, w, _: x + tf.stop_gradient(loop(x, lambda v: tf.sin(v) * w)),
    "loop_before_zeros": lambda x, w, _: x + tf.zeros_like(loop(x, lambda v: tf.sin(v) * w)),
    "loop_before_integers": lambda x, w, _: x + tf.cast(tf.cast(loop(x, lambda v: v * w), tf.int32), tf.float64),
    "behind_loop": lambda x, w, _: loop(x, lambda v: unused(tf.sin(v), tf.sin(w * 2))),
    "index_of_call": lambda x, w, _: x * tf.gather(x, function(lambda w: (tf.cast(w[0], tf.int32), w * 2))(w)[0]),
    "predicate_of_call": lambda x, w, _: tf.cond(
        function(lambda w: (w[0] > 0, w * 2))(w)[0], lambda: tf.sin(x), lambda: x * 2),
    "flag_in_loop": lambda x, w, _: tf.while_loop(
        lambda i, v, c: tf.logical_and(i < 3, c), lambda i, v, c: (i + 1, tf.sin(v), c),
        [tf.constant(0), x, function(lambda w: (w[0] > 0, w * 2))(w)[0]])[1],
    "before_a_call": lambda x, w, _: function(lambda x, w: unused(tf.sin(x), w))(x, tf.sin(w)),
}


def write_connections():
    tf1.enable_control_flow_v2()
    with tf.Graph().as_default() as graph:
        x, w = (tf1.placeholder(tf.float64, [2], name=name) for name in ("x", "w"))
        b = tf1.placeholder(tf.bool, [], name="b")
        results = [tf.identity(write(x, w, b), name=name) for name, write in CONNECTIONS.items()]
        written = graph.as_graph_def().SerializeToString()
        found = [tf.gradients(y, [x, w]) for y in results]
        asked = [{"ys": [f"{name}:0"], "xs": ["x:0", "w:0"], "prefix": f"g/{name}"} for name in CONNECTIONS]
        case = record_programs.Case("what is connected through calls, and what is not", 1e-9, 1e-11, asked)
        with tf1.Session(graph=graph) as session:
            for flag in (True, False):
                feeds = {"x:0": np.array([0.3, -0.7]), "w:0": np.array([0.4, 1.1]), "b:0": np.bool_(flag)}
                fetches = []
                for name, gradients in zip(CONNECTIONS, found):
                    values = iter(session.run([g for g in gradients if g is not None], feeds))
                    fetches += [[f"g/{name}/{k}", None if g is None else next(values)]
                                for k, g in enumerate(gradients)]
                case.add(feeds, fetches)
        case.write(os.path.join(golden_case.ROOT, "programs", "connections"), written)


def main():
    write_connections()
    args = argparse.Namespace(parts=7, feeds=3)
    for seed, name in PROGRAMS.items():
        frames = random.Random(seed).random() < 0.5
        record_programs.record(os.path.join(golden_case.ROOT, "programs", name), seed, frames, args)
