"""Random programs of float64 for gradients: conditionals, Case, loops, functions, TensorArrays, all in each other.

A program is written into the current TensorFlow graph by a seed. It reads two vectors (x0, x1), maybe a variable, and
what decides its way: n (rounds of loops), i (which branch), b (a bool). record_programs.py makes cases of programs.
"""

import random

import tensorflow as tf
from tensorflow.python.framework import ops
from tensorflow.python.ops import cond_v2

tf1 = tf.compat.v1
SIZE = 2  # Elements of every float.


class Env:
    """What the place that is being written can read."""

    def __init__(self, floats, ints):
        self.floats, self.ints = list(floats), list(ints)

    def inner(self, floats=(), ints=()):
        return Env(self.floats + list(floats), self.ints + list(ints))


class Program:
    """Writes one program; see build()."""

    def __init__(self, seed, frames, max_parts):
        self.rng = random.Random(seed)
        self.frames = frames  # Control flow as Switch, Merge and frames, not as If, Case and While.
        self.parts = self.rng.randint(1, max_parts)  # Conditionals, loops, calls still to write.
        self.has_variable = self.rng.random() < 0.4
        self.known_shapes = self.rng.random() < 0.7
        self.in_function = False
        self.variable = None

    def build(self):
        """Returns y; the placeholders are x0, x1, n, i, b."""
        shape = [SIZE] if self.known_shapes else None
        xs = [tf1.placeholder(tf.float64, shape, name=f"x{k}") for k in range(2)]
        ints = [tf1.placeholder(tf.int32, [], name=name) for name in ("n", "i")]
        self.flag = tf1.placeholder(tf.bool, [], name="b")
        if self.has_variable:
            self.variable = tf1.get_variable("v", [SIZE], tf.float64, tf1.zeros_initializer(), use_resource=True)
            assigned = tf1.placeholder(tf.float64, [SIZE], name="v_in")
            with tf.control_dependencies([self.variable.assign(assigned)]):
                tf.no_op(name="assign")
        env = Env(xs, ints)
        while self.parts > 0:
            env.floats.append(self.statement(env, 0))
        last = env.floats[-1]
        for other in self.rng.sample(env.floats[:-1], min(2, len(env.floats) - 1)):
            last = last + 0.5 * tf.sin(other)
        return tf.identity(last, name="y")

    # --- Values ---------------------------------------------------------------------------------------------------

    def float_of(self, env):
        # What came last is read most often.
        at = max(self.rng.randrange(len(env.floats)), self.rng.randrange(len(env.floats)))
        return env.floats[at]

    def int_of(self, env):
        value = self.rng.choice(env.ints + [tf.constant(self.rng.randint(0, 3))])
        change = self.rng.randrange(5)
        if change == 0:
            return tf.math.floormod(value + self.rng.randint(1, 2), 3)
        return value - 1 if change == 1 else value

    def flag_of(self, env):
        choice = self.rng.randrange(5)
        if choice == 0:
            return tf.reduce_sum(self.float_of(env)) > self.rng.uniform(-1, 1)
        if choice == 1:
            return self.flag
        if choice == 2:
            return tf.logical_not(self.flag)
        return tf.less(self.int_of(env), self.rng.randint(0, 2))

    def constant(self):
        return tf.constant([self.rng.uniform(-1, 1) for _ in range(SIZE)], tf.float64)

    def replaced(self, x):
        """A value that no gradient flows through."""
        kind = self.rng.randrange(5)
        if kind == 0:
            return tf.zeros_like(x)
        if kind == 1:
            return tf.cast(tf.cast(3 * x, tf.int32), tf.float64)
        if kind == 2:
            # Not stop_gradient: what it stops, differences of first gradients see.
            return tf.sign(x)
        return self.constant() if kind == 3 else tf.ones_like(x)

    def simple(self, env):
        a, b = self.float_of(env), self.float_of(env)
        kind = self.rng.randrange(13)
        if kind == 0:
            return tf.sin(a)
        if kind == 1:
            return tf.tanh(a + 0.3 * b)
        if kind == 2:
            return tf.tanh(a) * b
        if kind == 3:
            return 0.5 * a + tf.exp(-a * a)
        if kind == 4:
            return tf.cos(a) * tf.reduce_sum(b)
        if kind == 5:
            return tf.math.softplus(a) - 0.2 * b
        if kind == 6:
            return a / (1.5 + b * b)
        if kind == 7:
            return tf.gather(a, [1, 0]) * tf.sigmoid(b)
        if kind == 8:
            return tf.concat([a[1:], tf.square(tf.sin(b[:1]))], 0)
        if kind == 9:
            return self.replaced(a)
        if kind == 10:
            return tf.add_n([a, tf.sin(b), self.constant()])
        if kind == 11:
            return tf.where(tf.constant([True, False]), tf.sin(a), b)
        if self.variable is None:
            return a - b
        return self.read() + a if self.rng.random() < 0.5 else self.read()

    def read(self):
        if self.rng.random() < 0.3:
            return tf.gather(self.variable, [0, 1])
        return tf.sin(self.variable.read_value())

    # --- Statements -----------------------------------------------------------------------------------------------

    def statement(self, env, depth):
        if self.parts <= 0 or depth > 3 or self.rng.random() < 0.4:
            return self.simple(env)
        self.parts -= 1
        kinds = [self.conditional, self.case, self.loop, self.loop, self.array_loop, self.call]
        return self.rng.choice(kinds)(env, depth + 1)

    def block(self, env, depth):
        """A few statements; the value of the last one, or one that was there before."""
        inner = env.inner()
        for _ in range(self.rng.randint(0, 2)):
            inner.floats.append(self.statement(inner, depth))
        if self.rng.random() < 0.15:
            return self.float_of(inner)
        return self.replaced(self.float_of(inner)) if self.rng.random() < 0.1 else self.simple(inner)

    def branch(self, env, depth):
        return lambda: [tf.ensure_shape(self.block(env, depth), [SIZE]) for _ in range(self.outs)]

    def with_outs(self, write):
        """A conditional of one result or two; gives their sum."""
        outs, self.outs = getattr(self, "outs", 1), self.rng.choice([1, 1, 2])
        count = self.outs
        results = write()
        self.outs = outs
        results = results if isinstance(results, (list, tuple)) else [results]
        return results[0] if count == 1 else results[0] + tf.sin(results[1])

    def make_branches(self, env, depth, number):
        count = self.outs

        def make():
            def run():
                kept, self.outs = self.outs, count
                values = self.branch(env, depth)()
                self.outs = kept
                return values
            return run
        return [make() for _ in range(number)]

    def conditional(self, env, depth):
        def write():
            yes, no = self.make_branches(env, depth, 2)
            return tf.cond(self.flag_of(env), yes, no)
        return self.with_outs(write)

    def case(self, env, depth):
        def write():
            branches = self.make_branches(env, depth, self.rng.randint(1, 3))
            index = self.int_of(env)
            if self.is_functional():
                return cond_v2.indexed_case(index, branches)
            if len(branches) == 1:
                return branches[0]()
            return tf.switch_case(index, branches)
        return self.with_outs(write)

    def is_functional(self):
        return not self.frames or self.in_function

    def rounds(self, env):
        rounds = self.int_of(env)
        return tf.minimum(rounds, 3)

    def loop(self, env, depth):
        starts = [self.constant() if self.rng.random() < 0.15 else self.float_of(env)
                  for _ in range(self.rng.randint(1, 3))]
        starts = [tf.ensure_shape(start, [SIZE]) for start in starts]
        rounds = self.rounds(env)
        by_value = self.rng.random() < 0.2

        def condition(i, *values):
            more = i < rounds
            return tf.logical_and(more, tf.reduce_sum(values[0]) < 2.5) if by_value else more

        def body(i, *values):
            inner = env.inner(values, [i])
            return [i + 1] + [tf.ensure_shape(self.next_of(inner, v, values, depth), [SIZE]) for v in values]

        done = tf.while_loop(condition, body, [tf.constant(0)] + starts,
                             parallel_iterations=self.rng.choice([1, 10]))
        results = done[1:]
        self.rng.shuffle(results)
        return results[0] if len(results) == 1 else results[0] * 0.7 + tf.sin(results[1])

    def next_of(self, env, value, values, depth):
        kind = self.rng.random()
        if kind < 0.15:
            return value
        if kind < 0.3:
            return self.replaced(value)
        if kind < 0.4:
            return self.rng.choice(values)
        return self.block(env, depth)

    def array_loop(self, env, depth):
        rounds = self.rounds(env)
        rows = tf.TensorArray(tf.float64, size=4, element_shape=[SIZE], clear_after_read=False).unstack(
            tf.stack([tf.ensure_shape(self.float_of(env), [SIZE]) for _ in range(4)]))
        written = tf.TensorArray(tf.float64, size=tf.maximum(rounds, 0), element_shape=[SIZE], clear_after_read=False)
        backwards = self.rng.random() < 0.5
        start = tf.ensure_shape(self.float_of(env), [SIZE])

        def body(i, value, array):
            inner = env.inner([value, rows.read(3 - i if backwards else i)], [i])
            following = tf.ensure_shape(self.next_of(inner, value, [value], depth), [SIZE])
            array = array.write(i, tf.ensure_shape(self.block(inner.inner([following]), depth), [SIZE]))
            return i + 1, following, array

        _, value, array = tf.while_loop(lambda i, *_: i < rounds, body, (tf.constant(0), start, written))
        total = tf.reduce_sum(array.stack(), 0)
        return tf.ensure_shape(total, [SIZE]) if self.rng.random() < 0.5 else total * tf.cos(value)

    def call(self, env, depth):
        around, self.in_function = self.in_function, True
        inputs = [self.float_of(env) for _ in range(self.rng.randint(1, 2))]

        def body(*args):
            return self.block(env.inner(args) if self.rng.random() < 0.5 else Env(args, env.ints), depth)

        stays = {"_noinline": True} if self.rng.random() < 0.3 else {}
        result = tf.function(body, autograph=False, experimental_attributes=stays or None)(*inputs)
        self.in_function = around
        return result


def build_graph(seed, frames, max_parts):
    """(graph, program) of a seed."""
    if frames:
        tf1.disable_control_flow_v2()
    else:
        tf1.enable_control_flow_v2()
    graph = tf.Graph()
    with graph.as_default():
        program = Program(seed, frames, max_parts)
        program.build()
        # Second gradients are of all of these, so that each x is connected without changing a number.
        for k in range(2):
            x = graph.get_tensor_by_name(f"x{k}:0")
            tf.identity(x * tf.constant(0, tf.float64), name=f"none{k}")
        if program.has_variable:
            tf.identity(program.variable.read_value() * tf.constant(0, tf.float64), name="none2")
        for k in range(3):
            tf1.placeholder(tf.float64, [SIZE], name=f"w{k}")
    ops.reset_default_graph()
    return graph, program
