#ifndef SLUICE_GRAPH_PASSES_FEED_FETCH_H_
#define SLUICE_GRAPH_PASSES_FEED_FETCH_H_

// Makes the graph that one signature runs, from a graph and the names of feeds, fetches and targets.
//
// Note [Feeds and fetches]
// Feeding `x:0` moves every data edge from that output to a feed node, a root that is always live: consumers of a dead
// Switch port become live with it. The other outputs and the control edges of the fed node stay, so a fed op may still
// run; but the control edges of a Placeholder move to the feed node, because running a Placeholder can only fail. `x`
// and `x:0` are one endpoint. A feed that nothing needs is accepted and has no node. A fetch node ends the graph at
// each fetched output; the same output may be fetched twice. Then all nodes are removed from which no fetch or target
// can be reached. The cost depends only on the nodes that stay, however large the graph and its library are.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/base/limits.h"
#include "graph/base/stop_poll.h"
#include "graph/ir/graph.h"
#include "graph/value/shape.h"

namespace sluice {

// What a caller feeds and fetches, by name ("node", "node:2").
struct FeedFetchSpec {
  std::vector<std::string> feeds;
  std::vector<std::string> fetches;
  std::vector<std::string> targets;  // Names of nodes that run for their effect.
  // {from, to}: consumers of `to` read `from` instead, as if `from` were fed into `to` (TensorConnection).
  std::vector<std::pair<std::string, std::string>> connections;
  // Whether fetching a fed output returns the fed value, as in TensorFlow's Python sessions; otherwise that is
  // kFedAndFetched, as in its C++ sessions.
  bool fed_is_answer = false;
};

struct FeedFetchOptions {
  // How values enter and leave: by position through a call frame (_Arg, _Retval), or by name through the step's
  // rendezvous (_Recv, _Send with client_terminated; partial runs).
  enum class Convention { kFunction, kRendezvous };
  Convention convention = Convention::kFunction;
  // Device of feed and fetch nodes; may be empty.
  std::string client_device;
  int64_t client_incarnation = 0;
  LoadLimits limits;
  StopPoll* stop = nullptr;  // Polled; null: never stops.
};

// The graph of one signature.
struct FeedFetchGraph {
  // One fed or fetched tensor, in the order of the spec.
  struct Port {
    std::string endpoint;  // "node:slot".
    DType dtype = DType::kInvalid;
    PartialShape shape;  // What a fed value must match; of unknown rank for fetches.
    NodeId node;         // The feed or fetch node in `graph`; invalid for a feed that nothing needs.
  };

  Graph graph;
  std::vector<Port> feeds;
  std::vector<Port> fetches;
  std::vector<NodeId> targets;  // In `graph`.
};

// Cuts out of `graph` what `spec` needs. See Note [Feeds and fetches].
// Errors, all at once where possible: kNothingToRun; kFeedUnknown, kFetchUnknown, kTargetUnknown with near names;
// kFeedSlot, kFetchSlot, kFetchNoOutput; kFeedTwice, kFedAndFetched; kFeedMissing for a Placeholder that is sure to run
// and not fed; kOpInternal for an argument of a function that the graph is a dump of;
// kFetchInFrame and the frame rules for feeds into a loop; kInputRef when a fed variable would be written; kCycle when
// a connection closes one.
absl::StatusOr<FeedFetchGraph> ApplyFeedsAndFetches(const Graph& graph, const FeedFetchSpec& spec,
                                                    const FeedFetchOptions& options);

}  // namespace sluice

#endif  // SLUICE_GRAPH_PASSES_FEED_FETCH_H_
