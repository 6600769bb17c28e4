"""Compares our op table, as our parser reads it, with the ops of the installed TensorFlow. Development only.

Usage: bazel run //tests/graph/ops:dump_op_table > ops.pb; python compare_op_table.py ops.pb
Leaves aside what the table does not keep: descriptions, full types, handle data, and the ops of TensorFlow's own tests.
"""

import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import tensorflow  # noqa: F401  Registers the ops.
from tensorflow.core.framework import op_def_pb2
from tensorflow.python.client import pywrap_tf_session

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../graph/ops"))
from make_op_table import is_test_op


def facts(op):
    """`op` without what the table does not keep."""
    op.ClearField("summary")
    op.ClearField("description")
    op.deprecation.explanation = " ".join(op.deprecation.explanation.split())
    if not op.deprecation.version:
        op.ClearField("deprecation")
    for arg in list(op.input_arg) + list(op.output_arg):
        for field in ("description", "handle_data", "experimental_full_type"):
            arg.ClearField(field)
    for attr in op.attr:
        attr.ClearField("description")
    return op.SerializeToString(deterministic=True)


def ops_of(data):
    ops = op_def_pb2.OpList()
    ops.ParseFromString(data)
    return {op.name: facts(op) for op in ops.op}


def main(path):
    with open(path, "rb") as file:
        ours = ops_of(file.read())
    theirs = ops_of(pywrap_tf_session.TF_GetBuffer(pywrap_tf_session.TF_GetAllOpList()))
    theirs = {name: op for name, op in theirs.items() if not is_test_op(name)}
    missing = sorted(set(theirs) - set(ours))
    extra = sorted(set(ours) - set(theirs))
    different = sorted(name for name in set(ours) & set(theirs) if ours[name] != theirs[name])
    print("%d ops, %d missing, %d extra, %d different" % (len(theirs), len(missing), len(extra), len(different)))
    for name in missing + extra + different:
        print(" ", name)
    return 1 if missing or extra or different else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
