"""Graphs that must be refused: damaged files, malformed tensors, nodes, edges, loops and functions."""

import numpy as np
import tensorflow as tf
from google.protobuf import text_format

from golden_case import Case

GraphDef = tf.compat.v1.GraphDef
IA = "INVALID_ARGUMENT"

GOOD = """
  node { name: "in" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } }
         attr { key: "shape" value { shape { dim { size: 2 } } } } }
  node { name: "half" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } }
         attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape {} float_val: 0.5 } } } }
  node { name: "scaled" op: "Mul" input: "in" input: "half" attr { key: "T" value { type: DT_FLOAT } } }
  versions { producer: 1987 }
"""


def graph(text):
    return text_format.Merge(text, GraphDef())


def good_bytes():
    return graph(GOOD).SerializeToString(deterministic=True)


def const(name, tensor, dtype="DT_FLOAT"):
    return ('node { name: "%s" op: "Const" attr { key: "dtype" value { type: %s } } '
            'attr { key: "value" value { tensor { %s } } } }' % (name, dtype, tensor))


def unary(name, op, source, dtype="DT_FLOAT"):
    return 'node { name: "%s" op: "%s" input: "%s" attr { key: "T" value { type: %s } } }' % (name, op, source, dtype)


def at_load(name, about, data, contains=(), code=IA, ours=False):
    Case("errors/" + name, about, data).fail(code, contains, when="load", ours=ours).write()


def at_any(name, about, data, fetch, contains=(), code=IA, ours=False):
    Case("errors/" + name, about, data).fail(code, contains, fetches=[fetch], when="any", ours=ours).write()


def length_delimited(field, payload):
    size, out = len(payload), b""
    while size >= 128:
        out += bytes([size & 127 | 128])
        size >>= 7
    return bytes([field << 3 | 2]) + out + bytes([size]) + payload


def deep_attr(levels):
    """A graph whose node has an attr of functions bound to functions, `levels` deep."""
    value = b"\x18\x01"  # AttrValue { i: 1 }
    for _ in range(levels):
        entry = length_delimited(1, b"a") + length_delimited(2, value)
        value = length_delimited(10, length_delimited(1, b"f") + length_delimited(2, entry))
    node = length_delimited(1, b"deep") + length_delimited(2, b"NoOp")
    node += length_delimited(5, length_delimited(1, b"a") + length_delimited(2, value))
    return length_delimited(1, node)


def files():
    good = good_bytes()
    Case("errors/file_of_no_bytes", "an empty file is an empty graph: the fetch is missing", b"").fail(
        IA, ["scaled"], fetches=["scaled"], when="any").write()
    at_load("file_of_words", "a text that is no graph", b"Dear reader, this is no graph.\n" * 3)
    for size in (5, len(good) // 2, len(good) - 1):
        at_load("file_cut_at_%d" % size, "a graph cut after %d bytes" % size, good[:size])
    at_load("file_length_of_4_gib", "the first node claims almost 4 GiB", b"\x0a\xf0\xff\xff\xff\x0f" + good)
    at_load("file_endless_varint", "a varint of 12 bytes", good + b"\x18" + b"\xff" * 11 + b"\x01")
    at_load("file_wire_type_6", "a field of a wire type that does not exist", good + b"\x1e\x00")
    at_load("file_end_group_alone", "the end of a group that was never opened", good + b"\x1c")
    at_load("file_nested_800_deep", "functions in attrs of functions, 800 levels", deep_attr(800))
    at_load("file_from_the_future", "min_consumer is above every version that exists",
            graph(GOOD.replace("producer: 1987", "producer: 1987 min_consumer: 900000")))
    unknown = graph(GOOD).SerializeToString() + b"\xfa\x3e\x03abc" + b"\xe3\x3e\x08\x01\xe4\x3e"
    Case("errors/file_with_unknown_fields", "unknown fields and a well-formed unknown group are skipped", unknown).run(
        ["scaled"], {"in": np.float32([1, 3])}).write()


def tensors():
    rows = [
        ("dtype_none", "the tensor has no dtype", "tensor_shape {} float_val: 1", "DT_FLOAT"),
        ("dtype_reference", "the tensor's dtype is a reference", "dtype: DT_FLOAT_REF tensor_shape {} float_val: 1",
         "DT_FLOAT"),
        ("dtype_other", "the tensor is of another dtype than the attr",
         "dtype: DT_INT64 tensor_shape {} int64_val: 1", "DT_FLOAT"),
        ("size_negative", "a negative dimension", "dtype: DT_FLOAT tensor_shape { dim { size: -3 } } float_val: 1",
         "DT_FLOAT"),
        ("rank_unknown", "a constant of unknown rank",
         "dtype: DT_FLOAT tensor_shape { unknown_rank: true } float_val: 1",
         "DT_FLOAT"),
        ("size_overflow", "more elements than 2^63", "dtype: DT_FLOAT tensor_shape { dim { size: 4294967296 } "
         "dim { size: 4294967296 } } float_val: 1", "DT_FLOAT"),
        ("content_short", "5 bytes of content for two floats",
         r'dtype: DT_FLOAT tensor_shape { dim { size: 2 } } tensor_content: "\000\000\200?\000"', "DT_FLOAT"),
        ("string_lengths_past_end", "a string tensor whose content ends before its strings",
         r'dtype: DT_STRING tensor_shape { dim { size: 2 } } tensor_content: "\001\010ab"', "DT_STRING"),
    ]
    for name, about, tensor, dtype in rows:
        data = graph(const("k", tensor, dtype) + unary("out", "Identity", "k", dtype))
        at_any("const_" + name, about, data, "out", ["k"], ours=name == "rank_unknown")
    strings = r'dtype: DT_STRING tensor_shape { dim { size: 2 } } tensor_content: "\001\002abc"'
    data = graph(const("k", strings, "DT_STRING"))
    Case("errors/const_strings_in_content", "a string tensor as lengths and bytes in its content", data).run(
        ["k"]).write()
    at_any("const_without_value", "Const without its value",
           graph('node { name: "k" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } } }'), "k", ["k"])


def nodes():
    x = const("x", "dtype: DT_FLOAT tensor_shape { dim { size: 2 } } float_val: 1 float_val: 2")
    at_load("node_twice", "two nodes of one name", graph(x + x), ["x"])
    at_load("node_name_with_blank", "a blank in a node name", graph(unary("a b", "Relu", "x") + x))
    at_load("node_without_op", "a node without an op", graph(x + unary("n", "", "x")), ["n"], code="NOT_FOUND")
    at_load("node_op_misspelt", "an op in the wrong case", graph(x + unary("n", "RelU", "x")), ["RelU"],
            code="NOT_FOUND")
    at_load("node_type_missing", "the type attr is missing", graph(x + 'node { name: "n" op: "Relu" input: "x" }'),
            ["n"], code="NOT_FOUND")
    at_load("node_type_not_allowed", "a type that the op does not take",
            graph(unary("n", "Relu", "x", "DT_STRING") + x), ["n"])
    at_load("node_attr_of_another_kind", "a float where the op has an int",
            graph(x + 'node { name: "n" op: "Pack" input: "x" attr { key: "T" value { type: DT_FLOAT } } '
                  'attr { key: "N" value { f: 1 } } }'), ["n"])
    at_any("node_counts_too_few", "N says three inputs, there are two",
           graph(x + 'node { name: "n" op: "AddN" input: "x" input: "x" attr { key: "T" value { type: DT_FLOAT } } '
                 'attr { key: "N" value { i: 3 } } }'), "n", ["n"])
    at_load("node_device_malformed", "a device name that is none",
            graph(x + unary("n", "Relu", "x").replace('op:', 'device: "/job:a/task:minus" op:')), ["n"])
    at_load("input_slot_too_large", "an output that the node does not have",
            graph(x + unary("n", "Relu", "x:1")), ["n"])
    at_load("input_unknown", "an input that is not there", graph(x + unary("n", "Relu", "y")), ["n"])
    at_load("input_after_control", "a data input behind a control input",
            graph(x + unary("n", "Mul", '^x" input: "x" input: "x')), ["n"])
    at_load("input_of_another_type", "a float into an int32 input",
            graph(x + unary("n", "Neg", "x", "DT_INT32")), ["n"])
    at_load("input_one_too_many", "three inputs for two arguments",
            graph(x + unary("n", "Mul", 'x" input: "x" input: "x')), ["n"])
    at_load("ring_of_three", "three nodes in a ring",
            graph(unary("a", "Relu", "c") + unary("b", "Relu", "a") + unary("c", "Relu", "b")))


def loops():
    x = const("x", "dtype: DT_FLOAT tensor_shape {} float_val: 1")
    enter = unary("e", "Enter", "x").replace("attr", 'attr { key: "frame_name" value { s: "f" } } attr', 1)
    at_any("loop_exit_alone", "Exit outside of any frame", graph(x + unary("out", "Exit", "x")), "out")
    at_any("loop_frames_mixed", "one input from a frame, one from outside",
           graph(x + enter + unary("m", "Mul", 'e" input: "x') + unary("out", "Exit", "m")), "out", ["m"])
    at_any("loop_frame_without_name", "Enter into a frame without a name",
           graph(x + enter.replace('s: "f"', 's: ""') + unary("out", "Exit", "e")), "out", ["frame_name"])


def function(name, body, ret, arg="x", more=""):
    return ('library { function { signature { name: "%s" input_arg { name: "%s" type: DT_FLOAT } '
            'output_arg { name: "y" type: DT_FLOAT } } %s ret { key: "y" value: "%s" } %s } }' %
            (name, arg, body.replace("node {", "node_def {"), ret, more))


def functions():
    x = const("x", "dtype: DT_FLOAT tensor_shape {} float_val: 3")
    call = 'node { name: "call" op: "%s" input: "x" }'
    square = unary("sq", "Square", "x")
    at_load("function_defined_twice", "two different functions of one name",
            graph(x + function("F", square, "sq:y:0") + function("F", square, "x")), ["F"])
    at_any("function_result_unknown", "the result is no value of the body",
           graph(x + function("F", square, "cube:y:0") + call % "F"), "call", ["cube"])
    at_any("function_calls_itself", "a function that calls itself",
           graph(x + function("F", call % "F", "call:y:0") + call % "F"), "call", ["F"], ours=True)
    at_any("function_op_unknown", "an unknown op in the body of a function that is called",
           graph(x + function("F", square.replace("Square", "Sqare"), "sq:y:0") + call % "F"), "call", ["Sqare"],
           code="NOT_FOUND")
    at_any("function_argument_type", "an int argument for a float function",
           graph(const("x", "dtype: DT_INT32 tensor_shape {} int_val: 3", "DT_INT32") +
                 function("F", square, "sq:y:0") +
                 'node { name: "call" op: "PartitionedCall" input: "x" attr { key: "f" value { func { name: "F" } } } '
                 'attr { key: "Tin" value { list { type: DT_INT32 } } } '
                 'attr { key: "Tout" value { list { type: DT_FLOAT } } } }'), "call", ["call"])


def main():
    files()
    tensors()
    nodes()
    loops()
    functions()
