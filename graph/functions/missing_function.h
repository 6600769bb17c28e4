#ifndef SLUICE_GRAPH_FUNCTIONS_MISSING_FUNCTION_H_
#define SLUICE_GRAPH_FUNCTIONS_MISSING_FUNCTION_H_

#include "absl/status/status.h"

namespace sluice {

// `status` of BindCallees for a node in the body of a function, where TensorFlow looks for functions only in a run:
// kFunctionMissing (NOT_FOUND) instead of kFunctionUnknown.
absl::Status InBody(const absl::Status& status);

}  // namespace sluice

#endif  // SLUICE_GRAPH_FUNCTIONS_MISSING_FUNCTION_H_
