#!/usr/bin/env python3
"""Records what PyTorch answers to random define-by-run programs; torch_programs_test.cc compares the tape with that.

  torch_programs.py COUNT > torch_programs.txt        (needs torch; a tool of development only)

A program is a list of lines; variables are numbers, in the order in which they are made. Elements of leaf N of seed s
are sin(1.7 s + 0.9 k). What is expected follows each line that can tell: "ok", or the kind of the error, which ends the
program. The last lines are the hooks that were called, and each gradient as two sums over its elements g[k]:
g[k] cos(k + 1), and |g[k]|.
"""
import math
import random
import sys

import torch

SHAPES = [(), (3,), (1, 3), (2, 3), (3, 3)]
KINDS = [
    ("modified by an inplace operation", "version"),
    ("backward through the graph a second time", "released"),
    ("does not require grad", "no_grad"),
    ("implicitly created only for scalar", "scalar"),
    ("have been used in the graph", "unused"),
    ("leaf Variable that requires grad", "leaf"),
]


class Checkpoint(torch.autograd.Function):
    """tanh(x) x, whose gradient is computed by a pass of its own."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.tanh(x) * x

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        with torch.enable_grad():
            inner = x.detach().requires_grad_()
            y = (torch.tanh(inner) * inner).sum()
            y.backward()
        return inner.grad * grad


class Program:
    def __init__(self, number):
        self.random = random.Random(number)
        self.lines, self.vars, self.hooks, self.kept = [f"program {number}"], [], [], []
        self.sources = []  # By variable: those that it was computed from, itself included.
        self.no_views = set()

    def make(self, shape, seed, requires_grad):
        count = math.prod(shape)
        values = [math.sin(1.7 * seed + 0.9 * k) for k in range(count)]
        return torch.tensor(values, dtype=torch.float64).reshape(shape).clone().requires_grad_(requires_grad)

    def add(self, line, var, of=()):
        self.lines.append(line)
        self.vars.append(var)
        self.sources.append(set().union(*(self.sources[i] for i in of)) | {len(self.vars) - 1})

    def pick(self):
        return self.random.randrange(max(0, len(self.vars) - 8), len(self.vars))

    def attempt(self, line, action):
        self.lines.append(line)
        try:
            result = action()
        except RuntimeError as error:
            kind = [k for text, k in KINDS if text in str(error)]
            if not kind:
                raise
            self.lines.append("= " + kind[0])
            return None
        self.lines.append("= ok")
        return True if result is None else result

    def pair(self):
        """Two variables that broadcast."""
        while True:
            a, b = self.pick(), self.pick()
            try:
                torch.broadcast_shapes(self.vars[a].shape, self.vars[b].shape)
                return a, b
            except RuntimeError:
                pass

    def step(self):
        choice = self.random.choice(
            ["add", "sub", "mul", "mul", "tanh", "tanh", "exp", "sum", "mean", "scale", "mm", "detach", "hook", "retain",
             "iadd", "iscale", "checkpoint", "backward", "backward", "grad", "update", "clear", "sigmoid", "square"])
        v, n = self.vars, len(self.vars)
        if choice in ("add", "sub", "mul"):
            a, b = self.pair()
            self.add(f"{choice} {a} {b}", getattr(torch, choice)(v[a], v[b]), (a, b))
        elif choice in ("tanh", "exp", "sum", "mean", "sigmoid", "square"):
            a = self.pick()
            if choice == "exp":
                self.add(f"sigmoid {a}", torch.sigmoid(v[a]), (a,))
                a = n
            self.add(f"{choice} {a}", getattr(torch, choice)(v[a]), (a,))
        elif choice == "scale":
            a, factor = self.pick(), self.random.choice([-1.5, 0.25, 2.0])
            self.add(f"scale {a} {factor}", v[a] * factor, (a,))
        elif choice == "mm":
            a, b = self.pick(), self.pick()
            if v[a].dim() == 2 and v[b].dim() == 2 and v[a].shape[1] == v[b].shape[0]:
                self.add(f"mm {a} {b}", torch.mm(v[a], v[b]), (a, b))
        elif choice == "detach":
            a = self.pick()
            self.add(f"detach {a}", v[a].detach().clone())
        elif choice == "checkpoint":
            a = self.pick()
            self.add(f"checkpoint {a}", Checkpoint.apply(v[a]), (a,))
        elif choice in ("hook", "retain"):
            self.watch(choice)
        elif choice in ("iadd", "iscale"):
            return self.assign(choice)
        elif choice == "update":
            leaves = [i for i, x in enumerate(v) if x.is_leaf and x.requires_grad and x.grad is not None]
            if not leaves:
                return True
            a = self.random.choice(leaves)
            with torch.no_grad():
                v[a].sub_(v[a].grad.detach() * 0.125)
            self.lines.append(f"update {a}")
        elif choice == "clear":
            a = self.pick()
            if v[a].is_leaf:
                v[a].grad = None
                self.lines.append(f"clear {a}")
        elif choice == "backward":
            return self.backward()
        else:
            return self.grad()
        return True

    def watch(self, choice):
        """A hook, or a gradient to be retained."""
        v = self.vars
        a = self.pick()
        if not v[a].requires_grad:
            return
        if choice == "retain":
            v[a].retain_grad()
            self.kept.append(a)
            self.lines.append(f"retain {a}")
            return
        factor, name = self.random.choice([0, -2.0]), len(self.hooks_added)
        self.hooks_added.append(a)
        def hook(grad, name=name, factor=factor):
            self.hooks.append(name)
            return grad * factor if factor else None
        v[a].register_hook(hook)
        self.lines.append(f"hook {a} {factor}")

    def assign(self, choice):
        v = self.vars
        a, b = self.pair() if choice == "iadd" else (self.pick(), 0)
        if choice == "iadd" and (v[a].shape != torch.broadcast_shapes(v[a].shape, v[b].shape) or a == b):
            return True
        if a not in self.no_views and (not v[a].is_leaf or not v[a].requires_grad or self.random.random() < 0.05):
            for i, sources in enumerate(self.sources):
                if i != a:
                    sources.discard(a)
            self.sources[a] |= self.sources[b] if choice == "iadd" else set()
        else:
            return True
        if choice == "iadd":
            return self.attempt(f"iadd {a} {b}", lambda: v[a].add_(v[b]))
        return self.attempt(f"iscale {a} 1.25", lambda: v[a].mul_(1.25))

    def backward(self):
        root, v = self.pick(), self.vars
        retain, create = self.random.random() < 0.75, self.random.random() < 0.2
        if not v[root].requires_grad and self.random.random() < 0.95:
            return True
        if self.random.random() < 0.97 and v[root].numel() > 1:
            self.add(f"sum {root}", v[root].sum(), (root,))
            root = len(v) - 1
        return self.attempt(f"backward {root} {int(retain)} {int(create)}",
                            lambda: v[root].backward(retain_graph=retain, create_graph=create))

    def grad(self):
        root, v = self.pick(), self.vars
        inputs = sorted({i for i in (self.pick(), self.random.randrange(len(v)), root) if v[i].requires_grad and
                         (i in self.sources[root] or self.random.random() < 0.03)})
        if not inputs or not v[root].requires_grad:
            return True
        if v[root].numel() > 1:
            self.add(f"sum {root}", v[root].sum(), (root,))
            root = len(v) - 1
        create = self.random.random() < 0.6
        found = self.attempt(f"grad {root} {int(create)} {' '.join(map(str, inputs))}",
                             lambda: torch.autograd.grad(v[root], [v[i] for i in inputs], retain_graph=True,
                                                         create_graph=create))
        if found is None:
            return None
        for gradient in found:
            self.no_views.add(len(v))  # It may be a view, and cannot be assigned to.
            v.append(gradient)
            self.sources.append({len(v) - 1})
        return True

    def run(self):
        self.hooks_added = []
        for i in range(3):
            seed, shape = self.random.randrange(100), self.random.choice(SHAPES)
            self.add(f"leaf {'x'.join(map(str, shape)) or 's'} {seed}", self.make(shape, seed, True))
        seed = self.random.randrange(100)
        self.add(f"const 3x3 {seed}", self.make((3, 3), seed, False))
        for _ in range(self.random.randrange(8, 40)):
            if self.step() is None:
                return self.lines
        self.lines.append("hooks " + " ".join(map(str, self.hooks)))
        for i in [i for i, x in enumerate(self.vars) if x.is_leaf and x.requires_grad] + sorted(set(self.kept)):
            grad = self.vars[i].grad
            if grad is None:
                self.lines.append(f"none {i}")
                continue
            g = grad.detach().reshape(-1).tolist()
            dot = sum(x * math.cos(k + 1) for k, x in enumerate(g))
            self.lines.append(f"is {i} {dot:.11e} {sum(map(abs, g)):.11e}")
        return self.lines


def main():
    import warnings
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    for number in range(int(sys.argv[1])):
        print("\n".join(Program(number).run()))


if __name__ == "__main__":
    main()
