#include "kernels/kernel_construction.h"

#include "graph/base/error.h"
#include "graph/value/tensor_proto.h"

namespace sluice {

absl::StatusOr<std::string> KernelConstruction::GetString(absl::string_view name) const {
  SLUICE_ASSIGN_OR_RETURN(const absl::string_view value, graph_.GetString(node_, name));
  return std::string(value);
}

absl::StatusOr<std::vector<int64_t>> KernelConstruction::GetInts(absl::string_view name) const {
  SLUICE_ASSIGN_OR_RETURN(const AttrView value, graph_.GetAttr(node_, name));
  absl::StatusOr<std::vector<int64_t>> list = value.AsIntList();
  if (!list.ok()) return WithNode(WithAttr(list.status(), name), this->name(), op());
  return list;
}

absl::StatusOr<std::vector<DType>> KernelConstruction::GetTypes(absl::string_view name) const {
  SLUICE_ASSIGN_OR_RETURN(const AttrView value, graph_.GetAttr(node_, name));
  absl::StatusOr<std::vector<DType>> list = value.AsTypeList();
  if (!list.ok()) return WithNode(WithAttr(list.status(), name), this->name(), op());
  return list;
}

absl::StatusOr<Tensor> KernelConstruction::GetTensor(absl::string_view name) const {
  SLUICE_ASSIGN_OR_RETURN(const AttrView value, graph_.GetAttr(node_, name));
  absl::StatusOr<absl::string_view> bytes = value.AsTensorBytes();
  if (!bytes.ok()) return WithNode(WithAttr(bytes.status(), name), this->name(), op());
  absl::StatusOr<Tensor> tensor = DecodeTensorProto(*bytes);
  if (!tensor.ok()) return WithNode(WithAttr(tensor.status(), name), this->name(), op());
  return tensor;
}

}  // namespace sluice
