// Gradients of TensorArrays, lists of tensors and stacks.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "graph/gradients/forward_facts.h"
#include "graph/gradients/gradient_emitter.h"
#include "graph/gradients/rules/families.h"

namespace sluice {
namespace {

// --- TensorArrays: each has an array of gradients, which all reads add to; flows order what is done to them ----------

struct GradientArray {
  Expr handle, flow;  // Ordered after the flow of the other array.
};

// Makes the array of gradients. Its flow is not the output of TensorArrayGradV3, which has no gradient: second
// gradients follow the flow back to the first writes.
GradientArray GradientArrayOf(GradientContext& c, const Expr& handle, const Expr& flow) {
  const Expr array = AddOp("TensorArrayGradV3", {handle, flow}, {{"source", AttrValue(c.emitter().prefix())}});
  if (!c.emitter().ok()) return {};
  return {array, c.emitter().Value(c.emitter().Add("Identity", {c.emitter().Here(flow)}, {}, {array.output().node}))};
}

// The flow of the forward array, which orders reads after all writes. In a loop it is not needed, nor kept: the loop of
// gradients begins when its forward loop has ended.
Expr ForwardFlow(GradientContext& c, int input) {
  return c.emitter().frame() == nullptr ? c.Input(input) : c.emitter().Scalar(DType::kFloat, 0);
}

EmitAttrs ElementType(DType type) { return {{"dtype", AttrValue(type)}}; }

// The same, and the shape of the elements as `attr`: from the shape of input `i`, which is cut into elements along its
// first axis, and from the array's own, from axis `skipped` on. Without elements a run has no other source of it.
EmitAttrs ElementTypeAndShape(const GradientContext& c, int i, size_t skipped, absl::string_view attr) {
  EmitAttrs attrs = ElementType(c.input_type(i));
  PartialShape known;
  const auto add = [&known](const PartialShape& shape, size_t axes) {
    if (shape.rank() < static_cast<int>(axes)) return;
    const absl::StatusOr<PartialShape> rest = PartialShape::Make(shape.dims().subspan(axes));
    const absl::StatusOr<PartialShape> both = rest.ok() ? known.MergeWith(*rest) : rest;
    if (both.ok()) known = *both;
  };
  add(c.InputShape(i), 1);
  add(c.facts().ElementShape(c.Input(0).output()), skipped);
  if (known.has_rank()) attrs.push_back({attr, AttrValue(known)});
  return attrs;
}

// The gradient of a value made of an array's elements, from axis `skipped` of an element on. In a loop its shape is
// stated: the handle comes from a stack there, where second gradients cannot find the array's own.
Expr DyOfElements(GradientContext& c, size_t skipped) {
  const Expr dy = c.dy();
  const PartialShape element = c.facts().ElementShape(c.Input(0).output());
  if (c.emitter().frame() == nullptr || element.rank() < static_cast<int>(skipped)) return dy;
  std::vector<int64_t> dims = {-1};
  dims.insert(dims.end(), element.dims().begin() + static_cast<std::ptrdiff_t>(skipped), element.dims().end());
  const absl::StatusOr<PartialShape> shape = PartialShape::Make(dims);
  return shape.ok() ? AddOp("EnsureShape", {dy}, {{"shape", AttrValue(*shape)}}) : dy;
}

absl::Status ArrayRead(GradientContext& c) {
  const GradientArray array = GradientArrayOf(c, c.Input(0), ForwardFlow(c, 2));
  c.SetInput(2, AddOp("TensorArrayWriteV3", {array.handle, c.Input(1), c.dy(), array.flow}));
  return absl::OkStatus();
}

absl::Status ArrayWrite(GradientContext& c) {
  const Expr flow = c.dy();
  const GradientArray array = GradientArrayOf(c, c.Input(0), flow);
  c.SetInput(2, AddOp("TensorArrayReadV3", {array.handle, c.Input(1), array.flow}, ElementType(c.input_type(2))));
  c.SetInput(3, flow);
  return absl::OkStatus();
}

absl::Status ArrayGather(GradientContext& c) {
  const GradientArray array = GradientArrayOf(c, c.Input(0), ForwardFlow(c, 2));
  c.SetInput(2, AddOp("TensorArrayScatterV3", {array.handle, c.Input(1), DyOfElements(c, 0), array.flow}));
  return absl::OkStatus();
}

absl::Status ArrayScatter(GradientContext& c) {
  const Expr flow = c.dy();
  const GradientArray array = GradientArrayOf(c, c.Input(0), flow);
  c.SetInput(2, AddOp("TensorArrayGatherV3", {array.handle, c.Input(1), array.flow},
                      ElementTypeAndShape(c, 2, 0, "element_shape")));
  c.SetInput(3, flow);
  return absl::OkStatus();
}

absl::Status ArrayConcat(GradientContext& c) {
  const GradientArray array = GradientArrayOf(c, c.Input(0), ForwardFlow(c, 1));
  c.SetInput(1, AddOp("TensorArraySplitV3", {array.handle, DyOfElements(c, 1), c.Output(1), array.flow}));
  return absl::OkStatus();
}

absl::Status ArraySplit(GradientContext& c) {
  const Expr flow = c.dy();
  const GradientArray array = GradientArrayOf(c, c.Input(0), flow);
  c.SetInput(1, AddOp("TensorArrayConcatV3", {array.handle, array.flow},
                      ElementTypeAndShape(c, 1, 1, "element_shape_except0")));
  c.SetInput(3, flow);
  return absl::OkStatus();
}

// --- Lists: the gradient of a list is a list -------------------------------------------------------------------------

EmitAttrs ListType(DType type) { return {{"element_dtype", AttrValue(type)}}; }
Expr ElementShape(const Expr& stacked) { return SliceFrom(ShapeOf(stacked), 1); }
// Of pieces of different lengths.
Expr PieceShape(const Expr& whole) { return Concat({Int32s(whole, {-1}), ElementShape(whole)}, 0); }
Expr LengthOf(const Expr& list) { return AddOp("TensorListLength", {list}); }

absl::Status ListPushBack(GradientContext& c) {
  const Expr popped = AddOp("TensorListPopBack", {c.dy(), ShapeOf(c.Input(1))}, ListType(c.input_type(1)));
  c.SetInput(0, popped);
  c.SetInput(1, popped.out(1));
  return absl::OkStatus();
}

absl::Status ListPopBack(GradientContext& c) {
  c.SetInput(0, AddOp("TensorListPushBack", {c.dy(0), c.dy(1)}));
  return absl::OkStatus();
}

absl::Status ListStack(GradientContext& c) {
  const Expr dy = c.dy();
  c.SetInput(0, AddOp("TensorListFromTensor", {dy, ElementShape(dy)}));
  return absl::OkStatus();
}

absl::Status ListFromTensor(GradientContext& c) {
  c.SetInput(0, AddOp("TensorListStack", {c.dy(), ElementShape(c.Input(0))}, ListType(c.input_type(0))));
  return absl::OkStatus();
}

absl::Status ListConcat(GradientContext& c) {
  const Expr dy = c.dy();
  c.SetInput(0, AddOp("TensorListSplit", {dy, PieceShape(dy), c.Output(1)}));
  return absl::OkStatus();
}

absl::Status ListSplit(GradientContext& c) {
  c.SetInput(0, AddOp("TensorListConcatV2", {c.dy(), PieceShape(c.Input(0)), c.Input(2)}, ListType(c.input_type(0))));
  return absl::OkStatus();
}

absl::Status ListGetItem(GradientContext& c) {
  const Expr dy = c.dy();
  const Expr shape = AddOp("TensorListElementShape", {c.Input(0)}, {{"shape_type", AttrValue(DType::kInt32)}});
  const Expr empty = AddOp("TensorListReserve", {shape, LengthOf(c.Input(0))}, ListType(dy.type()));
  c.SetInput(0, AddOp("TensorListSetItem", {empty, c.Input(1), dy}));
  return absl::OkStatus();
}

absl::Status ListSetItem(GradientContext& c) {
  const Expr dy = c.dy();
  if (c.Wants(0)) {
    const Expr rest = AddOp("TensorListSetItem", {dy, c.Input(1), ZerosLike(c.Input(2))});
    // The list may have grown by the item.
    const bool grows = c.HasAttr("resize_if_index_out_of_bounds") && c.Bool("resize_if_index_out_of_bounds");
    c.SetInput(0, grows ? AddOp("TensorListResize", {rest, LengthOf(c.Input(0))}) : rest);
  }
  if (c.Wants(2)) {
    c.SetInput(2, AddOp("TensorListGetItem", {dy, c.Input(1), ShapeOf(c.Input(2))}, ListType(c.input_type(2))));
  }
  return absl::OkStatus();
}

absl::Status ListResize(GradientContext& c) {
  c.SetInput(0, AddOp("TensorListResize", {c.dy(), LengthOf(c.Input(0))}));
  return absl::OkStatus();
}

// An element that is gathered twice has both gradients.
absl::Status ListGather(GradientContext& c) {
  const Expr dy = c.dy();
  const Expr rows = UnsortedSegmentSum(dy, c.Input(1), LengthOf(c.Input(0)));
  c.SetInput(0, AddOp("TensorListFromTensor", {rows, ElementShape(dy)}));
  return absl::OkStatus();
}

Expr GatherLike(GradientContext& c, int tensor, int indices) {
  return AddOp("TensorListGather", {c.dy(), c.Input(indices), ElementShape(c.Input(tensor))},
               ListType(c.input_type(tensor)));
}

absl::Status ListScatter(GradientContext& c) {
  c.SetInput(0, GatherLike(c, 0, 1));
  return absl::OkStatus();
}

absl::Status ListScatterInto(GradientContext& c) {
  if (c.Wants(0)) {
    c.SetInput(0, AddOp("TensorListScatterIntoExistingList", {c.dy(), ZerosLike(c.Input(1)), c.Input(2)}));
  }
  if (c.Wants(1)) c.SetInput(1, GatherLike(c, 1, 2));
  return absl::OkStatus();
}

constexpr GradientRow kRows[] = {
    {"TensorArrayConcatV3", &ArrayConcat},     {"TensorArrayGatherV3", &ArrayGather},
    {"TensorArrayReadV3", &ArrayRead},         {"TensorArrayScatterV3", &ArrayScatter},
    {"TensorArraySplitV3", &ArraySplit},       {"TensorArrayWriteV3", &ArrayWrite},
    {"TensorListConcat", &ListConcat},         {"TensorListConcatV2", &ListConcat},
    {"TensorListFromTensor", &ListFromTensor}, {"TensorListGather", &ListGather},
    {"TensorListGetItem", &ListGetItem},       {"TensorListPopBack", &ListPopBack},
    {"TensorListPushBack", &ListPushBack},     {"TensorListResize", &ListResize},
    {"TensorListScatter", &ListScatter},       {"TensorListScatterIntoExistingList", &ListScatterInto},
    {"TensorListScatterV2", &ListScatter},     {"TensorListSetItem", &ListSetItem},
    {"TensorListSplit", &ListSplit},           {"TensorListStack", &ListStack},
};
static_assert(RowsAscend(kRows), "rows ascend by op");

}  // namespace

absl::Span<const GradientRow> CollectionGradients() { return kRows; }

}  // namespace sluice
