#ifndef SLUICE_EXECUTOR_TAPE_BACKWARD_PASS_H_
#define SLUICE_EXECUTOR_TAPE_BACKWARD_PASS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "executor/cancellation_link.h"
#include "executor/tape/pass_plan.h"
#include "executor/tape/pass_structure.h"
#include "executor/tape/record.h"
#include "executor/tape/tape_core.h"
#include "graph/base/cancellation.h"

namespace sluice {

class BackwardGraph;
class HookCalls;

// Note [Backward passes]
// A pass runs the nodes of its plan in descending order of their sequence numbers, and each leaf as soon as its last
// gradient has come. So it needs no queue, and sums have one order. For each node it adds up the gradients of its
// outputs; calls the hooks of the outputs, keeps retained gradients, and calls the node's own hooks (captures are taken
// before the hooks of outputs if the node runs, and after them if it does not); runs the node; calls its post hooks on
// what it gives; and passes that along its edges. Nodes to which nothing flows compute nothing, though their saved
// values are checked and released as ever; custom functions run and see zeros or undefined gradients. The hooks of a
// pass's only root are called even if it does not run. All of it happens on the thread that began the pass. Without
// create_graph, leaves and captures get gradients without history, even if a seed or a hook's replacement had one. A
// node's op is called as steps of its GradientTemplate: in passes with create_graph through CallOp, so that they are
// recorded as all ops are. Saved values are released, unless retained, when their node has run, even if the pass fails
// later. A pass that runs as a graph releases all of them before it runs and adds to leaves after it: if a kernel fails
// or the pass is cancelled, nothing was added. A hook or a custom function may begin a pass of its own: it runs to its
// end on the same thread, and touches nothing of the outer one. At depth kMaxDepth a service thread runs it
// (Tape::Backward).

// One backward pass. Lives on the stack of its thread.
class BackwardPass {
 public:
  struct Options {
    bool keeps_graph = false;
    bool creates_graph = false;
    CancellationManager* cancellation = nullptr;
  };

  BackwardPass(TapeCore& core, const PassPlan& plan, const Options& options);
  BackwardPass(const BackwardPass&) = delete;
  BackwardPass& operator=(const BackwardPass&) = delete;
  ~BackwardPass();

  // Adds to what flows to a root, which must be in the plan.
  absl::Status Seed(const TapeEdge& root, int32_t place, TapeValue seed);
  // Captures what flows to `target`, which must be in the plan: capture(k) after Run, unset where nothing came.
  void Capture(size_t k, const TapeEdge& target, int32_t place);
  // Runs all nodes, then the final callbacks.
  absl::Status Run();
  TapeValue& capture(size_t k) { return captures_[k].value; }

  // While it lives, this thread is inside of `pass`, whose own thread waits.
  class Inside {
   public:
    explicit Inside(BackwardPass* pass);
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;
    ~Inside();

   private:
    BackwardPass* const before_;
  };
  // The innermost pass of this thread, or null.
  static BackwardPass* Current();
  void AddCallback(absl::AnyInvocable<absl::Status()> callback) { callbacks_.push_back(std::move(callback)); }

 private:
  struct CaptureSpot {
    int32_t place = -1;
    uint32_t slot = 0;
    TapeValue value;
  };

  // Runs the graph of the pass's structure if there is one, and sets `*was_run`.
  absl::Status RunAsGraph(bool* was_run);
  bool IsPlain() const;
  bool CheckAllSaved(const PassStructure& structure) const;
  // Sets `*was_run` to false, and changes nothing, if a gradient from a row of the host has not the shape of its input.
  absl::Status RunGraph(const BackwardGraph& graph, const PassStructure& structure, bool* was_run);
  absl::Status TakeAllSaved(const PassStructure& structure, bool keeps, std::vector<Tensor>* taken);
  bool HaveExpectedShapes(const BackwardGraph& graph, absl::Span<const Tensor> results) const;
  // Adds the graph's results to the leaves, and keeps the captures.
  absl::Status TakeResults(const PassStructure& structure, absl::Span<Tensor> results);
  absl::Status RunNodes();
  absl::Status RunReady(size_t i);
  // Runs one node; `grads` are those of its outputs.
  absl::Status RunNode(size_t i, absl::Span<TapeValue> grads);
  void KeepCaptures(size_t i, absl::Span<const TapeValue> grads);
  void SortCaptures();
  // Computes the gradients of the node's inputs.
  absl::Status Evaluate(size_t i, absl::Span<TapeValue> grads, std::vector<TapeValue>* input_grads);
  absl::Status EvaluateOp(size_t i, absl::Span<TapeValue> grads, std::vector<TapeValue>* input_grads);
  absl::Status EvaluateCustom(size_t i, absl::Span<TapeValue> grads, std::vector<TapeValue>* input_grads);
  // Checks each against the output that its edge leads to.
  absl::Status CheckInputGrads(size_t i, std::vector<TapeValue>* input_grads);
  // Runs the node of a leaf; its post hooks see `kept`.
  absl::Status RunLeaf(TapeNode& node, TapeValue grad, HookCalls& hooks, absl::Span<const TapeValue> kept);
  // `leaf` is undefined if it has no handles left.
  absl::Status Accumulate(TapeNode& node, const Var& leaf, TapeValue grad);
  // `replaced` gets the leaf's former gradient, which must be freed without the lock: that may call hooks' destructors.
  absl::Status AddTo(VarState& leaf, TapeValue grad, Var* replaced) ABSL_EXCLUSIVE_LOCKS_REQUIRED(leaf.mu);
  absl::Status RunSteps(const GradientTemplate& gradient, absl::Span<TapeValue> values, SlotSet wants,
                        std::vector<TapeValue>* input_grads);
  absl::Status RecordSteps(const GradientTemplate& gradient, absl::Span<TapeValue> values, SlotSet wants,
                           std::vector<TapeValue>* input_grads);
  // sum += term, in place if the sum has no other holder. On error the sum is as before, unless `run` can be cancelled.
  absl::Status Add(const RunContext& run, TapeValue* sum, TapeValue term);
  // Makes a cancellation of the passes around this one cancel it too.
  void LinkCancellation();
  absl::Status CheckNan(const TapeNode& node, absl::Span<const TapeValue> input_grads) const;
  absl::Status CheckCancelled() const;
  SlotSet WantsOf(size_t i) const;
  absl::Status RunCallbacks();

  TapeCore& core_;
  const PassPlan& plan_;
  const Options options_;
  RunContext run_;
  std::vector<TapeValue> buffers_;
  std::vector<int32_t> waits_for_;  // By item: edges that have not brought a gradient yet.
  std::vector<bool> is_done_;
  std::vector<CaptureSpot> captures_;
  std::vector<uint32_t> captures_by_place_;  // Indices of captures_.
  std::vector<absl::AnyInvocable<absl::Status()>> callbacks_;
  std::unique_ptr<Entry[]> entries_;  // Values of the template that runs.
  size_t num_entries_ = 0;
  std::shared_ptr<const EagerOp> add_;  // Adds values of the type of the last sum.
  BackwardPass* const outer_;
  // Set in a pass with its own cancellation or limits inside of one with others: cancelled with either.
  std::optional<ChildManager> both_;
  CancellationManager* linked_ = nullptr;  // This pass's own.
  std::optional<CancellationLink> link_;   // From `linked_`; ends before what it cancels.
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_TAPE_BACKWARD_PASS_H_
