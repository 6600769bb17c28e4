#!/usr/bin/env python3
"""Writes tests/executor/gradients/train_numbers.cc: what real TensorFlow's optimizers, schedules and loss scales make of
small problems, step by step. Run it where TensorFlow 2.19 is, then clang-format on what it wrote:

  python tests/goldens/train_numbers.py > tests/executor/gradients/train_numbers.cc

All problems train w (below: START, or ROWS for sparse gradients) on the loss sum(w * g), so that g is the gradient; the
g of each step are GRADIENTS. The tests (train_options_test.cc, train_edges_test.cc) feed the same."""
import sys

import numpy as np
import tensorflow as tf
from tensorflow.python.keras.optimizer_v2 import adamax as legacy_adamax

v1 = tf.compat.v1
START = np.array([[1, -2], [0.5, 3]], np.float32)
ROWS = np.array([[1, -2], [0.5, 3], [-1, 0.25]], np.float32)
GRADIENTS = [np.array(g, np.float32) for g in (
    [[0.5, -1], [2, 0.25]], [[1, 1], [-0.5, 0.125]], [[-3, 0.5], [1, 4]],
    [[0.25, 0.75], [0.5, -1]], [[2, -2], [1, 0.5]], [[0.1, 0.2], [0.3, -0.4]])]
# Of sparse problems: the rows that each step looks up, one of them twice, with gradients of three rows.
LOOKUPS = [[0, 2, 0], [1, 1, 2], [0, 0, 0], [2, 0, 1], [0, 2, 2], [2, 0, 0]]
ROW_GRADIENTS = [np.vstack([g, g[:1] * np.float32(0.5)]) for g in GRADIENTS]

numbers = {}


def record(name, values):
  numbers[name] = [float(x) for x in np.concatenate([np.asarray(v, np.float64).reshape(-1) for v in values])]


def run_v1(make, dtype=tf.float32, sparse=False, loss_of=None, steps=6, gradients=None, fetch=(), also=None):
  """w after each step of the optimizer that make(global_step) gives; `fetch`: names of more tensors."""
  with tf.Graph().as_default(), v1.Session() as session:
    w = v1.get_variable('w', initializer=tf.constant(ROWS if sparse else START, dtype), use_resource=True)
    g = v1.placeholder(dtype, [None, 2])
    ids = v1.placeholder(tf.int32, [3])
    step = v1.train.get_or_create_global_step()
    loss = tf.reduce_sum((tf.gather(w, ids) if sparse else w) * g)
    if loss_of is not None: loss = loss_of(loss, w)
    train = make(step).minimize(loss, global_step=step)
    session.run(v1.global_variables_initializer())
    seen = []
    for i in range(steps):
      given = (ROW_GRADIENTS if sparse else (gradients or GRADIENTS))[i]
      session.run(train, {g: given, ids: LOOKUPS[i]})
      seen.append(session.run(w))
      for name in fetch: seen.append([session.run(name)])
    if also is not None: also([v.op.name + ' ' + v.dtype.base_dtype.name for v in v1.global_variables()])
    return seen


def run_keras(optimizer, two=False, steps=6):
  """w after each step; `two`: of a second variable too, which begins with zeros and has thrice the gradient."""
  w = tf.Variable(START, name='w')
  b = tf.Variable(np.zeros_like(START), name='b')
  seen = []
  for i in range(steps):
    pairs = [(tf.constant(GRADIENTS[i]), w)] + ([(tf.constant(3 * GRADIENTS[i]), b)] if two else [])
    optimizer.apply_gradients(pairs)
    seen.append(w.numpy())
    if two: seen.append(b.numpy())
  return seen


def dense_optimizers():
  k = tf.keras.optimizers
  record('adamax', run_keras(k.Adamax(0.1, epsilon=0.001)))
  record('adamw', run_keras(k.AdamW(0.1, weight_decay=0.2, epsilon=0.001)))
  record('clip_value', run_keras(k.SGD(0.1, clipvalue=0.4), two=True))
  record('clip_each_norm', run_keras(k.SGD(0.1, clipnorm=2.0), two=True))
  record('clip_norm', run_keras(k.SGD(0.1, global_clipnorm=4.0), two=True))
  record('weight_decay', run_keras(k.SGD(0.1, momentum=0.9, weight_decay=0.3)))
  record('accumulate_momentum', run_keras(k.SGD(0.1, momentum=0.9, gradient_accumulation_steps=2)))
  record('accumulate_adam', run_keras(k.Adam(0.1, epsilon=0.001, gradient_accumulation_steps=3, clipvalue=0.4)))
  record('l2', run_v1(lambda s: v1.train.MomentumOptimizer(0.1, 0.9),
                      loss_of=lambda loss, w: loss + 0.2 * tf.nn.l2_loss(w)))
  record('l2_clipped', run_v1(lambda s: ClippedSgd(0.1), loss_of=lambda loss, w: loss + 0.2 * tf.nn.l2_loss(w)))


class ClippedSgd(v1.train.GradientDescentOptimizer):

  def apply_gradients(self, pairs, global_step=None, name=None):
    return super().apply_gradients([(tf.clip_by_norm(g, 1.5), w) for g, w in pairs], global_step, name)


def types():
  for dtype in (tf.float16, tf.bfloat16, tf.float64):
    for name, make in (
        ('sgd', lambda s: v1.train.GradientDescentOptimizer(0.1)),
        ('momentum', lambda s: v1.train.MomentumOptimizer(0.1, 0.9)),
        ('adagrad', lambda s: v1.train.AdagradOptimizer(0.1)),
        ('adadelta', lambda s: v1.train.AdadeltaOptimizer(0.1, epsilon=0.01)),
        ('adam', lambda s: v1.train.AdamOptimizer(0.1, epsilon=0.001)),
        ('rmsprop', lambda s: v1.train.RMSPropOptimizer(0.1, momentum=0.5, epsilon=0.01)),
        ('ftrl', lambda s: v1.train.FtrlOptimizer(0.1, l1_regularization_strength=0.1))):
      record('%s_%s' % (name, dtype.name), run_v1(make, dtype, steps=3)[-1:])


def rows_by_hand(apply, runs=6):
  """w after each step of `apply`, which gets the variable, indices without repetitions, and their sums."""
  w = tf.Variable(ROWS)
  seen = []
  for i in range(runs):
    ids, at = tf.unique(tf.constant(LOOKUPS[i]))
    apply(w, ids, tf.math.unsorted_segment_sum(ROW_GRADIENTS[i], at, tf.size(ids)), i + 1)
    seen.append(w.numpy())
  return seen


def lazy_adam():
  """The formulas of LazyAdam (TensorFlow Addons), on TensorFlow's ops."""
  m, v = tf.Variable(np.zeros_like(ROWS)), tf.Variable(np.zeros_like(ROWS))

  def apply(w, ids, g, t):
    b1, b2 = np.float32(0.9), np.float32(0.999)
    rate = 0.1 * tf.sqrt(1 - b2**np.float32(t)) / (1 - b1**np.float32(t))
    new_m, new_v = b1 * tf.gather(m, ids) + (1 - b1) * g, b2 * tf.gather(v, ids) + (1 - b2) * g * g
    m.scatter_update(tf.IndexedSlices(new_m, ids))
    v.scatter_update(tf.IndexedSlices(new_v, ids))
    w.scatter_sub(tf.IndexedSlices(rate * new_m / (tf.sqrt(new_v) + 0.001), ids))

  return rows_by_hand(apply)


def lazy_adamax():
  optimizer = legacy_adamax.Adamax(0.1, epsilon=0.001)
  return rows_by_hand(lambda w, ids, g, t: optimizer.apply_gradients([(tf.IndexedSlices(g, ids, w.shape), w)]))


def accumulated_rows(make):
  """Two sparse gradients at a time, added up and halved, for an optimizer of v1."""
  with tf.Graph().as_default(), v1.Session() as session:
    w = v1.get_variable('w', initializer=ROWS, use_resource=True)
    g, ids = v1.placeholder(tf.float32, [None, 2]), v1.placeholder(tf.int32, [None])
    train = make().apply_gradients([(tf.IndexedSlices(g / 2, ids, tf.constant([3, 2])), w)])
    session.run(v1.global_variables_initializer())
    seen = []
    for i in range(0, 6, 2):
      given = {g: np.vstack(ROW_GRADIENTS[i:i + 2]), ids: LOOKUPS[i] + LOOKUPS[i + 1]}
      session.run(train, given)
      seen.append(session.run(w))
    return seen


def sparse_optimizers():
  record('sparse_adam', run_v1(lambda s: v1.train.AdamOptimizer(0.1, epsilon=0.001), sparse=True))
  record('sparse_momentum', run_v1(lambda s: v1.train.MomentumOptimizer(0.1, 0.9), sparse=True))
  record('sparse_sgd', run_v1(lambda s: v1.train.GradientDescentOptimizer(0.1), sparse=True))
  record('sparse_l2', run_v1(lambda s: v1.train.MomentumOptimizer(0.1, 0.9), sparse=True,
                             loss_of=lambda loss, w: loss + 0.2 * tf.nn.l2_loss(w)))
  record('lazy_adam', lazy_adam())
  record('lazy_adamax', lazy_adamax())
  dense = v1.train.MomentumOptimizer(0.1, 0.9)
  record('exact_momentum', rows_by_hand(lambda w, ids, g, t: dense.apply_gradients(
      [(tf.math.unsorted_segment_sum(g, ids, 3), w)])))
  record('accumulate_rows_momentum', accumulated_rows(lambda: v1.train.MomentumOptimizer(0.1, 0.9)))
  record('accumulate_rows_adam', accumulated_rows(lambda: v1.train.AdamOptimizer(0.1, epsilon=0.001)))


def schedules():
  t = v1.train
  made = {
      'piecewise': lambda s: t.piecewise_constant(s, [3, 7], [1.0, 0.5, 0.1]),
      'exponential': lambda s: t.exponential_decay(0.5, s, 4, 0.9),
      'staircase': lambda s: t.exponential_decay(0.5, s, 4, 0.9, staircase=True),
      'polynomial': lambda s: t.polynomial_decay(0.5, s, 5, 0.01, power=2.0),
      'polynomial_cycle': lambda s: t.polynomial_decay(0.5, s, 5, 0.01, power=0.5, cycle=True),
      'cosine': lambda s: t.cosine_decay(0.5, s, 8, alpha=0.1),
      'restarts': lambda s: t.cosine_decay_restarts(0.5, s, 3, t_mul=2.0, m_mul=0.8, alpha=0.1),
      'restarts_even': lambda s: t.cosine_decay_restarts(0.5, s, 3, t_mul=1.0, m_mul=0.8),
      'warm_cosine': lambda s: tf.keras.optimizers.schedules.CosineDecay(
          0.05, 6, alpha=0.1, warmup_target=0.5, warmup_steps=4)(s),
  }
  for name, make in made.items():
    with tf.Graph().as_default(), v1.Session() as session:
      step = v1.placeholder(tf.int64, [])
      rate = make(step)
      rate = rate() if callable(rate) else rate
      record('rate_' + name, [[session.run(rate, {step: s}) for s in range(13)]])


def loss_scales():
  scale = v1.train.experimental
  bad = [g.copy() for g in GRADIENTS]
  bad[1][0, 0] = np.inf
  bad[4][1, 1] = np.nan
  made = {}

  def dynamic(step):
    made['scale'] = scale.DynamicLossScale(initial_loss_scale=8, increment_period=2, multiplier=2)
    return v1.mixed_precision.MixedPrecisionLossScaleOptimizer(v1.train.MomentumOptimizer(0.1, 0.9), made['scale'])

  names = ['current_loss_scale/Read/ReadVariableOp:0', 'good_steps/Read/ReadVariableOp:0', 'global_step:0']
  try:
    record('dynamic_scale', run_v1(dynamic, gradients=bad, fetch=names[:2] + ['global_step/Read/ReadVariableOp:0']))
  except (KeyError, ValueError):
    record('dynamic_scale', run_v1(dynamic, gradients=bad, fetch=names))
  small = [g * np.float32(2**-22) for g in GRADIENTS]
  record('fixed_scale', run_v1(
      lambda s: v1.mixed_precision.MixedPrecisionLossScaleOptimizer(
          v1.train.AdamOptimizer(0.1, epsilon=2**-22), scale.FixedLossScale(1024)), gradients=small))


def names():
  for name, make in (('adam', lambda s: v1.train.AdamOptimizer()), ('centered', lambda s: v1.train.RMSPropOptimizer(
      0.1, centered=True))):
    run_v1(make, tf.float64, steps=1, also=lambda all: print('// %s of a double: %s' % (name, ', '.join(all)),
                                                             file=sys.stderr))


def main():
  dense_optimizers()
  sparse_optimizers()
  schedules()
  loss_scales()
  types()
  names()
  print('// Made by tests/goldens/train_numbers.py with TensorFlow %s. Not to be edited.\n' % tf.__version__)
  print('#include "tests/executor/gradients/train_numbers.h"\n\n#include <map>\n#include <string>\n')
  print('namespace sluice {\n\n// Kept whole: a table.\nconst std::vector<double>& TrainNumbers(absl::string_view name) {')
  print('  static const auto& all = *new std::map<std::string, std::vector<double>>{')
  for name, values in numbers.items():
    print('      {"%s", {%s}},' % (name, ', '.join('%.17g' % v if name.endswith('64') else '%.9g' % v for v in values)))
  print('  };\n  return all.at(std::string(name));\n}\n\n}  // namespace sluice')


main()
