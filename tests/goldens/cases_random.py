"""Random numbers: what the runs of a session, and two signatures of it, get. See kernels/random."""

import numpy as np
import tensorflow as tf

from cases_graphs import build, named
from golden_case import Case

ops = tf.raw_ops
SEEDS = {"seed": 7, "seed2": 9}


def record(path, about, function, runs):
    """One session: `runs` are lists of fetches, one run each. Last bits are those of the C library's logarithms."""
    case = Case(path, about, build(function), needs=["random"], rtol=1e-6, atol=0.0)
    for fetches in runs:
        case.run(fetches)
    case.write()


def sequences():
    def numbers():
        uniform = ops.RandomUniform(shape=[3], dtype=tf.float32, **SEEDS)
        named(uniform=uniform, normal=ops.RandomStandardNormal(shape=[5], dtype=tf.float64, **SEEDS),
              truncated=ops.TruncatedNormal(shape=[2, 3], dtype=tf.float16, **SEEDS),
              integers=ops.RandomUniformInt(shape=[7], minval=np.int64(-5), maxval=np.int64(100), **SEEDS),
              negative=-uniform)

    all_of = ["uniform", "normal", "truncated", "integers"]
    record("random/sequences", "runs and signatures of a session continue the sequence of a node", numbers,
           [all_of, ["negative"], all_of, ["uniform", "negative"], ["integers"]])

    def samples():
        named(gamma=ops.RandomGamma(shape=[3], alpha=np.float32([0.4, 1, 7]), **SEEDS),
              poisson=ops.RandomPoissonV2(shape=[5], rate=np.float32([0.5, 40]), dtype=tf.int32, **SEEDS),
              classes=ops.Multinomial(logits=np.float32([[0, 1, 2], [3, 0, 0]]), num_samples=5, **SEEDS),
              bounded=ops.ParameterizedTruncatedNormal(shape=[2, 5], means=np.float64([0, 9]),
                                                       stdevs=np.float64([1, 2]), minvals=np.float64([-1, 10]),
                                                       maxvals=np.float64([1, 30]), **SEEDS),
              rows=ops.RandomShuffle(value=np.arange(12).reshape(6, 2), **SEEDS),
              words=ops.RandomShuffle(value=["a", "b", "c", "d"], **SEEDS))

    fetches = ["gamma", "poisson", "classes", "bounded", "rows", "words"]
    record("random/samples", "rejection samplers and shuffles, call after call", samples, [fetches, fetches])


def stateless():
    def numbers():
        key = ops.StatelessRandomGetKeyCounter(seed=[5, -6])
        by_key = {"key": key.key, "counter": key.counter, "alg": 1}
        by_seed = {"seed": [5, -6]}
        named(uniform=ops.StatelessRandomUniform(shape=[5], dtype=tf.float32, **by_seed),
              uniform_by_key=ops.StatelessRandomUniformV2(shape=[5], dtype=tf.float32, **by_key),
              normal=ops.StatelessRandomNormalV2(shape=[3], dtype=tf.float64, **by_key),
              bits=ops.StatelessRandomUniformFullIntV2(shape=[3], dtype=tf.uint64, **by_key),
              gamma=ops.StatelessRandomGammaV3(shape=[4, 2], alpha=np.float64([0.5, 3]), **by_key),
              poisson=ops.StatelessRandomPoisson(shape=[4], lam=np.float32(12), dtype=tf.int64, **by_seed),
              binomial=ops.StatelessRandomBinomial(shape=[4, 2], counts=np.float64([9, 90]), probs=np.float64(0.4),
                                                   dtype=tf.int64, **by_seed),
              order=ops.StatelessShuffle(value=np.arange(9), **by_key),
              place=ops.RandomIndexShuffle(index=np.arange(5), seed=np.int64([1, 2, 3]), max_index=np.int64(99)))

    fetches = ["uniform", "uniform_by_key", "normal", "bits", "gamma", "poisson", "binomial", "order", "place"]
    record("random/stateless", "seeds, keys and counters: the same in each run", numbers, [fetches, fetches])


def candidates():
    def samplers():
        true_classes = np.int64([[0], [3]])
        common = dict(true_classes=true_classes, num_true=1, num_sampled=4, **SEEDS)
        made = {
            "uniform": ops.UniformCandidateSampler(range_max=50, unique=True, **common),
            "log": ops.LogUniformCandidateSampler(range_max=50, unique=True, **common),
            "learned": ops.LearnedUnigramCandidateSampler(range_max=6, unique=False, **common),
            "fixed": ops.FixedUnigramCandidateSampler(range_max=5, unigrams=[1, 9, 3, 4, 2], unique=True,
                                                      distortion=0.75, **common),
        }
        named(**{name + "_" + part: getattr(sampler, field) for name, sampler in made.items()
                 for part, field in (("classes", "sampled_candidates"), ("true", "true_expected_count"),
                                     ("counts", "sampled_expected_count"))})

    fetches = [name + "_" + part for name in ("uniform", "log", "learned", "fixed")
               for part in ("classes", "true", "counts")]
    record("random/candidates", "candidate samplers; the learned one remembers", samplers, [fetches] * 3)


def main():
    sequences()
    stateless()
    candidates()
