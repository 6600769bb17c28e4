#include <algorithm>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/array/index_values.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/new_kernel.h"
#include "kernels/queues/barrier.h"
#include "kernels/queues/element_rows.h"
#include "kernels/queues/families.h"
#include "kernels/queues/named_resource.h"

namespace sluice {
namespace {

// One component for each of some keys.
class BarrierInsertKernel final : public Kernel {
 public:
  explicit BarrierInsertKernel(int64_t component) : component_(component) {}

  absl::Status Compute(KernelContext& context) const override {
    SLUICE_ASSIGN_OR_RETURN(const CountedPtr<Barrier> barrier, LookupNamed<Barrier>(context));
    SLUICE_RETURN_IF_ERROR(CheckInputs(context, barrier->spec()));
    const Tensor keys = context.input(1);
    if (keys.num_elements() == 0) return absl::OkStatus();
    SLUICE_ASSIGN_OR_RETURN(std::vector<QueueElement> values, ElementsOf({context.input(2)}, context.allocator()));
    return barrier->Insert(keys, std::move(values), static_cast<size_t>(component_));
  }

 private:
  absl::Status CheckInputs(const KernelContext& context, const QueueSpec& spec) const {
    if (component_ < 0 || component_ >= static_cast<int64_t>(spec.types.size())) {
      return AttrError("component_index", component_,
                       absl::StrCat("0 to ", spec.types.size() - 1, ", the barrier's components"));
    }
    const size_t component = static_cast<size_t>(component_);
    const Tensor& values = context.input(2);
    QueueSpec of_component = spec;
    of_component.types = {spec.types[component]};
    if (!spec.shapes.empty()) of_component.shapes = {spec.shapes[component]};
    SLUICE_RETURN_IF_ERROR(of_component.CheckTypes({values.dtype()}));
    if (values.rank() < 1 || values.dim(0) != context.input(1).num_elements()) {
      return ShapesError(2, "values", values.shape(),
                         absl::StrCat(context.input(1).num_elements(), " rows, one for each key"));
    }
    return of_component.CheckShapes({values}, /*has_rows=*/true, /*first_input=*/2);
  }

  const int64_t component_;
};

// Elements that are complete.
class BarrierTakeKernel final : public AsyncKernel {
 public:
  explicit BarrierTakeKernel(const Barrier::TakeOptions& options) : options_(options) {}

  static absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelConstruction& construction) {
    SLUICE_RETURN_IF_ERROR(CheckNoTimeout(construction));
    Barrier::TakeOptions options;
    SLUICE_ASSIGN_OR_RETURN(options.allow_small_batch, construction.Get<bool>("allow_small_batch"));
    SLUICE_ASSIGN_OR_RETURN(options.wait_for_incomplete, construction.Get<bool>("wait_for_incomplete"));
    return std::make_unique<BarrierTakeKernel>(options);
  }

  void ComputeAsync(KernelContext& context, Done done) const override {
    absl::StatusOr<CountedPtr<Barrier>> barrier = LookupNamed<Barrier>(context);
    if (!barrier.ok()) return done(barrier.status());
    const absl::StatusOr<int64_t> count = Count(context, (*barrier)->spec());
    if (!count.ok()) return done(count.status());
    Barrier::TakeOptions options = options_;
    options.count = *count;
    Barrier& source = **barrier;
    source.Take(options, context.run().cancellation,
                [&context, owner = *std::move(barrier), done = std::move(done)](
                    absl::Status status, std::vector<QueueElement> elements) mutable {
                  if (status.ok()) {
                    status = SetOutputs(context, owner->spec(), elements);
                    if (!status.ok()) owner->PutBack(std::move(elements));
                  }
                  done(std::move(status));
                });
  }

 private:
  static absl::StatusOr<int64_t> Count(const KernelContext& context, const QueueSpec& spec) {
    std::vector<DType> types;
    for (int i = 2; i < context.num_outputs(); ++i) types.push_back(context.output_type(i));
    SLUICE_RETURN_IF_ERROR(spec.CheckTypes(types));
    SLUICE_RETURN_IF_ERROR(spec.CheckStackable());
    SLUICE_ASSIGN_OR_RETURN(const int64_t count, ReadIndexScalar(context, 1, "num_elements"));
    if (count >= 0) return count;
    return ValueError(1, "num_elements", count, "0 or more");
  }

  static absl::Status SetOutputs(KernelContext& context, const QueueSpec& spec,
                                 const std::vector<QueueElement>& elements) {
    for (int i = 0; i < context.num_outputs(); ++i) {
      const size_t part = static_cast<size_t>(i);
      const PartialShape shape = i < 2 ? PartialShape::Scalar() : spec.shapes[part - 2];
      SLUICE_RETURN_IF_ERROR(StackComponent(context, i, elements, part, shape));
    }
    return absl::OkStatus();
  }

  const Barrier::TakeOptions options_;
};

// Ends the barrier for new keys.
class BarrierCloseKernel final : public Kernel {
 public:
  explicit BarrierCloseKernel(bool cancel_pending) : cancel_pending_(cancel_pending) {}

  absl::Status Compute(KernelContext& context) const override {
    SLUICE_ASSIGN_OR_RETURN(const CountedPtr<Barrier> barrier, LookupNamed<Barrier>(context));
    return barrier->Close(cancel_pending_);
  }

 private:
  const bool cancel_pending_;
};

template <int64_t (Barrier::*kSize)() const>
absl::Status ComputeSize(KernelContext& context) {
  SLUICE_ASSIGN_OR_RETURN(const CountedPtr<Barrier> barrier, LookupNamed<Barrier>(context));
  const int64_t most = std::numeric_limits<int32_t>::max();
  context.SetScalar(0, static_cast<int32_t>(std::min((barrier.get()->*kSize)(), most)));
  return absl::OkStatus();
}

using BarrierKernel = NamedResourceKernel<Barrier, QueueSpec>;

constexpr KernelRow kRows[] = {
    KernelRow("Barrier", &New<BarrierKernel>),
    KernelRow("BarrierInsertMany", FromAttr<BarrierInsertKernel, int64_t>("component_index")),
    KernelRow("BarrierTakeMany", &New<BarrierTakeKernel>),
    KernelRow("BarrierClose", FromAttr<BarrierCloseKernel, bool>("cancel_pending_enqueues")),
    KernelRow("BarrierReadySize", &Call<ComputeSize<&Barrier::num_ready>>).Cheap(),
    KernelRow("BarrierIncompleteSize", &Call<ComputeSize<&Barrier::num_incomplete>>).Cheap(),
};

}  // namespace

absl::Span<const KernelRow> BarrierKernels() { return kRows; }

}  // namespace sluice
