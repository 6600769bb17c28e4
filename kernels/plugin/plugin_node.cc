#include "kernels/plugin/plugin_node.h"

#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "kernels/plugin/plugin_status.h"
#include "kernels/plugin/plugin_tensor.h"

namespace sluice {
namespace {

// Element types of SluiceAttr for what KernelConstruction gives.
SluiceString ForPlugin(const std::string& text) { return {text.data(), text.size()}; }
SluiceString ForPlugin(const FunctionAttr& function) { return ForPlugin(function.name); }
SluiceShape ForPlugin(const PartialShape& shape) { return ShapeForPlugin(shape); }
int64_t ForPlugin(int64_t value) { return value; }
float ForPlugin(float value) { return value; }
uint8_t ForPlugin(bool value) { return value ? 1 : 0; }
int32_t ForPlugin(DType value) { return static_cast<int32_t>(value); }

// The attr as an array of the elements that its kind has.
template <typename T>
absl::Status Read(SluiceNode* node, const char* name, bool is_list, SluiceAttr* out) {
  std::vector<T> read;
  if (is_list) {
    SLUICE_ASSIGN_OR_RETURN(read, node->construction.Get<std::vector<T>>(name));
  } else {
    SLUICE_ASSIGN_OR_RETURN(T value, node->construction.Get<T>(name));
    read.push_back(std::move(value));
  }
  const std::vector<T>& kept = node->Keep(std::move(read));
  std::vector<decltype(ForPlugin(std::declval<const T&>()))> elements;
  for (size_t i = 0; i < kept.size(); ++i) elements.push_back(ForPlugin(kept[i]));
  const auto& array = node->Keep(std::move(elements));
  *out = {array.data(), static_cast<int64_t>(array.size())};
  return absl::OkStatus();
}

absl::Status ReadTensors(SluiceNode* node, const char* name, bool is_list, SluiceAttr* out) {
  std::vector<Tensor> read;
  if (is_list) {
    SLUICE_ASSIGN_OR_RETURN(read, node->construction.Get<std::vector<Tensor>>(name));
  } else {
    SLUICE_ASSIGN_OR_RETURN(Tensor value, node->construction.Get<Tensor>(name));
    read.push_back(std::move(value));
  }
  std::vector<SluiceTensor> tensors;
  for (Tensor& tensor : read) tensors.push_back({std::move(tensor)});
  std::vector<SluiceTensor*> pointers;
  for (SluiceTensor& tensor : node->Keep(std::move(tensors))) pointers.push_back(&tensor);
  const auto& array = node->Keep(std::move(pointers));
  *out = {array.data(), static_cast<int64_t>(array.size())};
  return absl::OkStatus();
}

absl::Status ReadAttr(SluiceNode* node, const char* name, int32_t kind, SluiceAttr* out) {
  const bool is_list = kind > SLUICE_ATTR_LIST;
  switch (is_list ? kind - SLUICE_ATTR_LIST : kind) {
    case SLUICE_ATTR_STRING:
      return Read<std::string>(node, name, is_list, out);
    case SLUICE_ATTR_INT:
      return Read<int64_t>(node, name, is_list, out);
    case SLUICE_ATTR_FLOAT:
      return Read<float>(node, name, is_list, out);
    case SLUICE_ATTR_BOOL:
      return Read<bool>(node, name, is_list, out);
    case SLUICE_ATTR_TYPE:
      return Read<DType>(node, name, is_list, out);
    case SLUICE_ATTR_SHAPE:
      return Read<PartialShape>(node, name, is_list, out);
    case SLUICE_ATTR_TENSOR:
      return ReadTensors(node, name, is_list, out);
    case SLUICE_ATTR_FUNCTION:
      return Read<FunctionAttr>(node, name, is_list, out);
    default:
      return Error(ErrorCode::kHostKernel).Attr(name).Text("is asked for as a kind of attr that does not exist");
  }
}

const char* KeepText(SluiceNode* node, absl::string_view text) noexcept {
  try {
    return node->Keep(std::string(text)).c_str();
  } catch (...) {
    return "";  // No memory for the text.
  }
}

SluiceStatus* GiveRange(const absl::StatusOr<ArgRange>& range, int32_t* first, int32_t* count) noexcept {
  if (!range.ok()) return GiveStatus(range.status());
  *first = range->first;
  *count = range->count;
  return nullptr;
}

}  // namespace

const char* NodeOp(SluiceNode* node) noexcept { return KeepText(node, node->construction.op()); }
const char* NodeName(SluiceNode* node) noexcept { return KeepText(node, node->construction.name()); }
int32_t NodeNumInputs(const SluiceNode* node) noexcept { return node->construction.num_inputs(); }
int32_t NodeNumOutputs(const SluiceNode* node) noexcept { return node->construction.num_outputs(); }

int32_t NodeInputType(const SluiceNode* node, int32_t i) noexcept {
  return i < 0 ? 0 : static_cast<int32_t>(node->construction.input_type(i));
}

int32_t NodeOutputType(const SluiceNode* node, int32_t i) noexcept {
  return i < 0 ? 0 : static_cast<int32_t>(node->construction.output_type(i));
}

SluiceStatus* NodeInputRange(const SluiceNode* node, const char* argument, int32_t* first, int32_t* count) noexcept {
  return GiveRange(AsStatus([&] { return node->construction.InputRange(argument); }), first, count);
}

SluiceStatus* NodeOutputRange(const SluiceNode* node, const char* argument, int32_t* first, int32_t* count) noexcept {
  return GiveRange(AsStatus([&] { return node->construction.OutputRange(argument); }), first, count);
}

int32_t NodeHasAttr(const SluiceNode* node, const char* name) noexcept {
  bool has = false;
  const absl::Status asked = AsStatus([&] {
    has = node->construction.HasAttr(name);
    return absl::OkStatus();
  });
  return asked.ok() && has ? 1 : 0;
}

SluiceStatus* NodeGetAttr(SluiceNode* node, const char* name, int32_t kind, SluiceAttr* value) noexcept {
  return Answer([&] { return ReadAttr(node, name, kind, value); });
}

}  // namespace sluice
