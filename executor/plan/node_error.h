#ifndef SLUICE_EXECUTOR_PLAN_NODE_ERROR_H_
#define SLUICE_EXECUTOR_PLAN_NODE_ERROR_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "graph/ir/graph.h"
#include "graph/value/entry.h"

namespace sluice {

// Adds to the error of a kernel of node `id` the node's name, op and place in its file, and the user's name of the
// tensor at fault (Note [Names of inputs] in the .cc).
// An error of a body that the node calls is one of the node in the body, with the call's name in front.
absl::Status AtNode(const Graph& graph, NodeId id, const absl::Status& status);

// Turns an error of a node in a called body into one of the calling graph: puts `path`, the names of the calls
// ("outer/inner/"), before the names of the node and its input. Does not change errors that name no node.
absl::Status WithCallPath(const absl::Status& status, absl::string_view path);
// The user's name for the tensor that `call` passes as argument `name` of its function. Empty: it has no such argument,
// or arguments that are lists.
std::string ArgumentName(const Graph& graph, NodeId call, absl::string_view name);

// The error of a call without its node's name, for both drivers. AtNode adds the name. Input `input` is a reference to
// a variable without a value.
absl::Status UninitializedInput(int32_t input);
// OK when `output`, the node's output `i`, may stay as the kernel left it: a value or a reference of the `declared`
// dtype, or nothing at all where nothing reads it. kOutputMissing or kOutputType otherwise.
absl::Status CheckOutput(uint32_t i, const Entry& output, DType declared, bool is_read);

// The error of a run, or a part of one, that has exceeded its deadline: kDeadline.
absl::Status DeadlinePassed() noexcept;

// The exception of a kernel that is being handled, as a status: kOutOfMemory or kKernelException (or kInternal, for a
// failed check). REQUIRES: called from a catch block.
absl::Status StatusOfException() noexcept;
// The same, with the node's name as far as there is memory for it.
absl::Status StatusOfException(const Graph& graph, NodeId id) noexcept;

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_PLAN_NODE_ERROR_H_
