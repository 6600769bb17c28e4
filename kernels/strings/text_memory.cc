#include "kernels/strings/text_memory.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "kernels/workers.h"

namespace sluice {
namespace {

// Bytes below which the allocator is not asked.
constexpr int64_t kLittleText = int64_t{64} << 10;

}  // namespace

absl::Status CheckTextMemory(const KernelContext& context, int64_t bytes) {
  if (bytes <= kLittleText) return absl::OkStatus();
  void* const trial =
      bytes > kMaxTextBytes ? nullptr : context.allocator().Allocate(static_cast<size_t>(bytes), kHostStream);
  if (trial == nullptr) {
    return Error(ErrorCode::kOutOfMemory)
        .Found(absl::StrCat(bytes, " bytes of text"))
        .Expected(absl::StrCat("memory for them, and at most ", kMaxTextBytes))
        .Text("the result is too long");
  }
  context.allocator().Free(trial, static_cast<size_t>(bytes), kHostStream);
  return absl::OkStatus();
}

absl::Status ForStrings(const KernelContext& context, int64_t count, double unit_ns,
                        absl::FunctionRef<absl::Status(int64_t begin, int64_t end)> work) {
  return Workers(context.run()).ForEachPart(count, unit_ns, work);
}

double StringNs(int64_t count, int64_t bytes, double byte_ns) {
  constexpr double kStringNs = 15;
  return kStringNs + byte_ns * static_cast<double>(bytes) / static_cast<double>(std::max<int64_t>(count, 1));
}

int64_t TotalBytes(const Tensor& strings) {
  int64_t bytes = 0;
  for (const TString& one : strings.flat<TString>()) bytes += static_cast<int64_t>(one.size());
  return bytes;
}

absl::Status ChangeStrings(KernelContext& context, double byte_ns,
                           absl::FunctionRef<void(const TString& from, TString& to)> change) {
  const int64_t count = context.input(0).num_elements();
  const double unit_ns = StringNs(count, TotalBytes(context.input(0)), byte_ns);
  const absl::Span<const TString> from = context.input(0).flat<TString>();
  const Shape shape = context.input(0).shape();
  SLUICE_ASSIGN_OR_RETURN(Tensor* const output, context.ForwardOrAllocate(0, shape, {0}));
  const absl::Span<TString> to = output->flat<TString>();
  return ForStrings(context, count, unit_ns, [&](int64_t begin, int64_t end) {
    for (size_t i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) change(from[i], to[i]);
    return absl::OkStatus();
  });
}

}  // namespace sluice
