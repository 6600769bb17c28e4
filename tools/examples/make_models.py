"""Makes the example models with TensorFlow 2.19. Development only; the models are committed.

Usage: make_models.py [digits | power | writer | reader | training ...]
"""

import os
import shutil
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"

import numpy as np
import tensorflow as tf

tf1 = tf.compat.v1
FOLDER = os.path.dirname(os.path.abspath(__file__))

# Digits on a 5 x 3 grid, rows from the top.
SHAPES = [
    (7, 5, 5, 5, 7), (2, 6, 2, 2, 7), (7, 1, 7, 4, 7), (7, 1, 3, 1, 7), (5, 5, 7, 1, 1),
    (7, 4, 7, 1, 7), (7, 4, 7, 5, 7), (7, 1, 2, 2, 2), (7, 5, 7, 5, 7), (7, 5, 7, 1, 7),
]
TEXT = (
    "a graph is a set of nodes and a set of edges. tensors flow along the edges. a node fires when its inputs have "
    "arrived, and its outputs go on to the nodes that wait for them. a loop is a frame with iterations. a switch sends "
    "its input to one side and a dead token to the other. a merge takes what comes first. "
)
LETTERS = sorted(set(TEXT))


def save(graph, name):
    """Writes the graph without devices and without what only TensorFlow's own tools read."""
    definition = graph.as_graph_def()
    definition.ClearField("debug_info")
    for node in definition.node:
        node.device = ""
    path = os.path.join(FOLDER, name)
    with open(path, "wb") as file:
        file.write(definition.SerializeToString(deterministic=True))
    print(name, os.path.getsize(path), "bytes,", len(definition.node), "nodes")


def digit_images(random, count):
    """Digits of 5 x 3 dots at random places of an 8 x 8 image, with noise: [count, 64] and their values."""
    values = random.randint(0, 10, count)
    images = random.normal(0, 0.15, (count, 8, 8)).astype(np.float32)
    for image, value in zip(images, values):
        dots = np.array([[row >> 2 & 1, row >> 1 & 1, row & 1] for row in SHAPES[value]], np.float32)
        top, left = random.randint(0, 4), random.randint(0, 6)
        image[top:top + 5, left:left + 3] += dots
    return images.reshape(count, 64), values


def train(loss_of, variables, batches, rate):
    """Plain Adam over `batches`; returns the values of the variables."""
    optimizer = tf.keras.optimizers.Adam(rate)
    step = tf.function(lambda *batch: _step(loss_of, variables, optimizer, batch))
    for batch in batches:
        loss = step(*batch)
    print("loss", float(loss))
    return [variable.numpy() for variable in variables]


def _step(loss_of, variables, optimizer, batch):
    with tf.GradientTape() as tape:
        loss = loss_of(*batch)
    optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
    return loss


def make_digits():
    """Three dense layers that read an 8 x 8 image of a digit."""
    random = np.random.RandomState(1)
    sizes = (64, 96, 48, 10)
    start = []
    for rows, columns in zip(sizes, sizes[1:]):
        start += [random.normal(0, (2 / rows) ** 0.5, (rows, columns)), np.zeros(columns)]
    variables = [tf.Variable(value.astype(np.float32)) for value in start]

    def logits_of(image, weights):
        hidden = tf.nn.relu(tf.nn.bias_add(tf.matmul(image, weights[0]), weights[1]))
        hidden = tf.nn.relu(tf.nn.bias_add(tf.matmul(hidden, weights[2]), weights[3]))
        return tf.nn.bias_add(tf.matmul(hidden, weights[4]), weights[5])

    def loss_of(image, value):
        return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(value, logits_of(image, variables)))

    values = train(loss_of, variables, (digit_images(random, 256) for _ in range(2500)), 2e-3)
    graph = tf.Graph()
    with graph.as_default():
        image = tf1.placeholder(tf.float32, [None, 64], name="image")
        names = ("hidden1/weights", "hidden1/bias", "hidden2/weights", "hidden2/bias", "output/weights", "output/bias")
        logits = logits_of(image, [tf.constant(v, name=n) for v, n in zip(values, names)])
        tf.nn.softmax(logits, name="probabilities")
        tf.argmax(logits, 1, tf.int32, name="digit")
    images, expected = digit_images(np.random.RandomState(2), 2000)
    with tf1.Session(graph=graph) as session:
        got = session.run("digit:0", {"image:0": images})
    print("right: %.1f %%" % (100 * np.mean(got == expected)))
    save(graph, "digits.pb")


def make_power():
    """Power iteration: the largest eigenvalue of a symmetric matrix, in a loop of Enter, Merge, Switch, Exit."""
    tf1.disable_control_flow_v2()
    graph = tf.Graph()
    with graph.as_default():
        matrix = tf1.placeholder(tf.float32, [None, None], name="matrix")
        tolerance = tf1.placeholder_with_default(1e-6, [], name="tolerance")
        start = tf.fill(tf.stack([tf.shape(matrix)[0], 1]), 1.0, name="start")

        def body(step, vector, value, _):
            product = tf.matmul(matrix, vector)
            norm = tf.sqrt(tf.reduce_sum(tf.square(product)))
            return step + 1, product / norm, norm, value

        def goes_on(step, vector, value, before):
            return tf.logical_and(step < 1000, tf.abs(value - before) > tolerance * tf.abs(value))

        loop = tf1.while_loop(goes_on, body, (tf.constant(0), start, tf.constant(1.0), tf.constant(0.0)), name="loop",
                              shape_invariants=(tf.TensorShape([]), tf.TensorShape([None, 1]), tf.TensorShape([]),
                                                tf.TensorShape([])))
        for value, name in zip(loop, ("steps", "eigenvector", "eigenvalue")):
            tf.identity(value, name=name)
    with tf1.Session(graph=graph) as session:
        print(session.run(["steps:0", "eigenvalue:0"], {"matrix:0": np.float32([[2, 1], [1, 3]])}))
    save(graph, "power_iteration.pb")


def make_writer():
    """An LSTM over letters that goes on writing a text: functions, a While over time, tensor lists."""
    tf1.enable_control_flow_v2()
    random = np.random.RandomState(3)
    size, letters = 64, len(LETTERS)
    start = [random.normal(0, 0.1, (letters + size, 4 * size)), np.zeros(4 * size)]
    start.append(random.normal(0, 0.1, (size, letters)))
    variables = [tf.Variable(value.astype(np.float32)) for value in start]

    def cell(weights, letter, output, memory):
        gates = tf.matmul(tf.concat([tf.one_hot(letter, letters), output], 1), weights[0]) + weights[1]
        keep, write, show, new = tf.split(gates, 4, axis=1)
        memory = tf.sigmoid(keep + 1.0) * memory + tf.sigmoid(write) * tf.tanh(new)
        return tf.sigmoid(show) * tf.tanh(memory), memory

    codes = np.int32([LETTERS.index(c) for c in TEXT])

    def loss_of(batch):
        output = memory = tf.zeros([tf.shape(batch)[0], size])
        loss = 0.0
        for t in range(30):
            output, memory = cell(variables, batch[:, t], output, memory)
            loss += tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(
                batch[:, t + 1], tf.matmul(output, variables[2])))
        return loss / 30

    windows = np.stack([np.roll(codes, -i)[:31] for i in range(len(codes))])
    values = train(loss_of, variables, ((windows[random.randint(0, len(codes), 64)],) for _ in range(800)), 5e-3)
    graph = tf.Graph()
    with graph.as_default():
        weights = [tf.constant(v, name=n) for v, n in zip(values, ("cell/weights", "cell/bias", "letters/weights"))]
        text = tf1.placeholder(tf.int32, [None], name="text")
        length = tf1.placeholder_with_default(60, [], name="length")

        @tf.function
        def lstm_cell(letter, output, memory):
            return cell(weights, letter, output, memory)

        def body(i, output, memory, written):
            letter = tf.cond(i < tf.size(text), lambda: text[tf.minimum(i, tf.size(text) - 1)],
                             lambda: written.read(i))
            output, memory = lstm_cell(letter[tf.newaxis], output, memory)
            best = tf.argmax(tf.matmul(output, weights[2]), 1, tf.int32)[0]
            known = text[tf.minimum(i + 1, tf.size(text) - 1)]
            return i + 1, output, memory, written.write(i + 1, tf.where(i + 1 < tf.size(text), known, best))

        first = tf.TensorArray(tf.int32, length + 1, clear_after_read=False, element_shape=[]).write(0, text[0])
        state = tf.zeros([1, size])
        written = tf.while_loop(lambda i, *_: i < length, body, (0, state, state, first), name="write")[3].stack()
        tf.identity(written, name="codes")
        spelled = tf.strings.reduce_join(tf.gather(tf.constant(LETTERS, name="alphabet"), written), name="spelled")
        tf.identity(spelled, name="written")
    prompt = np.int32([LETTERS.index(c) for c in "a node "])
    with tf1.Session(graph=graph) as session:
        print(session.run("written:0", {"text:0": prompt}))
    save(graph, "writer_lstm.pb")


class DigitReader(tf.Module):
    """A convolution, pooling and a dense layer over pictures of 8 x 8 points."""

    def __init__(self, random):
        super().__init__()
        start = [random.normal(0, 0.4, (3, 3, 1, 12)), np.zeros(12), random.normal(0, 0.1, (192, 10)), np.zeros(10)]
        names = ("filter", "filter_bias", "weights", "bias")
        self.layers = [tf.Variable(value.astype(np.float32), name=name) for value, name in zip(start, names)]

    def logits(self, image):
        seen = tf.nn.relu(tf.nn.conv2d(image[..., tf.newaxis], self.layers[0], 1, "SAME") + self.layers[1])
        seen = tf.nn.max_pool2d(seen, 2, 2, "SAME")
        return tf.matmul(tf.reshape(seen, [-1, 192]), self.layers[2]) + self.layers[3]

    @tf.function(input_signature=[tf.TensorSpec([None, 8, 8], tf.float32, name="image")])
    def read(self, image):
        logits = self.logits(image)
        return {"digit": tf.argmax(logits, 1, tf.int32), "probabilities": tf.nn.softmax(logits)}


def make_reader():
    """A TF2 SavedModel with trained variables, and the picture of a 7 to give it."""
    random = np.random.RandomState(5)
    model = DigitReader(random)

    def loss_of(image, value):
        logits = model.logits(tf.reshape(image, [-1, 8, 8]))
        return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(value, logits))

    train(loss_of, model.layers, (digit_images(random, 256) for _ in range(1500)), 3e-3)
    images, expected = digit_images(np.random.RandomState(6), 2000)
    right = np.mean(model.read(images.reshape(-1, 8, 8))["digit"].numpy() == expected)
    print("right: %.1f %%" % (100 * right))
    target = os.path.join(FOLDER, "digit_reader")
    shutil.rmtree(target, ignore_errors=True)
    tf.saved_model.save(model, target, signatures={"serving_default": model.read})
    os.remove(os.path.join(target, "fingerprint.pb"))
    seven = images[np.argmax(expected == 7)].reshape(1, 8, 8)
    np.save(os.path.join(FOLDER, "seven.npy"), seven)
    print("the picture:", model.read(seven)["digit"].numpy())


def make_training():
    """A training graph with its saver, as a meta graph: a line through points, found by Adam."""
    graph = tf.Graph()
    with graph.as_default():
        x = tf1.placeholder(tf.float32, [None], name="x")
        wanted = tf1.placeholder(tf.float32, [None], name="wanted")
        slope, height = (tf1.get_variable(name, initializer=0.0, use_resource=True) for name in ("slope", "height"))
        tf.add(slope * x, height, name="y")
        loss = tf.reduce_mean(tf.square(slope * x + height - wanted), name="loss")
        step = tf1.train.get_or_create_global_step()
        tf1.train.AdamOptimizer(0.1).minimize(loss, global_step=step, name="train")
        tf1.global_variables_initializer()
        saver = tf1.train.Saver()
        tf1.train.export_meta_graph(os.path.join(FOLDER, "line.meta"), saver_def=saver.as_saver_def(),
                                    clear_devices=True, strip_default_attrs=True)


def main(args):
    makers = {"digits": make_digits, "power": make_power, "writer": make_writer, "reader": make_reader,
              "training": make_training}
    for name in args or makers:
        makers[name]()


if __name__ == "__main__":
    main(sys.argv[1:])
