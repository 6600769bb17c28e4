#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/base/cancellation.h"
#include "graph/base/status_macros.h"
#include "kernels/control/families.h"
#include "kernels/function_finder.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/new_kernel.h"

namespace sluice {
namespace {

using BodyPtr = std::shared_ptr<const CallableFunction>;

// One loop under way: calls the body again and again, each call after the end of the one before it. Owned by the
// callback of the call. One thread's at a time.
class ForLoop {
 public:
  struct Range {
    int64_t index, limit, delta;  // The index may go beyond int32 by one step.
    bool IsOver() const { return delta > 0 ? index >= limit : index <= limit; }
  };

  ForLoop(KernelContext& context, const CallableFunction& body, const Range& range, AsyncKernel::Done done)
      : context_(context),
        body_(body),
        range_(range),
        done_(std::move(done)),
        arguments_(static_cast<size_t>(context.num_outputs()) + 1),
        results_(static_cast<size_t>(context.num_outputs())) {
    for (size_t i = 0; i < results_.size(); ++i) results_[i] = context.TakeInput(static_cast<int>(i) + kFirstValue);
  }

  static constexpr int kFirstValue = 3;  // Input; before it start, limit and delta.

  // Runs iterations until the end, or until a call does not finish at once: the thread on which that call ends
  // continues. So a long loop takes no more of a thread's stack than a short one.
  static void Run(const std::shared_ptr<ForLoop>& loop) {
    while (loop->Begin(loop)) {
    }
  }

 private:
  // Begins the next call, or ends the loop. True: the call has ended already.
  bool Begin(const std::shared_ptr<ForLoop>& self) {
    const CancellationManager* const cancellation = context_.run().cancellation;
    if (status_.ok() && cancellation != nullptr && cancellation->IsCancelling()) status_ = cancellation->status();
    if (!status_.ok() || range_.IsOver()) {
      End();
      return false;
    }
    arguments_[0] = Tensor::Scalar(static_cast<int32_t>(range_.index));
    for (size_t i = 0; i < results_.size(); ++i) arguments_[i + 1] = std::exchange(results_[i], Tensor());
    range_.index += range_.delta;
    is_first_through_.store(true, std::memory_order_relaxed);  // Relaxed: the call that follows publishes it.
    body_.RunAsync(context_, absl::MakeSpan(arguments_), absl::MakeSpan(results_), [self](absl::Status status) {
      self->status_ = std::move(status);
      if (!self->IsFirstThrough()) Run(self);
    });
    return !IsFirstThrough();
  }

  // Returns true for the first of the two threads that get here (Begin's, and that on which the call ends): the second
  // one continues the loop.
  bool IsFirstThrough() {
    return is_first_through_.exchange(false, std::memory_order_acq_rel);  // The second sees what the first wrote.
  }

  void End() {
    for (size_t i = 0; status_.ok() && i < results_.size(); ++i) {
      context_.SetOutput(static_cast<int>(i), std::move(results_[i]));
    }
    std::move(done_)(std::move(status_));
  }

  KernelContext& context_;
  const CallableFunction& body_;
  Range range_;
  AsyncKernel::Done done_;
  std::vector<Tensor> arguments_, results_;
  absl::Status status_;  // Of the last call.
  std::atomic<bool> is_first_through_{true};
};

std::string NamesOf(absl::Span<const DType> types) {
  return absl::StrJoin(types, ",", [](std::string* out, DType type) { *out += DTypeName(type); });
}

// For: calls its body with each number from start to limit, and with what the call before gave.
class ForKernel final : public AsyncKernel {
 public:
  explicit ForKernel(BodyPtr body) : body_(std::move(body)) {}

  static absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelConstruction& construction) {
    SLUICE_ASSIGN_OR_RETURN(BodyPtr body, construction.Function("body"));
    SLUICE_ASSIGN_OR_RETURN(const std::vector<DType> types, construction.Get<std::vector<DType>>("T"));
    std::vector<DType> wanted = {DType::kInt32};
    wanted.insert(wanted.end(), types.begin(), types.end());
    const Signature& found = body->signature();
    if (found.inputs != wanted || found.outputs != types) {
      return AttrError("body", absl::StrCat("(", NamesOf(found.inputs), ") -> (", NamesOf(found.outputs), ")"),
                       absl::StrCat("(", NamesOf(wanted), ") -> (", NamesOf(types), ")"));
    }
    return std::make_unique<ForKernel>(std::move(body));
  }

  void ComputeAsync(KernelContext& context, Done done) const override {
    const absl::StatusOr<ForLoop::Range> range = ReadRange(context);
    if (!range.ok()) return done(range.status());
    ForLoop::Run(std::make_shared<ForLoop>(context, *body_, *range, std::move(done)));
  }

 private:
  static absl::StatusOr<ForLoop::Range> ReadRange(const KernelContext& context) {
    constexpr absl::string_view kNames[ForLoop::kFirstValue] = {"start", "limit", "delta"};
    int64_t numbers[ForLoop::kFirstValue];
    for (int i = 0; i < ForLoop::kFirstValue; ++i) {
      const Tensor& input = context.input(i);
      SLUICE_RETURN_IF_ERROR(CheckScalar(context, i, kNames[i]));
      numbers[i] = input.flat<int32_t>()[0];
    }
    const auto [start, limit, delta] = numbers;
    const bool leads_there = start == limit || (start < limit ? delta > 0 : delta < 0);
    if (leads_there) return ForLoop::Range{start, limit, delta == 0 ? 1 : delta};
    return ValueError(2, "delta", delta, absl::StrCat("a step that leads from ", start, " to ", limit));
  }

  const BodyPtr body_;
};

constexpr KernelRow kRows[] = {KernelRow("For", &New<ForKernel>)};

}  // namespace

absl::Span<const KernelRow> ForLoopKernels() { return kRows; }

}  // namespace sluice
