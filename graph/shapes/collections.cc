// Shapes of queues, barriers, accumulators, stacks, tensor arrays, tensor lists, tables and datasets.

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/base/status_macros.h"
#include "graph/shapes/families.h"
#include "graph/shapes/shape_rules.h"

namespace sluice {
namespace {

// A reference to the two strings of a handle, or a resource handle.
absl::Status NamedHandle(InferenceContext& c) {
  if (c.graph().output_type(c.node(), 0) == DType::kResource) {
    c.SetScalar(0);
  } else {
    c.SetVector(0, 2);
  }
  return absl::OkStatus();
}

absl::Status Queue(InferenceContext& c) {
  SLUICE_RETURN_IF_ERROR(NamedHandle(c));
  AttrView types;
  if (!c.graph().FindAttr(c.node(), "component_types", &types)) return absl::OkStatus();
  const std::vector<PartialShape> shapes = c.Shapes("shapes");
  const absl::StatusOr<std::vector<DType>> list = types.AsTypeList();
  if (!list.ok()) return absl::OkStatus();
  if (!shapes.empty() && list->size() != shapes.size()) {
    return c.AttrError("shapes", absl::StrCat("found ", shapes.size(), " shapes for ", list->size(), " components"));
  }
  HandleData components;
  // The keys come first.
  if (c.op() == "PriorityQueueV2") components.push_back({DType::kInt64, PartialShape::Scalar()});
  for (size_t i = 0; i < list->size(); ++i) {
    components.push_back({(*list)[i], shapes.empty() ? PartialShape() : shapes[i]});
  }
  c.SetHandle(0, std::move(components));
  return absl::OkStatus();
}

// Numbers and keys of the elements, and their components.
absl::Status BarrierTakeMany(InferenceContext& c) {
  for (int i = 0; i < 2; ++i) c.SetVector(i, kUnknownDim);
  return absl::OkStatus();
}

// Rows with their indices, and the shape of the whole.
absl::Status SparseGradient(InferenceContext& c) {
  c.SetVector(0, kUnknownDim);
  c.SetVector(2, kUnknownDim);
  return absl::OkStatus();
}

// Elements of the queue in input 0, with `prefix` in front of their shapes.
absl::Status SetComponents(InferenceContext& c, const PartialShape& prefix) {
  c.MarkAssumed();
  const HandleData* components = c.handle(0);
  if (components == nullptr || static_cast<int>(components->size()) != c.num_outputs()) return absl::OkStatus();
  for (int i = 0; i < c.num_outputs(); ++i) {
    const size_t part = static_cast<size_t>(i);
    SLUICE_RETURN_IF_ERROR(c.RequireHandleType(0, part, c.graph().output_type(c.node(), i), "component_types"));
    c.Set(i, ConcatShapes(prefix, (*components)[part].shape));
  }
  return absl::OkStatus();
}

absl::Status QueueDequeue(InferenceContext& c) { return SetComponents(c, PartialShape::Scalar()); }

absl::Status QueueDequeueMany(InferenceContext& c) { return SetComponents(c, ShapeOf({c.scalar_size(1)})); }

absl::Status QueueDequeueUpTo(InferenceContext& c) { return SetComponents(c, PartialShape::OfRank(1)); }

// Handle and flow. The handle's own shape differs between the versions of the op and is of no use.
absl::Status TensorArray(InferenceContext& c) {
  c.SetScalar(1);
  const bool is_stated = c.Bool("identical_element_shapes") || c.ShapeAttr("element_shape").IsFullyDefined();
  c.SetHandle(0, {{c.Type("dtype"), is_stated ? c.ShapeAttr("element_shape") : PartialShape()}});
  return absl::OkStatus();
}

absl::Status TensorArrayGrad(InferenceContext& c) {
  c.SetScalar(1);
  const HandleData* elements = c.handle(0);
  if (elements != nullptr && c.op() == "TensorArrayGradV3") c.SetHandle(0, HandleData(*elements));
  return absl::OkStatus();
}

absl::Status TensorArrayRead(InferenceContext& c) {
  c.MarkAssumed();
  SLUICE_RETURN_IF_ERROR(c.RequireHandleType(0, 0, c.Type("dtype"), "dtype"));
  c.Set(0, c.handle_shape(0));
  return absl::OkStatus();
}

PartialShape MergeOrFirst(const PartialShape& a, const PartialShape& b) {
  absl::StatusOr<PartialShape> merged = a.MergeWith(b);
  return merged.ok() ? *merged : a;
}

absl::Status TensorArrayGather(InferenceContext& c) {
  c.MarkAssumed();
  c.Set(0, ConcatShapes(ShapeOf({c.dim(1, 0)}), MergeOrFirst(c.ShapeAttr("element_shape"), c.handle_shape(0))));
  return absl::OkStatus();
}

absl::Status TensorArrayConcat(InferenceContext& c) {
  c.MarkAssumed();
  c.Set(0, ConcatShapes(PartialShape::OfRank(1), c.ShapeAttr("element_shape_except0")));
  c.SetVector(1, kUnknownDim);
  return absl::OkStatus();
}

// The element shape in integer input `i`: -1 is unknown, a scalar -1 an unknown rank.
PartialShape StatedElement(const InferenceContext& c, int i) {
  const ShapeValue* value = c.value(i);
  PartialShape shape;
  if (value != nullptr && value->is_scalar) return shape;
  return c.ShapeFromValue(i, true, &shape).ok() ? shape : PartialShape();
}

absl::Status TensorListNew(InferenceContext& c) {
  c.SetScalar(0);
  c.SetHandle(0, {{c.Type("element_dtype"), StatedElement(c, 0)}});
  return absl::OkStatus();
}

absl::Status TensorListFromRows(InferenceContext& c) {
  SLUICE_RETURN_IF_ERROR(c.RequireRankAtLeast(0, 1));
  c.SetScalar(0);
  c.SetHandle(0, {{c.Type("element_dtype"), SubShape(c.input(0), 1)}});
  return absl::OkStatus();
}

// Elements are parts of input 0.
absl::Status TensorListSplit(InferenceContext& c) {
  SLUICE_RETURN_IF_ERROR(c.RequireRankAtLeast(0, 1));
  c.SetScalar(0);
  c.SetHandle(0, {{c.Type("element_dtype"), StatedElement(c, 1)}});
  return absl::OkStatus();
}

// The list in input 0, changed; what is known of its elements stays.
absl::Status TensorListChange(InferenceContext& c) {
  c.SetScalar(0);
  c.Pass(0, 0);
  if (!c.output(0).has_rank()) c.SetScalar(0);
  return absl::OkStatus();
}

absl::Status RequireElementType(const InferenceContext& c) {
  return c.RequireHandleType(0, 0, c.Type("element_dtype"), "element_dtype");
}

absl::Status TensorListGetItem(InferenceContext& c) {
  c.MarkAssumed();
  SLUICE_RETURN_IF_ERROR(RequireElementType(c));
  c.Set(0, MergeOrFirst(StatedElement(c, 2), c.handle_shape(0)));
  return absl::OkStatus();
}

absl::Status TensorListPopBack(InferenceContext& c) {
  c.MarkAssumed();
  SLUICE_RETURN_IF_ERROR(RequireElementType(c));
  SLUICE_RETURN_IF_ERROR(TensorListChange(c));
  c.Set(1, MergeOrFirst(StatedElement(c, 1), c.handle_shape(0)));
  return absl::OkStatus();
}

absl::Status TensorListStack(InferenceContext& c) {
  c.MarkAssumed();
  SLUICE_RETURN_IF_ERROR(RequireElementType(c));
  const PartialShape element = MergeOrFirst(StatedElement(c, 1), c.handle_shape(0));
  c.Set(0, ConcatShapes(ShapeOf({DimOrUnknown(c.Int("num_elements", -1))}), element));
  return absl::OkStatus();
}

absl::Status TensorListGather(InferenceContext& c) {
  c.MarkAssumed();
  SLUICE_RETURN_IF_ERROR(RequireElementType(c));
  c.Set(0, ConcatShapes(ShapeOf({c.dim(1, 0)}), MergeOrFirst(StatedElement(c, 2), c.handle_shape(0))));
  return absl::OkStatus();
}

absl::Status TensorListConcat(InferenceContext& c) {
  c.MarkAssumed();
  SLUICE_RETURN_IF_ERROR(RequireElementType(c));
  const PartialShape element = MergeOrFirst(StatedElement(c, 1), c.handle_shape(0));
  if (element.rank() >= 1) c.Set(0, ConcatShapes(PartialShape::OfRank(1), SubShape(element, 1)));
  c.SetVector(1, kUnknownDim);
  return absl::OkStatus();
}

absl::Status StackPush(InferenceContext& c) { return SameAsInput1(c); }

// Iterators state the shapes of what they give.
absl::Status IteratorNext(InferenceContext& c) {
  c.MarkAssumed();
  const std::vector<PartialShape> shapes = c.Shapes("output_shapes");
  if (static_cast<int>(shapes.size()) != c.num_outputs()) return absl::OkStatus();
  for (int i = 0; i < c.num_outputs(); ++i) c.Set(i, shapes[static_cast<size_t>(i)]);
  return absl::OkStatus();
}

constexpr ShapeRow kRows[] = {
    {"AccumulatorNumAccumulated", &ScalarOutputs},
    {"AnonymousHashTable", &ScalarOutputs},
    {"AnonymousIterator", &ScalarOutputs},
    {"AnonymousMutableDenseHashTable", &ScalarOutputs},
    {"AnonymousMutableHashTable", &ScalarOutputs},
    {"AnonymousMutableHashTableOfTensors", &ScalarOutputs},
    {"Barrier", &NamedHandle},
    {"BarrierIncompleteSize", &ScalarOutputs},
    {"BarrierReadySize", &ScalarOutputs},
    {"BarrierTakeMany", &BarrierTakeMany},
    {"BatchDataset", &ScalarOutputs},
    {"BatchDatasetV2", &ScalarOutputs},
    {"ConditionalAccumulator", &NamedHandle},
    {"EmptyTensorList", &TensorListNew},
    {"EmptyTensorMap", &ScalarOutputs},
    {"FIFOQueue", &Queue},
    {"FIFOQueueV2", &Queue},
    {"FilterDataset", &ScalarOutputs},
    {"FlatMapDataset", &ScalarOutputs},
    {"GetSessionHandle", &ScalarOutputs},
    {"GetSessionHandleV2", &ScalarOutputs},
    {"HashTableV2", &ScalarOutputs},
    {"IteratorGetNext", &IteratorNext},
    {"IteratorGetNextSync", &IteratorNext},
    {"IteratorV2", &ScalarOutputs},
    {"LookupTableSize", &ScalarOutputs},
    {"LookupTableSizeV2", &ScalarOutputs},
    {"MapDataset", &ScalarOutputs},
    {"MapIncompleteSize", &ScalarOutputs},
    {"MapSize", &ScalarOutputs},
    {"MutableDenseHashTableV2", &ScalarOutputs},
    {"MutableHashTableOfTensorsV2", &ScalarOutputs},
    {"MutableHashTableV2", &ScalarOutputs},
    {"OneShotIterator", &ScalarOutputs},
    {"OptionalFromValue", &ScalarOutputs},
    {"OptionalGetValue", &IteratorNext},
    {"OptionalHasValue", &ScalarOutputs},
    {"OptionalNone", &ScalarOutputs},
    {"OptionsDataset", &ScalarOutputs},
    {"OrderedMapIncompleteSize", &ScalarOutputs},
    {"OrderedMapSize", &ScalarOutputs},
    {"PaddingFIFOQueue", &Queue},
    {"PaddingFIFOQueueV2", &Queue},
    {"ParallelMapDataset", &ScalarOutputs},
    {"ParallelMapDatasetV2", &ScalarOutputs},
    {"PrefetchDataset", &ScalarOutputs},
    {"PriorityQueue", &Queue},
    {"PriorityQueueV2", &Queue},
    {"QueueDequeue", &QueueDequeue},
    {"QueueDequeueMany", &QueueDequeueMany},
    {"QueueDequeueManyV2", &QueueDequeueMany},
    {"QueueDequeueUpTo", &QueueDequeueUpTo},
    {"QueueDequeueUpToV2", &QueueDequeueUpTo},
    {"QueueDequeueV2", &QueueDequeue},
    {"QueueIsClosed", &ScalarOutputs},
    {"QueueIsClosedV2", &ScalarOutputs},
    {"QueueSize", &ScalarOutputs},
    {"QueueSizeV2", &ScalarOutputs},
    {"RandomShuffleQueue", &Queue},
    {"RandomShuffleQueueV2", &Queue},
    {"RangeDataset", &ScalarOutputs},
    {"RepeatDataset", &ScalarOutputs},
    {"ResourceAccumulatorNumAccumulated", &ScalarOutputs},
    {"ResourceConditionalAccumulator", &NamedHandle},
    {"ShuffleDataset", &ScalarOutputs},
    {"ShuffleDatasetV2", &ScalarOutputs},
    {"ShuffleDatasetV3", &ScalarOutputs},
    {"SkipDataset", &ScalarOutputs},
    {"SparseAccumulatorTakeGradient", &SparseGradient},
    {"SparseConditionalAccumulator", &NamedHandle},
    {"Stack", &NamedHandle},
    {"StackPush", &StackPush},
    {"StackPushV2", &StackPush},
    {"StackV2", &UnknownOutputs},
    {"StageSize", &ScalarOutputs},
    {"TFRecordDataset", &ScalarOutputs},
    {"TakeDataset", &ScalarOutputs},
    {"TensorArrayConcatV3", &TensorArrayConcat},
    {"TensorArrayGatherV3", &TensorArrayGather},
    {"TensorArrayGradV3", &TensorArrayGrad},
    {"TensorArrayGradWithShape", &TensorArrayGrad},
    {"TensorArrayReadV3", &TensorArrayRead},
    {"TensorArrayScatterV2", &ScalarOutputs},
    {"TensorArrayScatterV3", &ScalarOutputs},
    {"TensorArraySize", &ScalarOutputs},
    {"TensorArraySizeV2", &ScalarOutputs},
    {"TensorArraySizeV3", &ScalarOutputs},
    {"TensorArraySplitV2", &ScalarOutputs},
    {"TensorArraySplitV3", &ScalarOutputs},
    {"TensorArrayV3", &TensorArray},
    {"TensorArrayWriteV2", &ScalarOutputs},
    {"TensorArrayWriteV3", &ScalarOutputs},
    {"TensorDataset", &ScalarOutputs},
    {"TensorListConcat", &TensorListConcat},
    {"TensorListConcatLists", &SameAsInput0},
    {"TensorListConcatV2", &TensorListConcat},
    {"TensorListFromTensor", &TensorListFromRows},
    {"TensorListGather", &TensorListGather},
    {"TensorListGetItem", &TensorListGetItem},
    {"TensorListLength", &ScalarOutputs},
    {"TensorListPopBack", &TensorListPopBack},
    {"TensorListPushBack", &TensorListChange},
    {"TensorListPushBackBatch", &SameAsInput0},
    {"TensorListReserve", &TensorListNew},
    {"TensorListResize", &TensorListChange},
    {"TensorListScatter", &TensorListFromRows},
    {"TensorListScatterIntoExistingList", &TensorListChange},
    {"TensorListScatterV2", &TensorListFromRows},
    {"TensorListSetItem", &TensorListChange},
    {"TensorListSplit", &TensorListSplit},
    {"TensorListStack", &TensorListStack},
    {"TensorMapErase", &ScalarOutputs},
    {"TensorMapHasKey", &ScalarOutputs},
    {"TensorMapInsert", &ScalarOutputs},
    {"TensorMapSize", &ScalarOutputs},
    {"TensorSliceDataset", &ScalarOutputs},
    {"ZipDataset", &ScalarOutputs},
};
static_assert(RowsAscend(kRows), "rows are sorted by op");

}  // namespace

absl::Span<const ShapeRow> CollectionsRows() { return kRows; }

}  // namespace sluice
