#include "kernels/kernel_construction.h"

#include <utility>

#include "graph/base/error.h"
#include "graph/value/tensor_proto.h"

namespace sluice {
namespace {

// `value`, or its error with the names of attr and node.
template <typename T>
absl::StatusOr<T> Named(const KernelConstruction& construction, absl::string_view attr, absl::StatusOr<T> value) {
  if (value.ok()) return value;
  return WithNode(WithAttr(value.status(), attr), construction.name(), construction.op());
}

}  // namespace

absl::StatusOr<std::string> KernelConstruction::GetString(absl::string_view name) const {
  SLUICE_ASSIGN_OR_RETURN(const absl::string_view value, graph_.GetString(node_, name));
  return std::string(value);
}

absl::StatusOr<std::vector<int64_t>> KernelConstruction::GetInts(absl::string_view name) const {
  SLUICE_ASSIGN_OR_RETURN(const AttrView value, graph_.GetAttr(node_, name));
  return Named(*this, name, value.AsIntList());
}

absl::StatusOr<std::vector<DType>> KernelConstruction::GetTypes(absl::string_view name) const {
  SLUICE_ASSIGN_OR_RETURN(const AttrView value, graph_.GetAttr(node_, name));
  return Named(*this, name, value.AsTypeList());
}

absl::StatusOr<std::vector<float>> KernelConstruction::GetFloats(absl::string_view name) const {
  SLUICE_ASSIGN_OR_RETURN(const AttrView value, graph_.GetAttr(node_, name));
  return Named(*this, name, value.AsFloatList());
}

absl::StatusOr<std::vector<std::string>> KernelConstruction::GetStrings(absl::string_view name) const {
  SLUICE_ASSIGN_OR_RETURN(const AttrView value, graph_.GetAttr(node_, name));
  SLUICE_ASSIGN_OR_RETURN(const auto texts, Named(*this, name, value.AsStringList()));
  return std::vector<std::string>(texts.begin(), texts.end());
}

absl::StatusOr<Tensor> KernelConstruction::GetTensor(absl::string_view name) const {
  SLUICE_ASSIGN_OR_RETURN(const AttrView value, graph_.GetAttr(node_, name));
  SLUICE_ASSIGN_OR_RETURN(const absl::string_view bytes, Named(*this, name, value.AsTensorBytes()));
  DecodeTensorOptions options;
  options.owner = graph_.SourceOwner(bytes);
  return Named(*this, name, DecodeTensorProto(bytes, options));
}

}  // namespace sluice
