#include "kernels/queues/queue_spec.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "kernels/input_error.h"

namespace sluice {
namespace {

std::string NamesOf(absl::Span<const DType> types) {
  return absl::StrCat("(", absl::StrJoin(types, ",", [](std::string* out, DType t) { *out += DTypeName(t); }), ")");
}

// The shape of one element, if `shape` is that of a batch of them.
absl::StatusOr<PartialShape> RowOf(const Shape& shape) { return PartialShape::Make(shape.dims().subspan(1)); }

// Shapes are as many as components, or none where the kind of queue allows it.
absl::Status CheckShapeAttr(const QueueSpec& spec) {
  const bool may_be_missing = spec.kind != "PaddingFIFOQueue" && spec.kind != "PriorityQueue";
  bool is_right = spec.shapes.size() == spec.types.size() || (may_be_missing && spec.shapes.empty());
  for (const PartialShape& shape : spec.shapes) is_right &= spec.pads() ? shape.has_rank() : shape.IsFullyDefined();
  if (is_right) return absl::OkStatus();
  return AttrError("shapes", absl::StrCat(spec.shapes.size(), " shapes for ", spec.types.size(), " components"),
                   spec.pads() ? "a shape of known rank for each component" : "a known shape for each component");
}

}  // namespace

absl::StatusOr<QueueSpec> QueueSpec::Make(const KernelConstruction& construction) {
  QueueSpec spec;
  spec.kind = std::string(absl::StripSuffix(construction.op(), "V2"));
  SLUICE_ASSIGN_OR_RETURN(spec.capacity, construction.Get<int64_t>("capacity"));
  if (spec.kind == "Barrier" && spec.capacity != -1) return AttrError("capacity", spec.capacity, "-1: no limit");
  if (spec.capacity < 0 || spec.capacity > kUnlimited) spec.capacity = kUnlimited;
  SLUICE_ASSIGN_OR_RETURN(spec.types, construction.Get<std::vector<DType>>("component_types"));
  SLUICE_ASSIGN_OR_RETURN(spec.shapes, construction.Get<std::vector<PartialShape>>("shapes"));
  if (spec.kind == "PriorityQueue") {
    spec.types.insert(spec.types.begin(), DType::kInt64);
    if (!spec.shapes.empty()) spec.shapes.insert(spec.shapes.begin(), PartialShape::Scalar());
  }
  SLUICE_RETURN_IF_ERROR(CheckShapeAttr(spec));
  if (spec.kind != "RandomShuffleQueue") return spec;
  SLUICE_ASSIGN_OR_RETURN(spec.min_after_dequeue, construction.Get<int64_t>("min_after_dequeue"));
  if (spec.min_after_dequeue < 0 || spec.min_after_dequeue >= spec.capacity) {
    return AttrError("min_after_dequeue", spec.min_after_dequeue, "0 or more, and less than the capacity");
  }
  SLUICE_ASSIGN_OR_RETURN(spec.seed, construction.Get<int64_t>("seed"));
  SLUICE_ASSIGN_OR_RETURN(spec.seed2, construction.Get<int64_t>("seed2"));
  return spec;
}

absl::Status QueueSpec::CheckStackable() const {
  if (!shapes.empty()) return absl::OkStatus();
  return Error(ErrorCode::kOpShape)
      .Found(ToString())
      .Expected("a queue whose components have known shapes")
      .Text("takes several elements together");
}

absl::Status QueueSpec::CheckSame(const QueueSpec& other) const {
  const bool same_seeds = (other.seed == 0 && other.seed2 == 0) || (other.seed == seed && other.seed2 == seed2);
  if (kind == other.kind && capacity == other.capacity && types == other.types && shapes == other.shapes &&
      min_after_dequeue == other.min_after_dequeue && same_seeds) {
    return absl::OkStatus();
  }
  return Error(ErrorCode::kResourceType)
      .Found(ToString())
      .Expected(other.ToString())
      .Text("another node has made a queue of this name with other attrs");
}

absl::Status QueueSpec::CheckTypes(absl::Span<const DType> found) const {
  if (std::equal(found.begin(), found.end(), types.begin(), types.end())) return absl::OkStatus();
  return Error(ErrorCode::kResourceType)
      .Found(NamesOf(found))
      .Expected(NamesOf(types))
      .Text("the queue has components of other types");
}

absl::Status QueueSpec::CheckShapes(absl::Span<const Tensor> components, bool has_rows, int first_input) const {
  for (size_t i = 0; i < components.size(); ++i) {
    const Shape& shape = components[i].shape();
    const int input = static_cast<int>(i) + first_input;
    if (has_rows && shape.rank() < 1) return ShapeError(input, "", shape, "rank 1 or more");
    if (has_rows && shape.dim(0) != components[0].dim(0)) {
      return ShapesError(input, "", absl::StrCat(shape.dim(0), " rows"),
                         absl::StrCat(components[0].dim(0), ", as in the first component"));
    }
    // The keys of a PriorityQueue are scalars; its shapes say so.
    if (shapes.empty()) continue;
    PartialShape element = PartialShape::From(shape);
    if (has_rows) {
      SLUICE_ASSIGN_OR_RETURN(element, RowOf(shape));
    }
    if (!shapes[i].IsCompatibleWith(element)) {
      return ShapesError(input, "", element.ToString(),
                         absl::StrCat(shapes[i].ToString(), ", as the queue's shapes say"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckNoTimeout(const KernelConstruction& construction) {
  SLUICE_ASSIGN_OR_RETURN(const int64_t timeout, construction.Get<int64_t>("timeout_ms"));
  if (timeout == -1) return absl::OkStatus();
  return AttrError("timeout_ms", timeout, "-1: no timeout");
}

std::string QueueSpec::ToString() const {
  std::string text = absl::StrCat(kind, " of ", NamesOf(types));
  for (const PartialShape& shape : shapes) absl::StrAppend(&text, " ", shape.ToString());
  if (capacity < kUnlimited) absl::StrAppend(&text, ", capacity ", capacity);
  if (min_after_dequeue > 0) absl::StrAppend(&text, ", min_after_dequeue ", min_after_dequeue);
  return text;
}

}  // namespace sluice
