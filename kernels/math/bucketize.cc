#include <algorithm>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "graph/base/error.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/math/elementwise.h"
#include "kernels/math/families.h"

namespace sluice {
namespace {

// How many boundaries are not above each element.
template <typename T>
class BucketizeKernel : public Kernel {
 public:
  explicit BucketizeKernel(std::vector<float> boundaries) : boundaries_(std::move(boundaries)) {}
  absl::Status Compute(KernelContext& context) const override {
    using Common = std::common_type_t<T, float>;  // Integers are compared as floats.
    const Tensor& x = context.input(0);
    const T* const in = x.flat<T>().data();
    SLUICE_ASSIGN_OR_RETURN(Tensor* const y, context.AllocateOutput(0, x.shape()));
    int32_t* const out = y->flat<int32_t>().data();
    ForShards(context, y->num_elements(), 10.0f, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const auto above = std::upper_bound(boundaries_.begin(), boundaries_.end(), in[i], [](T value, float boundary) {
          return static_cast<Common>(value) < boundary;
        });
        out[i] = static_cast<int32_t>(above - boundaries_.begin());
      }
    });
    return absl::OkStatus();
  }

 private:
  const std::vector<float> boundaries_;
};

using BucketizeTypes = TypeList<float, double, int32_t, int64_t>;

absl::StatusOr<std::vector<float>> ReadBoundaries(const KernelConstruction& construction) {
  SLUICE_ASSIGN_OR_RETURN(std::vector<float> boundaries, construction.Get<std::vector<float>>("boundaries"));
  if (!std::is_sorted(boundaries.begin(), boundaries.end())) {
    return Error(ErrorCode::kOpAttr).Attr("boundaries").Expected("numbers in ascending order");
  }
  return boundaries;
}

constexpr KernelRow kRows[] = {
    KernelRow("Bucketize", &NewByTypeWith<BucketizeKernel, BucketizeTypes, ReadBoundaries>)
        .Types("T", SetOf(BucketizeTypes())),
};

}  // namespace

absl::Span<const KernelRow> BucketizeKernels() { return kRows; }

}  // namespace sluice
