"""Checkpoints written by TensorFlow 2.19 and read by Sluice, and the reverse, of random tensors. Development only.

Usage: exchange_checkpoints.py SLUICE [CASES [SEED]]   SLUICE: the program
Says how many tensors went each way; exits with 1 where one came back different.
"""

import os
import random
import shutil
import subprocess
import sys
import tempfile

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"

import numpy as np
import tensorflow as tf

tf1 = tf.compat.v1
ops = tf.raw_ops
FIRST_FORM = [tf.float32, tf.float64, tf.half, tf.int8, tf.uint8, tf.int16, tf.uint16, tf.int32, tf.int64, tf.bool,
              tf.complex64, tf.complex128, tf.string]
DTYPES = FIRST_FORM + [tf.bfloat16, tf.uint32, tf.uint64]


def a_value(dtype):
    shape = [random.choice([0, 1, 1, 2, 3, 5, 17, 300]) for _ in range(random.randrange(0, 4))]
    if dtype == tf.string:
        count = int(np.prod(shape, dtype=np.int64))
        texts = [os.urandom(random.choice([0, 1, 3, 40, 5000])) for _ in range(min(count, 4000))]
        return np.array([texts[i % len(texts)] for i in range(count)], object).reshape(shape) if count else np.zeros(
            shape, object)
    bits = np.frombuffer(os.urandom(int(np.prod(shape, dtype=np.int64)) * dtype.size), np.uint8)
    if dtype == tf.bool:
        bits = bits & 1
    if dtype == tf.complex64:  # tf.make_tensor_proto makes other NaNs of some, before anything is written.
        bits = np.nan_to_num(bits.view(np.float32)).view(np.uint8)
    return bits.view(dtype.as_numpy_dtype).reshape(shape)


def proto_file(value, dtype, path):
    with open(path, "wb") as file:
        file.write(tf.make_tensor_proto(value, dtype=dtype, shape=value.shape).SerializeToString())


def is_same(a, b):
    a, b = np.asarray(a), np.asarray(b)
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes() if a.dtype != object else (
        a.shape == b.shape and a.tolist() == b.tolist())


def a_slice(shape):
    """A partition of the tensor along one axis: the specs of its parts and their slices; whole now and then."""
    axes = [axis for axis, size in enumerate(shape) if size > 1]
    if not axes or 0 in shape or random.random() < 0.6:
        return None
    axis = random.choice(axes)
    cuts = sorted(random.sample(range(1, shape[axis]), min(random.randrange(1, 4), shape[axis] - 1)))
    bounds = list(zip([0] + cuts, cuts + [shape[axis]]))
    text = " ".join(map(str, shape))
    spec = lambda low, high: text + " " + ":".join(
        "%d,%d" % (low, high - low) if i == axis else "-" for i in range(len(shape)))
    index = lambda low, high: tuple(slice(low, high) if i == axis else slice(None) for i in range(len(shape)))
    return [(spec(*b), index(*b)) for b in bounds]


class Exchange:
    def __init__(self, program, folder):
        self.program = os.path.abspath(program)
        self.folder = folder
        self.differences = 0

    def sluice(self, graph, arguments):
        with open(os.path.join(self.folder, "graph.pb"), "wb") as file:
            file.write(graph.as_graph_def().SerializeToString())
        done = subprocess.run([self.program, "run", "graph.pb"] + arguments, cwd=self.folder, capture_output=True,
                              text=True)
        if done.returncode:
            self.report("sluice failed: " + done.stderr)
        return done.returncode == 0

    def report(self, what):
        self.differences += 1
        print(what)

    def compare(self, name, value, path, dtype):
        proto = tf.make_tensor_proto(0)
        with open(os.path.join(self.folder, path), "rb") as file:
            proto.ParseFromString(file.read())
        if not is_same(tf.make_ndarray(proto), value):
            self.report("%s of %s%s came back different" % (name, dtype.name, value.shape))

    def entries(self, form):
        """Names, specs, parts and whole values of a random checkpoint."""
        rows, wholes = [], {}
        for i in range(random.randrange(1, 9)):
            dtype = random.choice(FIRST_FORM if form == 1 else DTYPES)
            value, name = a_value(dtype), "v%d/%s" % (i, random.choice(["a", "é", "x" * 200]))
            parts = a_slice(value.shape) if dtype != tf.string else None
            wholes[name] = (value, dtype)
            rows += [(name, spec, value[index], dtype) for spec, index in parts or [("", Ellipsis)]]
        return rows, wholes

    def run_case(self, form, writer):
        rows, wholes = self.entries(form)
        prefix = os.path.join(self.folder, "ckpt")
        write, read = tf.Graph(), tf.Graph()
        with write.as_default():
            inputs = [tf1.placeholder(row[3], row[2].shape, name="t%d" % i) for i, row in enumerate(rows)]
            names, specs = [row[0] for row in rows], [row[1] for row in rows]
            if form == 1:
                op = ops.SaveSlices(filename=prefix, tensor_names=names, shapes_and_slices=specs, data=inputs)
            else:
                op = ops.SaveV2(prefix=prefix, tensor_names=names, shape_and_slices=specs, tensors=inputs)
        with read.as_default():
            for i, (name, (value, dtype)) in enumerate(wholes.items()):
                tf.identity(ops.RestoreV2(prefix=prefix, tensor_names=[name], shape_and_slices=[""], dtypes=[dtype])[0],
                            name="r%d" % i)
        if writer == "TensorFlow":
            with tf1.Session(graph=write) as session:
                session.run(op, dict(zip(inputs, (row[2] for row in rows))))
            saves = [text for i in range(len(wholes)) for text in ("--save", "r%d=r%d.pb" % (i, i))]
            if self.sluice(read, saves):
                for i, (name, (value, dtype)) in enumerate(wholes.items()):
                    self.compare(name, value, "r%d.pb" % i, dtype)
            return len(wholes)
        feeds = []
        for i, (_, _, value, dtype) in enumerate(rows):
            proto_file(value, dtype, os.path.join(self.folder, "t%d.pb" % i))
            feeds += ["--feed", "t%d=@t%d.pb" % (i, i)]
        if self.sluice(write, feeds + ["--target", op.name]):
            with tf1.Session(graph=read) as session:
                for i, (name, (value, dtype)) in enumerate(wholes.items()):
                    try:
                        read_back = session.run("r%d:0" % i)
                    except tf.errors.InvalidArgumentError as error:
                        if "not supported" not in str(error):
                            raise
                        continue  # TensorFlow writes types that it does not read.
                    if not is_same(np.array(read_back, object) if dtype == tf.string else read_back, value):
                        self.report("form %d: " % form +
                                    "%s of %s%s was written different" % (name, dtype.name, value.shape))
        return len(wholes)


def main(program, cases="40", seed="1"):
    random.seed(int(seed))
    totals = {}
    folder = tempfile.mkdtemp()
    exchange = Exchange(program, folder)
    for _ in range(int(cases)):
        for form in (1, 2):
            for writer in ("TensorFlow", "Sluice"):
                for name in os.listdir(folder):
                    os.remove(os.path.join(folder, name))
                key = "form %d, written by %s" % (form, writer)
                totals[key] = totals.get(key, 0) + exchange.run_case(form, writer)
    shutil.rmtree(folder)
    for key, count in totals.items():
        print(key + ":", count, "tensors")
    print(exchange.differences, "differences")
    return 1 if exchange.differences else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
