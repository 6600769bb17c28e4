#include "graph/passes/endpoint_resolver.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/base/nearest_names.h"
#include "graph/ir/tensor_id.h"

namespace sluice {
namespace {

std::string SlotText(int32_t slot) { return slot < 0 ? "its control output" : absl::StrCat("slot ", slot); }

// An error about the existing node `id`, whose output `slot` is asked for and not there.
absl::Status NoSuchSlot(ErrorCode code, const Graph& graph, NodeId id, absl::string_view role, int32_t slot) {
  const int32_t outputs = graph.num_outputs(id);
  return Error(code)
      .Node(graph.name(id), graph.op_name(id))
      .Found(SlotText(slot))
      .Expected(outputs == 0 ? "no slot: the node has no outputs" : absl::StrCat("a slot below ", outputs))
      .Text(absl::StrCat("cannot be ", role, " there"));
}

// Whether the node has an output with this number, as something to fetch.
absl::Status CheckFetched(const Graph& graph, NodeId node, int32_t slot) {
  const bool has_value = slot >= 0 && graph.num_outputs(node) > 0;
  if (has_value && slot < graph.num_outputs(node)) return absl::OkStatus();
  return NoSuchSlot(has_value ? ErrorCode::kFetchSlot : ErrorCode::kFetchNoOutput, graph, node, "fetched", slot);
}

}  // namespace

absl::Status UnknownEndpoint(const Graph& graph, ErrorCode code, absl::string_view role, absl::string_view text) {
  const absl::string_view wanted = ParseTensorId(text).node;
  std::vector<absl::string_view> names;
  names.reserve(graph.num_nodes());
  for (NodeId id : graph.Nodes()) names.push_back(graph.name(id));
  const std::vector<std::string> near = NearestNames(wanted, names, 3);
  ErrorBuilder error = Error(code);
  error.Text(absl::StrCat(role, " '", PrintableName(text), "': the graph has no node '", PrintableName(wanted), "'"));
  if (!near.empty()) error.Help(absl::StrCat("did you mean '", absl::StrJoin(near, "' or '"), "'?"));
  return error;
}

absl::Status CheckNodeOrTensor(const Graph& graph, absl::string_view role, absl::string_view text) {
  const TensorId parsed = ParseTensorId(text);
  const NodeId node = graph.Find(parsed.node);
  if (!graph.Contains(node)) return UnknownEndpoint(graph, ErrorCode::kFetchUnknown, role, text);
  return parsed.node == text ? absl::OkStatus() : CheckFetched(graph, node, parsed.index);
}

void EndpointResolver::MarkFed(absl::string_view text, const Output& output) {
  const int32_t index = static_cast<int32_t>(resolved_.fed.size());
  resolved_.fed.push_back(output);
  if (resolved_.fed_index.emplace(output, index).second) return;
  errors_.Add(Error(ErrorCode::kFeedTwice)
                  .Text(absl::StrCat("feed '", PrintableName(text), "': '", PrintableName(graph_.OutputName(output)),
                                     "' is fed twice")));
}

void EndpointResolver::AddFeed(absl::string_view text) {
  const TensorId parsed = ParseTensorId(text);
  const NodeId node = graph_.Find(parsed.node);
  if (!graph_.Contains(node)) return errors_.Add(UnknownEndpoint(graph_, ErrorCode::kFeedUnknown, "feed", text));
  if (parsed.index < 0 || parsed.index >= graph_.num_outputs(node)) {
    return errors_.Add(NoSuchSlot(ErrorCode::kFeedSlot, graph_, node, "fed", parsed.index));
  }
  MarkFed(text, Output{node, parsed.index});
}

Output EndpointResolver::ConnectionEnd(absl::string_view text) {
  const TensorId parsed = ParseTensorId(text);
  const NodeId node = graph_.Find(parsed.node);
  if (!graph_.Contains(node)) {
    errors_.Add(UnknownEndpoint(graph_, ErrorCode::kFeedUnknown, "connection", text));
    return Output();
  }
  if (parsed.index < 0 || parsed.index >= graph_.num_outputs(node)) {
    errors_.Add(NoSuchSlot(ErrorCode::kFeedUnknown, graph_, node, "connected", parsed.index));
    return Output();
  }
  return Output{node, parsed.index};
}

void EndpointResolver::AddConnection(absl::string_view from, absl::string_view to) {
  const Output source = ConnectionEnd(from);
  const Output target = ConnectionEnd(to);
  if (!source.is_set() || !target.is_set()) return;
  const DType have = BaseType(graph_.output_type(source.node, source.index));
  const DType want = BaseType(graph_.output_type(target.node, target.index));
  if (have != want) {
    return errors_.Add(Error(ErrorCode::kFeedType)
                           .Node(graph_.name(target.node), graph_.op_name(target.node))
                           .Text(absl::StrCat("connected to '", PrintableName(from), "'"))
                           .Found(DTypeName(have))
                           .Expected(DTypeName(want)));
  }
  resolved_.sources.push_back(source);
  MarkFed(to, target);
}

void EndpointResolver::AddFetch(absl::string_view text) {
  const TensorId parsed = ParseTensorId(text);
  const NodeId node = graph_.Find(parsed.node);
  if (!graph_.Contains(node)) return errors_.Add(UnknownEndpoint(graph_, ErrorCode::kFetchUnknown, "fetch", text));
  if (absl::Status fits = CheckFetched(graph_, node, parsed.index); !fits.ok()) return errors_.Add(std::move(fits));
  const Output output{node, parsed.index};
  resolved_.fetches.push_back(output);
  const int32_t num_feeds = static_cast<int32_t>(resolved_.fed.size() - resolved_.sources.size());
  const int32_t feed = resolved_.FedBy(output);
  if (feed < 0 || (fed_is_answer_ && feed < num_feeds)) return;
  errors_.Add(Error(ErrorCode::kFedAndFetched)
                  .Text(absl::StrCat("'", PrintableName(graph_.name(node)), ":", parsed.index,
                                     "' is fed and fetched in one run")));
}

void EndpointResolver::AddTarget(absl::string_view text) {
  const NodeId node = graph_.Find(ParseTensorId(text).node);  // Of "node:1" and "^node" the node is meant.
  if (!graph_.Contains(node)) return errors_.Add(UnknownEndpoint(graph_, ErrorCode::kTargetUnknown, "target", text));
  resolved_.targets.push_back(node);
}

absl::StatusOr<ResolvedSpec> EndpointResolver::Resolve(const FeedFetchSpec& spec) {
  if (spec.fetches.empty() && spec.targets.empty()) {
    return absl::Status(Error(ErrorCode::kNothingToRun).Text("no fetches and no targets"));
  }
  fed_is_answer_ = spec.fed_is_answer;
  for (const std::string& feed : spec.feeds) AddFeed(feed);
  for (const auto& connection : spec.connections) AddConnection(connection.first, connection.second);
  for (const std::string& fetch : spec.fetches) AddFetch(fetch);
  for (const std::string& target : spec.targets) AddTarget(target);
  const absl::Status status = errors_.Finish();
  if (!status.ok()) return status;
  return std::move(resolved_);
}

}  // namespace sluice
