"""Prints the rows of tensorflow_numbers.h: what real TensorFlow 2.19 gives, on one thread. Development only."""

import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import tensorflow as tf

tf1 = tf.compat.v1
ops = tf.raw_ops
SEED, SEED2 = 87654321, -12345
SIZES = (1, 2, 3, 4, 5, 63, 64, 65, 1001)
FLOATS = (tf.float32, tf.float64, tf.float16, tf.bfloat16)
NARROW = FLOATS[:3]
INTS = (tf.int32, tf.int64)
NAMES = {tf.float32: "kFloat", tf.float64: "kDouble", tf.float16: "kHalf", tf.bfloat16: "kBFloat16",
         tf.int32: "kInt32", tf.int64: "kInt64", tf.uint32: "kUInt32", tf.uint64: "kUInt64"}


def fnv(data):
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return value


def row(op, dtype, of, size, build):
    """`of`: the dtype of the parameters. Two runs of one session."""
    config = tf1.ConfigProto(intra_op_parallelism_threads=1)
    with tf.Graph().as_default(), tf1.Session(config=config) as session:
        out = build()
        hashes = [fnv(np.asarray(session.run(out)).tobytes()) for _ in range(2)]
    print('    {"%s", DType::%s, DType::%s, %d, {0x%x, 0x%x}},' % (op, NAMES[dtype], NAMES[of], size, *hashes))


def seeded(op, size, **inputs):
    return lambda: getattr(ops, op)(shape=[size], seed=SEED, seed2=SEED2, **inputs)


def stateless(op, size, dtype, **inputs):
    return lambda: getattr(ops, op)(shape=[size], seed=np.int64([SEED, SEED2]), dtype=dtype, **inputs)


def bounds(dtype):
    return {"minval": tf.constant(-1000, dtype), "maxval": tf.constant(2**31 - 5, dtype)}


def numbers():
    for op in ("RandomUniform", "RandomStandardNormal", "TruncatedNormal"):
        for dtype in FLOATS:
            for size in SIZES:
                row(op, dtype, dtype, size, seeded(op, size, dtype=dtype))
    for dtype in INTS:
        for size in SIZES:
            row("RandomUniformInt", dtype, dtype, size, lambda: ops.RandomUniformInt(
                shape=[size], seed=SEED, seed2=SEED2, **bounds(dtype)))
    for op in ("StatelessRandomUniform", "StatelessRandomNormal", "StatelessTruncatedNormal"):
        for dtype in FLOATS:
            row(op, dtype, dtype, 65, stateless(op, 65, dtype))
    for dtype in (tf.int32, tf.int64, tf.uint32, tf.uint64):
        row("StatelessRandomUniformFullInt", dtype, dtype, 65, stateless("StatelessRandomUniformFullInt", 65, dtype))
    for dtype in INTS:
        row("StatelessRandomUniformInt", dtype, dtype, 65, lambda: ops.StatelessRandomUniformInt(
            shape=[65], seed=np.int64([SEED, SEED2]), **bounds(dtype)))


def parameters(of, *values):
    return [tf.cast(tf.constant(value, tf.float64), of) for value in values]


def samples(size):
    """[size, 4] of four parameters each."""
    seeds = {"seed": SEED, "seed2": SEED2}
    pair = np.int64([SEED, SEED2])
    for of in NARROW:
        alpha, = parameters(of, [0.3, 1, 2.5, 100])
        row("RandomGamma", of, of, size, lambda: ops.RandomGamma(shape=[size], alpha=alpha.numpy(), **seeds))
        row("StatelessRandomGammaV2", of, of, size, lambda: ops.StatelessRandomGammaV2(
            shape=[size, 4], seed=pair, alpha=alpha.numpy()))
        params = [p.numpy() for p in parameters(of, [0, 1, 5, 0], [1, 2, .5, 1], [-2, 1.5, 5.5, 2], [1, 3, 5.75, 40])]
        row("ParameterizedTruncatedNormal", of, of, size, lambda: ops.ParameterizedTruncatedNormal(
            shape=[4, size], means=params[0], stdevs=params[1], minvals=params[2], maxvals=params[3], **seeds))
        row("StatelessParameterizedTruncatedNormal", of, of, size, lambda: ops.StatelessParameterizedTruncatedNormal(
            shape=[size, 4], seed=pair, means=params[0], stddevs=params[1], minvals=params[2], maxvals=params[3]))
        for dtype in NARROW + INTS:
            counts, probs = (p.numpy() for p in parameters(of, [3, 20, 100, 1000], [.1, .5, .75, .9]))
            row("StatelessRandomBinomial", dtype, of, size, lambda: ops.StatelessRandomBinomial(
                shape=[size, 4], seed=pair, counts=counts, probs=probs, dtype=dtype))
    for of in NARROW + INTS:
        rate = parameters(of, [0.5, 5, 10, 1000])[0].numpy()
        for dtype in NARROW + INTS:
            row("RandomPoissonV2", dtype, of, size, lambda: ops.RandomPoissonV2(
                shape=[size], rate=rate, dtype=dtype, **seeds))
            row("StatelessRandomPoisson", dtype, of, size, lambda: ops.StatelessRandomPoisson(
                shape=[size, 4], seed=pair, lam=rate, dtype=dtype))
    for of in FLOATS:
        logits = tf.cast(np.arange(12).reshape(4, 3) % 5 * 0.5, of).numpy()
        for dtype in INTS:
            row("Multinomial", dtype, of, size, lambda: ops.Multinomial(
                logits=logits, num_samples=size, output_dtype=dtype, **seeds))
            row("StatelessMultinomial", dtype, of, size, lambda: ops.StatelessMultinomial(
                logits=logits, num_samples=size, seed=pair, output_dtype=dtype))


print("constexpr RecordedNumbers kNumbers[] = {")
numbers()
print("};\n\nconstexpr RecordedNumbers kSamples[] = {")
samples(67)
samples(2)
print("};")
