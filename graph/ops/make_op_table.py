"""Writes tensorflow_ops.txt: the facts of every op that the installed TensorFlow registers, its tests' ops left out.

Development only: needs a Python with TensorFlow (2.19). Usage: make_op_table.py [--check] [FILE]
With --check nothing is written: the exit status says whether FILE is what would be written.
The notation of the lines is described in op_table.h, that of the specs in graph/ir/op_schema_builder.h.
"""

import os
import re
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import tensorflow  # noqa: F401  Registers the ops.
from tensorflow.core.framework import op_def_pb2, types_pb2
from tensorflow.python.client import pywrap_tf_session
from tensorflow.python.framework import test_ops

NAMED_SETS = {
    "numbertype": "FLOAT DOUBLE INT32 UINT8 INT16 INT8 COMPLEX64 INT64 QINT8 QUINT8 QINT32 BFLOAT16 QINT16 QUINT16 "
    "UINT16 COMPLEX128 HALF UINT32 UINT64",
    "realnumbertype": "FLOAT DOUBLE INT32 UINT8 INT16 INT8 INT64 BFLOAT16 UINT16 HALF UINT32 UINT64",
    "quantizedtype": "QINT8 QUINT8 QINT32 QINT16 QUINT16",
}


def type_name(number):
    return types_pb2.DataType.Name(number)[len("DT_"):].lower()


def quote(data):
    """`data` (bytes) between single quotes, with C escapes."""
    out = []
    for byte in data:
        char = chr(byte)
        if char in "'\\":
            out.append("\\" + char)
        elif 32 <= byte < 127:
            out.append(char)
        else:
            out.append("\\%03o" % byte)
    return "'" + "".join(out) + "'"


def shape_text(shape):
    if shape.unknown_rank:
        return "?"
    return "[" + ",".join("?" if d.size < 0 else str(d.size) for d in shape.dim) + "]"


SCALARS = {
    "string": ("s", quote),
    "int": ("i", str),
    "float": ("f", lambda value: str(np.float32(value))),
    "bool": ("b", lambda value: "true" if value else "false"),
    "type": ("type", type_name),
    "shape": ("shape", shape_text),
}


def default_text(attr):
    """The default as a literal, or hex when there is none for its kind."""
    value = attr.default_value
    is_list = attr.type.startswith("list(")
    element = attr.type[len("list("):-1] if is_list else attr.type
    if element in SCALARS:
        field, show = SCALARS[element]
        if is_list:
            return "[" + ",".join(show(v) for v in getattr(value.list, field)) + "]"
        return show(getattr(value, field))
    return "hex:" + value.SerializeToString(deterministic=True).hex()


def set_text(allowed):
    if allowed.list.s:
        return "{" + ",".join(quote(s) for s in allowed.list.s) + "}"
    types = [types_pb2.DataType.Name(t)[len("DT_"):] for t in allowed.list.type]
    for name, members in NAMED_SETS.items():
        if members.split() == types:
            return name
    return "{" + ",".join(t.lower() for t in types) + "}"


def arg_text(arg):
    text = arg.type_attr or arg.type_list_attr or type_name(arg.type)
    if arg.number_attr:
        text = arg.number_attr + "*" + text
    if arg.is_ref:
        text = "Ref(" + text + ")"
    return arg.name + ":" + text


def attr_text(attr):
    text = attr.type
    if attr.HasField("allowed_values"):
        text = set_text(attr.allowed_values)
        if attr.type.startswith("list("):
            text = "list(" + text + ")"
    if attr.has_minimum:
        text += ">=%d" % attr.minimum
    if attr.HasField("default_value"):
        text += "=" + default_text(attr)
    return attr.name + ":" + text


def op_line(op):
    parts = [op.name]
    parts += ["<" + arg_text(arg) for arg in op.input_arg]
    parts += [">" + arg_text(arg) for arg in op.output_arg]
    parts += ["@" + attr_text(attr) for attr in op.attr]
    flags = "".join(
        letter
        for letter, is_set in (
            ("s", op.is_stateful),
            ("c", op.is_commutative),
            ("a", op.is_aggregate),
            ("u", op.allows_uninitialized_input),
            ("d", op.is_distributed_communication),
        )
        if is_set
    )
    if flags:
        parts.append("!" + flags)
    if op.HasField("deprecation"):
        parts.append("~%d %s" % (op.deprecation.version, " ".join(op.deprecation.explanation.split())))
    assert not any("\t" in part or "\n" in part for part in parts), op.name
    return "\t".join(parts) + "\n"


def is_test_op(name):
    """Whether TensorFlow has the op for its own tests only: then its Python name is in the module of those ops, as
    "RefIn", "None_" or "Namespace_TestStringOutput". ("A" or "B" are likelier names of a user's function.)"""
    wrapper = getattr(test_ops, re.sub(r"\W", "_", name), None)
    is_import = getattr(wrapper, "__module__", None) == "typing"
    return (wrapper is not None and not is_import) or name in ("None", "ConstructionFails")


def all_ops():
    ops = op_def_pb2.OpList()
    ops.ParseFromString(pywrap_tf_session.TF_GetBuffer(pywrap_tf_session.TF_GetAllOpList()))
    return sorted((op for op in ops.op if not is_test_op(op.name)), key=lambda op: op.name.encode())


def main(args):
    check = "--check" in args
    paths = [a for a in args if not a.startswith("--")]
    path = paths[0] if paths else os.path.join(os.path.dirname(os.path.abspath(__file__)), "tensorflow_ops.txt")
    text = "".join(op_line(op) for op in all_ops())
    if check:
        with open(path, encoding="ascii") as file:
            same = file.read() == text
        print("same" if same else "different: run make_op_table.py")
        return 0 if same else 1
    with open(path, "w", encoding="ascii") as file:
        file.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
