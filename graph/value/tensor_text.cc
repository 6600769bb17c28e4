// Tensor::ToString: tensors as people read them.

#include <complex>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "graph/value/resource_handle.h"
#include "graph/value/tensor.h"
#include "graph/value/tstring.h"
#include "graph/value/variant.h"

namespace sluice {
namespace {

std::string Text(bool value) { return value ? "true" : "false"; }
std::string Text(Half value) { return absl::StrCat(static_cast<float>(value)); }
std::string Text(BFloat16 value) { return absl::StrCat(static_cast<float>(value)); }
std::string Text(const TString& value) { return absl::StrCat("'", absl::CHexEscape(value.view()), "'"); }
std::string Text(const ResourceHandle& value) { return value.DebugString(); }
std::string Text(const Variant& value) { return value.has_value() ? value.object()->DebugString() : "no variant"; }
std::string Text(int8_t value) { return absl::StrCat(static_cast<int>(value)); }
std::string Text(uint8_t value) { return absl::StrCat(static_cast<int>(value)); }
template <typename T>
std::string Text(std::complex<T> value) {
  return absl::StrCat("(", value.real(), ",", value.imag(), ")");
}
template <typename Int, int kTag>
std::string Text(Quantized<Int, kTag> value) {
  return absl::StrCat(static_cast<int64_t>(value.value));
}
template <typename T, typename = std::enable_if_t<std::is_arithmetic<T>::value>>
std::string Text(T value) {
  return absl::StrCat(value);
}

template <typename T>
std::string ElementText(const Tensor& tensor, size_t index) {
  return Text(tensor.flat<T>()[index]);
}

using ElementTextFn = std::string (*)(const Tensor&, size_t);

// By dtype number, from 1 on.
constexpr ElementTextFn kElementTexts[] = {
    &ElementText<float>,    &ElementText<double>,
    &ElementText<int32_t>,  &ElementText<uint8_t>,
    &ElementText<int16_t>,  &ElementText<int8_t>,
    &ElementText<TString>,  &ElementText<std::complex<float>>,
    &ElementText<int64_t>,  &ElementText<bool>,
    &ElementText<QInt8>,    &ElementText<QUInt8>,
    &ElementText<QInt32>,   &ElementText<BFloat16>,
    &ElementText<QInt16>,   &ElementText<QUInt16>,
    &ElementText<uint16_t>, &ElementText<std::complex<double>>,
    &ElementText<Half>,     &ElementText<ResourceHandle>,
    &ElementText<Variant>,  &ElementText<uint32_t>,
    &ElementText<uint64_t>,
};
static_assert(sizeof(kElementTexts) / sizeof(kElementTexts[0]) == static_cast<size_t>(DType::kUInt64), "one per dtype");

}  // namespace

std::string Tensor::ToString(int max_elements) const {
  if (!has_value()) return "no value";
  std::string text = absl::StrCat(DTypeName(dtype()), " ", shape().ToString());
  if (!IsInline() && heap_.buffer->allocator() != nullptr && !heap_.buffer->allocator()->IsHostMemory()) {
    return absl::StrCat(text, " on ", heap_.buffer->allocator()->name());
  }
  const int64_t shown = std::min<int64_t>(num_elements(), std::max(max_elements, 0));
  const ElementTextFn element_text = kElementTexts[static_cast<size_t>(dtype()) - 1];
  absl::StrAppend(&text, " {");
  for (int64_t i = 0; i < shown; ++i) {
    absl::StrAppend(&text, i == 0 ? "" : ", ", element_text(*this, static_cast<size_t>(i)));
  }
  if (shown < num_elements()) absl::StrAppend(&text, shown == 0 ? "..." : ", ...");
  return absl::StrCat(text, "}");
}

}  // namespace sluice
