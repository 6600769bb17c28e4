// Cases in which all or some operands have no elements: gradients have the right shape, and no NaN.

#include "tests/executor/gradients/row_case.h"

namespace sluice {

std::vector<RowCase> EmptyCases() {
  std::vector<RowCase> cases;
  for (const char* op : {"Exp", "Tanh", "Relu", "Softmax", "LogSoftmax", "L2Loss", "BiasAddGrad"}) {
    cases.push_back({std::string(op) + "/empty", {X({0, 3})}});
  }
  for (const char* op : {"Sum", "Mean", "Prod", "Max", "EuclideanNorm"}) {
    cases.push_back({std::string(op) + "/empty_rows", {X({0, 3}), Is({1})}});
  }
  cases.push_back({"Sum/of_nothing", {X({0, 3}), Is({0})}});
  cases.push_back({"Sum/of_all_of_nothing", {X({0, 3}), Is({0, 1})}});
  cases.push_back({"Mul/empty", {X({0, 3}), X({3}, -1, 1, 2)}});
  cases.push_back({"AddV2/empty_and_one", {X({2, 0}), X({2, 1}, -1, 1, 2)}});
  cases.push_back({"MatMul/empty_rows", {X({0, 3}), X({3, 2}, -1, 1, 2)}});
  cases.push_back({"MatMul/of_nothing", {X({2, 0}), X({0, 3}, -1, 1, 2)}});
  cases.push_back({"BatchMatMulV2/empty_batch", {X({0, 2, 3}), X({3, 2}, -1, 1, 2)}});
  cases.push_back({"Einsum/empty", {X({0, 3}), X({3, 2}, -1, 1, 2)}, {{"equation", "ab,bc->ac"}}});
  cases.push_back({"BiasAdd/empty", {X({0, 3}), X({3}, -1, 1, 2)}});
  cases.push_back({"GatherV2/no_indices", {X({3, 2}), Is({}), I(0)}});
  cases.push_back({"GatherV2/empty_rows", {X({3, 0}), Is({2, 2}, {2, 0, 1, 1}), I(0)}});
  cases.push_back({"GatherV2/empty_axis", {X({0, 3, 2}), Is({2, 0}), I(1)}});
  cases.push_back({"GatherNd/no_indices", {X({3, 2}), Is({0, 2}, {})}});
  cases.push_back({"SegmentSum/empty", {X({0, 2}), Is({})}});
  cases.push_back({"UnsortedSegmentSum/empty", {X({0, 2}), Is({}), I(3)}});
  cases.push_back({"ConcatV2/empty_part", {X({2, 0}), X({2, 3}, -1, 1, 2), I(1)}});
  cases.push_back({"Split/empty", {I(0), X({0, 4})}, {{"num_split", 2}}});
  cases.push_back({"Slice/nothing", {X({3}), Is({1}), Is({0})}});
  cases.push_back({"StridedSlice/nothing", {X({3}), Is({1}), Is({1}), Is({1})}});
  cases.push_back({"Pad/empty", {X({0, 2}), Is({2, 2}, {1, 0, 2, 1})}});
  cases.push_back({"Tile/nothing", {X({2, 3}), Is({0, 2})}});
  cases.push_back({"Reshape/empty", {X({0, 3}), Is({3, 0})}});
  cases.push_back({"TopKV2/nothing", {X({2, 4}), I(0)}, {}, 0, 2, {0}});
  cases.push_back({"DynamicPartition/empty", {X({0, 2}), Is({})}, {{"num_partitions", 2}}});
  cases.push_back({"Cumsum/empty", {X({0, 2}), I(0)}});
  return cases;
}

}  // namespace sluice
