// Gradients of products of matrices.

#include "graph/gradients/rules/families.h"
#include "graph/gradients/rules/shared_rules.h"

namespace sluice {
namespace {

using Product = Expr (*)(const Expr& a, const Expr& b, bool transpose_a, bool transpose_b);

// With A = op(a), B = op(b) and Y = A B: dA = dY B', dB = A' dY, and what was transposed is transposed back.
Expr GradientOfFirst(Product product, const Expr& b, const Expr& dy, bool transposed_a, bool transposed_b) {
  return transposed_a ? product(b, dy, transposed_b, true) : product(dy, b, false, !transposed_b);
}
Expr GradientOfSecond(Product product, const Expr& a, const Expr& dy, bool transposed_a, bool transposed_b) {
  return transposed_b ? product(dy, a, true, transposed_a) : product(a, dy, !transposed_a, false);
}

absl::Status MatMulOf(GradientContext& c) {
  const bool transposed_a = c.Bool("transpose_a"), transposed_b = c.Bool("transpose_b");
  const Expr dy = c.dy();
  if (c.Wants(0)) c.SetInput(0, GradientOfFirst(&MatMul, Conj(c.Input(1)), dy, transposed_a, transposed_b));
  if (c.Wants(1)) c.SetInput(1, GradientOfSecond(&MatMul, Conj(c.Input(0)), dy, transposed_a, transposed_b));
  return absl::OkStatus();
}

// Of operands that are float or bfloat16, each for itself, and say that they have many zeros: the result is float.
absl::Status SparseMatMul(GradientContext& c) {
  const bool transposed_a = c.Bool("transpose_a"), transposed_b = c.Bool("transpose_b");
  const Expr dy = c.dy();
  if (c.Wants(0)) {
    const Expr b = Cast(c.Input(1), dy.type());
    c.SetInput(0, Cast(GradientOfFirst(&MatMul, b, dy, transposed_a, transposed_b), c.input_type(0)));
  }
  if (c.Wants(1)) {
    const Expr a = Cast(c.Input(0), dy.type());
    c.SetInput(1, Cast(GradientOfSecond(&MatMul, a, dy, transposed_a, transposed_b), c.input_type(1)));
  }
  return absl::OkStatus();
}

// Whether the batch dimensions of both operands are the same in every run.
bool BatchesAreEqual(const GradientContext& c) {
  const PartialShape a = c.InputShape(0), b = c.InputShape(1);
  if (!a.has_rank() || a.rank() != b.rank()) return false;
  for (int i = 0; i + 2 < a.rank(); ++i) {
    if (a.dim(i) < 0 || a.dim(i) != b.dim(i)) return false;
  }
  return true;
}

absl::Status BatchMatMulOf(GradientContext& c) {
  const bool adjoint_a = c.Bool("adj_x"), adjoint_b = c.Bool("adj_y");
  // BatchMatMul itself does not broadcast.
  const bool broadcasts = c.op() != "BatchMatMul" && !BatchesAreEqual(c);
  const Expr dy = c.dy();
  const auto set = [&](int i, Expr dx) {
    if (broadcasts) dx = c.SumToShapeOf(c.Input(i), dx, dx);
    c.SetInput(i, Cast(dx, c.input_type(i)));
  };
  if (c.Wants(0)) set(0, GradientOfFirst(&BatchMatMul, Cast(c.Input(1), dy.type()), dy, adjoint_a, adjoint_b));
  if (c.Wants(1)) set(1, GradientOfSecond(&BatchMatMul, Cast(c.Input(0), dy.type()), dy, adjoint_a, adjoint_b));
  return absl::OkStatus();
}

constexpr GradientRow kRows[] = {
    {"BatchMatMul", &BatchMatMulOf}, {"BatchMatMulV2", &BatchMatMulOf}, {"BatchMatMulV3", &BatchMatMulOf},
    {"MatMul", &MatMulOf},           {"SparseMatMul", &SparseMatMul},
};
static_assert(RowsAscend(kRows), "rows ascend by op");

}  // namespace

absl::Span<const GradientRow> ProductGradients() { return kRows; }

}  // namespace sluice
