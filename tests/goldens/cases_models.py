"""SavedModels, other file forms of a graph, and what a loader must find in a file."""

import collections
import os
import shutil
import tempfile

import numpy as np
import tensorflow as tf
from google.protobuf import text_format

from golden_case import Case, tf1

random = np.random.RandomState(12)


def f32(*shape):
    return np.round(random.uniform(-1, 1, shape), 3).astype(np.float32)


def inspect_of(graph_def):
    """What a loader must report about `graph_def`."""
    count = lambda nodes: dict(sorted(collections.Counter(node.op for node in nodes).items()))
    found = {"nodes": len(graph_def.node), "functions": len(graph_def.library.function)}
    found["op_types"] = count(graph_def.node)
    if graph_def.library.function:
        found["function_op_types"] = count([n for f in graph_def.library.function for n in f.node_def])
    return found


class Scorer(tf.Module):
    """A model with variables, a table of words from an asset, and two entry points."""

    def __init__(self, folder):
        super().__init__()
        words = os.path.join(folder, "words.txt")
        with open(words, "w", encoding="ascii") as file:
            file.write("good\nbad\nfine\n")
        self.words = tf.saved_model.Asset(words)
        self.table = tf.lookup.StaticHashTable(
            tf.lookup.TextFileInitializer(self.words, tf.string, tf.lookup.TextFileIndex.WHOLE_LINE, tf.int64,
                                          tf.lookup.TextFileIndex.LINE_NUMBER), -1)
        self.weights = tf.Variable(f32(4), name="weights")
        self.calls = tf.Variable(0, name="calls", dtype=tf.int32)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="text")])
    def score(self, text):
        index = self.table.lookup(text)
        self.calls.assign_add(1)
        return {"score": tf.gather(self.weights, index + 1), "index": index}

    @tf.function(input_signature=[])
    def count(self):
        return {"calls": self.calls.read_value()}


def saved_models(folder):
    model = Scorer(folder)
    target = os.path.join(folder, "scorer")
    tf.saved_model.save(model, target, signatures={"serving_default": model.score, "count": model.count})
    Case("saved_model/variables_table_and_asset", "a TF2 SavedModel with variables, a table and an asset",
         saved_model=target, signature="serving_default",
         needs=["saved_model", "function", "resource_variable", "table", "string", "checkpoint"]).run(
             ["score", "index"], {"text": np.array([b"fine", b"unknown", b"good"], object)}).run(
                 ["score"], {"text": np.array([b"bad"], object)}).write()

    graph = tf.Graph()
    target = os.path.join(folder, "affine")
    with graph.as_default(), tf1.Session() as session:
        x = tf1.placeholder(tf.float32, [None, 3], name="x")
        w = tf1.get_variable("w", initializer=f32(3, 2), use_resource=False)
        y = tf.add(tf.matmul(x, w), [1.0, -1.0], name="y")
        session.run(tf1.global_variables_initializer())
        tf1.saved_model.simple_save(session, target, {"x": x}, {"y": y})
    Case("saved_model/version_1", "a TF1 SavedModel with a reference variable", saved_model=target,
         signature="serving_default", needs=["saved_model", "ref_variable", "checkpoint"]).run(
             ["y"], {"x": f32(4, 3)}).run(["y:0"], {"x:0": f32(1, 3)}).write()


def small_graph():
    graph = tf.Graph()
    with graph.as_default():
        x = tf1.placeholder(tf.float32, [2], name="x")
        tf.add(tf.nn.relu(x, name="positive"), [0.25, -0.0], name="y")
        tf.constant([b"caf\xc3\xa9 \"quoted\"\n", b"\x00\xff"], name="texts")
    return graph


def formats():
    graph = small_graph()
    feed = {"x": np.float32([-1, 2])}
    text = text_format.MessageToString(graph.as_graph_def(), as_utf8=False).encode()
    recorded = Case("formats/text", "a graph in text form, with comments and escapes", graph, graph_file="graph.pbtxt",
                    format="graphdef_text")
    recorded.set_file("graph.pbtxt", b"# A comment.\n" + text)
    recorded.run(["y", "texts"], feed).write()

    with graph.as_default():
        meta = tf1.train.export_meta_graph(graph=graph, clear_devices=True, strip_default_attrs=True)
    recorded = Case("formats/meta_graph", "a graph inside a meta graph", graph, graph_file="graph.meta",
                    format="meta_graph")
    recorded.set_file("graph.meta", meta.SerializeToString(deterministic=True))
    recorded.run(["y"], feed).write()

    stripped = graph.as_graph_def()
    for node in stripped.node:
        for attr in ("shape", "_output_shapes"):
            node.attr.pop(attr, None)
    Case("formats/without_default_attrs", "attrs that equal their defaults are left out", stripped).run(
        ["y"], feed).write()

    shuffled = graph.as_graph_def()
    nodes = list(shuffled.node)[::-1]
    del shuffled.node[:]
    shuffled.node.extend(nodes)
    Case("formats/nodes_in_reverse", "consumers stand before what they consume", shuffled).run(["y"], feed).write()


def inspections():
    @tf.function
    def clipped(x):
        return tf.clip_by_value(x, -1.0, 1.0)

    graph = tf.Graph()
    with graph.as_default():
        x = tf1.placeholder(tf.float32, [None], name="x")
        tf.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, clipped(v * 2)), (0, x), name="loop")
    with_functions = graph.as_graph_def()
    Case("inspect/functions", "a graph with functions is loaded and counted", with_functions,
         needs=["function"], inspect=inspect_of(with_functions)).write()

    wide = tf.Graph()
    with wide.as_default():
        parts = [tf.constant(float(i), name="scope_%d/part" % (i % 7)) for i in range(200)]
        tf.add_n(parts, name="sum")
    wide_def = wide.as_graph_def()
    Case("inspect/two_hundred_constants", "many nodes in several name scopes", wide_def,
         inspect=inspect_of(wide_def)).write()

    text = small_graph().as_graph_def()
    recorded = Case("inspect/text", "a text file is counted like a binary one", text, graph_file="graph.pbtxt",
                    format="graphdef_text", inspect=inspect_of(text))
    recorded.set_file("graph.pbtxt", text_format.MessageToString(text).encode())
    recorded.write()


def main():
    tf1.enable_control_flow_v2()
    folder = tempfile.mkdtemp()
    try:
        formats()
        inspections()
        tf1.reset_default_graph()
        saved_models(folder)
    finally:
        shutil.rmtree(folder)
