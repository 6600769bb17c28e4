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
#include "kernels/queues/element_rows.h"
#include "kernels/queues/families.h"
#include "kernels/queues/named_resource.h"
#include "kernels/queues/queue.h"

namespace sluice {
namespace {

// QueueEnqueue and QueueEnqueueMany.
template <bool kIsMany>
class EnqueueKernel final : public AsyncKernel {
 public:
  static absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelConstruction& construction) {
    SLUICE_RETURN_IF_ERROR(CheckNoTimeout(construction));
    return std::make_unique<EnqueueKernel>();
  }

  void ComputeAsync(KernelContext& context, Done done) const override {
    absl::StatusOr<CountedPtr<Queue>> queue = LookupNamed<Queue>(context);
    if (!queue.ok()) return done(queue.status());
    absl::StatusOr<std::vector<QueueElement>> elements = Elements(context, **queue);
    if (!elements.ok() || elements->empty()) return done(elements.status());
    Queue& target = **queue;
    target.Put(
        *std::move(elements), context.run().cancellation,
        [queue = *std::move(queue), done = std::move(done)](absl::Status status) mutable { done(std::move(status)); });
  }
  CostHint cost_hint() const override { return CostHint::kCheap; }

 private:
  static absl::StatusOr<std::vector<QueueElement>> Elements(KernelContext& context, const Queue& queue) {
    std::vector<Tensor> components;
    std::vector<DType> types;
    for (int i = 1; i < context.num_inputs(); ++i) {
      components.push_back(context.TakeInput(i));
      types.push_back(components.back().dtype());
    }
    SLUICE_RETURN_IF_ERROR(queue.spec().CheckTypes(types));
    SLUICE_RETURN_IF_ERROR(queue.spec().CheckShapes(components, kIsMany));
    if (kIsMany) return ElementsOf(std::move(components), context.allocator());
    for (Tensor& component : components) {
      SLUICE_ASSIGN_OR_RETURN(component, ToKeep(std::move(component), context.allocator()));
    }
    std::vector<QueueElement> elements(1);
    elements[0] = std::move(components);
    return elements;
  }
};

absl::Status CheckOutputTypes(const KernelContext& context, const Queue& queue) {
  std::vector<DType> types;
  for (int i = 0; i < context.num_outputs(); ++i) types.push_back(context.output_type(i));
  return queue.spec().CheckTypes(types);
}

// One element.
class DequeueKernel final : public AsyncKernel {
 public:
  static absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelConstruction& construction) {
    SLUICE_RETURN_IF_ERROR(CheckNoTimeout(construction));
    return std::make_unique<DequeueKernel>();
  }

  void ComputeAsync(KernelContext& context, Done done) const override {
    absl::StatusOr<CountedPtr<Queue>> queue = LookupNamed<Queue>(context);
    if (!queue.ok()) return done(queue.status());
    const absl::Status types = CheckOutputTypes(context, **queue);
    if (!types.ok()) return done(types);
    Queue& source = **queue;
    source.Take(1, /*or_fewer=*/false, context.run().cancellation,
                [&context, queue = *std::move(queue), done = std::move(done)](
                    absl::Status status, std::vector<QueueElement> elements) mutable {
                  if (!status.ok()) return done(std::move(status));
                  int output = 0;
                  for (Tensor& component : elements[0]) context.SetOutput(output++, std::move(component));
                  done(absl::OkStatus());
                });
  }
  CostHint cost_hint() const override { return CostHint::kCheap; }
};

// QueueDequeueMany and QueueDequeueUpTo.
template <bool kOrFewer>
class DequeueManyKernel final : public AsyncKernel {
 public:
  static absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelConstruction& construction) {
    SLUICE_RETURN_IF_ERROR(CheckNoTimeout(construction));
    return std::make_unique<DequeueManyKernel>();
  }

  void ComputeAsync(KernelContext& context, Done done) const override {
    absl::StatusOr<CountedPtr<Queue>> queue = LookupNamed<Queue>(context);
    if (!queue.ok()) return done(queue.status());
    const absl::StatusOr<int64_t> count = Count(context, **queue);
    if (!count.ok()) return done(count.status());
    if (*count == 0) return done(SetOutputs(context, **queue, {}));
    Queue& source = **queue;
    source.Take(*count, kOrFewer, context.run().cancellation,
                [&context, queue = *std::move(queue), done = std::move(done)](
                    absl::Status status, std::vector<QueueElement> elements) mutable {
                  if (status.ok()) {
                    status = SetOutputs(context, *queue, elements);
                    if (!status.ok()) queue->PutBack(std::move(elements));
                  }
                  done(std::move(status));
                });
  }

 private:
  static absl::StatusOr<int64_t> Count(const KernelContext& context, const Queue& queue) {
    SLUICE_RETURN_IF_ERROR(CheckOutputTypes(context, queue));
    SLUICE_RETURN_IF_ERROR(queue.spec().CheckStackable());
    SLUICE_ASSIGN_OR_RETURN(const int64_t count, ReadIndexScalar(context, 1, "n"));
    if (count >= 0) return count;
    return ValueError(1, "n", count, "0 or more");
  }

  static absl::Status SetOutputs(KernelContext& context, const Queue& queue,
                                 const std::vector<QueueElement>& elements) {
    for (int i = 0; i < context.num_outputs(); ++i) {
      const size_t component = static_cast<size_t>(i);
      SLUICE_RETURN_IF_ERROR(StackComponent(context, i, elements, component, queue.spec().shapes[component]));
    }
    return absl::OkStatus();
  }
};

// Ends the queue for what would be put.
class QueueCloseKernel final : public AsyncKernel {
 public:
  explicit QueueCloseKernel(bool cancel_pending) : cancel_pending_(cancel_pending) {}

  void ComputeAsync(KernelContext& context, Done done) const override {
    absl::StatusOr<CountedPtr<Queue>> queue = LookupNamed<Queue>(context);
    if (!queue.ok()) return done(queue.status());
    Queue& closed = **queue;
    closed.Close(
        cancel_pending_, context.run().cancellation,
        [queue = *std::move(queue), done = std::move(done)](absl::Status status) mutable { done(std::move(status)); });
  }
  CostHint cost_hint() const override { return CostHint::kCheap; }

 private:
  const bool cancel_pending_;
};

absl::Status ComputeSize(KernelContext& context) {
  SLUICE_ASSIGN_OR_RETURN(const CountedPtr<Queue> queue, LookupNamed<Queue>(context));
  context.SetScalar(0, static_cast<int32_t>(std::min<int64_t>(queue->size(), std::numeric_limits<int32_t>::max())));
  return absl::OkStatus();
}

absl::Status ComputeIsClosed(KernelContext& context) {
  SLUICE_ASSIGN_OR_RETURN(const CountedPtr<Queue> queue, LookupNamed<Queue>(context));
  context.SetScalar(0, queue->is_closed());
  return absl::OkStatus();
}

using QueueKernel = NamedResourceKernel<Queue, QueueSpec>;

constexpr KernelRow kRows[] = {
    KernelRow("FIFOQueue", &New<QueueKernel>),
    KernelRow("FIFOQueueV2", &New<QueueKernel>),
    KernelRow("PaddingFIFOQueue", &New<QueueKernel>),
    KernelRow("PaddingFIFOQueueV2", &New<QueueKernel>),
    KernelRow("RandomShuffleQueue", &New<QueueKernel>),
    KernelRow("RandomShuffleQueueV2", &New<QueueKernel>),
    KernelRow("PriorityQueue", &New<QueueKernel>),
    KernelRow("PriorityQueueV2", &New<QueueKernel>),
    KernelRow("QueueEnqueue", &New<EnqueueKernel<false>>),
    KernelRow("QueueEnqueueV2", &New<EnqueueKernel<false>>),
    KernelRow("QueueEnqueueMany", &New<EnqueueKernel<true>>),
    KernelRow("QueueEnqueueManyV2", &New<EnqueueKernel<true>>),
    KernelRow("QueueDequeue", &New<DequeueKernel>),
    KernelRow("QueueDequeueV2", &New<DequeueKernel>),
    KernelRow("QueueDequeueMany", &New<DequeueManyKernel<false>>),
    KernelRow("QueueDequeueManyV2", &New<DequeueManyKernel<false>>),
    KernelRow("QueueDequeueUpTo", &New<DequeueManyKernel<true>>),
    KernelRow("QueueDequeueUpToV2", &New<DequeueManyKernel<true>>),
    KernelRow("QueueClose", FromAttr<QueueCloseKernel, bool>("cancel_pending_enqueues")),
    KernelRow("QueueCloseV2", FromAttr<QueueCloseKernel, bool>("cancel_pending_enqueues")),
    KernelRow("QueueSize", &Call<ComputeSize>).Cheap(),
    KernelRow("QueueSizeV2", &Call<ComputeSize>).Cheap(),
    KernelRow("QueueIsClosed", &Call<ComputeIsClosed>).Cheap(),
    KernelRow("QueueIsClosedV2", &Call<ComputeIsClosed>).Cheap(),
};

}  // namespace

absl::Span<const KernelRow> QueueKernels() { return kRows; }

}  // namespace sluice
