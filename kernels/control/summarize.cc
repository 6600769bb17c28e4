#include "kernels/control/summarize.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <type_traits>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "graph/value/tstring.h"
#include "kernels/dispatch.h"

namespace sluice {
namespace {

// The shorter of two precisions that gives `value` back.
template <typename Float>
std::string Digits(double value, int few, int all) {
  if (std::isnan(value)) return "nan";
  char text[40];
  std::snprintf(text, sizeof(text), "%.*g", few, value);
  if (static_cast<Float>(std::strtod(text, nullptr)) != static_cast<Float>(value)) {
    std::snprintf(text, sizeof(text), "%.*g", all, value);
  }
  return text;
}

std::string ElementText(float value) { return Digits<float>(static_cast<double>(value), FLT_DIG, FLT_DIG + 3); }
std::string ElementText(double value) { return Digits<double>(value, DBL_DIG, DBL_DIG + 2); }
std::string ElementText(Half value) { return ElementText(static_cast<float>(value)); }
std::string ElementText(BFloat16 value) { return ElementText(static_cast<float>(value)); }
template <typename Int>
std::string ElementText(Int value) {
  return absl::StrCat(static_cast<std::conditional_t<std::is_signed_v<Int>, int64_t, uint64_t>>(value));
}

std::string TextAt(const Tensor& tensor, int64_t i) {
  const size_t at = static_cast<size_t>(i);
  if (tensor.dtype() == DType::kString) return absl::CEscape(tensor.flat<TString>()[at].view());
  std::string text = "?";  // For types without a text form.
  DispatchDType<TypeList<QInt8, QUInt8, QInt32, QInt16, QUInt16>>(
      tensor.dtype(), [&](auto type) { text = ElementText(tensor.flat<typename decltype(type)::Type>()[at].value); });
  DispatchDType<Join<RealCppTypes, TypeList<bool>>>(
      tensor.dtype(), [&](auto type) { text = ElementText(tensor.flat<typename decltype(type)::Type>()[at]); });
  return text;
}

}  // namespace

void AppendElement(const Tensor& tensor, int64_t i, std::string* text) { text->append(TextAt(tensor, i)); }

std::string SummarizeElements(const Tensor& tensor, int64_t max_elements) {
  const int64_t count = tensor.num_elements();
  const int64_t shown = max_elements < 0 ? count : std::min(max_elements, count);
  // Elements in one bracket of each level, outermost first. The tensor's own is left out.
  std::vector<int64_t> sizes;
  int64_t size = 1;
  for (int axis = tensor.rank() - 1; axis >= 1; --axis) {
    size *= tensor.dim(axis);
    sizes.push_back(size);
  }
  std::string text;
  size_t open = 0;
  for (int64_t i = 0; i < shown; ++i) {
    const auto begins = [i](int64_t level) { return i % level == 0; };
    const size_t opening = static_cast<size_t>(std::count_if(sizes.begin(), sizes.end(), begins));
    if (opening == 0 && i > 0) text.push_back(' ');
    text.append(opening, '[');
    open += opening;
    text.append(TextAt(tensor, i));
    const auto ends = [i](int64_t level) { return (i + 1) % level == 0; };
    const size_t closing = static_cast<size_t>(std::count_if(sizes.begin(), sizes.end(), ends));
    text.append(closing, ']');
    open -= closing;
  }
  const bool cuts_a_row = shown > 0 && !sizes.empty() && shown % sizes.front() != 0;
  if (cuts_a_row) text.append("...");
  text.append(open, ']');
  if (shown < count) text.append("...");
  return text;
}

}  // namespace sluice
