// Gradients of ops on the diagonals of matrices.

#include "absl/strings/match.h"
#include "graph/gradients/rules/families.h"
#include "graph/gradients/rules/shared_rules.h"

namespace sluice {
namespace {

absl::Status Diag(GradientContext& c) {
  c.SetInput(0, AddOp("DiagPart", {c.dy()}));
  return absl::OkStatus();
}

absl::Status DiagPart(GradientContext& c) {
  c.SetInput(0, AddOp("Diag", {c.dy()}));
  return absl::OkStatus();
}

absl::Status MatrixBandPart(GradientContext& c) {
  c.SetInput(0, AddOp("MatrixBandPart", {c.dy(), c.Input(1), c.Input(2)}));
  return absl::OkStatus();
}

// The ops come in three versions: without k, with k, and with k and align. `k` is the input that says which diagonals;
// negative in the first version.
Expr PartOf(GradientContext& c, const Expr& matrix, int k) {
  if (k < 0) return AddOp("MatrixDiagPart", {matrix});
  if (!absl::EndsWith(c.op(), "V3")) return AddOp("MatrixDiagPartV2", {matrix, c.Input(k), Zero(matrix)});
  return AddOp("MatrixDiagPartV3", {matrix, c.Input(k), Zero(matrix)}, c.CopyAttrs({"align"}));
}
Expr WithDiagonals(GradientContext& c, const Expr& matrix, const Expr& diagonals, int k) {
  if (k < 0) return AddOp("MatrixSetDiag", {matrix, diagonals});
  if (!absl::EndsWith(c.op(), "V3")) return AddOp("MatrixSetDiagV2", {matrix, diagonals, c.Input(k)});
  return AddOp("MatrixSetDiagV3", {matrix, diagonals, c.Input(k)}, c.CopyAttrs({"align"}));
}

// The value that pads a matrix has no gradient.
template <int k>
absl::Status MatrixDiag(GradientContext& c) {
  if (c.Wants(0)) c.SetInput(0, PartOf(c, c.dy(), k));
  return absl::OkStatus();
}

template <int k>
absl::Status MatrixDiagPart(GradientContext& c) {
  if (c.Wants(0)) c.SetInput(0, WithDiagonals(c, ZerosLike(c.Input(0)), c.dy(), k));
  return absl::OkStatus();
}

template <int k>
absl::Status MatrixSetDiag(GradientContext& c) {
  if (c.Wants(0)) c.SetInput(0, WithDiagonals(c, c.dy(), ZerosLike(c.Input(1)), k));
  if (c.Wants(1)) c.SetInput(1, PartOf(c, c.dy(), k));
  return absl::OkStatus();
}

constexpr GradientRow kRows[] = {
    {"Diag", &Diag},
    {"DiagPart", &DiagPart},
    {"MatrixBandPart", &MatrixBandPart},
    {"MatrixDiag", &MatrixDiag<-1>},
    {"MatrixDiagPart", &MatrixDiagPart<-1>},
    {"MatrixDiagPartV2", &MatrixDiagPart<1>},
    {"MatrixDiagPartV3", &MatrixDiagPart<1>},
    {"MatrixDiagV2", &MatrixDiag<1>},
    {"MatrixDiagV3", &MatrixDiag<1>},
    {"MatrixSetDiag", &MatrixSetDiag<-1>},
    {"MatrixSetDiagV2", &MatrixSetDiag<2>},
    {"MatrixSetDiagV3", &MatrixSetDiag<2>},
};
static_assert(RowsAscend(kRows), "rows ascend by op");

}  // namespace

absl::Span<const GradientRow> DiagonalGradients() { return kRows; }

}  // namespace sluice
