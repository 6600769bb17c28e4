#include "graph/passes/fed_shape.h"

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"

namespace sluice {
namespace {

// From here on a Placeholder's shape attr of rank 0 means a scalar; before, it was also written for "unknown".
constexpr int32_t kScalarPlaceholderVersion = 24;

}  // namespace

PartialShape FedShape(const Graph& graph, const Output& output) {
  const NodeId id = output.node;
  if (!graph.op(id).traits.is_placeholder) return PartialShape();
  const absl::StatusOr<PartialShape> shape = graph.GetShape(id, "shape");
  if (!shape.ok()) return PartialShape();
  const bool is_plain = graph.Is(id, "Placeholder");
  if (is_plain && shape->rank() == 0 && graph.versions().producer < kScalarPlaceholderVersion) return PartialShape();
  return *shape;
}

absl::Status CheckFedValue(const Graph& graph, const Output& output, DType dtype, const Shape& shape) {
  const DType wanted = BaseType(graph.output_type(output.node, output.index));
  const std::string endpoint = absl::StrCat("feed '", PrintableName(graph.OutputName(output)), "'");
  if (dtype != wanted) {
    return graph.Locate(output.node, Error(ErrorCode::kFeedType)
                                         .Text(absl::StrCat(endpoint, " has the wrong dtype"))
                                         .Found(DTypeName(dtype))
                                         .Expected(DTypeName(wanted)));
  }
  const PartialShape declared = FedShape(graph, output);
  if (declared.IsCompatibleWith(shape)) return absl::OkStatus();
  return graph.Locate(output.node, Error(ErrorCode::kFeedShape)
                                       .Text(absl::StrCat(endpoint, " has the wrong shape"))
                                       .Found(shape.ToString())
                                       .Expected(declared.ToString()));
}

}  // namespace sluice
