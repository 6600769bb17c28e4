#include "kernels/forward_or_copy.h"

#include <cstring>
#include <utility>

#include "graph/base/status_macros.h"

namespace sluice {
namespace {

constexpr double kNanosecondsPerByte = 0.05;

}  // namespace

absl::Status ForwardOrCopy(KernelContext& context, int i) {
  if (context.input(i).IsInline() || context.InputIsWritable(i)) {
    context.SetOutput(0, context.TakeInput(i));
    return absl::OkStatus();
  }
  const Tensor& input = context.input(i);
  if (!IsTrivial(input.dtype())) {
    SLUICE_ASSIGN_OR_RETURN(Tensor copy, input.DeepCopy());
    context.SetOutput(0, std::move(copy));
    return absl::OkStatus();
  }
  SLUICE_ASSIGN_OR_RETURN(Tensor* const output, context.AllocateOutput(0, input.shape()));
  char* const to = static_cast<char*>(output->mutable_raw_data());
  const char* const from = static_cast<const char*>(input.raw_data());
  context.ParallelFor(static_cast<int64_t>(input.total_bytes()), kNanosecondsPerByte,
                      [to, from](int64_t begin, int64_t end) {
                        std::memcpy(to + begin, from + begin, static_cast<size_t>(end - begin));
                      });
  return absl::OkStatus();
}

}  // namespace sluice
