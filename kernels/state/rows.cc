#include "kernels/state/rows.h"

#include <algorithm>

#include "graph/base/status_macros.h"
#include "kernels/array/moved_types.h"

namespace sluice {

void PutElements(Tensor& to, int64_t begin, const Tensor& from) {
  DispatchMoved(from.dtype(), [&](auto type) {
    using T = typename decltype(type)::Type;
    std::copy_n(Elements<T>(from), from.num_elements(), Elements<T>(to) + begin);
  });
}

absl::StatusOr<Tensor> CopyElements(const Tensor& from, int64_t begin, const Shape& shape, Allocator& allocator) {
  SLUICE_ASSIGN_OR_RETURN(Tensor part, Tensor::Make(from.dtype(), shape, allocator));
  DispatchMoved(from.dtype(), [&](auto type) {
    using T = typename decltype(type)::Type;
    std::copy_n(Elements<T>(from) + begin, shape.num_elements(), Elements<T>(part));
  });
  return part;
}

}  // namespace sluice
