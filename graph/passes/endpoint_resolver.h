#ifndef SLUICE_GRAPH_PASSES_ENDPOINT_RESOLVER_H_
#define SLUICE_GRAPH_PASSES_ENDPOINT_RESOLVER_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "graph/base/error.h"
#include "graph/base/hash_table.h"
#include "graph/ir/graph.h"
#include "graph/passes/feed_fetch.h"

namespace sluice {

// A spec with its names looked up.
struct ResolvedSpec {
  // Outputs that are replaced: first the feeds, then the targets of connections, in order.
  std::vector<Output> fed;
  std::vector<Output> sources;  // Of connections.
  std::vector<Output> fetches;
  std::vector<NodeId> targets;
  HashMap<Output, int32_t> fed_index;

  // The index in `fed` of `output`, or -1 if it is not replaced.
  int32_t FedBy(const Output& output) const {
    const auto found = fed_index.find(output);
    return found == fed_index.end() ? -1 : found->second;
  }
};

// The error `code` about the endpoint `text`, used as `role` ("fetch"), whose node `graph` does not have; with the
// nearest names it has.
absl::Status UnknownEndpoint(const Graph& graph, ErrorCode code, absl::string_view role, absl::string_view text);

// Whether `graph` has what `text` names: a node, which may be one without outputs, or the output of "node:1".
// kFetchUnknown; kFetchSlot; kFetchNoOutput of "^node", and of "node:0" where the node has no outputs.
absl::Status CheckNodeOrTensor(const Graph& graph, absl::string_view role, absl::string_view text);

// Looks the names of a FeedFetchSpec up in a graph and reports all that is wrong with them.
// Borrows the graph; lives for one call.
class EndpointResolver {
 public:
  explicit EndpointResolver(const Graph& graph) : graph_(graph) {}

  // The names of `spec` as outputs and ids; see ApplyFeedsAndFetches for the errors.
  absl::StatusOr<ResolvedSpec> Resolve(const FeedFetchSpec& spec);

 private:
  void AddFeed(absl::string_view text);
  void AddConnection(absl::string_view from, absl::string_view to);
  void AddFetch(absl::string_view text);
  void AddTarget(absl::string_view text);
  // Remembers that `output` is fed; kFeedTwice when it already is.
  void MarkFed(absl::string_view text, const Output& output);
  // The end of a connection called `text`; an unset Output after an error.
  Output ConnectionEnd(absl::string_view text);

  const Graph& graph_;
  ResolvedSpec resolved_;
  bool fed_is_answer_ = false;
  ErrorCollector errors_;
};

}  // namespace sluice

#endif  // SLUICE_GRAPH_PASSES_ENDPOINT_RESOLVER_H_
