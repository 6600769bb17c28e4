#include <algorithm>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "kernels/array/index_values.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/new_kernel.h"
#include "kernels/queues/families.h"
#include "kernels/queues/staging_area.h"
#include "kernels/queues/staging_spec.h"

namespace sluice {
namespace {

using AreaOfNode = StagedOfNode<StagingArea>;

// Puts its inputs as one element.
class StageKernel final : public AsyncKernel {
 public:
  explicit StageKernel(AreaOfNode area) : area_(std::move(area)) {}

  void ComputeAsync(KernelContext& context, Done done) const override {
    absl::StatusOr<CountedPtr<StagingArea>> area = area_.Find(context);
    if (!area.ok()) return done(area.status());
    absl::StatusOr<QueueElement> element = InputsToKeep(context, 0);
    if (!element.ok()) return done(element.status());
    StagingArea& target = **area;
    target.Put(
        *std::move(element), context.run().cancellation,
        [owner = *std::move(area), done = std::move(done)](absl::Status status) mutable { done(std::move(status)); });
  }
  CostHint cost_hint() const override { return CostHint::kCheap; }

 private:
  const AreaOfNode area_;
};

// Unstage, and StagePeek, which has an index.
template <bool kIsPeek>
class UnstageKernel final : public AsyncKernel {
 public:
  explicit UnstageKernel(AreaOfNode area) : area_(std::move(area)) {}

  void ComputeAsync(KernelContext& context, Done done) const override {
    absl::StatusOr<CountedPtr<StagingArea>> area = area_.Find(context);
    if (!area.ok()) return done(area.status());
    const absl::StatusOr<int64_t> index = kIsPeek ? Index(context) : 0;
    if (!index.ok()) return done(index.status());
    std::vector<DType> types = OutputTypes(context);
    StagingArea& source = **area;
    auto finish = [&context, owner = *std::move(area), done = std::move(done)](absl::Status status,
                                                                               QueueElement element) mutable {
      int output = 0;
      for (Tensor& value : element) context.SetOutput(output++, std::move(value));
      done(std::move(status));
    };
    if (kIsPeek) {
      source.Peek(*index, std::move(types), context.run().cancellation, std::move(finish));
    } else {
      source.Take(std::move(types), context.run().cancellation, std::move(finish));
    }
  }
  CostHint cost_hint() const override { return CostHint::kCheap; }

 private:
  static absl::StatusOr<int64_t> Index(const KernelContext& context) {
    SLUICE_ASSIGN_OR_RETURN(const int64_t index, ReadIndexScalar(context, 0, "index"));
    if (index >= 0) return index;
    return ValueError(0, "index", index, "0 or more");
  }

  const AreaOfNode area_;
};

// How many elements there are.
class StageSizeKernel final : public Kernel {
 public:
  explicit StageSizeKernel(AreaOfNode area) : area_(std::move(area)) {}

  absl::Status Compute(KernelContext& context) const override {
    SLUICE_ASSIGN_OR_RETURN(const CountedPtr<StagingArea> area, area_.Find(context));
    const int64_t most = std::numeric_limits<int32_t>::max();
    context.SetScalar(0, static_cast<int32_t>(std::min(area->size(), most)));
    return absl::OkStatus();
  }
  CostHint cost_hint() const override { return CostHint::kCheap; }

 private:
  const AreaOfNode area_;
};

// Drops all elements.
class StageClearKernel final : public Kernel {
 public:
  explicit StageClearKernel(AreaOfNode area) : area_(std::move(area)) {}

  absl::Status Compute(KernelContext& context) const override {
    SLUICE_ASSIGN_OR_RETURN(const CountedPtr<StagingArea> area, area_.Find(context));
    area->Clear();
    return absl::OkStatus();
  }

 private:
  const AreaOfNode area_;
};

constexpr KernelRow kRows[] = {
    KernelRow("Stage", &NewWith<StageKernel, AreaOfNode::Make>),
    KernelRow("Unstage", &NewWith<UnstageKernel<false>, AreaOfNode::Make>),
    KernelRow("StagePeek", &NewWith<UnstageKernel<true>, AreaOfNode::Make>),
    KernelRow("StageSize", &NewWith<StageSizeKernel, AreaOfNode::Make>),
    KernelRow("StageClear", &NewWith<StageClearKernel, AreaOfNode::Make>),
};

}  // namespace

absl::Span<const KernelRow> StagingKernels() { return kRows; }

}  // namespace sluice
