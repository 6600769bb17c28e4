#ifndef SLUICE_KERNELS_STRINGS_TEXT_MEMORY_H_
#define SLUICE_KERNELS_STRINGS_TEXT_MEMORY_H_

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "graph/value/tstring.h"
#include "kernels/kernel_context.h"

namespace sluice {

// The longest text that one call of a kernel makes, all strings of its outputs together.
inline constexpr int64_t kMaxTextBytes = int64_t{1} << 31;

// Whether outputs with `bytes` of text may be made: kOutOfMemory beyond kMaxTextBytes, or where the run's allocator has
// not as much. The text of strings does not come from that allocator, so kernels whose results can be much longer than
// their inputs ask before they make them.
absl::Status CheckTextMemory(const KernelContext& context, int64_t bytes);

// Output 0 becomes the strings of input 0, each changed by `change(from, to)`, in place where that may be: `from` and
// `to` are one string then. `byte_ns` is the time for one byte.
absl::Status ChangeStrings(KernelContext& context, double byte_ns,
                           absl::FunctionRef<void(const TString& from, TString& to)> change);

// Calls `work(begin, end)` for parts of [0, count) that take `unit_ns` each, on several threads where that pays. What
// `work` throws and its first error reach the caller.
absl::Status ForStrings(const KernelContext& context, int64_t count, double unit_ns,
                        absl::FunctionRef<absl::Status(int64_t begin, int64_t end)> work);

// Time for one of `count` strings that have `bytes` in all.
double StringNs(int64_t count, int64_t bytes, double byte_ns);

// The bytes of all strings of a tensor.
int64_t TotalBytes(const Tensor& strings);

}  // namespace sluice

#endif  // SLUICE_KERNELS_STRINGS_TEXT_MEMORY_H_
