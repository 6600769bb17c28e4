#ifndef SLUICE_KERNELS_STEP_SPAN_CALL_FRAME_H_
#define SLUICE_KERNELS_STEP_SPAN_CALL_FRAME_H_

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "graph/base/error.h"
#include "kernels/step/call_frame.h"

namespace sluice {

// Arguments and results of one call that lie side by side. Borrows both; arguments are given up when they are asked
// for. Results must have no value before. Thread-safe for different indices.
class SpanCallFrame final : public CallFrame {
 public:
  SpanCallFrame(absl::Span<Tensor> args, absl::Span<Tensor> retvals) : args_(args), retvals_(retvals) {}

  size_t num_args() const override { return args_.size(); }
  size_t num_retvals() const override { return retvals_.size(); }
  absl::StatusOr<Tensor> GetArg(size_t index) override {
    if (index >= args_.size() || !args_[index].has_value()) {
      return Error(ErrorCode::kFeedMissing).Text(absl::StrCat("argument ", index, " was not given, or was taken"));
    }
    return std::move(args_[index]);
  }
  absl::Status SetRetval(size_t index, Tensor value) override {
    if (index >= retvals_.size() || retvals_[index].has_value()) {
      return Error(ErrorCode::kInternal).Text(absl::StrCat("result ", index, " does not exist or was set before"));
    }
    retvals_[index] = std::move(value);
    return absl::OkStatus();
  }
  SpanCallFrame* AsSpans() override { return this; }

  // Arguments that were not taken yet have a value; results that were not set have none.
  absl::Span<Tensor> args() { return args_; }
  absl::Span<Tensor> retvals() { return retvals_; }

 private:
  const absl::Span<Tensor> args_;
  const absl::Span<Tensor> retvals_;
};

}  // namespace sluice

#endif  // SLUICE_KERNELS_STEP_SPAN_CALL_FRAME_H_
