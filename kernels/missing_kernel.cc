#include "kernels/missing_kernel.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"

namespace sluice {
namespace {

bool HasRows(const KernelRegistry& registry, absl::string_view op) {
  for (const absl::Span<const KernelDef> table : registry.Tables()) {
    for (const KernelDef& row : table) {
      if (row.op == op) return true;
    }
  }
  return false;
}

// "T=complex64, Tidx=int32": the dtypes that the node's attrs state.
std::string TypesOf(const Graph& graph, NodeId id) {
  std::string types;
  for (const AttrSpec& attr : graph.op(id).attrs) {
    if (attr.type != AttrType::kType) continue;
    const absl::StatusOr<DType> type = graph.GetType(id, attr.name);
    if (type.ok()) absl::StrAppend(&types, types.empty() ? "" : ", ", attr.name, "=", DTypeName(*type));
  }
  return types;
}

}  // namespace

absl::Status MissingKernel(const KernelRegistry& registry, const Graph& graph, NodeId id,
                           absl::string_view device_type) {
  const std::string op = PrintableName(graph.op_name(id));
  const std::string types = TypesOf(graph, id);
  ErrorBuilder error = Error(ErrorCode::kNoKernel);
  error.Node(graph.name(id), graph.op_name(id));
  if (!HasRows(registry, graph.op_name(id))) {
    error.Text(absl::StrCat("Sluice has no ", op, " yet"));
  } else {
    error.Text(absl::StrCat("Sluice has no ", op, types.empty() ? "" : " for ", types, " on ", device_type, " yet"));
    error.Help(absl::StrCat("`sluice ops ", op, "` lists the types that it runs with"));
  }
  return graph.Locate(id, error);
}

}  // namespace sluice
