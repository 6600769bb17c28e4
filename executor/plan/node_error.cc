#include "executor/plan/node_error.h"

#include <algorithm>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "executor/trace/node_observer.h"
#include "graph/base/as_status.h"
#include "graph/base/error.h"
#include "graph/ir/made_nodes.h"
#include "graph/ir/op_class.h"
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

// Whether the node calls functions, itself or by its kernel.
bool IsCall(const Graph& graph, NodeId id) {
  const OpSchema& op = graph.op(id);
  const auto names_functions = [](const AttrSpec& attr) { return ElementType(attr.type) == AttrType::kFunc; };
  return op.op_class == OpClass::kCall || graph.library().Contains(op.name) ||
         std::any_of(op.attrs.begin(), op.attrs.end(), names_functions);
}

// An error of a node of the body that `id` calls.
absl::Status AtCall(const Graph& graph, NodeId id, ErrorInfo info) {
  std::string input = ArgumentName(graph, id, info.input_name);
  if (input.empty()) return WithCallPath(MakeError(info), absl::StrCat(graph.name(id), "/"));
  info.node = absl::StrCat(graph.name(id), "/", info.node);
  info.input_name = std::move(input);
  return MakeError(info);
}

}  // namespace

absl::Status AtNode(const Graph& graph, NodeId id, const absl::Status& status) {
  if (status.ok() || !graph.Contains(id)) return status;
  std::optional<ErrorInfo> info = ErrorInfoOf(status);
  if (info.has_value() && !info->node.empty() && IsCall(graph, id)) return AtCall(graph, id, *std::move(info));
  const absl::Span<const Output> inputs = graph.inputs(id);
  if (info.has_value() && info->input >= 0 && info->node.empty() && static_cast<size_t>(info->input) < inputs.size()) {
    NameInput(graph, id, inputs[static_cast<size_t>(info->input)], &*info);
    return graph.Locate(id, MakeError(*info));
  }
  return graph.Locate(id, status);
}

std::string ArgumentName(const Graph& graph, NodeId call, absl::string_view name) {
  const OpSchema* callee = graph.library().FindSchema(graph.op_name(call));
  AttrView value;
  // A kernel that calls a function may give it anything: not its node's inputs, or in another order.
  if (callee == nullptr && graph.op(call).op_class == OpClass::kCall && graph.FindAttr(call, "f", &value)) {
    const absl::StatusOr<FuncView> function = value.AsFunc();
    if (function.ok()) callee = graph.library().FindSchema(function->name);
  }
  const absl::Span<const Output> inputs = graph.inputs(call);
  if (name.empty() || callee == nullptr || callee->inputs.size() != inputs.size()) return "";
  for (size_t i = 0; i < inputs.size(); ++i) {
    const ArgSpec& argument = callee->inputs[i];
    if (!argument.number_attr.empty() || !argument.type_list_attr.empty()) return "";
    if (argument.name == name) return UserOutputName(graph, inputs[i]);
  }
  return "";
}

absl::Status WithCallPath(const absl::Status& status, absl::string_view path) {
  std::optional<ErrorInfo> info = ErrorInfoOf(status);
  if (!info.has_value() || info->node.empty()) return status;
  info->node = absl::StrCat(path, info->node);
  if (!info->input_name.empty()) info->input_name = absl::StrCat(path, info->input_name);
  return MakeError(*info);
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
    } catch (const ObserverFailure& failure) {
      return failure.status();
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
