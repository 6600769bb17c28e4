#!/usr/bin/env python3
"""Records what PyTorch answers to random programs with hooks, custom functions and names that are bound anew.

  torch_hook_programs.py COUNT [FIRST] > programs.txt   random programs, from number FIRST on
  torch_hook_programs.py --again FILE > programs.txt    those of a file, whose answers are recorded anew

Needs torch; a tool of development only. README.md has the language, and how the tape is compared.
"""
import os
import random
import sys
import warnings

import torch
from torch_functions import FUNCTIONS
from torch_machine import UNARY, Machine

LIMIT = 30.0  # Of values, so that none loses its digits.
STEPS = {
    "unary": 14, "binary": 14, "scale": 5, "shift": 2, "parts": 2, "cat": 1, "function": 12, "bind": 2, "drop": 3,
    "in_place": 12, "number": 7, "requires": 2, "mode": 2, "retain": 5, "clear": 2, "give": 1, "take": 2, "update": 3,
    "backward": 8, "grad": 6, "hook": 14, "after": 5, "pre": 5, "post": 5, "node": 3, "remove": 5,
}


class Generator:
    """One program: lines that fit what the machine holds when they come."""

    def __init__(self, number):
        self.random = random.Random(number)
        self.machine = Machine()
        # By variable: [whether its memory is another's, too, which no tape has; whether hooks change it].
        self.boxes = {}
        self.reserved = set()  # Variables that hooks change are not bound anew.
        self.num_hooks = self.num_nodes = 0
        self.node_owners = {}

    @property
    def vars(self):
        return self.machine.vars

    def chance(self, probability):
        return self.random.random() < probability

    def pick(self, fits=lambda x: True):
        slots = [slot for slot, x in sorted(self.vars.items()) if fits(x)]
        return self.random.choice(slots) if slots else None

    def target(self, *operands):
        """Where a result goes: a new variable, or one that is bound anew, often an operand."""
        free = sorted(set(self.vars) - self.reserved)
        if len(self.vars) < 9 and self.chance(0.6) or not free:
            return max([*self.vars, -1]) + 1
        choices = [a for a in operands if a in free] if self.chance(0.6) else free
        return self.random.choice(choices or free)

    def targets(self, count):
        choices = [slot for slot in range(len(self.vars) + count + 1) if slot not in self.reserved]
        return self.random.sample(choices, count)

    def run(self, line, targets=(), shares=None):
        """Runs a line; `shares`: the variable whose memory the targets have."""
        before = {slot: self.vars.get(slot) for slot in targets}
        box = None
        if shares is not None:
            box = self.boxes[shares]
            if box[1]:
                return False
            box[0] = True
        succeeded = self.machine.run(line)
        for slot in targets:
            if slot in self.vars and self.vars[slot] is not before[slot]:
                self.boxes[slot] = box or [False, False]
        return succeeded

    def compute(self, line, to, result, shares=None):
        """A line without side effects, unless its numbers grow too large."""
        with torch.no_grad():
            x = result()
        if x.numel() and (not torch.isfinite(x).all() or x.abs().max() > LIMIT):
            return
        self.run(line, (to,), shares)

    def begin(self):
        shapes = [self.random.choice([(3,), (2, 3), (3, 3), ()])] * 3 + [(3,), (1, 3), (), (2, 3), (3, 3)]
        for slot in range(4):
            shape = self.random.choice(shapes)
            kind = "const" if slot == 3 else "leaf"
            self.run(f"{kind} {slot} {'x'.join(map(str, shape)) or 's'} {self.random.randrange(100)}", (slot,))

    def step(self):
        choice = self.random.choices(list(STEPS), list(STEPS.values()))[0]
        if choice in ("mode", "parts") and not self.machine.records:
            choice = "scale"
        getattr(self, "step_" + choice)()

    # --- Values ------------------------------------------------------------------------------------------------------
    def step_unary(self):
        a = self.pick()
        x, to = self.vars[a], self.target(a)
        op = self.random.choice(["tanh", "tanh", "exp", "sigmoid", "square", "sin", "cos", "relu", "abs", "sqrt", "neg",
                                 "sum", "mean", "softplus", "log", "detach", "clone", "flat", "sum0", "turn"])
        if op in ("sqrt", "log") and not (x > 0.05).all() or op == "sum0" and x.dim() == 0:
            op = "sigmoid"
        if op == "turn" and x.dim() != 2 or op in ("detach", "flat", "turn") and not self.machine.records:
            op = "tanh"
        if op == "relu" and (x.abs() < 1e-6).any() or op == "abs" and (x.abs() < 1e-6).any():
            op = "cos"
        self.compute(f"un {op} {to} {a}", to, lambda: UNARY[op](x), a if op in ("detach", "flat", "turn") else None)

    def pair(self):
        """Two variables that broadcast."""
        while True:
            a, b = self.pick(), self.pick()
            try:
                torch.broadcast_shapes(self.vars[a].shape, self.vars[b].shape)
                return a, b
            except RuntimeError:
                pass

    def step_binary(self):
        op = self.random.choice(["add", "sub", "mul", "mul", "div", "mm"])
        a, b = self.pair()
        x, y = self.vars[a], self.vars[b]
        if op == "mm" and not (x.dim() == y.dim() == 2 and x.shape[1] == y.shape[0]):
            op = "mul"
        if op == "div" and (y.abs() < 0.2).any():
            op = "add"
        to = self.target(a, b)
        self.compute(f"bin {op} {to} {a} {b}", to, lambda: getattr(torch, op)(x, y))

    def step_scale(self):
        a, factor = self.pick(), self.random.choice([-1.5, 0.25, 2.0, 1.0])
        to = self.target(a)
        self.compute(f"scale {to} {a} {factor}", to, lambda: self.vars[a] * factor)

    def step_shift(self):
        a = self.pick()
        to = self.target(a)
        self.compute(f"shift {to} {a} 0.5", to, lambda: self.vars[a] + 0.5)

    def step_parts(self):
        a = self.pick(lambda x: x.dim() > 0 and x.shape[0] == 3)
        if a is None:
            return
        to = self.targets(3)
        self.run(f"parts {a} {' '.join(map(str, to))}", to, a)

    def step_cat(self):
        a = self.pick(lambda x: x.dim() == 1)
        b = self.pick(lambda x: x.dim() == 1)
        if a is None or self.vars[a].numel() + self.vars[b].numel() > 6:
            return
        to = self.target(a, b)
        self.run(f"cat {to} {a} {b}", (to,))

    def step_function(self):
        names = [name for name in FUNCTIONS if not name.startswith(("Fails", "Gives", "Keeps")) or self.chance(0.15)]
        name = self.random.choice(names)
        if name == "Same" and not self.machine.records:
            name = "Product"
        a, b, num_outputs = self.pick(), None, 1
        if name in ("MulInPlace", "Swaps", "Product"):
            b = self.pick(lambda x: x.shape == self.vars[a].shape)
        if name in ("MulInPlace", "Swaps", "Doubles", "DoublesAndTanh", "KeepsDirty"):
            dirty = [a, b] if name == "Swaps" else [a]
            if any(not self.may_change(slot) for slot in dirty) or self.vars[a] is self.vars.get(b):
                return
            if any(self.vars[slot].abs().max() > LIMIT / 3 for slot in dirty):
                return
            # Without recording PyTorch gives another tensor in the same memory, which no tape has.
            if not self.machine.records and any(self.vars[slot].requires_grad for slot in dirty):
                return
            # One that fails at its second output would leave a history at the first one in PyTorch.
            if name in ("Swaps", "DoublesAndTanh") and any(self.is_fixed(slot) for slot in dirty):
                return
        if name in ("Swaps", "DoublesAndTanh", "Marks", "Undefined"):
            num_outputs = 2
        to = []
        while len(to) < num_outputs:
            slot = self.target(a)
            to += [slot] if slot not in to else []
        operands = f"{a}" if b is None else f"{a} {b}"
        boxes = {slot: self.boxes[slot] for slot in (a, b) if slot is not None}
        changed = {slot: self.vars[slot] for slot in boxes}
        self.run(f"fun {name} {operands} > {' '.join(map(str, to))}", to, a if name == "Same" else None)
        for slot in to:  # An output that is an input is one variable with two names.
            for other, x in changed.items():
                if self.vars.get(slot) is x:
                    self.boxes[slot] = boxes[other]

    def step_bind(self):
        a = self.pick()
        to = self.target()
        self.machine.run(f"bind {to} {a}")
        self.boxes[to] = self.boxes[a]

    def step_drop(self):
        a = self.pick()
        if len(self.vars) > 4 and a not in self.reserved:
            self.run(f"drop {a}")

    # --- In place ----------------------------------------------------------------------------------------------------
    def may_change(self, a):
        """Whether nobody shares the memory; leaves that require a gradient are errors, which are rare."""
        return not self.boxes[a][0] and (not self.is_fixed(a) or self.chance(0.1))

    def is_fixed(self, a):
        return self.vars[a].is_leaf and self.vars[a].requires_grad and self.machine.records

    def step_in_place(self):
        a, b = self.pair()
        op = self.random.choice(["add", "sub", "mul", "div", "copy"])
        x, y = self.vars[a], self.vars[b]
        if torch.broadcast_shapes(x.shape, y.shape) != x.shape or not self.may_change(a):
            return
        if op == "div" and (y.abs() < 0.3).any() or x.abs().max() * y.abs().max() > LIMIT:
            return
        self.run(f"in {op} {a} {b}")

    def step_number(self):
        a = self.pick()
        op, number = self.random.choice([("add", 0.5), ("sub", 0.25), ("mul", 1.25), ("mul", -0.5), ("div", 2.0),
                                         ("fill", 0.75)])
        if self.may_change(a):
            self.run(f"number {op} {a} {number}")

    def step_requires(self):
        a = self.pick(lambda x: x.is_leaf or self.chance(0.1))
        if a is not None and not self.boxes[a][0]:
            self.run(f"requires {a} {self.random.randrange(2)}")

    def step_mode(self):
        """A few lines without recording."""
        self.run("mode 0")
        for _ in range(self.random.randrange(1, 5)):
            self.step()
        self.run("mode 1")

    # --- Gradients ---------------------------------------------------------------------------------------------------
    def needing(self, probability=0.03):
        return self.pick(lambda x: x.requires_grad or self.chance(probability))

    def step_retain(self):
        a = self.needing()
        if a is not None:
            self.run(f"retain {a}")

    def step_clear(self):
        a = self.pick(lambda x: x.is_leaf)
        if a is not None:
            self.run(f"clear {a}")

    def step_give(self):
        a = self.pick(lambda x: x.is_leaf and x.requires_grad)
        b = None if a is None else self.pick(lambda x: x.shape == self.vars[a].shape)
        if b is not None:
            self.run(f"give {a} {b}")

    def step_take(self):
        a = self.pick(lambda x: (x.is_leaf or x.retains_grad) and x.grad is not None)
        if a is None or self.vars[a].grad.abs().max() > LIMIT:
            return
        to = self.target()
        self.run(f"take {to} {a}", (to,))
        self.boxes[to] = [True, True]

    def step_update(self):
        a = self.pick(lambda x: x.is_leaf and x.requires_grad and x.grad is not None and x.grad.abs().max() < LIMIT)
        if a is not None and not self.boxes[a][0]:
            self.run(f"update {a}")

    def roots(self):
        """Words for roots and their gradients."""
        count = 2 if self.chance(0.2) else 1
        roots, grads = [], []
        for _ in range(count):
            root = self.pick(lambda x: (x.requires_grad and not x.is_leaf) or self.chance(0.05))
            if root is None:
                return None
            roots.append(root)
            same = self.pick(lambda x: x.shape == self.vars[root].shape)
            needs = self.vars[root].numel() > 1
            grads.append(str(same) if needs and self.chance(0.97) or self.chance(0.2) else "_")
        return f"{','.join(map(str, roots))} {','.join(grads) if set(grads) != {'_'} else '-'}"

    def flags(self, roots):
        create = self.chance(0.25)
        for word in roots.split()[1].replace("-", "_").split(",") if create else []:
            if word != "_":  # What is computed may be this gradient itself.
                self.boxes[int(word)][0] = True
                create = create and not self.boxes[int(word)][1]
        retain = self.random.choice("1110-")
        return f"{retain} {int(create)}"

    def step_backward(self):
        roots, inputs = self.roots(), "-"
        if roots is None:
            return
        if self.chance(0.15):
            inputs = ",".join(str(self.needing(0.01)) for _ in range(self.random.randrange(1, 3)))
        if "None" not in inputs:
            self.run(f"backward {self.flags(roots)} {roots} {inputs}")

    def step_grad(self):
        roots = self.roots()
        inputs = [self.needing(0.01) for _ in range(self.random.randrange(1, 4))]
        if roots is None or None in inputs:
            return
        to = self.targets(len(inputs))
        unused = int(self.chance(0.9))
        line = f"grad {self.flags(roots)} {unused} {roots} {','.join(map(str, inputs))} {' '.join(map(str, to))}"
        self.run(line, to)
        for slot in to:
            if slot in self.vars:
                self.boxes[slot] = [True, False]  # Gradients may share memory.

    # --- Hooks -------------------------------------------------------------------------------------------------------
    def new_hook(self):
        self.num_hooks += 1
        return f"h{self.num_hooks - 1}"

    def on_grad(self):
        """What a hook of a variable does."""
        action = self.random.choice(["see", "see", "mul", "mul", "sq", "other", "self", "remove", "inner", "pass",
                                     "retain", "clear", "bump", "add", "fail", "shape"])
        if action in ("fail", "shape") and self.chance(0.7):
            action = "see"
        if action == "mul":
            return "mul " + self.random.choice(["-2.0", "0.5"])
        if action == "other":
            return f"other {self.random.randrange(100)}"
        if action == "remove":
            return f"remove h{self.random.randrange(self.num_hooks - 1)}" if self.num_hooks > 1 else "see"
        if action in ("pass", "retain", "clear", "bump", "add"):
            fits = {"bump": lambda x: not x.requires_grad or x.is_leaf, "clear": lambda x: x.is_leaf}
            a = self.pick(fits.get(action, lambda x: x.requires_grad))
            if a is None or action == "bump" and self.boxes[a][0]:
                return "see"
            if action == "bump":
                self.boxes[a][1] = True
                self.reserved.add(a)
            return f"{action} {a}" + (f" {self.new_hook()} 0.5" if action == "add" else "")
        return action

    def step_hook(self):
        a = self.needing()
        if a is not None:
            name = self.new_hook()
            self.run(f"hook {a} {name} {self.on_grad()}")

    def step_after(self):
        a = self.pick(lambda x: x.is_leaf and x.requires_grad or self.chance(0.02))
        if a is None:
            return
        action = self.random.choice(["see", "forget", "step", "self", "fail" if self.chance(0.2) else "see"])
        if action == "step" and self.boxes[a][0]:
            return
        self.boxes[a][1] = self.boxes[a][1] or action == "step"
        self.run(f"after {a} {self.new_hook()} {action}")

    def any_node(self):
        if self.machine.nodes and self.chance(0.4):
            return self.random.choice(sorted(self.machine.nodes))
        # That of cat computes all gradients or none, whichever are needed.
        return self.pick(lambda x: x.grad_fn is not None and "Cat" not in x.grad_fn.name())

    def on_node(self):
        action = self.random.choice(["see", "see", "mul 0.5", "mul -2.0", "self", "fail" if self.chance(0.2) else "see"])
        return action

    def step_pre(self):
        node = self.any_node()
        if node is not None:
            self.run(f"pre {node} {self.new_hook()} {self.on_node()}")

    def step_post(self):
        node = self.any_node()
        if node is None:
            return
        action = self.on_node()
        is_leaf = node in self.machine.nodes
        self.run(f"post {node} {self.new_hook()} {'see' if is_leaf and action.startswith('mul') else action}")

    def step_node(self):
        a = self.pick(lambda x: x.is_leaf and x.requires_grad)
        if a is not None:
            self.run(f"node n{self.num_nodes} {a}")
            self.num_nodes += 1

    def step_remove(self):
        if self.machine.handles:
            self.run(f"remove {self.random.choice(sorted(self.machine.handles))}")


def is_bounded(machine):
    """Whether all numbers are such that their digits can be compared."""
    tensors = [x.detach() for x in machine.vars.values()]
    tensors += [x.grad.detach() for x in machine.vars.values() if (x.is_leaf or x.retains_grad) and x.grad is not None]
    return all(torch.isfinite(x).all() and (x.numel() == 0 or x.abs().max() < 1e7) for x in tensors)


def make(number):
    generator = Generator(number)
    generator.begin()
    for _ in range(generator.random.randrange(10, 45)):
        generator.step()
    root = generator.pick(lambda x: x.requires_grad and not x.is_leaf)
    if root is not None:
        generator.run(f"un sum 0 {root}", (0,))
        generator.run("backward 0 0 0 - -")
    generator.machine.finish()
    text = "\n".join(generator.machine.lines)
    return [f"program {number}", *generator.machine.lines] if is_bounded(generator.machine) and "nan" not in text else None


def make_many(pipe, number):
    """Writes programs from `number` on until nobody reads them any more."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    while True:
        try:
            text = "\n".join(make(number) or ["left out: numbers too large to compare"])
        except RuntimeError as error:
            text = "left out: " + str(error).splitlines()[0]
        pipe.write(text + "\n\0")
        pipe.flush()
        number += 1


def made_aside(number):
    """(number, text) of programs from `number` on, made in a process of its own: some end PyTorch's."""
    while True:
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reader)
            with open(writer, "w", encoding="utf-8") as pipe:
                make_many(pipe, number)
        os.close(writer)
        with open(reader, "rb") as pipe:
            rest = b""
            while data := os.read(pipe.fileno(), 1 << 16):
                *texts, rest = (rest + data).split(b"\0")
                for text in texts:
                    yield number, text.decode()
                    number += 1
        yield number, "left out: PyTorch ends the process\n"
        number += 1


def again(path):
    machine = None
    with open(path, encoding="utf-8") as file:
        for line in [*file.read().splitlines(), "program"]:
            if line.startswith("program"):
                if machine is not None:
                    machine.finish()
                    print("\n".join([program, *machine.lines]))
                program, machine = line, Machine()
            elif line and not line.startswith(("=", "!", "~", "is ")):
                machine.run(line)


def main():
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    if sys.argv[1] == "--again":
        again(sys.argv[2])
        return
    count = int(sys.argv[1])
    for number, text in made_aside(int(sys.argv[2]) if len(sys.argv) > 2 else 0):
        if text.startswith("left out: "):
            print(f"program {number} {text}", end="", file=sys.stderr)
            continue
        print(text, end="")
        count -= 1
        if count == 0:
            break


if __name__ == "__main__":
    main()
