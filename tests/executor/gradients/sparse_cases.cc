// Cases of ops on sparse tensors.

#include "tests/executor/gradients/row_case.h"

namespace sluice {

std::vector<RowCase> SparseCases() {
  // Three elements of a matrix of 3 x 4.
  const RowArg indices = Ls({3, 2}, {0, 1, 2, 0, 2, 3}), shape = Ls({3, 4});
  const RowArg values = X({3}, 0.5, 2);
  std::vector<RowCase> cases;
  cases.push_back(
      {"SparseAdd", {indices, values, shape, Ls({2, 2}, {0, 0, 2, 3}), X({2}, 0.5, 2, 2), shape, F(0)}, {}, 0, 1});
  cases.push_back({"SparseReorder", {Ls({3, 2}, {2, 3, 0, 1, 2, 0}), values, shape}});
  cases.push_back({"SparseTensorDenseAdd", {indices, values, shape, X({3, 4}, -1, 1, 2)}});
  cases.push_back({"SparseReduceSum", {indices, values, shape, Is({1})}});
  cases.push_back({"SparseReduceSum/kept", {indices, values, shape, Is({-2})}, {{"keep_dims", true}}});
  cases.push_back({"SparseSlice", {indices, values, shape, Ls({1, 0}), Ls({2, 3})}, {}, 0, 1});
  for (const bool adjoint_a : {false, true}) {
    for (const bool adjoint_b : {false, true}) {
      const RowArg b = adjoint_a ? (adjoint_b ? Z({2, 3}, -1, 1, 2) : Z({3, 2}, -1, 1, 2))
                                 : (adjoint_b ? Z({2, 4}, -1, 1, 2) : Z({4, 2}, -1, 1, 2));
      cases.push_back({std::string("SparseTensorDenseMatMul/") + (adjoint_a ? "a" : "") + (adjoint_b ? "b" : ""),
                       {indices, Z({3}), shape, b},
                       {{"adjoint_a", adjoint_a}, {"adjoint_b", adjoint_b}}});
    }
  }
  for (const char* op : {"SparseDenseCwiseMul", "SparseDenseCwiseDiv", "SparseDenseCwiseAdd"}) {
    cases.push_back({op, {indices, values, shape, X({3, 4}, 0.5, 2, 2)}});
    cases.push_back({std::string(op) + "/broadcasts", {indices, values, shape, X({4}, 0.5, 2, 2)}});
    cases.push_back({std::string(op) + "/column", {indices, values, shape, X({3, 1}, 0.5, 2, 2)}});
  }
  cases.push_back({"SparseSoftmax", {indices, values, shape}});
  cases.push_back({"SparseFillEmptyRows", {indices, values, shape, X({})}});
  cases.push_back({"SparseFillEmptyRowsGrad", {Ls({2, 0}), X({4})}});
  cases.push_back({"SparseToDense", {indices, shape, values, X({})}});
  cases.push_back({"SparseToDense/vector", {Ls({1, 3}), Ls({5}), X({2}), X({})}});
  return cases;
}

}  // namespace sluice
