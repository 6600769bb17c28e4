"""Values and gradients of everyday ops, as PyTorch computes them: torch_ops.txt, which torch_ops_test reads.

  python3 torch_ops.py > torch_ops.txt        # Needs torch; the test does not.

A case is a line of its name, one "in SHAPE NUMBERS" for each input, "out SHAPE NUMBERS", and "grad NUMBERS" for each
input: of the sum of the outputs times cos(1), cos(2), ...; none where the output has no gradient.
"""

import math
import torch
import torch.nn.functional as F

torch.set_num_threads(1)
torch.set_default_dtype(torch.float64)


def make(shape, seed, low=None):
    n = math.prod(shape)
    x = torch.tensor([math.sin(1.7 * seed + 0.9 * k) * 2 for k in range(n)]).reshape(shape)
    return (x.abs() + low if low is not None else x).requires_grad_()


def text(x):
    return ("x".join(map(str, x.shape)) or "s") + "".join(" %.12g" % float(v) for v in x.detach().reshape(-1))


def case(name, inputs, f):
    out = f(*inputs)
    print(name)
    for x in inputs:
        print("in", text(x))
    print("out", text(out))
    if not out.requires_grad:
        return
    weights = torch.tensor([math.cos(k + 1) for k in range(out.numel())]).reshape(out.shape)
    for g in torch.autograd.grad((out * weights).sum(), inputs, allow_unused=True):
        g = torch.zeros(()) if g is None else g
        print("grad", text(g))


I = torch.tensor
x, y, p, q = make((2, 3), 1), make((2, 3), 2), make((2, 3), 3, 0.3), make((2, 3), 4, 0.5)
cube, other = make((2, 3, 4), 5), make((2, 4, 3), 6)
row, zero = make((3,), 7), torch.zeros(3, requires_grad=True)

for name, f in [("Exp", torch.exp), ("Expm1", torch.expm1), ("Square", torch.square), ("Abs", torch.abs),
                ("Sign", torch.sign), ("Floor", torch.floor), ("Ceil", torch.ceil), ("Round", torch.round),
                ("Sin", torch.sin), ("Cos", torch.cos), ("Tan", torch.tan), ("Tanh", torch.tanh), ("Erf", torch.erf),
                ("Sigmoid", torch.sigmoid), ("Relu", F.relu), ("LeakyRelu", F.leaky_relu), ("Elu", F.elu),
                ("Selu", F.selu), ("Gelu", F.gelu), ("Silu", F.silu), ("Softplus", F.softplus), ("Clone", torch.clone),
                ("IsFinite", torch.isfinite), ("SumAll", torch.sum), ("MeanAll", torch.mean), ("ProdAll", torch.prod),
                ("MaxAll", torch.max), ("MinAll", torch.min), ("VarianceAll", torch.var), ("NormAll", torch.norm),
                ("Clip", lambda v: torch.clamp(v, -1.0, 0.5)), ("ClipLow", lambda v: torch.clamp(v, min=0.1)),
                ("ClipCrossed", lambda v: torch.clamp(v, 0.5, -0.5)), ("Pow3", lambda v: v ** 3)]:
    case(name, [x], f)
for name, f in [("Log", torch.log), ("Log1p", torch.log1p), ("Sqrt", torch.sqrt), ("Rsqrt", torch.rsqrt),
                ("Reciprocal", torch.reciprocal), ("Pow1.5", lambda v: v ** 1.5)]:
    case(name, [p], f)
case("Pow", [p, q], torch.pow)
case("Maximum", [x, y], torch.maximum)
case("Minimum", [x, y], torch.minimum)
case("MaximumRow", [x, row], torch.maximum)
case("Less", [x, y], torch.less)
case("LessEqual", [x, x], torch.less_equal)
case("GreaterHalf", [x], lambda v: v > 0.5)
case("NotEqual", [x, x], torch.not_equal)
case("WhereLess", [x, y], lambda a, b: torch.where(a < b, a, b * 2))
case("WhereRow", [x, row], lambda a, b: torch.where(a < 0, b, a))
case("MaskedFill", [x], lambda a: a.masked_fill(a > 0, 7.0))
case("Clip at bounds", [I([[0.0, 1.0, 1.5], [2.0, 3.0, 1.0]], requires_grad=True)], lambda v: torch.clamp(v, 1.0, 2.0))
case("NormZero", [zero], torch.norm)
for axis in (0, 1, -1):
    for name, f in [("Sum", torch.sum), ("Mean", torch.mean), ("Prod", torch.prod), ("Max", torch.amax),
                    ("Min", torch.amin), ("Variance", torch.var), ("LogSumExp", torch.logsumexp),
                    ("Norm", torch.norm)]:
        call = (lambda v, f=f: f(v, p=2, dim=axis)) if name == "Norm" else (lambda v, f=f: f(v, dim=axis))
        case(f"{name} {axis}", [cube], call)
    for n in (1, 3, math.inf):
        case(f"Norm{n:g} {axis}", [cube], lambda v: torch.linalg.vector_norm(v, n, dim=axis))
    case(f"Softmax {axis}", [cube], lambda v: F.softmax(v, axis))
    case(f"LogSoftmax {axis}", [cube], lambda v: F.log_softmax(v, axis))
    case(f"CumSum {axis}", [cube], lambda v: torch.cumsum(v, axis))
    case(f"Argmax {axis}", [cube], lambda v: torch.argmax(v, axis))
    case(f"Argmin {axis}", [cube], lambda v: torch.argmin(v, axis))
    case(f"Unsqueeze {axis}", [x], lambda v: v.unsqueeze(axis))
    case(f"SliceMiddle {axis}", [cube], lambda v: v.narrow(axis, 1, v.shape[axis] - 1))
    case(f"SelectLast {axis}", [cube], lambda v: v.select(axis, -1))
    case(f"SelectFirst {axis}", [cube], lambda v: v.select(axis, 0))
    case(f"IndexSelect {axis}", [cube], lambda v: v.index_select(axis, I([1, 0, 1])))
    case(f"Stack {axis}", [x, y], lambda a, b: torch.stack([a, b], axis))
    case(f"Concat {axis}", [x, y], lambda a, b: torch.cat([a, b, a], axis if axis < 2 else 1))
    case(f"Flip {axis}", [cube], lambda v: v.flip(axis))
    shape = list(cube.shape)
    shape[axis] = 2
    index = I([(3 * k + 1) % cube.shape[axis] for k in range(math.prod(shape))]).reshape(shape)
    case(f"Gather {axis}", [cube], lambda v: v.gather(axis, index))
    case(f"GatherPart {axis}", [cube], lambda v: v.gather(axis, index[:1, :2, :2]))
case("SumTwo", [cube], lambda v: v.sum((0, 2), keepdim=True))
case("SoftmaxScalar", [make((), 3)], lambda v: F.softmax(v, 0))
case("SoftmaxVector", [row], lambda v: F.softmax(v, 0))
case("SliceStep", [cube], lambda v: v[:, :, 0:4:2])
case("SliceBack", [cube], lambda v: v[:, -2:, :])
case("SliceBeyond", [cube], lambda v: v[:, 1:99, :])
case("MatMul", [x, make((3, 4), 9)], torch.matmul)
case("MatMulStack", [cube, other], torch.matmul)
case("MatMulBroadcast", [cube, make((4, 2), 9)], torch.matmul)
case("MatMulTransposed", [cube, make((2, 3, 4), 9)], lambda a, b: a.transpose(-1, -2) @ b)
case("MatMulVector", [cube, make((4,), 9)], torch.matmul)
case("VectorMatMul", [row, make((3, 2), 9)], torch.matmul)
case("Dot", [row, make((3,), 9)], torch.matmul)
case("Einsum", [cube, other], lambda a, b: torch.einsum("bij,bjk->ki", a, b))
case("Flatten", [cube], lambda v: v.flatten(1))
case("Squeeze", [make((1, 3, 1), 9)], lambda v: v.squeeze())
case("SqueezeLast", [make((1, 3, 1), 9)], lambda v: v.squeeze(-1))
case("SqueezeNone", [x], lambda v: v.squeeze(0))
case("BroadcastTo", [row], lambda v: v.broadcast_to((2, 3)))
case("SwapAxes", [cube], lambda v: v.transpose(0, -1))
case("Tile", [x], lambda v: v.tile((2, 2)))
case("Pad", [x], lambda v: F.pad(v, (2, 0, 0, 1), value=3.0))
case("TopK", [cube], lambda v: torch.topk(v, 2).values)
case("SplitSizes", [cube], lambda v: torch.split(v, [1, 3], 2)[1])
case("Unstack", [cube], lambda v: torch.unbind(v, 1)[2])
case("OneHot", [I([2.0, 0.0])], lambda v: F.one_hot(v.long(), 3).double())
