#ifndef SLUICE_KERNELS_STEP_CALL_FRAME_H_
#define SLUICE_KERNELS_STEP_CALL_FRAME_H_

#include <cstddef>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graph/value/tensor.h"

namespace sluice {

class SpanCallFrame;

// The arguments and results of one call of a graph: _Arg nodes read from it, _Retval nodes write to it. Thread-safe for
// different indices; each value is read and written once.
class CallFrame {
 public:
  virtual ~CallFrame() = default;
  virtual size_t num_args() const = 0;
  virtual size_t num_retvals() const = 0;
  // Argument `index`; moved out if the frame owns it and it is read only once. kFeedMissing beyond num_args().
  virtual absl::StatusOr<Tensor> GetArg(size_t index) = 0;
  // kInternal when it was set before or is out of range.
  virtual absl::Status SetRetval(size_t index, Tensor value) = 0;
  // This frame as one whose values lie side by side, so that callers can move them all at once; else null.
  virtual SpanCallFrame* AsSpans() { return nullptr; }
};

}  // namespace sluice

#endif  // SLUICE_KERNELS_STEP_CALL_FRAME_H_
