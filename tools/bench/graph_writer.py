"""Writes GraphDefs byte by byte: no TensorFlow, no protobuf package."""
import struct

FLOAT, INT32, BOOL = 1, 3, 10


def varint(value):
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def field(number, payload):
    return varint(number << 3 | 2) + varint(len(payload)) + payload


def number(field_number, value):
    return varint(field_number << 3) + varint(value)


def attr(name, value):
    """One attr of a node: a type number as ("type", n), else a bool, an int or a string."""
    if isinstance(value, tuple):
        payload = number(6, value[1])
    elif isinstance(value, bool):
        payload = number(5, int(value))
    elif isinstance(value, int):
        payload = number(3, value)
    else:
        payload = field(2, value.encode())
    return field(5, field(1, name.encode()) + field(2, payload))


def shape_bytes(dims):
    return b"".join(field(2, number(1, dim)) for dim in dims)


class GraphWriter:
    """Nodes in order; methods return the node's name, to be used as an input."""

    def __init__(self):
        self.parts = []

    def node(self, name, op, inputs=(), device="", **attrs):
        body = field(1, name.encode()) + field(2, op.encode())
        body += b"".join(field(3, source.encode()) for source in inputs)
        if device:
            body += field(4, device.encode())
        body += b"".join(attr(key, value) for key, value in attrs.items())
        self.parts.append(field(1, body))
        return name

    def placeholder(self, name, dtype=FLOAT, dims=()):
        body = field(1, name.encode()) + field(2, b"Placeholder") + attr("dtype", ("type", dtype))
        body += field(5, field(1, b"shape") + field(2, field(7, shape_bytes(dims))))
        self.parts.append(field(1, body))
        return name

    def const(self, name, values, dtype=FLOAT, dims=(), inputs=()):
        values = values if isinstance(values, (list, tuple)) else [values]
        content = struct.pack("<%d%s" % (len(values), "f" if dtype == FLOAT else "i"), *values)
        tensor = number(1, dtype) + field(2, shape_bytes(dims)) + field(4, content)
        body = field(1, name.encode()) + field(2, b"Const")
        body += b"".join(field(3, source.encode()) for source in inputs)
        body += attr("dtype", ("type", dtype)) + field(5, field(1, b"value") + field(2, field(8, tensor)))
        self.parts.append(field(1, body))
        return name

    def while_loop(self, name, variables, limit, body, parallel_iterations=10):
        """Runs `body(graph, scope, values)` -> new values while values[0] < limit; both int32. Values are lists of
        (tensor, dtype). Returns the names of the Exits."""
        frame = {"frame_name": name, "parallel_iterations": parallel_iterations}
        merges = []
        for i, (tensor, dtype) in enumerate(variables):
            self.node(f"{name}/Enter_{i}", "Enter", [tensor], T=("type", dtype), is_constant=False, **frame)
            self.node(f"{name}/Merge_{i}", "Merge", [f"{name}/Enter_{i}", f"{name}/Next_{i}"], T=("type", dtype), N=2)
            merges.append(f"{name}/Merge_{i}")
        self.node(f"{name}/Limit", "Enter", [limit], T=("type", INT32), is_constant=True, **frame)
        self.node(f"{name}/Less", "Less", [merges[0], f"{name}/Limit"], T=("type", INT32))
        self.node(f"{name}/LoopCond", "LoopCond", [f"{name}/Less"])
        inside = []
        for i, (_, dtype) in enumerate(variables):
            switch = self.node(f"{name}/Switch_{i}", "Switch", [merges[i], f"{name}/LoopCond"], T=("type", dtype))
            inside.append((self.node(f"{name}/Identity_{i}", "Identity", [switch + ":1"], T=("type", dtype)), dtype))
        for i, (tensor, dtype) in enumerate(body(self, name, inside)):
            self.node(f"{name}/Next_{i}", "NextIteration", [tensor], T=("type", dtype))
        return [self.node(f"{name}/Exit_{i}", "Exit", [f"{name}/Switch_{i}"], T=("type", dtype))
                for i, (_, dtype) in enumerate(variables)]

    def bytes(self):
        return b"".join(self.parts) + field(4, number(1, 2129))
