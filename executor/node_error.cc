#include "executor/node_error.h"

#include <new>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "graph/base/as_status.h"
#include "graph/base/error.h"
#include "graph/ir/made_nodes.h"
#include "graph/value/ref_cell.h"
#include "kernels/kernel_context.h"

namespace sluice {
namespace {

// Note [Names of inputs]
// A kernel does not know which tensor it was given: it says input 1, and may say how its op calls that argument
// ("dims"). A user looks for the tensor, so `input_name` becomes its name, and the argument follows in the text:
// "input 1 'net/sizes' (argument 'dims')". A node that a rewrite made is another op than the user's: the names of its
// arguments say nothing.
void NameInput(const Graph& graph, NodeId id, const Output& input, ErrorInfo* info) {
  const std::string argument = std::move(info->input_name);
  info->input_name = UserOutputName(graph, input);
  const bool is_made = MadeForOf(graph, id).op != graph.op_name(id);
  if (argument.empty() || argument == info->input_name || is_made) return;
  info->text = absl::StrCat("(argument '", PrintableName(argument), "')", info->text.empty() ? "" : " ", info->text);
}

}  // namespace

absl::Status AtNode(const Graph& graph, NodeId id, const absl::Status& status) {
  if (status.ok() || !graph.Contains(id)) return status;
  std::optional<ErrorInfo> info = ErrorInfoOf(status);
  const absl::Span<const Output> inputs = graph.inputs(id);
  if (info.has_value() && info->input >= 0 && info->node.empty() && static_cast<size_t>(info->input) < inputs.size()) {
    NameInput(graph, id, inputs[static_cast<size_t>(info->input)], &*info);
    return graph.Locate(id, MakeError(*info));
  }
  return graph.Locate(id, status);
}

absl::Status UninitializedInput(int32_t input) {
  return Error(ErrorCode::kUninitialized).Input(input).Text("refers to an uninitialized variable: it has no value yet");
}

absl::Status CheckOutput(uint32_t i, const Entry& output, DType declared, bool is_read) {
  switch (output.state()) {
    case Entry::State::kDead:
      return Error(ErrorCode::kOutputMissing)
          .Text(absl::StrCat("output ", i, " was left dead by a kernel that is not a transfer"));
    case Entry::State::kNone:
      if (!is_read) return absl::OkStatus();
      return Error(ErrorCode::kOutputMissing).Text(absl::StrCat("output ", i, " was not set by the kernel"));
    default:
      break;
  }
  const DType found = output.is_ref() ? output.ref()->dtype() : output.value().dtype();
  if (output.is_ref() ? IsRef(declared) && found == BaseType(declared) : found == declared) return absl::OkStatus();
  return Error(ErrorCode::kOutputType)
      .Found(absl::StrCat(DTypeName(found), output.is_ref() ? " (reference)" : ""))
      .Expected(DTypeName(declared))
      .Text(absl::StrCat("output ", i, " has the wrong dtype"));
}

absl::Status DeadlinePassed() noexcept {
  try {
    return Error(ErrorCode::kDeadline).Text("the deadline of the run has passed");
  } catch (...) {
    return absl::Status(absl::StatusCode::kDeadlineExceeded, "");  // Needs no memory.
  }
}

absl::Status StatusOfException() noexcept {
  try {
    try {
      throw;
    } catch (const KernelCancelled&) {
      return Error(ErrorCode::kRunCancelled).Text("the run was cancelled");
    } catch (const std::bad_alloc&) {
      return Error(ErrorCode::kOutOfMemory).Text("the kernel could not get the memory it needs");
    }
  } catch (...) {
    return StatusOfCaught(ErrorCode::kKernelException);
  }
}

absl::Status StatusOfException(const Graph& graph, NodeId id) noexcept {
  const absl::Status status = StatusOfException();
  try {
    return AtNode(graph, id, status);
  } catch (...) {
    return status;
  }
}

}  // namespace sluice
