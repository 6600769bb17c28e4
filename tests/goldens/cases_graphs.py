"""Graphs that run: elementwise, shape, matrix, reduction and string ops, loops, conditionals, functions, state."""

import numpy as np
import tensorflow as tf

from golden_case import Case, tf1

ops = tf.raw_ops
random = np.random.RandomState(11)


def f32(*shape):
    return np.round(random.uniform(-2, 2, shape), 3).astype(np.float32)


def build(function, **placeholders):
    """The tf.Graph in which `function` was called with a placeholder per keyword (dtype, shape)."""
    graph = tf.Graph()
    with graph.as_default():
        function(**{name: tf1.placeholder(dtype, shape, name=name) for name, (dtype, shape) in placeholders.items()})
    return graph


def named(**tensors):
    """Gives tensors names at the top of the graph, where nothing of build() in a scope is in the way."""
    with tf1.name_scope(None):
        for name, value in tensors.items():
            tf.identity(value, name=name)


def case(path, about, function, inputs, fetches, feeds, **options):
    """Writes a case of one graph that is run once per entry of `feeds`."""
    def scoped(**placeholders):
        with tf1.name_scope("body"):
            function(**placeholders)

    recorded = Case(path, about, build(scoped, **inputs), **options)
    for feed in feeds:
        recorded.run(fetches, feed)
    recorded.write()


def elementwise():
    def arithmetic(x, y):
        named(sum=x + y, difference=x - y, product=x * y, quotient=x / y, largest=tf.maximum(x, y),
              power=tf.pow(abs(x), y), squared=tf.math.squared_difference(x, y))

    fetches = ["sum", "difference", "product", "quotient", "largest", "power", "squared"]
    case("ops/arithmetic_broadcasts", "shapes of two inputs meet from the right", arithmetic,
         {"x": (tf.float32, None), "y": (tf.float32, None)}, fetches,
         [{"x": f32(2, 1, 3), "y": f32(4, 1)}, {"x": f32(), "y": f32(0, 2)}, {"x": f32(5), "y": f32(5)}])

    def integers(x, y):
        named(floor=x // y, rest=x % y, quotient=ops.TruncateDiv(x=x, y=y), left=ops.TruncateMod(x=x, y=y),
              sign=tf.sign(x), shifted=tf.bitwise.left_shift(x, 2), masked=tf.bitwise.bitwise_and(x, y))

    case("ops/integer_division", "floor and truncating division of every sign", integers,
         {"x": (tf.int32, [None]), "y": (tf.int32, [None])},
         ["floor", "rest", "quotient", "left", "sign", "shifted", "masked"],
         [{"x": np.int32([7, -7, 7, -7, 0, 2147483647]), "y": np.int32([2, 2, -2, -2, 5, -1])}])

    def functions(x):
        named(exp=tf.exp(x), tanh=tf.tanh(x), sigmoid=tf.sigmoid(x), erf=tf.math.erf(x), relu6=tf.nn.relu6(4 * x),
              softplus=tf.nn.softplus(x), rounded=tf.round(10 * x) / 10, rsqrt=tf.math.rsqrt(abs(x)), elu=tf.nn.elu(x))

    case("ops/unary_functions", "functions of one float, infinities and NaN included", functions,
         {"x": (tf.float32, [None])},
         ["exp", "tanh", "sigmoid", "erf", "relu6", "softplus", "rounded", "rsqrt", "elu"],
         [{"x": np.float32([-2, -0.5, 0, 0.25, 0.35, 3, np.inf, -np.inf, np.nan])}])

    def logic(x, y):
        named(less=x < y, equal=tf.equal(x, y), both=tf.logical_and(x > 0, y > 0), neither=~tf.logical_or(x > 0, y > 0),
              chosen=tf.where(x < y, x, y), any=tf.reduce_any(x < y), positions=tf.where(x < y))

    case("ops/comparisons_and_choice", "comparisons, logic, choosing by condition", logic,
         {"x": (tf.float64, [None]), "y": (tf.float64, [None])},
         ["less", "equal", "both", "neither", "chosen", "any", "positions"],
         [{"x": np.float64([1, 2, np.nan, -1]), "y": np.float64([2, 2, 1, -3])}])

    def casts(x):
        named(ints=tf.cast(x, tf.int8), longs=tf.cast(x, tf.int64), halves=tf.cast(x, tf.float16),
              brain=tf.cast(x, tf.bfloat16), flags=tf.cast(x, tf.bool), complex=tf.cast(x, tf.complex64))

    case("ops/casts", "from float32 to other types", casts, {"x": (tf.float32, [None])},
         ["ints", "longs", "halves", "brain", "flags", "complex"],
         [{"x": np.float32([0, -0.0, 1.5, -1.5, 2.75, 100.4, 1e-3])}], needs=["half", "bfloat16", "complex"])


def shapes():
    def moves(x):
        named(reshaped=tf.reshape(x, [3, -1]), swapped=tf.transpose(x, [2, 0, 1]), rows=tf.unstack(x, axis=1, num=3)[2],
              tiled=tf.tile(x, [1, 2, 1]), padded=tf.pad(x, [[0, 1], [2, 0], [0, 0]], constant_values=9.0),
              flipped=tf.reverse(x, [0, 2]), shape=tf.shape(x), size=tf.size(x), rank=tf.rank(x))

    case("ops/reshape_and_move", "the same elements in another order", moves, {"x": (tf.float32, [2, 3, 4])},
         ["reshaped", "swapped", "rows", "tiled", "padded", "flipped", "shape", "size", "rank"], [{"x": f32(2, 3, 4)}])

    def slices(x):
        named(strided=x[1:, ::-2, tf.newaxis, ..., 0], last=x[-1], masked=x[:, 1:1],
              part=tf.slice(x, [0, 1, 1], [2, -1, 2]), split=tf.split(x, [1, 2], axis=1)[1], joined=tf.concat([x[0], x[1]], 0), packed=tf.stack([x[0], x[1]], 2))

    case("ops/slices", "parts of tensors: strided, negative, empty", slices, {"x": (tf.float32, [2, 3, 4])},
         ["strided", "last", "masked", "part", "split", "joined", "packed"], [{"x": f32(2, 3, 4)}])

    def gathers(x, i):
        named(rows=tf.gather(x, i), columns=tf.gather(x, i[0], axis=1), points=tf.gather_nd(x, i),
              spread=tf.scatter_nd(i, tf.ones([2]), [3, 3]), hot=tf.one_hot(i[:, 0], 4, 5, -5),
              segments=tf.math.unsorted_segment_sum(x, [2, 0, 2], 4))

    case("ops/gather_and_scatter", "elements by index, and back", gathers,
         {"x": (tf.float32, [3, 3]), "i": (tf.int32, [2, 2])},
         ["rows", "columns", "points", "spread", "hot", "segments"],
         [{"x": f32(3, 3), "i": np.int32([[2, 0], [1, 2]])}])


def matrices():
    def products(x, y):
        named(plain=tf.matmul(x, y), turned=tf.matmul(y, x, transpose_a=True, transpose_b=True),
              einsum=tf.einsum("ij,jk->ki", x, y))

    case("ops/matrix_products", "products of matrices, transposed and empty", products,
         {"x": (tf.float32, [None, None]), "y": (tf.float32, [None, None])}, ["plain", "turned", "einsum"],
         [{"x": f32(3, 5), "y": f32(5, 2)}, {"x": f32(0, 3), "y": f32(3, 4)}, {"x": f32(2, 0), "y": f32(0, 3)}])

    def batches(x, y):
        named(batched=tf.matmul(x, y), adjoint=ops.BatchMatMulV2(x=x, y=y[0], adj_y=False))

    case("ops/batches_of_matrices", "products of stacks of matrices, broadcast over the batch", batches,
         {"x": (tf.float64, [2, 1, 3, 4]), "y": (tf.float64, [5, 4, 2])}, ["batched", "adjoint"],
         [{"x": f32(2, 1, 3, 4).astype(np.float64), "y": f32(5, 4, 2).astype(np.float64)}], rtol=1e-12)

    def layers(image, kernel):
        conv = tf.nn.conv2d(image, kernel, [1, 2, 1, 1], "SAME", dilations=[1, 1, 1, 1])
        named(conv=conv, biased=tf.nn.bias_add(conv, [0.5, -0.5]), pooled=tf.nn.max_pool2d(image, 2, 2, "VALID"),
              mean=tf.nn.avg_pool2d(image, 3, 1, "SAME"))

    case("ops/convolution_and_pooling", "a strided convolution with bias, two poolings", layers,
         {"image": (tf.float32, [1, 6, 5, 3]), "kernel": (tf.float32, [3, 2, 3, 2])},
         ["conv", "biased", "pooled", "mean"], [{"image": f32(1, 6, 5, 3), "kernel": f32(3, 2, 3, 2)}], atol=1e-5)


def reductions():
    def sums(x):
        named(sum=tf.reduce_sum(x, [0, -1]), kept=tf.reduce_mean(x, 1, keepdims=True), largest=tf.reduce_max(x),
              product=tf.reduce_prod(x, 2), nothing=tf.reduce_sum(x[:0], 0), none=tf.reduce_max(x[:0], 0),
              where=tf.argmax(x, 1), least=tf.argmin(x, 2, output_type=tf.int32),
              running=tf.cumsum(x, 1, exclusive=True))

    case("ops/reductions", "sums, means, extremes along axes, empty ones included", sums,
         {"x": (tf.float32, [2, 3, 4])},
         ["sum", "kept", "largest", "product", "nothing", "none", "where", "least", "running"], [{"x": f32(2, 3, 4)}])

    def scores(x, labels):
        top = tf.math.top_k(x, 2)
        named(soft=tf.nn.softmax(x), logs=tf.nn.log_softmax(x), values=top.values, indices=top.indices,
              loss=tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=x),
              inside=tf.math.in_top_k(labels, x, 2))

    case("ops/softmax_and_top_k", "probabilities, the best two, cross entropy", scores,
         {"x": (tf.float32, [None, 5]), "labels": (tf.int32, [None])},
         ["soft", "logs", "values", "indices", "loss", "inside"],
         [{"x": 40 * f32(3, 5), "labels": np.int32([0, 4, 2])}])

    def words(text):
        named(joined=tf.strings.join([text, "!"]), length=tf.strings.length(text), upper=tf.strings.upper(text),
              part=tf.strings.substr(text, 1, 2), number=tf.strings.to_number(["1.5", "-2e3"]),
              all=tf.strings.reduce_join(text, separator="-"), shown=tf.as_string([0.5, 2.0]))

    case("ops/strings", "joining, cutting and reading texts", words, {"text": (tf.string, [None])},
         ["joined", "length", "upper", "part", "number", "all", "shown"],
         [{"text": np.array([b"hello", b"a long text of more than 24 bytes", "na\u00efve".encode()], object)}],
         needs=["string"])


def control_flow():
    tf1.disable_control_flow_v2()

    def branch(x):
        named(y=tf1.cond(tf.reduce_sum(x) > 0, lambda: x * 2, lambda: x - 1))

    case("control_flow/switch_and_merge", "a conditional of Switch and Merge, both ways", branch,
         {"x": (tf.float32, [2])}, ["y"], [{"x": np.float32([1, 2])}, {"x": np.float32([-1, 0.5])}], needs=["cond"])

    def fibonacci(n):
        result = tf1.while_loop(lambda i, a, b: i < n, lambda i, a, b: (i + 1, b, a + b),
                                (tf.constant(0), tf.constant(0, tf.int64), tf.constant(1, tf.int64)))
        named(fib=result[1], steps=result[0])

    case("control_flow/fibonacci", "a loop of three variables; the bound is constant in the loop", fibonacci,
         {"n": (tf.int32, [])}, ["fib", "steps"], [{"n": np.int32(n)} for n in (0, 1, 50)], needs=["loop"])

    def nested(x):
        def outer(i, total):
            inner = tf1.while_loop(lambda j, t: j < i, lambda j, t: (j + 1, t + x[j] * tf.cast(i, tf.float32)),
                                   (tf.constant(0), tf.constant(0.0)))
            kept = tf1.cond(tf.equal(i % 2, 0), lambda: inner[1], lambda: -inner[1])
            return i + 1, total + kept

        named(total=tf1.while_loop(lambda i, t: i < 4, outer, (tf.constant(1), tf.constant(0.0)))[1])

    case("control_flow/loops_in_loops", "a loop and a conditional inside a loop", nested, {"x": (tf.float32, [4])},
         ["total"], [{"x": f32(4)}], needs=["loop", "cond"])

    def arrays(x):
        written = tf1.while_loop(
            lambda i, array: i < tf.shape(x)[0], lambda i, array: (i + 1, array.write(i, x[i] * x[i])),
            (0, tf.TensorArray(tf.float32, tf.shape(x)[0], clear_after_read=False)))[1]
        named(squares=written.stack(), second=written.read(1))

    case("control_flow/tensor_array", "a loop that writes a TensorArray", arrays, {"x": (tf.float32, [None])},
         ["squares", "second"], [{"x": f32(3)}, {"x": f32(5)}], needs=["loop", "tensor_array"])

    def dead(p, x):
        no, yes = ops.Switch(data=x, pred=p)
        tf.identity(no, name="no")
        tf.identity(yes, name="yes")
        ops.Merge(inputs=[no, yes], name="which")

    graph = build(dead, p=(tf.bool, []), x=(tf.float32, []))
    Case("control_flow/dead_fetch", "the branch that was not taken has no value; the session goes on", graph,
         needs=["cond"]).run(["yes", "which:1"], {"p": np.bool_(True), "x": np.float32(2)}).fail(
             "INVALID_ARGUMENT", ["no"], ["no"], {"p": np.bool_(True), "x": np.float32(2)}).run(
                 ["no", "which:1"], {"p": np.bool_(False), "x": np.float32(3)}).write()


def functions():
    tf1.enable_control_flow_v2()

    def conditionals(x):
        def negate(v):
            return -v

        named(y=tf.cond(x > 0, lambda: tf.sqrt(x), lambda: negate(x)),
              z=tf.switch_case(tf.cast(x, tf.int32), [lambda: x, lambda: x * 10], lambda: tf.constant(-1.0)))

    case("functions/if_and_case", "functional conditionals over a scalar", conditionals, {"x": (tf.float32, [])},
         ["y", "z"], [{"x": np.float32(v)} for v in (1.5, -4, 0, 9)], needs=["function", "cond"])

    def newton(x):
        step = lambda i, r: (i + 1, (r + x / r) / 2)
        named(root=tf.while_loop(lambda i, r: i < 20, step, (0, x))[1])

    case("functions/while_of_functions", "a While whose condition and body are functions", newton,
         {"x": (tf.float32, [None])}, ["root"], [{"x": np.float32([2, 9, 0.25])}], needs=["function", "loop"])

    @tf.function
    def affine(a, b, scale):
        return a * scale + b, tf.concat([a, b], 0)

    @tf.function
    def twice(a):
        first = affine(a, a, 2.0)
        return affine(first[0], first[1][:2], 0.5)

    def calls(x):
        y, both = twice(x)
        named(y=y, both=both)

    case("functions/calls_in_calls", "a function that calls another one twice", calls, {"x": (tf.float32, [2])},
         ["y", "both"], [{"x": f32(2)}], needs=["function"])

    def collected(x):
        listed = tf.map_fn(lambda row: tf.reduce_sum(row) * row, x)
        named(listed=listed, folded=tf.foldl(lambda a, row: a * 0.5 + row, x))

    case("functions/map_and_fold", "loops over rows with tensor lists", collected, {"x": (tf.float32, [None, 3])},
         ["listed", "folded"], [{"x": f32(4, 3)}], needs=["function", "loop", "tensor_list"])


def state():
    def counter(by):
        variable = tf1.get_variable("v", initializer=[1.0, 2.0], use_resource=False)
        tf1.assign_add(variable, by, name="add")
        variable.initializer
        tf.identity(variable, name="now")

    graph = build(counter, by=(tf.float32, [2]))
    Case("state/reference_variable", "a reference variable before and after its initializer", graph,
         needs=["ref_variable"]).run(targets=["v/Assign"]).run(
             ["add"], {"by": np.float32([1, -1])}, repeat=3).run(["now"]).write()

    def resource(by):
        variable = tf1.get_variable("v", initializer=np.int64(5), use_resource=True)
        added = variable.assign_add(by)
        with tf.control_dependencies([added]):
            tf.identity(variable.read_value(), name="after")

    graph = build(resource, by=(tf.int64, []))
    Case("state/resource_variable", "a resource variable keeps its value between steps", graph,
         needs=["resource_variable"]).fail("NOT_FOUND", ["v"], ["after"], {"by": np.int64(1)}).run(
             targets=["v/Assign"]).run(["after"], {"by": np.int64(2)}, repeat=2).write()

    def queue(x):
        fifo = tf1.FIFOQueue(3, [tf.float32], shapes=[[]], name="q")
        fifo.enqueue_many([x], name="put")
        tf.identity(fifo.dequeue(), name="got")
        tf.identity(fifo.size(), name="size")

    graph = build(queue, x=(tf.float32, [None]))
    Case("state/queue", "a queue across steps", graph, needs=["queue"]).run(
        targets=["put"], feeds={"x": np.float32([3, 1, 2])}).run(["got"]).run(["size"]).run(["got"], repeat=2).write()


def gradients():
    def network(x, labels):
        hidden = tf.tanh(x @ tf.constant(f32(3, 4), name="w1") + tf.constant(f32(4), name="b1"))
        logits = hidden @ tf.constant(f32(4, 2), name="w2")
        named(loss=tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)))

    graph = build(network, x=(tf.float32, [None, 3]), labels=(tf.int32, [None]))
    wanted = {"ys": ["loss:0"], "xs": ["w1:0", "b1:0", "x:0"], "prefix": "g"}
    recorded = Case("gradients/two_layers", "the gradient of a small network", graph, needs=["gradient"],
                    gradients=wanted)

    def extend(loaded):
        tensors = [loaded.get_tensor_by_name(n) for n in wanted["xs"]]
        for i, gradient in enumerate(tf1.gradients(loaded.get_tensor_by_name("loss:0"), tensors)):
            tf.identity(gradient, name="g/%d" % i)

    recorded.load(extend).run(["loss", "g/0", "g/1", "g/2"],
                              {"x": f32(5, 3), "labels": np.int32([0, 1, 1, 0, 1])}).write()


def main():
    for group in (elementwise, shapes, matrices, reductions, control_flow, functions, state, gradients):
        group()
