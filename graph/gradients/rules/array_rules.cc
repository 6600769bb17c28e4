// Gradients of ops that move elements, or hand values on.

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/gradients/rules/families.h"
#include "graph/gradients/rules/shared_rules.h"

namespace sluice {
namespace {

absl::Status CheckNumerics(GradientContext& c) {
  const std::string message = absl::StrCat("Found in the gradient. ", c.String("message"));
  c.SetInput(0, AddOp(c.op(), {c.dy()}, {{"message", AttrValue(message)}}));
  return absl::OkStatus();
}

absl::Status PreventGradient(GradientContext& c) {
  return c.Refuse(absl::StrCat("the graph forbids it: ", c.String("message")));
}

// Returns the inverse of the permutation in input 1.
Expr Inverse(GradientContext& c) {
  const std::optional<std::vector<int64_t>> permutation = c.ConstInts(1);
  if (!permutation.has_value()) return InvertPermutation(c.Input(1));
  std::vector<int64_t> inverse(permutation->size());
  for (size_t i = 0; i < inverse.size(); ++i) {
    const int64_t place = (*permutation)[i];
    if (place < 0 || place >= static_cast<int64_t>(inverse.size())) return InvertPermutation(c.Input(1));
    inverse[static_cast<size_t>(place)] = static_cast<int64_t>(i);
  }
  return c.Int32s(inverse);
}

absl::Status TransposeBack(GradientContext& c) {
  c.SetInput(0, AddOp(c.op(), {c.dy(), Inverse(c)}));
  return absl::OkStatus();
}

// Seen as [multiple, size, multiple, size, ...], the copies are summed.
absl::Status Tile(GradientContext& c) {
  const Expr multiples = c.Input(1);
  const Expr split = Reshape(Pack({multiples, ShapeOf(c.Input(0), multiples.type())}, 1), c.Int32s({-1}));
  const Expr axes = Range(c.Int32(0), SizeOf(split), c.Int32(2));
  c.SetInput(0, Sum(Reshape(c.dy(), split), axes));
  return absl::OkStatus();
}

absl::Status BroadcastTo(GradientContext& c) {
  c.SetInput(0, c.SumToShapeOf(c.Input(0), c.Output(), c.dy()));
  return absl::OkStatus();
}

absl::Status Fill(GradientContext& c) {
  if (c.Wants(1)) c.SetInput(1, SumAll(c.dy()));
  return absl::OkStatus();
}

absl::Status Roll(GradientContext& c) {
  c.SetInput(0, AddOp("Roll", {c.dy(), -c.Input(1), c.Input(2)}));
  return absl::OkStatus();
}

// PadV2's constant has no gradient.
absl::Status Pad(GradientContext& c) {
  if (!c.Wants(0)) return absl::OkStatus();
  const std::optional<std::vector<int64_t>> paddings = c.ConstInts(1);
  Expr begin;
  if (paddings.has_value()) {
    std::vector<int64_t> before;
    for (size_t i = 0; i < paddings->size(); i += 2) before.push_back((*paddings)[i]);
    begin = c.Int32s(before);
  } else {
    begin = Reshape(Slice(c.Input(1), c.Int32s({0, 0}), c.Int32s({-1, 1})), c.Int32s({-1}));
  }
  c.SetInput(0, Slice(c.dy(), begin, ShapeOf(c.Input(0), begin.type())));
  return absl::OkStatus();
}

absl::Status MirrorPad(GradientContext& c) {
  c.SetInput(0, AddOp("MirrorPadGrad", {c.dy(), c.Input(1)}, c.CopyAttrs({"mode"})));
  return absl::OkStatus();
}

absl::Status MirrorPadGrad(GradientContext& c) {
  c.SetInput(0, AddOp("MirrorPad", {c.dy(), c.Input(1)}, c.CopyAttrs({"mode"})));
  return absl::OkStatus();
}

// `inverse` undoes the op, with the same operands and attrs.
absl::Status Undo(GradientContext& c, absl::string_view inverse) {
  Exprs inputs = c.Inputs(0, c.num_inputs());
  inputs[0] = c.dy();
  c.SetInput(0, AddOp(inverse, inputs, c.CopyAttrs({"seq_dim", "batch_dim", "block_size", "data_format"})));
  return absl::OkStatus();
}

absl::Status SameOp(GradientContext& c) { return Undo(c, c.op()); }
absl::Status BatchToSpace(GradientContext& c) { return Undo(c, "SpaceToBatch"); }
absl::Status BatchToSpaceND(GradientContext& c) { return Undo(c, "SpaceToBatchND"); }
absl::Status SpaceToBatch(GradientContext& c) { return Undo(c, "BatchToSpace"); }
absl::Status SpaceToBatchND(GradientContext& c) { return Undo(c, "BatchToSpaceND"); }
absl::Status DepthToSpace(GradientContext& c) { return Undo(c, "SpaceToDepth"); }
absl::Status SpaceToDepth(GradientContext& c) { return Undo(c, "DepthToSpace"); }

// Both ops copy each element of the input into every patch that contains it. To find the sources, run the op on the
// numbers of the elements, from 1 on: padding gives 0, which becomes -1 and is dropped.
absl::Status Patches(GradientContext& c, const EmitAttrs& attrs) {
  const Expr shape = ShapeOf(c.Input(0), DType::kInt64);
  const Expr batch = SliceRange(shape, 0, 1), places = SliceRange(shape, 1, -1), depth = SliceFrom(shape, -1);
  const Expr one = c.Int64s({1}), count = Prod(places, c.Int32(0));
  const Expr numbers = Reshape(Iota(count) + c.Int64(1), Concat({one, places, one}, 0));
  // Exact up to 2^53 elements.
  const Expr picked = AddOp(c.op(), {Cast(numbers, DType::kDouble)}, attrs);
  const Expr ids = Reshape(Cast(picked, DType::kInt64) - c.Int64(1), c.Int32s({-1}));
  // [batch, picked, depth] -> [picked, batch, depth]: the segments are rows.
  const Expr by_batch = Reshape(c.dy(), Concat({batch, SizeOf(ids, DType::kInt64) * one, depth}, 0));
  const Expr sums = UnsortedSegmentSum(Transpose(by_batch, {1, 0, 2}), ids, count);
  c.SetInput(0, Reshape(Transpose(sums, {1, 0, 2}), shape));
  return absl::OkStatus();
}

absl::Status ExtractImagePatches(GradientContext& c) {
  return Patches(c, c.CopyAttrs({"ksizes", "strides", "rates", "padding"}));
}

absl::Status ExtractVolumePatches(GradientContext& c) {
  return Patches(c, c.CopyAttrs({"ksizes", "strides", "padding"}));
}

constexpr GradientRow kRows[] = {
    {"BatchToSpace", &BatchToSpace},
    {"BatchToSpaceND", &BatchToSpaceND},
    {"BroadcastTo", &BroadcastTo},
    {"CheckNumerics", &CheckNumerics},
    {"CheckNumericsV2", &CheckNumerics},
    {"ConjugateTranspose", &TransposeBack},
    {"DepthToSpace", &DepthToSpace},
    {"EnsureShape", &PassOn},
    {"ExpandDims", &ReshapeToInput},
    {"ExtractImagePatches", &ExtractImagePatches},
    {"ExtractVolumePatches", &ExtractVolumePatches},
    {"Fill", &Fill},
    {"GuaranteeConst", &PassOn},
    {"Identity", &PassOn},
    {"IdentityN", &PassAllOn},
    {"MirrorPad", &MirrorPad},
    {"MirrorPadGrad", &MirrorPadGrad},
    {"Pad", &Pad},
    {"PadV2", &Pad},
    {"PlaceholderWithDefault", &PassOn},
    {"PreventGradient", &PreventGradient},
    {"Print", &PassOn},
    {"RefIdentity", &PassOn},
    {"Reshape", &ReshapeToInput},
    {"Reverse", &SameOp},
    {"ReverseSequence", &SameOp},
    {"ReverseV2", &SameOp},
    {"Roll", &Roll},
    {"Snapshot", &PassOn},
    {"SpaceToBatch", &SpaceToBatch},
    {"SpaceToBatchND", &SpaceToBatchND},
    {"SpaceToDepth", &SpaceToDepth},
    {"Squeeze", &ReshapeToInput},
    {"Tile", &Tile},
    {"Transpose", &TransposeBack},
};
static_assert(RowsAscend(kRows), "rows ascend by op");

}  // namespace

absl::Span<const GradientRow> ArrayGradients() { return kRows; }

}  // namespace sluice
