#ifndef SLUICE_GRAPH_IR_REGISTERED_GRADIENTS_H_
#define SLUICE_GRAPH_IR_REGISTERED_GRADIENTS_H_

// Gradients that programs registered for single nodes (tf.custom_gradient): such a node names an op type of its own in
// its attr `_gradient_op_type`, and the library says which function is the gradient of that type (RegisteredGradient
// messages). They stand among the gradients of a FunctionLibrary, under a key that no function can have for a name.

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "graph/ir/function_library.h"

namespace sluice {

inline constexpr absl::string_view kGradientOpTypeAttr = "_gradient_op_type";

// The key of FunctionLibrary::gradients() under which the gradient of `op_type` stands.
inline std::string RegisteredGradientKey(absl::string_view op_type) { return absl::StrCat("^", op_type); }

inline bool IsRegisteredGradientKey(absl::string_view key) { return !key.empty() && key[0] == '^'; }

// REQUIRES: the key is one.
inline absl::string_view OpTypeOfKey(absl::string_view key) { return key.substr(1); }

// The function registered for `op_type`, or empty.
inline absl::string_view FindRegisteredGradient(const FunctionLibrary& library, absl::string_view op_type) {
  return library.FindGradient(RegisteredGradientKey(op_type));
}

}  // namespace sluice

#endif  // SLUICE_GRAPH_IR_REGISTERED_GRADIENTS_H_
