#include "kernels/temp_array.h"

#include "graph/base/checked_math.h"
#include "graph/base/error.h"
#include "graph/value/dtype.h"
#include "graph/value/shape.h"

namespace sluice {

absl::StatusOr<Tensor> AllocateTempBytes(KernelContext& context, int64_t count, size_t element_size) {
  constexpr int64_t kMaxBytes = int64_t{1} << 62;
  int64_t bytes = 0;
  if (!CheckedMul(count, static_cast<int64_t>(element_size), &bytes) || bytes > kMaxBytes) {
    return Error(ErrorCode::kOutOfMemory).Text("needs a table that no memory holds");
  }
  return context.AllocateTemp(DType::kUInt8, Shape::Of({bytes}));
}

}  // namespace sluice
