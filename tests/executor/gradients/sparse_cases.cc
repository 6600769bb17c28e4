// Cases of ops on sparse and ragged tensors.

#include "tests/executor/gradients/row_case.h"

namespace sluice {

namespace {

std::vector<RowCase> RaggedCases() {
  const RowArg splits = Ls({0, 2, 2, 5});  // Rows of 2, 0 and 3.
  const auto kinds = [](std::vector<std::string> names) {
    return GraphBuilder::Attrs{{"row_partition_types", AttrValue(std::move(names))}};
  };
  std::vector<RowCase> cases;
  cases.push_back({"RaggedFillEmptyRows", {Ls({0, 2, 2}), X({3}), L(4), X({})}});
  cases.push_back({"RaggedFillEmptyRowsGrad", {Ls({2, 0}), X({4})}});
  cases.push_back({"RaggedGather", {splits, X({5}), Is({2, 0, 2})}, {{"OUTPUT_RAGGED_RANK", 1}}});
  cases.push_back({"RaggedGather/rows", {splits, X({5, 2}), Ls({2, 2}, {1, 2, 0, 2})}, {{"OUTPUT_RAGGED_RANK", 2}}});
  cases.push_back({"RaggedGather/nested", {Ls({0, 1, 3}), splits, X({5}), Is({1, 1})}, {{"OUTPUT_RAGGED_RANK", 2}}});
  cases.push_back({"RaggedTensorToSparse", {splits, X({5})}});
  cases.push_back({"RaggedTensorToSparse/nested", {Ls({0, 1, 3}), splits, X({5})}});
  cases.push_back({"RaggedTensorToTensor", {Ls({-1, -1}), X({5}), X({}), splits}, kinds({"ROW_SPLITS"})});
  // Rows are cut and filled; the default broadcasts.
  cases.push_back({"RaggedTensorToTensor/cut", {Ls({4, 2, 2}), X({5, 2}), X({2}), splits}, kinds({"ROW_SPLITS"})});
  cases.push_back({"RaggedTensorToTensor/one", {Ls({4, 2, 2}), X({5, 2}), X({1}), splits}, kinds({"ROW_SPLITS"})});
  cases.push_back({"RaggedTensorToTensor/ids",
                   {Ls({-1, -1}), X({3}), X({}), L(3), Ls({0, 2, 2})},
                   kinds({"FIRST_DIM_SIZE", "VALUE_ROWIDS"})});
  return cases;
}

}  // namespace

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
  for (RowCase& ragged : RaggedCases()) cases.push_back(std::move(ragged));
  return cases;
}

}  // namespace sluice
