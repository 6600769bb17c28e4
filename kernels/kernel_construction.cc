#include "kernels/kernel_construction.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/functions/call_states.h"
#include "graph/value/tensor_proto.h"

namespace sluice {
namespace {

absl::StatusOr<Tensor> ToTensor(const NodeProperties& node, absl::string_view bytes) {
  DecodeTensorOptions options;
  options.owner = node.SourceOwner(bytes);
  return DecodeTensorProto(bytes, options);
}

FunctionAttr ToFunction(const FuncView& view) {
  FunctionAttr function;
  function.name = std::string(view.name);
  for (const NamedAttr& attr : view.attrs) {
    function.attrs.emplace_back(std::string(attr.name), AttrValue::FromBytes(attr.value.bytes()));
  }
  return function;
}

// Read(node, value, out): the value as each of the types that attrs can have.
absl::Status Read(const NodeProperties&, AttrView value, int64_t* out) {
  SLUICE_ASSIGN_OR_RETURN(*out, value.AsInt());
  return absl::OkStatus();
}
absl::Status Read(const NodeProperties&, AttrView value, float* out) {
  SLUICE_ASSIGN_OR_RETURN(*out, value.AsFloat());
  return absl::OkStatus();
}
absl::Status Read(const NodeProperties&, AttrView value, bool* out) {
  SLUICE_ASSIGN_OR_RETURN(*out, value.AsBool());
  return absl::OkStatus();
}
absl::Status Read(const NodeProperties&, AttrView value, std::string* out) {
  SLUICE_ASSIGN_OR_RETURN(const absl::string_view text, value.AsString());
  *out = std::string(text);
  return absl::OkStatus();
}
absl::Status Read(const NodeProperties&, AttrView value, DType* out) {
  SLUICE_ASSIGN_OR_RETURN(*out, value.AsType());
  return absl::OkStatus();
}
absl::Status Read(const NodeProperties&, AttrView value, PartialShape* out) {
  SLUICE_ASSIGN_OR_RETURN(*out, value.AsShape());
  return absl::OkStatus();
}
absl::Status Read(const NodeProperties& node, AttrView value, Tensor* out) {
  SLUICE_ASSIGN_OR_RETURN(const absl::string_view bytes, value.AsTensorBytes());
  SLUICE_ASSIGN_OR_RETURN(*out, ToTensor(node, bytes));
  return absl::OkStatus();
}
absl::Status Read(const NodeProperties&, AttrView value, FunctionAttr* out) {
  SLUICE_ASSIGN_OR_RETURN(const FuncView view, value.AsFunc());
  *out = ToFunction(view);
  return absl::OkStatus();
}
absl::Status Read(const NodeProperties&, AttrView value, std::vector<int64_t>* out) {
  SLUICE_ASSIGN_OR_RETURN(*out, value.AsIntList());
  return absl::OkStatus();
}
absl::Status Read(const NodeProperties&, AttrView value, std::vector<float>* out) {
  SLUICE_ASSIGN_OR_RETURN(*out, value.AsFloatList());
  return absl::OkStatus();
}
absl::Status Read(const NodeProperties&, AttrView value, std::vector<bool>* out) {
  SLUICE_ASSIGN_OR_RETURN(*out, value.AsBoolList());
  return absl::OkStatus();
}
absl::Status Read(const NodeProperties&, AttrView value, std::vector<std::string>* out) {
  SLUICE_ASSIGN_OR_RETURN(const std::vector<absl::string_view> texts, value.AsStringList());
  *out = std::vector<std::string>(texts.begin(), texts.end());
  return absl::OkStatus();
}
absl::Status Read(const NodeProperties&, AttrView value, std::vector<DType>* out) {
  SLUICE_ASSIGN_OR_RETURN(*out, value.AsTypeList());
  return absl::OkStatus();
}
absl::Status Read(const NodeProperties&, AttrView value, std::vector<PartialShape>* out) {
  SLUICE_ASSIGN_OR_RETURN(*out, value.AsShapeList());
  return absl::OkStatus();
}
absl::Status Read(const NodeProperties& node, AttrView value, std::vector<Tensor>* out) {
  SLUICE_ASSIGN_OR_RETURN(const std::vector<absl::string_view> all, value.AsTensorBytesList());
  for (const absl::string_view bytes : all) {
    SLUICE_ASSIGN_OR_RETURN(Tensor tensor, ToTensor(node, bytes));
    out->push_back(std::move(tensor));
  }
  return absl::OkStatus();
}
absl::Status Read(const NodeProperties&, AttrView value, std::vector<FunctionAttr>* out) {
  SLUICE_ASSIGN_OR_RETURN(const std::vector<FuncView> views, value.AsFuncList());
  for (const FuncView& view : views) out->push_back(ToFunction(view));
  return absl::OkStatus();
}

// The range of argument `name` of `args`. The text names the node's op, not the node: it is the kernel that is wrong.
absl::StatusOr<ArgRange> RangeOf(absl::string_view name, const std::vector<ArgSpec>& args,
                                 const std::vector<int32_t>& starts, absl::string_view kind) {
  for (size_t i = 0; i < args.size(); ++i) {
    if (args[i].name == name) return ArgRange{starts[i], starts[i + 1] - starts[i]};
  }
  return Error(ErrorCode::kHostKernel)
      .Text(absl::StrCat("the kernel looks for an ", kind, " that its op does not have"))
      .Found(name);
}

}  // namespace

absl::StatusOr<ArgRange> KernelConstruction::InputRange(absl::string_view name) const {
  return RangeOf(name, node_.op().inputs, node_.signature().input_starts, "input");
}

absl::StatusOr<ArgRange> KernelConstruction::OutputRange(absl::string_view name) const {
  return RangeOf(name, node_.op().outputs, node_.signature().output_starts, "output");
}

absl::StatusOr<std::shared_ptr<const CallableFunction>> KernelConstruction::Function(absl::string_view attr) const {
  SLUICE_ASSIGN_OR_RETURN(const FunctionAttr function, Get<FunctionAttr>(attr));
  return FindFunction(function);
}

absl::StatusOr<std::shared_ptr<const CallableFunction>> KernelConstruction::FindFunction(
    const FunctionAttr& function) const {
  if (functions_ == nullptr) {
    return Error(ErrorCode::kFacilityMissing)
        .Found(function.name)
        .Text(
            "calls a function, but none can be found: no op of its graph has an attr for one, the graph has no "
            "functions, "
            "or there is no graph");
  }
  return functions_->Find(function);
}

absl::string_view KernelConstruction::name() const {
  is_of_one_node_ = true;
  AttrView value;
  if (node_.FindAttr(CallStates::kNodeAttr, &value)) {
    const absl::StatusOr<absl::string_view> key = value.AsString();
    if (key.ok()) return CallStates::NameIn(*key);
  }
  return node_.name();
}

bool KernelConstruction::FindAttr(absl::string_view name, AttrView* value) const {
  if (absl::StartsWith(name, "_")) is_of_one_node_ = true;
  return node_.FindAttr(name, value);
}

bool KernelConstruction::HasAttr(absl::string_view name) const {
  AttrView value;
  return FindAttr(name, &value);
}

absl::StatusOr<AttrView> KernelConstruction::Find(absl::string_view name) const {
  AttrView value;
  if (FindAttr(name, &value)) return value;
  return node_.Locate(Error(ErrorCode::kAttrMissing).Attr(name).Text("is missing"));
}

template <typename T>
absl::StatusOr<T> KernelConstruction::Get(absl::string_view name) const {
  SLUICE_ASSIGN_OR_RETURN(const AttrView value, Find(name));
  T read{};
  const absl::Status status = Read(node_, value, &read);
  if (!status.ok()) return node_.Locate(WithAttr(status, name));
  return read;
}

template absl::StatusOr<int64_t> KernelConstruction::Get(absl::string_view) const;
template absl::StatusOr<float> KernelConstruction::Get(absl::string_view) const;
template absl::StatusOr<bool> KernelConstruction::Get(absl::string_view) const;
template absl::StatusOr<std::string> KernelConstruction::Get(absl::string_view) const;
template absl::StatusOr<DType> KernelConstruction::Get(absl::string_view) const;
template absl::StatusOr<PartialShape> KernelConstruction::Get(absl::string_view) const;
template absl::StatusOr<Tensor> KernelConstruction::Get(absl::string_view) const;
template absl::StatusOr<FunctionAttr> KernelConstruction::Get(absl::string_view) const;
template absl::StatusOr<std::vector<int64_t>> KernelConstruction::Get(absl::string_view) const;
template absl::StatusOr<std::vector<float>> KernelConstruction::Get(absl::string_view) const;
template absl::StatusOr<std::vector<bool>> KernelConstruction::Get(absl::string_view) const;
template absl::StatusOr<std::vector<std::string>> KernelConstruction::Get(absl::string_view) const;
template absl::StatusOr<std::vector<DType>> KernelConstruction::Get(absl::string_view) const;
template absl::StatusOr<std::vector<PartialShape>> KernelConstruction::Get(absl::string_view) const;
template absl::StatusOr<std::vector<Tensor>> KernelConstruction::Get(absl::string_view) const;
template absl::StatusOr<std::vector<FunctionAttr>> KernelConstruction::Get(absl::string_view) const;

}  // namespace sluice
