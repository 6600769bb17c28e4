#ifndef SLUICE_KERNELS_FUNCTION_FINDER_H_
#define SLUICE_KERNELS_FUNCTION_FINDER_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/ir/attr.h"
#include "graph/ir/signature.h"
#include "graph/value/tensor.h"

namespace sluice {

class KernelContext;

// A function that an attr names, with the attrs bound for it.
struct FunctionAttr {
  std::string name;
  std::vector<std::pair<std::string, AttrValue>> attrs;
};

// Note [Functions of kernels]
// A kernel may call functions of its graph's library: MapDataset and its like, or a host's own op that calls a body for
// each row. It finds them when it is made, by an attr of its node, and calls them as often as it likes:
//
//   static absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelConstruction& construction) {
//     SLUICE_ASSIGN_OR_RETURN(auto body, construction.Function("f"));
//     return std::make_unique<MapRows>(std::move(body));
//   }
//   absl::Status Compute(KernelContext& context) const override {
//     Tensor row[] = {...}, result[1];
//     SLUICE_RETURN_IF_ERROR(body_->Run(context, row, absl::MakeSpan(result)));
//
// A function is compiled once per plan and binding of its attrs, however many kernels call it, and a call is a run of
// its own within that of the kernel: with its deadline, cancellation, threads, resources, step and observer. Its nodes
// are in no frame. Kernels in it that keep state are those of all of its calls in the plan. Transfers in it go through
// the rendezvous of the step: an error of such a call aborts that.
// Nodes that wait in a function (an asynchronous kernel, a Recv) hold no thread if the call is asynchronous: a kernel
// that may call such functions derives from AsyncKernel and uses RunAsync. Run waits on the calling thread.
// A function that calls itself, even indirectly, is refused before anything runs, and so is a chain of more than
// LoadLimits::max_call_depth functions called from kernels, since each takes some of a thread's stack. An error of a
// node in the function names the call path, "map/body_node": a kernel returns it as it is.
// A function runs on the first device of its session, whatever devices its nodes request.

// A function with its attrs bound, for kernels to call. May outlive its kernel. Immutable; thread-safe: any number of
// calls at once.
class CallableFunction {
 public:
  using Done = absl::AnyInvocable<void(absl::Status)>;

  virtual ~CallableFunction() = default;

  // Types of arguments and results.
  virtual const Signature& signature() const = 0;
  // Calls the function in the run of `caller`, the calling kernel. `arguments` are consumed: kernels may overwrite
  // them. Replaces every result, unless there is an error: kWrongUse if counts or dtypes of the arguments are not those
  // of the signature, kOutputMissing if a result is dead, and those of the function's nodes.
  virtual absl::Status Run(const KernelContext& caller, absl::Span<Tensor> arguments,
                           absl::Span<Tensor> results) const = 0;
  // The same without waiting: calls `done` once, on any thread, perhaps before it returns. Until then it uses
  // `caller`'s run and what the spans refer to, not the spans themselves. Throws nothing.
  virtual void RunAsync(const KernelContext& caller, absl::Span<Tensor> arguments, absl::Span<Tensor> results,
                        Done done) const noexcept = 0;
};

// Finds functions for the kernels of one graph while these are made. Thread-safe.
class FunctionFinder {
 public:
  virtual ~FunctionFinder() = default;

  // kFunctionUnknown, kAttrUnbound and others of binding; kFunctionRecursion with the chain of names; errors of the
  // body, and of missing kernels.
  virtual absl::StatusOr<std::shared_ptr<const CallableFunction>> Find(const FunctionAttr& function) = 0;
};

}  // namespace sluice

#endif  // SLUICE_KERNELS_FUNCTION_FINDER_H_
