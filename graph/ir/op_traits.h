#ifndef SLUICE_GRAPH_IR_OP_TRAITS_H_
#define SLUICE_GRAPH_IR_OP_TRAITS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace sluice {

// Facts about an op beside its registration, for passes, gradients and tools. Those of TensorFlow's ops stand in
// graph/ops/op_traits.txt; ops of hosts and functions have the defaults.
struct OpTraits {
  enum class Gradient : uint8_t {
    kUnknown,      // "unknown": not written yet.
    kFunction,     // "rule": a function of graph/gradients.
    kNone,         // "none": no derivative: shapes, comparisons, integers, effects.
    kRefused,      // "refused": has a derivative, which neither TensorFlow nor we compute.
    kControlFlow,  // "flow": the engine of gradients differentiates it itself.
  };

  Gradient gradient = Gradient::kUnknown;
  // "impure": not stateful, but two calls may give different values, or it has an effect.
  bool is_impure = false;
  // "rerun": stateful, but a body may run it again: it only reads, or its state belongs to one run.
  bool may_run_again = false;
  // "total": its kernels take any values of any shapes that agree.
  bool takes_any_value = false;
  // "activation": elementwise, and its loop over floats can be that of a fused layer.
  bool is_activation = false;
  // "variable": makes a variable, by reference or as a resource.
  bool makes_variable = false;
  // "placeholder": stands for a value that is fed.
  bool is_placeholder = false;
  // "saver": writes or reads checkpoints, or makes the names of their files.
  bool is_saver = false;
  // "inner": runs for its effect, or gives what only other nodes use: not an output that a user asks for.
  bool is_inner = false;
};

// Sets what `word` of op_traits.txt stands for. False where it is not such a word.
bool AddTrait(absl::string_view word, OpTraits* traits);

// The words of `traits`, the gradient first.
std::vector<std::string> TraitWords(const OpTraits& traits);

}  // namespace sluice

#endif  // SLUICE_GRAPH_IR_OP_TRAITS_H_
