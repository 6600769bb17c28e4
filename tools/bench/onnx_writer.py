"""Writes ONNX models byte by byte: no onnx package. As graph_writer.py does for GraphDefs."""
import struct

from graph_writer import field, number

FLOAT, INT32, INT64, BOOL = 1, 6, 7, 9
PACKING = {FLOAT: "<f", INT32: "<i", INT64: "<q", BOOL: "<?"}
GRAPH_ATTRIBUTE = 5
IR_VERSION, OPSET = 8, 17


def value_info(name, dtype, dims):
    """What a graph says about an input or an output."""
    shape = b"".join(field(1, number(1, dim)) for dim in dims)
    return field(1, name.encode()) + field(2, field(1, number(1, dtype) + field(2, shape)))


class OnnxWriter:
    """One graph: the whole model, or the body of an If or a Loop. Methods that make a value return its name."""

    def __init__(self):
        self.nodes, self.constants, self.inputs, self.outputs = [], [], [], []

    def node(self, op, inputs, outputs, **graphs):
        """`outputs` is one name or a list; `graphs` are bodies by the name of their attribute."""
        names = [outputs] if isinstance(outputs, str) else outputs
        body = b"".join(field(1, name.encode()) for name in inputs)
        body += b"".join(field(2, name.encode()) for name in names) + field(4, op.encode())
        for key, graph in graphs.items():
            body += field(5, field(1, key.encode()) + field(6, graph.graph_bytes()) + number(20, GRAPH_ATTRIBUTE))
        self.nodes.append(field(1, body))
        return names[0]

    def scalar(self, name, value, dtype=FLOAT):
        tensor = number(2, dtype) + field(8, name.encode()) + field(9, struct.pack(PACKING[dtype], value))
        self.constants.append(field(5, tensor))
        return name

    def input(self, name, dtype=FLOAT, dims=()):
        self.inputs.append(field(11, value_info(name, dtype, dims)))
        return name

    def output(self, name, dtype=FLOAT, dims=()):
        self.outputs.append(field(12, value_info(name, dtype, dims)))
        return self

    def graph_bytes(self):
        return b"".join(self.nodes) + field(2, b"graph") + b"".join(self.constants + self.inputs + self.outputs)

    def bytes(self):
        return (number(1, IR_VERSION) + field(7, self.graph_bytes()) +
                field(8, field(1, b"") + number(2, OPSET)))
