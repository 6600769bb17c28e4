// Cases of ops that move elements, join values, cut them, and work on diagonals.

#include "tests/executor/gradients/row_case.h"

namespace sluice {
namespace {

void AddMoves(std::vector<RowCase>& cases) {
  for (const char* op : {"Snapshot", "EnsureShape", "CheckNumerics", "CheckNumericsV2", "GuaranteeConst"}) {
    GraphBuilder::Attrs attrs;
    if (std::string(op) == "EnsureShape") attrs = {{"shape", PartialShape::Of({2, -1})}};
    if (std::string(op) == "CheckNumerics" || std::string(op) == "CheckNumericsV2") attrs = {{"message", "m"}};
    cases.push_back({op, {X({2, 3})}, attrs});
  }
  cases.push_back({"Print", {X({2})}, {{"U", std::vector<DType>{}}, {"first_n", 0}}});
  cases.push_back({"IdentityN", {X({2}), X({3}, -1, 1, 2)}});
  cases.push_back({"IdentityN/one_output", {X({2}), X({3}, -1, 1, 2)}, {}, 0, 2, {1}});
  cases.push_back({"PlaceholderWithDefault", {X({2})}, {{"shape", Shape::Of({2})}}});
  cases.push_back({"Reshape", {X({2, 3}), Is({3, -1})}});
  cases.push_back({"ExpandDims", {X({2, 3}), I(1)}});
  cases.push_back({"Squeeze", {X({2, 1, 3})}, {{"squeeze_dims", std::vector<int64_t>{1}}}});
  cases.push_back({"Transpose", {X({2, 3, 2}), Is({2, 0, 1})}});
  cases.push_back({"ConjugateTranspose", {Z({2, 3}), Is({1, 0})}});
  cases.push_back({"Tile", {X({2, 3}), Is({2, 3})}});
  cases.push_back({"BroadcastTo", {X({2, 1}), Is({3, 2, 2})}});
  cases.push_back({"Fill", {Is({2, 3}), X({})}});
  cases.push_back({"Reverse", {X({2, 3}), Bs({2}, {false, true})}});
  cases.push_back({"ReverseV2", {X({2, 3}), Is({1})}});
  cases.push_back({"ReverseSequence", {X({3, 2}), Ls({2, 3})}, {{"seq_dim", 0}, {"batch_dim", 1}}});
  cases.push_back({"Roll", {X({2, 3}), Is({1, -1}), Is({0, 1})}});
  cases.push_back({"Pad", {X({2, 2}), Is({2, 2}, {1, 0, 2, 1})}});
  cases.push_back({"PadV2", {X({2, 2}), Is({2, 2}, {1, 0, 2, 1}), F(5)}});
  cases.push_back({"MirrorPad", {X({3, 2}), Is({2, 2}, {2, 1, 1, 0})}, {{"mode", "REFLECT"}}});
  cases.push_back({"MirrorPad/symmetric", {X({2, 2}), Is({2, 2}, {2, 1, 1, 0})}, {{"mode", "SYMMETRIC"}}});
  cases.push_back({"MirrorPadGrad", {X({5, 3}), Is({2, 2}, {1, 1, 1, 0})}, {{"mode", "REFLECT"}}});
  cases.push_back({"SpaceToBatch", {X({1, 2, 4, 1}), Is({2, 2}, {0, 0, 1, 1})}, {{"block_size", 2}}});
  cases.push_back({"BatchToSpace", {X({4, 1, 2, 1}), Is({2, 2}, {0, 0, 1, 0})}, {{"block_size", 2}}});
  cases.push_back({"SpaceToBatchND", {X({1, 3, 2}), Is({2}), Is({1, 2}, {1, 0})}});
  cases.push_back({"BatchToSpaceND", {X({2, 2, 2}), Is({2}), Is({1, 2}, {1, 0})}});
  cases.push_back({"SpaceToDepth", {X({1, 2, 4, 1})}, {{"block_size", 2}}});
  cases.push_back({"DepthToSpace", {X({1, 1, 2, 4})}, {{"block_size", 2}}});
  using Ints = std::vector<int64_t>;
  cases.push_back({"ExtractImagePatches",
                   {X({2, 4, 3, 2})},
                   {{"ksizes", Ints{1, 2, 3, 1}},
                    {"strides", Ints{1, 2, 1, 1}},
                    {"rates", Ints{1, 2, 1, 1}},
                    {"padding", "SAME"}}});
  cases.push_back({"ExtractVolumePatches",
                   {X({2, 3, 2, 2, 2})},
                   {{"ksizes", Ints{1, 2, 2, 1, 1}}, {"strides", Ints{1, 1, 2, 1, 1}}, {"padding", "SAME"}}});
}

void AddJoins(std::vector<RowCase>& cases) {
  cases.push_back({"Concat", {I(1), X({2, 2}), X({2, 3}, -1, 1, 2)}});
  cases.push_back({"ConcatV2", {X({2, 2}), X({2, 3}, -1, 1, 2), X({2, 1}, -1, 1, 3), I(-1)}});
  cases.push_back({"ConcatV2/one_wanted", {Fixed(X({2, 2})), X({1, 2}, -1, 1, 2), I(0)}});
  cases.push_back({"Pack", {X({2}), X({2}, -1, 1, 2), X({2}, -1, 1, 3)}, {{"axis", 1}}});
  cases.push_back({"Unpack", {X({2, 3})}, {{"num", 3}, {"axis", 1}}});
  cases.push_back({"Unpack/one_output", {X({2, 3})}, {{"num", 2}}, 0, 2, {1}});
  cases.push_back({"Split", {I(1), X({2, 4})}, {{"num_split", 2}}});
  cases.push_back({"Split/one_output", {I(0), X({2, 4})}, {{"num_split", 2}}, 0, 2, {0}});
  cases.push_back({"SplitV", {X({2, 4}), Is({1, 3}), I(1)}, {{"num_split", 2}}});
}

void AddSlices(std::vector<RowCase>& cases) {
  cases.push_back({"Slice", {X({3, 4}), Is({1, 0}), Is({2, -1})}});
  cases.push_back({"Slice/int64", {X({3}), Ls({1}), Ls({1})}});
  cases.push_back({"StridedSlice", {X({4, 3}), Is({-1, 0}), Is({0, 2}), Is({-2, 1})}, {{"end_mask", 2}}});
  cases.push_back({"StridedSlice/masks",
                   {X({2, 3, 2}), Is({1, 0, 0}), Is({2, 0, 1}), Is({1, 1, 1})},
                   {{"shrink_axis_mask", 1}, {"ellipsis_mask", 2}, {"new_axis_mask", 4}}});
  cases.push_back({"StridedSliceGrad", {Is({4}), Is({1}), Is({4}), Is({2}), X({2})}});
  cases.push_back({"TensorStridedSliceUpdate", {X({4}), Is({1}), Is({4}), Is({2}), X({2}, -1, 1, 2)}});
  cases.push_back({"TensorStridedSliceUpdate/broadcasts", {X({4, 2}), Is({1}), Is({3}), Is({1}), X({2}, -1, 1, 2)}});
}

void AddDiagonals(std::vector<RowCase>& cases) {
  cases.push_back({"Diag", {X({3})}});
  cases.push_back({"DiagPart", {X({3, 3})}});
  cases.push_back({"MatrixDiag", {X({2, 3})}});
  cases.push_back({"MatrixDiagPart", {X({2, 2, 3})}});
  cases.push_back({"MatrixSetDiag", {X({2, 2, 3}), X({2, 2}, -1, 1, 2)}});
  cases.push_back({"MatrixBandPart", {X({2, 3, 3}), Ls({}, {1}), Ls({}, {0})}});
  cases.push_back({"MatrixDiagV2", {X({2, 3}), Is({0, 1}), I(3), I(3), F(7)}});
  cases.push_back({"MatrixDiagV3", {X({2, 3}), Is({0, 1}), I(3), I(3), F(7)}, {{"align", "LEFT_RIGHT"}}});
  cases.push_back({"MatrixDiagPartV2", {X({3, 4}), Is({-1, 1}), F(7)}});
  cases.push_back({"MatrixDiagPartV3", {X({2, 3, 4}), Is({-1, 1}), F(7)}});
  cases.push_back({"MatrixSetDiagV2", {X({3, 3}), X({2, 3}, -1, 1, 2), Is({0, 1})}});
  cases.push_back({"MatrixSetDiagV3", {X({2, 3, 3}), X({2, 2, 3}, -1, 1, 2), Is({0, 1})}});
}

}  // namespace

std::vector<RowCase> ArrayCases() {
  std::vector<RowCase> cases;
  AddMoves(cases);
  AddJoins(cases);
  AddSlices(cases);
  AddDiagonals(cases);
  return cases;
}

}  // namespace sluice
