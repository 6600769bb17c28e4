// Gradients of TensorArrays, lists of tensors and stacks.

#include "graph/gradients/families.h"
#include "graph/gradients/gradient_emitter.h"

namespace sluice {
namespace {

// --- TensorArrays: each has an array of gradients, which all reads add to; flows order what is done to them ----------

// The array of gradients; out(1) is its flow, behind that of the other.
Expr GradientArray(GradientContext& c, const Expr& handle, const Expr& flow) {
  return AddOp("TensorArrayGradV3", {handle, flow}, {{"source", AttrValue(c.emitter().prefix())}});
}

// The flow of the forward array: that all writes are done. A loop of gradients begins when its forward loop has ended,
// so that there no value need be kept for it.
Expr ForwardFlow(GradientContext& c, int input) {
  return c.emitter().frame() == nullptr ? c.Input(input) : c.emitter().Scalar(DType::kFloat, 0);
}

EmitAttrs ElementType(DType type) { return {{"dtype", AttrValue(type)}}; }

// The same, and of what is known of the shape of input `i` all dimensions but the first, as `shape`: arrays without
// elements have no other source of it.
EmitAttrs ElementTypeAndShape(const GradientContext& c, int i, absl::string_view shape) {
  const PartialShape rows = c.InputShape(i);
  EmitAttrs attrs = ElementType(c.input_type(i));
  if (rows.rank() < 1) return attrs;
  const absl::StatusOr<PartialShape> element = PartialShape::Make(rows.dims().subspan(1));
  if (element.ok()) attrs.push_back({shape, AttrValue(*element)});
  return attrs;
}

absl::Status ArrayRead(GradientContext& c) {
  const Expr array = GradientArray(c, c.Input(0), ForwardFlow(c, 2));
  c.SetInput(2, AddOp("TensorArrayWriteV3", {array, c.Input(1), c.dy(), array.out(1)}));
  return absl::OkStatus();
}

absl::Status ArrayWrite(GradientContext& c) {
  const Expr flow = c.dy(), array = GradientArray(c, c.Input(0), flow);
  c.SetInput(2, AddOp("TensorArrayReadV3", {array, c.Input(1), array.out(1)}, ElementType(c.input_type(2))));
  c.SetInput(3, flow);
  return absl::OkStatus();
}

absl::Status ArrayGather(GradientContext& c) {
  const Expr array = GradientArray(c, c.Input(0), ForwardFlow(c, 2));
  c.SetInput(2, AddOp("TensorArrayScatterV3", {array, c.Input(1), c.dy(), array.out(1)}));
  return absl::OkStatus();
}

absl::Status ArrayScatter(GradientContext& c) {
  const Expr flow = c.dy(), array = GradientArray(c, c.Input(0), flow);
  c.SetInput(
      2, AddOp("TensorArrayGatherV3", {array, c.Input(1), array.out(1)}, ElementTypeAndShape(c, 2, "element_shape")));
  c.SetInput(3, flow);
  return absl::OkStatus();
}

absl::Status ArrayConcat(GradientContext& c) {
  const Expr array = GradientArray(c, c.Input(0), ForwardFlow(c, 1));
  c.SetInput(1, AddOp("TensorArraySplitV3", {array, c.dy(), c.Output(1), array.out(1)}));
  return absl::OkStatus();
}

absl::Status ArraySplit(GradientContext& c) {
  const Expr flow = c.dy(), array = GradientArray(c, c.Input(0), flow);
  c.SetInput(1,
             AddOp("TensorArrayConcatV3", {array, array.out(1)}, ElementTypeAndShape(c, 1, "element_shape_except0")));
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
    {"EmptyTensorList", kNoGradient},
    {"Stack", kNoGradient},
    {"StackClose", kNoGradient},
    {"StackCloseV2", kNoGradient},
    {"StackPop", kRefusedGradient},
    {"StackPopV2", kRefusedGradient},
    {"StackPush", kRefusedGradient},
    {"StackPushV2", kRefusedGradient},
    {"StackV2", kNoGradient},
    {"TensorArrayCloseV3", kNoGradient},
    {"TensorArrayConcatV3", &ArrayConcat},
    {"TensorArrayGatherV3", &ArrayGather},
    {"TensorArrayGradV3", kNoGradient},
    {"TensorArrayGradWithShape", kNoGradient},
    {"TensorArrayReadV3", &ArrayRead},
    {"TensorArrayScatterV3", &ArrayScatter},
    {"TensorArraySizeV3", kNoGradient},
    {"TensorArraySplitV3", &ArraySplit},
    {"TensorArrayV3", kNoGradient},
    {"TensorArrayWriteV3", &ArrayWrite},
    {"TensorListConcat", &ListConcat},
    {"TensorListConcatLists", kRefusedGradient},
    {"TensorListConcatV2", &ListConcat},
    {"TensorListElementShape", kNoGradient},
    {"TensorListFromTensor", &ListFromTensor},
    {"TensorListGather", &ListGather},
    {"TensorListGetItem", &ListGetItem},
    {"TensorListLength", kNoGradient},
    {"TensorListPopBack", &ListPopBack},
    {"TensorListPushBack", &ListPushBack},
    {"TensorListPushBackBatch", kRefusedGradient},
    {"TensorListReserve", kNoGradient},
    {"TensorListResize", &ListResize},
    {"TensorListScatter", &ListScatter},
    {"TensorListScatterIntoExistingList", &ListScatterInto},
    {"TensorListScatterV2", &ListScatter},
    {"TensorListSetItem", &ListSetItem},
    {"TensorListSplit", &ListSplit},
    {"TensorListStack", &ListStack},
};
static_assert(RowsAscend(kRows), "rows ascend by op");

}  // namespace

absl::Span<const GradientRow> CollectionGradients() { return kRows; }

}  // namespace sluice
