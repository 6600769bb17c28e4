#include <atomic>
#include <cmath>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/math/elementwise.h"
#include "kernels/math/families.h"

namespace sluice {
namespace {

enum : unsigned { kHasNan = 1, kHasInf = 2, kHasNegativeInf = 4 };

template <typename T>
unsigned Inspect(const T* values, int64_t n) {
  unsigned seen = 0;
  for (int64_t i = 0; i < n; ++i) {
    const auto value = static_cast<ComputeType<T>>(values[i]);
    if (std::isfinite(value)) continue;
    seen |= std::isnan(value) ? kHasNan : value > 0 ? kHasInf : kHasNegativeInf;
  }
  return seen;
}

// "NaN and Inf"; the second form of the op tells the infinities apart.
std::string NameOf(unsigned seen, bool has_signs) {
  std::string names;
  const auto add = [&](const char* name) { absl::StrAppend(&names, names.empty() ? "" : " and ", name); };
  if (has_signs) {
    if ((seen & kHasNegativeInf) != 0) add("-Inf");
    if ((seen & kHasInf) != 0) add("+Inf");
    if ((seen & kHasNan) != 0) add("NaN");
  } else {
    if ((seen & (kHasInf | kHasNegativeInf)) != 0) add("Inf");
    if ((seen & kHasNan) != 0) add("NaN");
  }
  return names;
}

// What errors say.
struct CheckedText {
  std::string message;
  bool has_signs = false;  // +Inf and -Inf are told apart.
};

// Hands its input on if all elements are finite; else an error with the attr `message`.
template <typename T>
class CheckNumericsKernel : public Kernel {
 public:
  explicit CheckNumericsKernel(const CheckedText& text) : text_(text) {}
  absl::Status Compute(KernelContext& context) const override {
    const absl::Span<const T> values = context.input(0).flat<T>();
    std::atomic<unsigned> seen{0};
    ForShards(context, static_cast<int64_t>(values.size()), 0.5f, [&](int64_t begin, int64_t end) {
      const unsigned part = Inspect(values.data() + begin, end - begin);
      if (part != 0) seen.fetch_or(part, std::memory_order_relaxed);  // Read after all parts have joined.
    });
    const unsigned all = seen.load(std::memory_order_relaxed);
    if (all != 0) {
      return Error(ErrorCode::kOpValue)
          .Input(0)
          .Found(NameOf(all, text_.has_signs))
          .Expected("finite values")
          .Text(text_.message);
    }
    context.SetOutput(0, context.TakeInput(0));
    return absl::OkStatus();
  }

 private:
  const CheckedText text_;
};

absl::StatusOr<CheckedText> ReadText(const KernelConstruction& construction) {
  CheckedText text;
  SLUICE_ASSIGN_OR_RETURN(text.message, construction.Get<std::string>("message"));
  text.has_signs = construction.op() == "CheckNumericsV2";
  return text;
}

constexpr KernelRow kRows[] = {
    KernelRow("CheckNumerics", &NewByTypeWith<CheckNumericsKernel, FloatCppTypes, ReadText>)
        .Types("T", kFloatTypes)
        .Shared(Sharing::kEqualNodes),
    KernelRow("CheckNumericsV2", &NewByTypeWith<CheckNumericsKernel, FloatCppTypes, ReadText>)
        .Types("T", kFloatTypes)
        .Shared(Sharing::kEqualNodes),
};

}  // namespace

absl::Span<const KernelRow> CheckNumericsKernels() { return kRows; }

}  // namespace sluice
