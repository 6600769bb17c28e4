#include "kernels/missing_kernel.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"

namespace sluice {
namespace {

// Whether lists of ops, which leave hosts' rows out, say something of `op`.
bool IsInTables(const KernelRegistry& registry, absl::string_view op) {
  for (const absl::Span<const KernelRow> table : registry.Tables()) {
    for (const KernelRow& row : table) {
      if (row.op() == op) return true;
    }
  }
  return false;
}

// "T=complex64, Tidx=int32": the dtypes that the node's attrs state.
std::string TypesOf(const NodeProperties& node) {
  std::string types;
  for (const AttrSpec& attr : node.op().attrs) {
    AttrView value;
    if (attr.type != AttrType::kType || !node.FindAttr(attr.name, &value)) continue;
    const absl::StatusOr<DType> type = value.AsType();
    if (type.ok()) absl::StrAppend(&types, types.empty() ? "" : ", ", attr.name, "=", DTypeName(*type));
  }
  return types;
}

}  // namespace

absl::Status MissingKernel(const KernelRegistry& registry, const NodeProperties& node, absl::string_view device_type) {
  const std::string op = PrintableName(node.op().name);
  const std::string types = TypesOf(node);
  ErrorBuilder error = Error(ErrorCode::kNoKernel);
  error.Node(node.name(), node.op().name);
  if (!registry.HasRows(node.op().name)) {
    error.Text(absl::StrCat("Sluice has no kernel for ", op));
  } else {
    error.Text(
        absl::StrCat("Sluice has no kernel for ", op, types.empty() ? "" : " with ", types, " on ", device_type));
    if (IsInTables(registry, node.op().name)) {
      error.Help(absl::StrCat("`sluice ops ", op, "` lists the types that it runs with"));
    }
  }
  return node.Locate(error);
}

}  // namespace sluice
