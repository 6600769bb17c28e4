#include <complex>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/value/tstring.h"
#include "kernels/dispatch.h"
#include "kernels/element_type.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/new_kernel.h"
#include "kernels/strings/families.h"

namespace sluice {
namespace {

constexpr DTypeSet kTypes = kNumberTypes | DTypeSet{DType::kBool, DType::kString};
// Of width and precision: what is written stays small.
constexpr int64_t kMaxWidth = 1 << 20;

// Writes one value as printf does with `format`, which is for a value of this C type.
template <typename Value>
void Print(const std::string& format, Value value, TString* out) {
  char text[64];
  const int size = std::snprintf(text, sizeof(text), format.c_str(), value);
  if (size < 0) return;
  if (static_cast<size_t>(size) < sizeof(text)) {
    out->assign(absl::string_view(text, static_cast<size_t>(size)));
    return;
  }
  std::string longer(static_cast<size_t>(size) + 1, '\0');
  std::snprintf(longer.data(), longer.size(), format.c_str(), value);
  out->assign(absl::string_view(longer.data(), static_cast<size_t>(size)));
}

// Writes each element as printf would; strings as they are, and booleans in words.
class AsStringKernel : public Kernel {
 public:
  // `format`: of one real number, for printf.
  AsStringKernel(std::string format, bool has_width) : format_(std::move(format)), has_width_(has_width) {}

  static absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelConstruction& construction);

  absl::Status Compute(KernelContext& context) const override {
    const Tensor& input = context.input(0);
    SLUICE_ASSIGN_OR_RETURN(Tensor* const out, context.AllocateOutput(0, input.shape()));
    TString* const texts = out->flat<TString>().data();
    const auto write = [&](auto type) {
      using T = typename decltype(type)::Type;
      const T* const values = input.flat<T>().data();
      context.ParallelFor(input.num_elements(), 200, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) Write(values[i], &texts[i]);
      });
    };
    DispatchDType<Join<NumberCppTypes, TypeList<bool, TString>>>(input.dtype(), write);
    return absl::OkStatus();
  }

 private:
  template <typename T>
  void Write(const T& value, TString* out) const {
    if constexpr (std::is_same_v<T, TString>) {
      // Uses printf, so a text with a width ends at its first zero byte.
      if (has_width_) return Print(format_, std::string(value.view()).c_str(), out);
      out->assign(value.view());
    } else if constexpr (std::is_same_v<T, bool>) {
      out->assign(value ? "true" : "false");
    } else if constexpr (kIsComplex<T>) {
      TString real, imaginary;
      Print(format_, ToDouble(value.real()), &real);
      Print(format_, ToDouble(value.imag()), &imaginary);
      out->assign(absl::StrCat("(", real.view(), ",", imaginary.view(), ")"));
    } else if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
      Print(format_, static_cast<long long>(value), out);  // NOLINT(runtime/int): as printf has it.
    } else if constexpr (std::is_integral_v<T>) {
      Print(format_, static_cast<unsigned long long>(value), out);  // NOLINT(runtime/int)
    } else {
      Print(format_, ToDouble(value), out);
    }
  }

  const std::string format_;
  const bool has_width_;
};

absl::StatusOr<std::unique_ptr<Kernel>> AsStringKernel::Make(const KernelConstruction& construction) {
  SLUICE_ASSIGN_OR_RETURN(const int64_t precision, construction.Get<int64_t>("precision"));
  SLUICE_ASSIGN_OR_RETURN(const int64_t width, construction.Get<int64_t>("width"));
  SLUICE_ASSIGN_OR_RETURN(const bool scientific, construction.Get<bool>("scientific"));
  SLUICE_ASSIGN_OR_RETURN(const bool shortest, construction.Get<bool>("shortest"));
  SLUICE_ASSIGN_OR_RETURN(const std::string fill, construction.Get<std::string>("fill"));
  const DType dtype = construction.input_type(0);
  const bool has_point = IsFloating(dtype) || IsComplex(dtype);
  const bool takes_all = has_point || dtype == DType::kString;
  if (precision > -1 && !takes_all) return AttrError("precision", absl::StrCat(precision), "-1 for this type");
  if ((scientific || shortest) && !takes_all) return AttrError(scientific ? "scientific" : "shortest", "true", "false");
  if (scientific && shortest) return AttrError("shortest", "true", "false: scientific is true");
  if (fill.size() > 1 || (!fill.empty() && !absl::StrContains(" +-0#", fill))) {
    return AttrError("fill", absl::StrCat("'", PrintableName(fill), "'"), "nothing, or one of ' ', '+', '-', '0', '#'");
  }
  if (width > kMaxWidth) return AttrError("width", absl::StrCat(width), absl::StrCat("at most ", kMaxWidth));
  if (precision > kMaxWidth)
    return AttrError("precision", absl::StrCat(precision), absl::StrCat("at most ", kMaxWidth));
  std::string format = "%";
  format += fill;
  if (width > -1) absl::StrAppend(&format, width);
  if (precision > -1 && takes_all) absl::StrAppend(&format, ".", precision);
  if (dtype == DType::kString) {
    format += "s";
  } else if (has_point) {
    format += shortest ? "g" : scientific ? "e" : "f";
  } else {
    format += kUnsignedTypes.Contains(dtype) ? "llu" : "lld";
  }
  return std::make_unique<AsStringKernel>(std::move(format), width > 0);
}

constexpr KernelRow kRows[] = {KernelRow("AsString", &New<AsStringKernel>).Types("T", kTypes)};

}  // namespace

absl::Span<const KernelRow> AsStringKernels() { return kRows; }

}  // namespace sluice
