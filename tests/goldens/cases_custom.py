"""Gradients that programs wrote themselves, as files hold them."""

import os
import shutil
import tempfile

import numpy as np
import tensorflow as tf
from tensorflow.python.framework import function
from tensorflow.python.ops import gen_functional_ops

from golden_case import Case, tf1


def spec(*names):
    return [tf.TensorSpec([None], tf.float32, name=name) for name in names]


class Models(tf.Module):
    """Functions around tf.custom_gradient, one for each way in which its gradient is saved."""

    def __init__(self):
        super().__init__()
        self.scale = tf.Variable([2.0, 3.0], name="scale")

    @tf.function(input_signature=spec("x"))
    def plain(self, x):
        """The gradient takes nothing but that of the result."""

        @tf.custom_gradient
        def clipped(x):
            return tf.sin(x), lambda dy: tf.clip_by_value(dy, -1.0, 1.0) * 10.0

        return {"y": clipped(x) * 3.0}

    @tf.function(input_signature=spec("x"))
    def captured(self, x):
        """It takes a value of the body, one that the result does not need, and a variable."""

        @tf.custom_gradient
        def log1pexp(x):
            e = tf.exp(x)
            aside = tf.cos(x)
            return tf.math.log(1 + e), lambda dy: dy * (1 - 1 / (1 + e)) + aside

        return {"y": log1pexp(x) * self.scale[0]}

    @tf.function(input_signature=spec("a", "b"))
    def two(self, a, b):
        """Two results; one argument has no gradient, the other is a captured argument of the function."""

        @tf.custom_gradient
        def product_and_sum(a, b):
            return (a * b, a + b), lambda d1, d2: (d1 * b + d2 * 7.0, None)

        p, q = product_and_sum(a, b)
        return {"y": p * q}


def custom_gradients(folder):
    target = os.path.join(folder, "models")
    models = Models()
    signatures = {"plain": models.plain, "captured": models.captured, "two": models.two}
    tf.saved_model.save(models, target, signatures=signatures)
    loaded = tf.saved_model.load(target)
    for key in signatures:
        case = Case("custom_gradients/" + key, getattr(Models, key).python_function.__doc__, saved_model=target,
                    signature=key, needs=["saved_model", "function", "gradient", "checkpoint"])
        case.load()
        names = sorted(case.signature.inputs)
        feeds = {name: np.float32([0.5, -1.25, 2]) + i for i, name in enumerate(names)}
        case.run(["y"], feeds)
        with tf.GradientTape() as tape:
            inputs = {name: tf.constant(value) for name, value in feeds.items()}
            tape.watch(list(inputs.values()))
            y = getattr(loaded, key)(**inputs)["y"]
        found = tape.gradient(y, [inputs[name] for name in names])
        case.spec["gradients"] = {"ys": [case.signature.outputs["y"].name],
                                  "xs": [case.signature.inputs[name].name for name in names], "prefix": "g"}
        for i, gradient in enumerate(found):
            answer = "none" if gradient is None else case._store(gradient.numpy(), tf.float32)
            case.steps[-1]["fetches"].append(["g/%d" % i, answer])
        case.write()


def symbolic():
    """SymbolicGradient of a function for which the library states one, and of functions that call it."""

    @function.Defun(tf.float32, tf.float32, tf.float32, func_name="StatedGrad")
    def stated_grad(x, w, dy):
        return dy * w * 100.0, dy * x

    @function.Defun(tf.float32, tf.float32, func_name="Stated", grad_func=stated_grad)
    def stated(x, w):
        return tf.tanh(x * w)

    @function.Defun(tf.float32, tf.float32, func_name="Caller")
    def caller(x, w):
        return tf.square(stated(x, w)) + x

    graph = tf.Graph()
    with graph.as_default():
        x = tf1.placeholder(tf.float32, [None], name="x")
        w = tf1.placeholder(tf.float32, [None], name="w")
        tf.identity(caller(x, w), name="y")
        for name, f in (("of_stated", "Stated"), ("of_caller", "Caller")):
            attr = tf1.NameAttrList(name=f)
            gen_functional_ops.symbolic_gradient([x, w, tf.ones_like(x)], [tf.float32, tf.float32], attr, name=name)
    Case("custom_gradients/symbolic", symbolic.__doc__, graph, needs=["function", "gradient"]).run(
        ["y", "of_stated:0", "of_stated:1", "of_caller:0", "of_caller:1"],
        {"x": np.float32([0.5, -1, 2]), "w": np.float32([1, 0.25, -0.5])}).write()


def main():
    folder = tempfile.mkdtemp()
    try:
        custom_gradients(folder)
        symbolic()
    finally:
        shutil.rmtree(folder)
