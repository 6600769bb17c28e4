#!/usr/bin/env python3
"""Import of generated graphs (Const and AddV2 in turn): Sluice against TensorFlow's C API, interleaved in one run.

Needs a Python whose environment holds tensorflow-cpu (development only):

    bazel build //tests/bench:import_once
    python3 tools/bench/import_vs_tensorflow.py --tensorflow-python VENV/bin/python

Prints a table: nodes, milliseconds of each (median and minimum over the rounds), ratio of the medians, bytes a node.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

# Run by the Python that has TensorFlow: loads the library alone (no Python package of it), imports one file, prints JSON.
TF_CHILD = r'''
import ctypes, glob, json, os, sys, sysconfig, time
site = sysconfig.get_paths()["purelib"]
framework = glob.glob(os.path.join(site, "tensorflow", "libtensorflow_framework.so.2"))[0]
library = glob.glob(os.path.join(site, "tensorflow", "libtensorflow_cc.so.2"))[0]
ctypes.CDLL(framework, mode=ctypes.RTLD_GLOBAL)
tf = ctypes.CDLL(library, mode=ctypes.RTLD_GLOBAL)
class Buffer(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("length", ctypes.c_size_t), ("deallocator", ctypes.c_void_p)]
for name in ("TF_NewStatus", "TF_NewGraph", "TF_NewImportGraphDefOptions"):
    getattr(tf, name).restype = ctypes.c_void_p
tf.TF_GetCode.argtypes = [ctypes.c_void_p]
tf.TF_GraphImportGraphDef.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
def rss():
    return [int(l.split()[1]) * 1024 for l in open("/proc/self/status") if l.startswith("VmRSS")][0]
def load(data):
    status, graph, options = tf.TF_NewStatus(), tf.TF_NewGraph(), tf.TF_NewImportGraphDefOptions()
    buffer = Buffer(ctypes.cast(ctypes.c_char_p(data), ctypes.c_void_p), len(data), None)
    start = time.perf_counter()
    tf.TF_GraphImportGraphDef(graph, ctypes.addressof(buffer), options, status)
    took = time.perf_counter() - start
    assert tf.TF_GetCode(status) == 0, "TensorFlow refused the graph"
    return took
load(open(sys.argv[2], "rb").read())  # A small graph first: the op registry is built before the clock starts.
data = open(sys.argv[1], "rb").read()
before = rss()
took = load(data)
print(json.dumps({"import_ms": took * 1e3, "rss_bytes": rss() - before}))
'''


def varint(value):
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def field(number, payload):
    return varint(number << 3 | 2) + varint(len(payload)) + payload


def chain(nodes):
    """The graph of tests/testing/chain_graph.h."""
    type_attr = lambda name: field(5, field(1, name) + field(2, b"\x30\x01"))
    tensor = b"\x08\x01\x12\x00" + field(5, b"\x00\x00\xc0\x3f")
    value = field(5, field(1, b"value") + field(2, field(8, tensor)))
    parts = []
    for i in range(nodes):
        node = field(1, b"n%d" % i)
        if i % 2 == 0:
            node += field(2, b"Const") + type_attr(b"dtype") + value
        else:
            before = i - 1 if i < 2 else i - 2
            node += field(2, b"AddV2") + field(3, b"n%d" % (i - 1)) + field(3, b"n%d" % before) + type_attr(b"T")
        parts.append(field(1, node))
    parts.append(field(4, b"\x08" + varint(1882)))
    return b"".join(parts)


def run(command):
    done = subprocess.run(command, check=True, capture_output=True, text=True,
                          env=dict(os.environ, TF_CPP_MIN_LOG_LEVEL="3"))
    return json.loads(done.stdout.strip().splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tensorflow-python", default=sys.executable, help="a Python with tensorflow-cpu")
    parser.add_argument("--import-once", default="bazel-bin/tests/bench/import_once", help="our binary")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of A, B for each size")
    parser.add_argument("--nodes", type=int, nargs="+", default=[1000, 10000, 100000, 1000000])
    args = parser.parse_args()
    print("   nodes   sluice ms (min)   tensorflow ms (min)   ratio   sluice B/node   tensorflow B/node")
    with tempfile.TemporaryDirectory() as folder:
        small = os.path.join(folder, "small.pb")
        with open(small, "wb") as out:
            out.write(chain(4))
        for nodes in args.nodes:
            path = os.path.join(folder, "graph.pb")
            with open(path, "wb") as out:
                out.write(chain(nodes))
            rounds = args.rounds if nodes <= 100000 else min(args.rounds, 3)
            ours, theirs = [], []
            for _ in range(rounds):
                ours.append(run([args.import_once, path]))
                theirs.append(run([args.tensorflow_python, "-c", TF_CHILD, path, small]))
            a = [r["import_ms"] for r in ours]
            b = [r["import_ms"] for r in theirs]
            print("%8d   %9.2f (%.2f)   %11.2f (%.2f)   %5.1f   %13.0f   %17.0f" % (
                nodes, statistics.median(a), min(a), statistics.median(b), min(b),
                statistics.median(b) / statistics.median(a), ours[-1]["graph_bytes"] / nodes,
                theirs[-1]["rss_bytes"] / nodes), flush=True)


if __name__ == "__main__":
    main()
