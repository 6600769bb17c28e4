#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/value/tstring.h"
#include "kernels/dispatch.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/new_kernel.h"
#include "kernels/strings/families.h"
#include "kernels/strings/parse_number.h"
#include "kernels/strings/text_memory.h"

namespace sluice {
namespace {

using ParsedCppTypes = TypeList<float, double, int32_t, int64_t, uint32_t, uint64_t>;

absl::Status ComputeStringToNumber(KernelContext& context) {
  const Tensor& input = context.input(0);
  SLUICE_ASSIGN_OR_RETURN(Tensor* const output, context.AllocateOutput(0, input.shape()));
  const absl::Span<const TString> texts = input.flat<TString>();
  const double unit_ns = StringNs(input.num_elements(), TotalBytes(input), 3);
  const auto parse = [&](auto numbers, int64_t begin, int64_t end) -> absl::Status {
    for (size_t i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
      if (ParseNumber(texts[i].view(), &numbers[i])) continue;
      return ValueError(0, "string_tensor", absl::StrCat("'", PrintableName(texts[i].view()), "' as element ", i),
                        absl::StrCat("a number of ", DTypeName(output->dtype())));
    }
    return absl::OkStatus();
  };
  absl::Status status;
  DispatchDType<ParsedCppTypes>(output->dtype(), [&](auto type) {
    const auto numbers = output->flat<typename decltype(type)::Type>();
    status = ForStrings(context, input.num_elements(), unit_ns,
                        [&](int64_t begin, int64_t end) { return parse(numbers, begin, end); });
  });
  return status;
}

constexpr DTypeSet kParsedTypes = {DType::kFloat, DType::kDouble, DType::kInt32,
                                   DType::kInt64, DType::kUInt32, DType::kUInt64};

constexpr KernelRow kRows[] = {
    KernelRow("StringToNumber", &Call<ComputeStringToNumber>).Types("out_type", kParsedTypes),
};

}  // namespace

absl::Span<const KernelRow> StringToNumberKernels() { return kRows; }

}  // namespace sluice
