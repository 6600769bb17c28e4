"""Compares graph/proto/*.proto with the messages of the installed TensorFlow. Development only.

Usage, from the root: python tests/graph/proto/compare_descriptors.py [PROTOC]
Names, numbers, types, labels, oneofs and enum values must be the same; packages may differ.
"""

import glob
import importlib
import os
import subprocess
import sys
import tempfile

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import tensorflow  # noqa: F401  Loads most descriptors.
from google.protobuf import descriptor_pb2, descriptor_pool
from tensorflow.python.training import checkpoint_state_pb2  # noqa: F401

for module in (
    "framework.graph_debug_info_pb2",
    "protobuf.fingerprint_pb2",
    "protobuf.tensor_bundle_pb2",
    "util.saved_tensor_slice_pb2",
):
    importlib.import_module("tensorflow.core." + module)

OURS = "sluice.proto."
THEIRS = "tensorflow."
OWN_MESSAGES = {"ErrorInfo", "ErrorList"}


def facts_of_message(message, prefix, package):
    """Yields (path, fact) for every field and enum value in `message`."""
    path = prefix + message.name
    for field in message.field:
        type_name = field.type_name.replace("." + package, "")
        oneof = message.oneof_decl[field.oneof_index].name if field.HasField("oneof_index") else ""
        yield path + "." + field.name, (field.number, field.type, field.label, type_name, oneof)
    for nested in message.nested_type:
        yield from facts_of_message(nested, path + ".", package)
    for enum in message.enum_type:
        yield from facts_of_enum(enum, path + ".")


def facts_of_enum(enum, prefix):
    for value in enum.value:
        yield prefix + enum.name + "." + value.name, value.number


def our_files(protoc):
    with tempfile.NamedTemporaryFile() as out:
        command = [protoc, "-I.", "--descriptor_set_out=" + out.name] + sorted(glob.glob("graph/proto/*.proto"))
        subprocess.run(command, check=True)
        files = descriptor_pb2.FileDescriptorSet()
        files.ParseFromString(out.read())
        return files.file


def their_descriptor(pool, name, is_enum):
    if is_enum:
        proto = descriptor_pb2.EnumDescriptorProto()
        pool.FindEnumTypeByName(THEIRS + name).CopyToProto(proto)
    else:
        proto = descriptor_pb2.DescriptorProto()
        pool.FindMessageTypeByName(THEIRS + name).CopyToProto(proto)
    return proto


def main(protoc):
    pool = descriptor_pool.Default()
    ours, theirs = {}, {}
    for file in our_files(protoc):
        for message in file.message_type:
            if message.name in OWN_MESSAGES:
                continue
            ours.update(facts_of_message(message, "", OURS))
            theirs.update(facts_of_message(their_descriptor(pool, message.name, False), "", THEIRS))
        for enum in file.enum_type:
            ours.update(facts_of_enum(enum, ""))
            theirs.update(facts_of_enum(their_descriptor(pool, enum.name, True), ""))
    wrong = sorted(path for path in set(ours) | set(theirs) if ours.get(path) != theirs.get(path))
    for path in wrong:
        print(path, "ours", ours.get(path), "theirs", theirs.get(path))
    print("%d fields and values, %d different" % (len(theirs), len(wrong)))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else "protoc"))
