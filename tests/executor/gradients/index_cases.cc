// Cases of ops with indices: gathers, scatters, segments; and of variables.

#include "tests/executor/gradients/row_case.h"

namespace sluice {
namespace {

void AddGathers(std::vector<RowCase>& cases) {
  cases.push_back({"Gather", {X({3, 2}), Is({2, 0, 2})}});
  cases.push_back({"Gather/matrix", {X({3, 2}), Is({2, 2}, {2, 0, 2, 1})}});
  cases.push_back({"GatherV2", {X({3, 2}), Is({2, 0, 2}), I(0)}});
  cases.push_back({"GatherV2/axis", {X({2, 3, 2}), Is({2, 2}, {2, 0, 2, 1}), I(-2)}});
  cases.push_back({"GatherV2/batch", {X({2, 3, 2}), Is({2, 2}, {2, 0, 2, 1}), I(1)}, {{"batch_dims", 1}}});
  cases.push_back({"GatherV2/batch_and_outer", {X({2, 2, 3}), Is({2, 2}, {2, 0, 2, 1}), I(2)}, {{"batch_dims", -1}}});
  cases.push_back({"GatherNd", {X({3, 2}), Is({2, 2}, {2, 0, 2, 1})}});
  cases.push_back({"GatherNd/rows", {X({3, 2}), Is({2, 1}, {2, 2})}});
  cases.push_back({"ScatterNd", {Is({2, 1}, {3, 1}), X({2, 2}), Is({4, 2})}});
  cases.push_back({"ScatterNdNonAliasingAdd", {X({4}), Is({2, 1}, {3, 3}), X({2}, -1, 1, 2)}});
  cases.push_back({"TensorScatterAdd", {X({4}), Is({2, 1}, {3, 3}), X({2}, -1, 1, 2)}});
  cases.push_back({"TensorScatterSub", {X({4}), Is({2, 1}, {3, 3}), X({2}, -1, 1, 2)}});
  cases.push_back({"TensorScatterUpdate", {X({4}), Is({2, 1}, {3, 0}), X({2}, -1, 1, 2)}});
  cases.push_back({"TensorScatterMax", {X({4}), Is({2, 1}, {3, 0}), X({2}, -1, 1, 2)}});
  cases.push_back({"TensorScatterMin", {X({4}), Is({2, 1}, {3, 0}), X({2}, -1, 1, 2)}});
  cases.push_back({"DynamicPartition", {X({4, 2}), Is({1, 0, 1, 2})}, {{"num_partitions", 3}}});
  cases.push_back({"DynamicStitch", {Is({2, 0}), Is({1}), X({2, 2}), X({1, 2}, -1, 1, 2)}, {{"N", 2}}});
  cases.push_back({"ParallelDynamicStitch", {Is({2, 0}), Is({1}), X({2, 2}), X({1, 2}, -1, 1, 2)}, {{"N", 2}}});
  cases.push_back({"TopK", {X({2, 4})}, {{"k", 2}}, 0, 2, {0}});
  cases.back().graph_version = 6;
  cases.push_back({"TopKV2", {X({2, 4}), I(3)}, {}, 0, 2, {0}});
  cases.push_back({"NthElement", {X({2, 4}), I(1)}});
}

void AddSegments(std::vector<RowCase>& cases) {
  for (const char* op : {"SegmentSum", "SegmentMean", "SegmentMax", "SegmentMin", "SegmentProd"}) {
    cases.push_back({op, {X({5, 2}, 0.5, 2), Is({0, 0, 2, 2, 2})}});
  }
  for (const char* op : {"UnsortedSegmentSum", "UnsortedSegmentMax", "UnsortedSegmentMin", "UnsortedSegmentProd"}) {
    cases.push_back({op, {X({5, 2}, 0.5, 2), Is({2, -1, 1, 0, 2}), I(3)}});
  }
  // With a zero among them the second derivatives take other ways than the function, as in TensorFlow.
  cases.push_back({"SegmentProd/zero", {V({3}, {2, 0, 3}), Is({0, 0, 0})}, {}, 0, 1});
  cases.push_back({"UnsortedSegmentProd/zero", {V({3}, {2, 0, 3}), Is({0, 0, 0}), I(1)}, {}, 0, 1});
  for (const char* op : {"SparseSegmentSum", "SparseSegmentMean", "SparseSegmentSqrtN"}) {
    const std::string name = op;
    cases.push_back({name, {X({4, 2}), Is({3, 0, 3}), Is({0, 1, 1})}});
    cases.push_back({name + "/rows", {X({4, 2}), Is({3, 0, 3}), Is({0, 1, 1})}, {{"sparse_gradient", true}}, 0, 1});
    cases.push_back({name + "WithNumSegments", {X({4, 2}), Is({3, 0, 3}), Is({0, 1, 1}), I(3)}});
    cases.push_back({name + "Grad", {X({2, 2}), Is({3, 0, 3}), Is({0, 1, 1}), I(4)}});
  }
}

void AddVariables(std::vector<RowCase>& cases) {
  cases.push_back({"ReadVariableOp", {Handle(X({2, 3}))}, {{"dtype", DType::kDouble}}});
  cases.push_back({"ResourceGather", {Handle(X({3, 2})), Is({2, 0, 2})}, {{"dtype", DType::kDouble}}});
  cases.push_back(
      {"ResourceGather/matrix", {Handle(X({3, 2})), Is({2, 2}, {2, 0, 2, 1})}, {{"dtype", DType::kDouble}}});
  cases.push_back({"ResourceGatherNd", {Handle(X({3, 2})), Is({2, 2}, {2, 0, 2, 1})}, {{"dtype", DType::kDouble}}});
  cases.push_back({"ResourceGatherNd/rows", {Handle(X({3, 2})), Is({2, 1}, {2, 2})}, {{"dtype", DType::kDouble}}});
}

}  // namespace

std::vector<RowCase> IndexCases() {
  std::vector<RowCase> cases;
  AddGathers(cases);
  AddSegments(cases);
  AddVariables(cases);
  return cases;
}

}  // namespace sluice
