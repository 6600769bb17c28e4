#ifndef SLUICE_EXECUTOR_SESSION_FED_VALUE_H_
#define SLUICE_EXECUTOR_SESSION_FED_VALUE_H_

#include "absl/base/optimization.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "graph/value/dtype.h"
#include "graph/value/shape.h"
#include "graph/value/tensor.h"

namespace sluice {

class SessionState;

// kFeedType or kFeedShape for a value that does not fit the tensor `endpoint` of this dtype and shape.
absl::Status WrongFeed(absl::string_view endpoint, DType dtype, const PartialShape& shape, const Tensor& value);

// OK, or the above. A variable is fed with a value of its base type.
inline absl::Status CheckFedValue(absl::string_view endpoint, DType dtype, const PartialShape& shape,
                                  const Tensor& value) {
  const bool fits = value.dtype() == BaseType(dtype) && (!shape.has_rank() || shape.IsCompatibleWith(value.shape()));
  return ABSL_PREDICT_TRUE(fits) ? absl::OkStatus() : WrongFeed(endpoint, dtype, shape, value);
}

// A tensor that the session keeps may be fed by the handle that GetSessionHandleV2 gave: `*value` becomes the tensor
// then. Anything else stays as it is. kTensorHandle when the session does not have it any more.
absl::Status TakeKeptTensor(const SessionState& state, Tensor* value);

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_SESSION_FED_VALUE_H_
