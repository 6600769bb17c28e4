"""Runs define-by-run programs, line by line, in PyTorch, and writes down what can be observed (see README.md,
"Programs with hooks"). torch_hook_programs.py makes the programs; hook_program.cc runs the same lines on a tape.
"""
import math

import torch
from torch_functions import FUNCTIONS, Function

KINDS = [
    ("modified by an inplace operation", "version"),
    ("backward through the graph a second time", "released"),
    ("access saved tensors after they have already been freed", "released"),
    ("saved intermediate values of the graph are freed", "released"),
    ("does not require grad", "no_grad"),
    ("can't retain_grad on Tensor that has requires_grad=False", "no_grad"),
    ("cannot register a hook on a tensor that doesn't require gradient", "no_grad"),
    ("post accumulate grad hooks cannot be registered on non-leaf tensors", "no_grad"),
    ("you can only change requires_grad flags of leaf variables", "no_grad"),
    ("implicitly created only for scalar", "scalar"),
    ("have been used in the graph", "unused"),
    ("leaf Variable that requires grad", "leaf"),
    ("moved into the graph interior", "leaf"),
    ("can't replace a None gradient with a non-None value", "hook"),
    ("has changed the size of value", "hook"),
    ("an incorrect number of gradients", "function"),
    ("must all be outputs of the Function", "function"),
    ("once_differentiable", "once"),
    ("a user's failure", "user"),
]
UNARY = {
    "tanh": torch.tanh, "exp": torch.exp, "sigmoid": torch.sigmoid, "square": torch.square, "sin": torch.sin,
    "cos": torch.cos, "relu": torch.relu, "abs": torch.abs, "sqrt": torch.sqrt, "neg": torch.neg, "sum": torch.sum,
    "mean": torch.mean, "softplus": torch.nn.functional.softplus, "log": torch.log, "detach": lambda x: x.detach(),
    "clone": lambda x: x.clone(), "flat": lambda x: x.reshape(-1), "sum0": lambda x: x.sum(0), "turn": lambda x: x.t(),
}
BINARY = {"add": torch.add, "sub": torch.sub, "mul": torch.mul, "div": torch.div, "mm": torch.mm}


def kind_of(error):
    for text, kind in KINDS:
        if text in str(error):
            return kind
    raise error


def pattern(shape, seed):
    values = [math.sin(1.7 * seed + 0.9 * k) for k in range(math.prod(shape))]
    return torch.tensor(values, dtype=torch.float64).reshape(shape).clone()


def digest(x):
    """Type of history, shape, and two sums over the elements."""
    if x is None:
        return "none"
    g = x.detach().reshape(-1).tolist()
    shape = "x".join(map(str, x.shape)) or "s"
    dot = sum(v * math.cos(k + 1) for k, v in enumerate(g))
    return f"{shape}:{dot:.11g}:{sum(map(abs, g)):.11g}:{int(x.requires_grad)}"


class Machine:
    """Variables, handles of hooks and nodes go by numbers."""

    def __init__(self):
        self.vars, self.handles, self.nodes, self.lines, self.records = {}, {}, {}, [], True
        self.depth = 0
        Function.machine = self

    def run(self, line):
        """Whether the line succeeded."""
        self.lines.append(line)
        words = line.split()
        kind = "ok"
        try:
            with torch.set_grad_enabled(self.records):
                getattr(self, "do_" + words[0])(*words[1:])
        except RuntimeError as error:
            kind = kind_of(error)
            error.__traceback__ = None
        if kind != "ok":
            self.lines.append("= " + kind)
        if words[0] in ("backward", "grad"):
            grads = [(slot + 1) * digest_sum(x.grad) for slot, x in sorted(self.vars.items()) if keeps_grad(x)]
            self.lines.append(f"~ {sum(grads):.11g} {sum(map(abs, grads)):.11g}")
        return kind == "ok"

    def note(self, name, *grads):
        self.lines.append(" ".join(["!", str(name), *map(digest, grads)]))

    def finish(self):
        for slot, x in sorted(self.vars.items()):
            grad = x.grad if keeps_grad(x) else None
            flags = f"{int(x.is_leaf)}{int(x.retains_grad)}"
            self.lines.append(f"is {slot} {digest(x)} {flags} {digest(grad)}")

    # --- Values ------------------------------------------------------------------------------------------------------
    def do_leaf(self, to, shape, seed):
        self.vars[int(to)] = pattern(shape_of(shape), int(seed)).requires_grad_()

    def do_const(self, to, shape, seed):
        self.vars[int(to)] = pattern(shape_of(shape), int(seed))

    def do_un(self, op, to, a):
        self.vars[int(to)] = UNARY[op](self.vars[int(a)])

    def do_bin(self, op, to, a, b):
        self.vars[int(to)] = BINARY[op](self.vars[int(a)], self.vars[int(b)])

    def do_scale(self, to, a, factor):
        self.vars[int(to)] = self.vars[int(a)] * float(factor)

    def do_shift(self, to, a, number):
        self.vars[int(to)] = self.vars[int(a)] + float(number)

    def do_parts(self, a, *to):
        parts = torch.unbind(self.vars[int(a)], 0)
        for slot, part in zip(to, parts, strict=True):
            self.vars[int(slot)] = part

    def do_cat(self, to, a, b):
        self.vars[int(to)] = torch.cat([self.vars[int(a)], self.vars[int(b)]], 0)

    def do_fun(self, name, *words):
        at = words.index(">")
        outputs = FUNCTIONS[name].apply(*[self.vars[int(a)] for a in words[:at]])
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        for slot, output in zip(words[at + 1:], outputs, strict=True):
            self.vars[int(slot)] = output

    def do_bind(self, to, a):
        self.vars[int(to)] = self.vars[int(a)]

    def do_drop(self, a):
        del self.vars[int(a)]

    # --- In place ----------------------------------------------------------------------------------------------------
    def do_in(self, op, a, b):
        getattr(self.vars[int(a)], op + "_")(self.vars[int(b)])

    def do_number(self, op, a, number):
        getattr(self.vars[int(a)], op + "_")(float(number))

    def do_requires(self, a, flag):
        self.vars[int(a)].requires_grad_(flag == "1")

    def do_mode(self, flag):
        self.records = flag == "1"

    # --- Gradients ---------------------------------------------------------------------------------------------------
    def do_retain(self, a):
        self.vars[int(a)].retain_grad()

    def do_clear(self, a):
        self.vars[int(a)].grad = None

    def do_give(self, a, b):
        self.vars[int(a)].grad = self.vars[int(b)].detach().clone()

    def do_take(self, to, a):
        self.vars[int(to)] = self.vars[int(a)].grad

    def do_update(self, a):
        x = self.vars[int(a)]
        with torch.no_grad():
            x.sub_(x.grad.detach() * 0.125)

    def do_backward(self, retain, create, roots, grads, inputs):
        torch.autograd.backward(self.list(roots), self.seeds(grads, create), retain_graph=flag_of(retain),
                                create_graph=create == "1", inputs=self.list(inputs))

    def do_grad(self, retain, create, unused, roots, grads, inputs, *to):
        found = torch.autograd.grad(self.list(roots), self.list(inputs), self.seeds(grads, create),
                                    retain_graph=flag_of(retain), create_graph=create == "1", allow_unused=unused == "1")
        for slot, grad in zip(to, found, strict=True):
            self.vars.pop(int(slot), None)
            if grad is not None:
                self.vars[int(slot)] = copy_of(grad)

    def seeds(self, words, create):
        """Copies: PyTorch hands on the tensor itself, and its history, where a node changes nothing."""
        found = self.list(words)
        if found is None or create == "1":
            return found and [None if x is None else copy_of(x) for x in found]
        return [None if x is None else x.detach().clone() for x in found]

    def list(self, words):
        if words == "-":
            return None
        return [None if word == "_" else self.vars[int(word)] for word in words.split(",")]

    # --- Hooks -------------------------------------------------------------------------------------------------------
    def do_hook(self, a, name, *action):
        def hook(grad):
            self.note(name, grad)
            return self.act(name, action, grad)
        self.handles[name] = self.vars[int(a)].register_hook(hook)

    def do_after(self, a, name, *action):
        def hook(leaf):
            self.note(name, None if leaf.grad is None else leaf.grad.detach())
            self.act(name, action, leaf)
        self.handles[name] = self.vars[int(a)].register_post_accumulate_grad_hook(hook)

    def do_pre(self, a, name, *action):
        def hook(grads):
            self.note(name, *grads)
            return self.act_on_all(name, action, grads)
        self.handles[name] = self.node_of(a).register_prehook(hook)

    def do_post(self, a, name, *action):
        def hook(inputs, outputs):
            self.note(name, *outputs)
            self.lines.append(" ".join(["!", name, "in"] + [digest(x) for x in inputs if x is not None]))
            return self.act_on_all(name, action, inputs)
        self.handles[name] = self.node_of(a).register_hook(hook)

    def do_node(self, number, a):
        """Keeps the node that adds to a leaf, which PyTorch otherwise makes anew."""
        with torch.enable_grad():
            self.nodes[number] = torch.autograd.graph.get_gradient_edge(self.vars[int(a)]).node

    def do_remove(self, name):
        if name in self.handles:
            self.handles[name].remove()

    def node_of(self, a):
        return self.nodes[a] if a in self.nodes else self.vars[int(a)].grad_fn

    def act(self, name, action, x):
        what, rest = action[0], action[1:]
        if x is None and what in ("mul", "sq", "inner"):
            return None
        if what == "mul":
            return x * float(rest[0])
        if what == "sq":
            return x * x
        if what == "other":
            return pattern(() if x is None else x.shape, int(rest[0]))
        if what == "shape":
            return torch.zeros([2] if x is None else [*x.shape, 2], dtype=torch.float64)
        if what == "fail":
            raise RuntimeError("a user's failure")
        if what == "self":
            self.handles[name].remove()
        elif what == "remove":
            self.do_remove(rest[0])
        elif what == "forget":
            x.grad = None
        elif what == "step":
            with torch.no_grad():
                if x.grad is not None:
                    x.sub_(x.grad.detach() * 0.125)
            x.grad = None
        elif what == "inner":
            with torch.enable_grad():
                t = pattern((3,), 5).requires_grad_()
                (torch.tanh(t) * t).sum().backward()
            return x * t.grad.sum()
        elif what in ("pass", "retain", "clear", "bump", "add"):
            return self.act_on_slot(what, rest)
        return None

    def act_on_slot(self, what, rest):
        """What a hook does to the variable that a number stands for now."""
        var = self.vars.get(int(rest[0]))
        if var is None:
            return
        if what == "bump":
            with torch.no_grad():
                var.add_(0.5)
        elif what == "clear":
            var.grad = None
        elif not var.requires_grad:
            return
        elif what == "pass":
            self.inner_pass(var)
        elif what == "retain":
            var.retain_grad()
        else:
            self.do_hook(rest[0], rest[1], "mul", rest[2])

    def inner_pass(self, var):
        """A pass inside of a pass, which may call the same hook again: only so deep."""
        if self.depth == 2:
            return
        self.depth += 1
        try:
            with torch.enable_grad():
                root = (var * 1.0).sum()
            root.backward(retain_graph=True)
        finally:
            self.depth -= 1

    def act_on_all(self, name, action, grads):
        if action[0] != "mul":
            return self.act(name, action, None)
        return tuple(None if grad is None else grad * float(action[1]) for grad in grads)


def shape_of(word):
    return () if word == "s" else tuple(map(int, word.split("x")))


def flag_of(word):
    return None if word == "-" else word == "1"


def copy_of(x):
    with torch.enable_grad():
        return x * 1.0


def keeps_grad(x):
    return x.is_leaf or x.retains_grad


def digest_sum(grad):
    return 0 if grad is None else sum(v * math.cos(k + 1) for k, v in enumerate(grad.detach().reshape(-1).tolist()))
