#ifndef SLUICE_KERNELS_QUEUES_ACCUMULATOR_H_
#define SLUICE_KERNELS_QUEUES_ACCUMULATOR_H_

#include <cstdint>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graph/value/resource_handle.h"
#include "kernels/kernel_construction.h"
#include "kernels/queues/gradient_sum.h"
#include "kernels/queues/waiting_room.h"

namespace sluice {

// The attrs of an accumulator's node. A value type.
struct AccumulatorSpec {
  static absl::StatusOr<AccumulatorSpec> Make(const KernelConstruction& construction);

  DType dtype = DType::kFloat;
  PartialShape shape;
  bool is_mean = true;
  bool is_sparse = false;

  // kResourceType unless a node that says `other` may share this accumulator.
  absl::Status CheckSame(const AccumulatorSpec& other) const;
  std::string ToString() const;
};

// Adds up the gradients of several workers until one of them takes the sum. Gradients of an earlier step than the
// accumulator's are dropped. Owned by the resource manager and the operations under way. Thread-safe.
class Accumulator final : public Resource {
 public:
  static constexpr absl::string_view kTypeName = "Accumulator";
  // The sum, and of how many gradients.
  using TakeDone = absl::AnyInvocable<void(absl::Status, GradientSum, int64_t)>;

  explicit Accumulator(AccumulatorSpec spec);

  const AccumulatorSpec& spec() const { return spec_; }

  // Calls `add` with the sum unless `step` is an earlier one; its error leaves the accumulator as it was.
  absl::Status Apply(int64_t step, absl::FunctionRef<absl::Status(GradientSum& sum)> add);
  // Takes the sum when it is that of `num_required` gradients or more, and begins the next step. `done` is called once.
  void Take(int64_t num_required, CancellationManager* cancellation, TakeDone done);
  void SetGlobalStep(int64_t step);
  int64_t num_accumulated() const;
  std::string DebugString() const override;

 private:
  struct TakeWaiter;

  Waiter::Progress TryTake(TakeWaiter& waiter);

  const AccumulatorSpec spec_;
  WaitingRoom room_;
  GradientSum sum_ ABSL_GUARDED_BY(room_.mu);
  int64_t count_ ABSL_GUARDED_BY(room_.mu) = 0;  // Of gradients in the sum.
  int64_t step_ ABSL_GUARDED_BY(room_.mu) = 0;
};

}  // namespace sluice

#endif  // SLUICE_KERNELS_QUEUES_ACCUMULATOR_H_
