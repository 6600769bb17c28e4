#ifndef SLUICE_GRAPH_PASSES_FEED_FETCH_H_
#define SLUICE_GRAPH_PASSES_FEED_FETCH_H_

// From a graph and the names of feeds, fetches and targets to the graph that one signature runs.
//
// Note [Feeds and fetches]
// Feeding `x:0` cuts every data edge out of that output and puts a feed node in its place, a root that is always live:
// whatever lies behind a dead Switch port becomes live with it. Other outputs of the fed node still come from it, and
// so do its control edges, so that a fed op may still run; but the control edges of a Placeholder move to the feed
// node, because a Placeholder can do nothing but fail. `x` and `x:0` are one endpoint. A feed that nothing needs is
// accepted and has no node. A fetch node ends the graph at each fetched output; the same output may be fetched twice.
// Then everything goes from which no fetch and no target can be reached. Cost: that of what stays, however large the
// graph and its library are: those are not even looked at as a whole.

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

// What a caller wants to give and to get, by name ("node", "node:2").
struct FeedFetchSpec {
  std::vector<std::string> feeds;
  std::vector<std::string> fetches;
  std::vector<std::string> targets;  // Names of nodes that run for their effect.
  // {from, to}: consumers of `to` read `from` instead, as if `from` were fed into `to` (TensorConnection).
  std::vector<std::pair<std::string, std::string>> connections;
  // A fetch of what is fed answers the fed value, as in TensorFlow's Python sessions; in its C++ ones, and without
  // this, it is kFedAndFetched.
  bool fed_is_answer = false;
};

struct FeedFetchOptions {
  // How values get in and out: by position through a call frame (_Arg, _Retval), or by name through the step's
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
