"""Custom functions of the programs that torch_machine.py runs; their like on a tape: hook_program_functions.cc."""
import torch


class Function(torch.autograd.Function):
    machine = None  # The one that runs.


def note(name, *grads):
    Function.machine.note(name, *grads)


class Doubles(Function):
    @staticmethod
    def forward(ctx, a):
        a.mul_(2)
        ctx.mark_dirty(a)
        return a

    @staticmethod
    def backward(ctx, g):
        note("Doubles", g)
        return g * 2


class MulInPlace(Function):
    @staticmethod
    def forward(ctx, a, b):
        before = a.clone()
        a.mul_(b)
        ctx.mark_dirty(a)
        ctx.save_for_backward(before, b)
        return a

    @staticmethod
    def backward(ctx, g):
        before, b = ctx.saved_tensors
        note("MulInPlace", g)
        return g * b, g * before


class Swaps(Function):
    """Changes both in place; gives the second one first."""

    @staticmethod
    def forward(ctx, a, b):
        a.add_(1)
        b.mul_(3)
        ctx.mark_dirty(a, b)
        return b, a

    @staticmethod
    def backward(ctx, gb, ga):
        note("Swaps", gb, ga)
        return ga * 1.0, gb * 3


class DoublesAndTanh(Function):
    @staticmethod
    def forward(ctx, a):
        a.mul_(2)
        t = torch.tanh(a)
        ctx.mark_dirty(a)
        ctx.save_for_backward(t)
        return a, t

    @staticmethod
    def backward(ctx, ga, gt):
        (t,) = ctx.saved_tensors
        note("DoublesAndTanh", ga, gt)
        return (ga + gt * (1 - t * t)) * 2


class Marks(Function):
    """The first output is not differentiable."""

    @staticmethod
    def forward(ctx, a):
        marked = a * 2
        ctx.mark_non_differentiable(marked)
        return marked, a * 3

    @staticmethod
    def backward(ctx, gm, g):
        note("Marks", gm, g)
        return g * 3 + gm


class Undefined(Function):
    """Sees which outputs have gradients."""

    @staticmethod
    def forward(ctx, a):
        ctx.set_materialize_grads(False)
        return a * 2, a * 3

    @staticmethod
    def backward(ctx, g, h):
        note("Undefined", g, h)
        if g is None:
            return None if h is None else h * 3
        return g * 2 if h is None else g * 2 + h * 3


class Checkpoint(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.tanh(x) * x

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        note("Checkpoint", grad)
        with torch.enable_grad():
            inner = x.detach().requires_grad_()
            (torch.tanh(inner) * inner).sum().backward()
        return inner.grad * grad


class Once(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.exp(x * 0.5)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        note("Once", g)
        return g * y * 0.5


class Nothing(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 1.0

    @staticmethod
    def backward(ctx, g):
        note("Nothing", g)
        return None


class Product(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        note("Product", g)
        return g * b, g * a


class SavesOutput(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.tanh(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        note("SavesOutput", g)
        return g * (1 - y * y)


class Same(Function):
    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, g):
        note("Same", g)
        return g * 5


class FailsBackward(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 1.0

    @staticmethod
    def backward(ctx, g):
        raise RuntimeError("a user's failure")


class FailsForward(Function):
    @staticmethod
    def forward(ctx, x):
        raise RuntimeError("a user's failure")


class GivesTwo(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 1.0

    @staticmethod
    def backward(ctx, g):
        return g, g


class KeepsDirty(Function):
    """Does not give back what it has changed."""

    @staticmethod
    def forward(ctx, a):
        a.mul_(2)
        ctx.mark_dirty(a)
        return a * 1.0

    @staticmethod
    def backward(ctx, g):
        return g


FUNCTIONS = {c.__name__: c for c in Function.__subclasses__()}
