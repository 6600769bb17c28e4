#ifndef SLUICE_EXECUTOR_TAPE_CUSTOM_FUNCTION_H_
#define SLUICE_EXECUTOR_TAPE_CUSTOM_FUNCTION_H_

#include <any>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "executor/tape/var.h"

namespace sluice {

class CustomCall;
class TapeCore;
class TapeNode;

// The state of one call of a custom function. Forward declares what to save and which outputs have no gradient;
// Backward gets it back. Borrowed for the duration of either.
class FunctionContext {
 public:
  // For the code that calls functions. `node` is null in Forward; bit i of `wants` is for input i, the last for all
  // others.
  FunctionContext(CustomCall& call, TapeCore& core, TapeNode* node, uint64_t wants)
      : call_(call), core_(core), node_(node), wants_(wants) {}

  // --- In Forward ----------------------------------------------------------------------------------------------------
  // Elsewhere these change nothing, and fail the pass (kTapeFunction).
  // Inputs, outputs or others, some perhaps undefined. Outputs must be saved this way, not kept in the function: they
  // would keep the record alive for ever.
  void SaveForBackward(std::vector<Var> vars);
  // An output that no gradient flows through.
  void MarkNonDifferentiable(const Var& output);
  // An input that Forward has assigned to (Var::Assign), and must give as an output, one that gradients flow through.
  void MarkDirty(const Var& input);
  // Whether Backward gets zeros where an output has no gradient (true unless said here), or undefined ones. A variant
  // (a list) has no zeros: its gradient is undefined.
  void SetMaterializeGrads(bool materialize);

  // --- In both -------------------------------------------------------------------------------------------------------
  // Whether the gradient of input `i` is needed: in Backward, by this pass.
  bool NeedsInputGrad(size_t i) const;
  // State of this call that is not a variable: made by its default constructor when it is first asked for, the same
  // object in Forward and in each Backward of the call, and freed with the record. One type for a call: asking for
  // another one throws std::bad_any_cast, which becomes the status of the call. Outputs must not be kept in it.
  //   context.State<Scale>().factor = 2;
  template <typename T>
  T& State() {
    std::any& state = StateOfCall();
    return state.has_value() ? std::any_cast<T&>(state) : state.emplace<T>();
  }

  // --- In Backward ---------------------------------------------------------------------------------------------------
  // Returns what was saved, in that order: leaves themselves, as they are now; all others as new variables, with the
  // value and the history that they had. kTapeFreed where an earlier pass without retain_graph freed it, kTapeModified
  // where a variable has been assigned since.
  absl::StatusOr<std::vector<Var>> Saved() const;

  // For the code that calls functions: the first call that Backward made and only Forward may make.
  const absl::Status& misuse() const { return misuse_; }

 private:
  // Returns whether this is Forward, and notes the misuse if it is not.
  bool IsForward(const char* method);
  std::any& StateOfCall();

  CustomCall& call_;
  TapeCore& core_;
  TapeNode* const node_;
  const uint64_t wants_;
  absl::Status misuse_;
};

// A function with a gradient of its own:
//
//   class Exp : public CustomFunction {
//    public:
//     std::string name() const override { return "Exp"; }
//     absl::StatusOr<std::vector<Var>> Forward(FunctionContext& c, absl::Span<const Var> inputs) override {
//       Var y = sluice::Exp(inputs[0]);
//       c.SaveForBackward({y});
//       return std::vector<Var>{y};
//     }
//     absl::StatusOr<std::vector<Var>> Backward(FunctionContext& c, absl::Span<const Var> grads) override {
//       SLUICE_ASSIGN_OR_RETURN(const std::vector<Var> saved, c.Saved());
//       return std::vector<Var>{grads[0] * saved[0]};
//     }
//   };
//   std::vector<Var> outputs = tape.Apply(std::make_shared<Exp>(), {x});
//
// The object may serve any number of calls: keep the state of one call in the context (State). Both functions run on
// the thread that called Apply or Backward (in a pass inside of 60 others, on a service thread while that one waits);
// exceptions become statuses.
class CustomFunction {
 public:
  virtual ~CustomFunction() = default;

  // For errors and NodeRef::name.
  virtual std::string name() const = 0;
  // Runs without recording.
  virtual absl::StatusOr<std::vector<Var>> Forward(FunctionContext& context, absl::Span<const Var> inputs) = 0;
  // Returns a gradient for each input, undefined for inputs without one; further ones must be undefined. Runs with
  // recording in passes with create_graph, unless it is differentiable once only.
  virtual absl::StatusOr<std::vector<Var>> Backward(FunctionContext& context, absl::Span<const Var> grads) = 0;
  // True: its gradients have no gradients. As in PyTorch, differentiating them is an error (kTapeNoDerivative), unless
  // no gradient of an output requires one: then they are constants.
  virtual bool is_once_differentiable() const { return false; }
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_TAPE_CUSTOM_FUNCTION_H_
