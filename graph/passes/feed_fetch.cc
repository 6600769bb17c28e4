#include "graph/passes/feed_fetch.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/hash_table.h"
#include "graph/base/status_macros.h"
#include "graph/ir/control_flow_check.h"
#include "graph/ir/extract.h"
#include "graph/ir/made_nodes.h"
#include "graph/ir/op_class.h"
#include "graph/ir/topo_order.h"
#include "graph/passes/endpoint_resolver.h"
#include "graph/passes/fed_shape.h"
#include "graph/placement/reachable_functions.h"

namespace sluice {
namespace {

// The nodes seen by a walk: a bit for each node of the graph when many were seen, else a set.
class NodeMarks {
 public:
  explicit NodeMarks(int32_t id_limit) : id_limit_(static_cast<size_t>(id_limit)) {
    if (id_limit_ < kBitsPerNode * 16) bits_.assign(id_limit_, false);
  }

  // Whether it was not seen before.
  bool Insert(NodeId id) {
    if (bits_.empty()) {
      if (!few_.insert(id.value()).second) return false;
      if (few_.size() > id_limit_ / kBitsPerNode) UseBits();
      return true;
    }
    const size_t i = static_cast<size_t>(id.value());
    if (bits_[i]) return false;
    bits_[i] = true;
    return true;
  }
  // `seen`, all that were, by id.
  void Sort(std::vector<NodeId>* seen) const {
    if (seen->size() < bits_.size() / 16 || bits_.empty()) return std::sort(seen->begin(), seen->end());
    seen->clear();  // Of many nodes the bits say more quickly which they are.
    for (size_t i = 0; i < bits_.size(); ++i) {
      if (bits_[i]) seen->push_back(NodeId(static_cast<int32_t>(i)));
    }
  }

 private:
  static constexpr size_t kBitsPerNode = 1024;  // Clearing them costs less than looking at the node.

  void UseBits() {
    bits_.assign(id_limit_, false);
    for (const int32_t i : few_) bits_[static_cast<size_t>(i)] = true;
  }

  const size_t id_limit_;
  HashSet<int32_t> few_;
  std::vector<bool> bits_;  // Empty: they are in few_.
};

// Builds one FeedFetchGraph. Lives for one call.
class FeedFetchRewriter {
 public:
  FeedFetchRewriter(const Graph& graph, const FeedFetchOptions& options, ResolvedSpec spec)
      : graph_(graph),
        options_(options),
        spec_(std::move(spec)),
        placeholder_(graph.FindOp("Placeholder")),
        placeholder_v2_(graph.FindOp("PlaceholderV2")),
        seen_(graph.id_limit()),
        needed_(spec_.fed.size(), false),
        feed_nodes_(spec_.fed.size()),
        result_{Graph(graph.ops()), {}, {}, {}} {}

  absl::StatusOr<FeedFetchGraph> Run() {
    for (size_t i = 0; i < spec_.fed.size(); ++i) {
      if (IsPlaceholder(spec_.fed[i].node)) placeholders_.emplace(spec_.fed[i].node, static_cast<int32_t>(i));
    }
    SLUICE_RETURN_IF_ERROR(Mark());
    SLUICE_RETURN_IF_ERROR(CheckKept());
    Extract();
    SLUICE_RETURN_IF_ERROR(PollStop(options_.stop, static_cast<int64_t>(kept_.size())));
    SLUICE_RETURN_IF_ERROR(AddFeedNodes());
    SLUICE_RETURN_IF_ERROR(Rewire());
    if (!spec_.sources.empty()) SLUICE_RETURN_IF_ERROR(CheckAcyclic(result_.graph));
    SLUICE_RETURN_IF_ERROR(CheckFrames());
    SLUICE_RETURN_IF_ERROR(AddFetchNodes());
    for (NodeId target : spec_.targets) result_.targets.push_back(NewId(target));
    return std::move(result_);
  }

 private:
  // A use of a fed output: data input `input` of `node`, or (kControlIndex) a control edge out of a fed Placeholder.
  struct Cut {
    NodeId node;
    int32_t input;
    int32_t feed;
  };

  size_t num_feeds() const { return spec_.fed.size() - spec_.sources.size(); }
  bool IsPlaceholder(NodeId id) const {
    const OpSchema* const op = &graph_.op(id);
    return op == placeholder_ || op == placeholder_v2_;
  }
  NodeId NewId(NodeId old) const { return moved_.Of(old); }

  // The kept nodes with the functions they need; few functions are copied whole, which is quicker.
  void Extract() {
    if (graph_.library().size() > kept_.size()) {
      result_.graph = ExtractNodes(graph_, kept_, ExtractedLibrary::kNone, &moved_);
      if (AddReachableFunctions(graph_, result_.graph)) return;
    }
    result_.graph = ExtractNodes(graph_, kept_, ExtractedLibrary::kAll, &moved_);
  }

  // Walks back from fetches and targets, stopping at fed outputs; fills kept_ (ascending), needed_ and cuts_.
  absl::Status Mark() {
    for (const Output& fetch : spec_.fetches) {
      const int32_t feed = spec_.FedBy(fetch);  // The fed value is the result.
      feed < 0 ? Visit(fetch.node) : Need(feed);
    }
    for (NodeId target : spec_.targets) Visit(target);
    for (size_t next = 0; next < kept_.size(); ++next) {  // kept_ is its own queue.
      SLUICE_RETURN_IF_ERROR(PollStop(options_.stop));
      const NodeId id = kept_[next];
      SLUICE_RETURN_IF_ERROR(CheckSources(id));
      const absl::Span<const Output> inputs = graph_.inputs(id);
      for (size_t i = 0; i < inputs.size(); ++i) VisitInput(id, static_cast<int32_t>(i), inputs[i]);
      for (const Output& control : graph_.controls(id)) VisitControl(id, control.node);
    }
    seen_.Sort(&kept_);
    return absl::OkStatus();
  }

  // A rewrite of a host may have removed a node and left its consumers.
  absl::Status CheckSources(NodeId id) const {
    const absl::Span<const Output> sources = graph_.all_inputs(id);
    for (size_t i = 0; i < sources.size(); ++i) {
      if (!sources[i].is_set() || graph_.Contains(sources[i].node)) continue;
      return graph_.Locate(id, Error(ErrorCode::kInputUnknown)
                                   .Input(static_cast<int32_t>(i))
                                   .Text("comes from a node that was removed from the graph"));
    }
    return absl::OkStatus();
  }

  void Visit(NodeId id) {
    if (seen_.Insert(id)) kept_.push_back(id);
  }

  void VisitInput(NodeId id, int32_t i, const Output& source) {
    if (!source.is_set()) return;
    const int32_t feed = spec_.fed.empty() ? -1 : spec_.FedBy(source);
    if (feed < 0) return Visit(source.node);
    cuts_.push_back({id, i, feed});
    Need(feed);
  }

  void VisitControl(NodeId id, NodeId predecessor) {
    const auto found = placeholders_.empty() ? placeholders_.end() : placeholders_.find(predecessor);
    if (found == placeholders_.end()) return Visit(predecessor);
    cuts_.push_back({id, kControlIndex, found->second});
    Need(found->second);
  }

  // Feed `index` is used; a connection needs its source in turn, which may be fed itself.
  void Need(int32_t index) {
    for (size_t i = static_cast<size_t>(index); !needed_[i];) {
      needed_[i] = true;
      if (i < num_feeds()) return;
      const Output& source = spec_.sources[i - num_feeds()];
      const int32_t feed = spec_.FedBy(source);
      if (feed < 0) return Visit(source.node);
      i = static_cast<size_t>(feed);
    }
  }

  // A Placeholder without control inputs is a root that runs in every step, and can only fail. So does an argument of a
  // function that the graph is a dump of, which must not be taken for one of the step.
  absl::Status CheckKept() const {
    ErrorCollector errors;
    for (NodeId id : kept_) {
      const OpClass op_class = graph_.op(id).op_class;
      if (op_class == OpClass::kArg || op_class == OpClass::kRetval) {
        const absl::string_view way_out =
            op_class == OpClass::kArg ? "feed it with the argument" : "fetch its input instead";
        errors.Add(graph_.Locate(id, Error(ErrorCode::kOpInternal).Text("is outside of a function").Help(way_out)));
        continue;
      }
      if (!IsPlaceholder(id) || !graph_.controls(id).empty()) continue;
      const absl::StatusOr<DType> dtype = graph_.GetType(id, "dtype");
      errors.Add(graph_.Locate(id, Error(ErrorCode::kFeedMissing)
                                       .Text("is needed and not fed")
                                       .Expected(absl::StrCat("a feed of ", dtype.ok() ? DTypeName(*dtype) : "?", " ",
                                                              FedShape(graph_, Output{id, 0}).ToString()))));
    }
    return errors.Finish();
  }

  std::string Endpoint(const Output& output) const { return absl::StrCat(graph_.name(output.node), ":", output.index); }

  absl::Status AddFeedNodes() {
    for (size_t i = 0; i < num_feeds(); ++i) {
      const Output& fed = spec_.fed[i];
      const DType dtype = BaseType(graph_.output_type(fed.node, fed.index));
      if (needed_[i]) {
        SLUICE_ASSIGN_OR_RETURN(feed_nodes_[i], AddFeedNode(i, fed, dtype));
      }
      result_.feeds.push_back({Endpoint(fed), dtype, FedShape(graph_, fed), feed_nodes_[i]});
    }
    // Connections last: their sources may be feeds; or other connections, hence the input is set in Rewire().
    for (size_t i = num_feeds(); i < spec_.fed.size(); ++i) {
      if (!needed_[i]) continue;
      SLUICE_ASSIGN_OR_RETURN(feed_nodes_[i], AddConnectionNode(spec_.fed[i]));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<NodeId> AddFeedNode(size_t index, const Output& fed, DType dtype) {
    NodeSpec node;
    std::string name;
    if (options_.convention == FeedFetchOptions::Convention::kFunction) {
      name = absl::StrCat("_arg_", graph_.name(fed.node), "_", fed.index, "_", index);
      node.op = "_Arg";
      node.attrs = {{"T", dtype}, {"index", static_cast<int64_t>(index)}};
    } else {
      name = absl::StrCat("_recv_", graph_.name(fed.node), "_", fed.index);
      node.op = "_Recv";
      node.attrs = TransferAttrs(fed);
      node.attrs.push_back({"tensor_type", dtype});
    }
    node.attrs.push_back(MadeForAttr({"feed", std::string(graph_.name(fed.node)), fed.index}));
    return AddClientNode(name, &node);
  }

  absl::StatusOr<NodeId> AddConnectionNode(const Output& target) {
    NodeSpec node;
    node.op = "Identity";
    node.attrs = {{"T", BaseType(graph_.output_type(target.node, target.index))},
                  MadeForAttr({"connection", std::string(graph_.name(target.node)), target.index})};
    node.inputs = {Output()};
    node.device = graph_.device(target.node);
    const std::string name =
        result_.graph.UniqueName(absl::StrCat("_identity_", graph_.name(target.node), "_", target.index));
    node.name = name;
    return result_.graph.AddNode(node);
  }

  // Attrs of a _Recv or _Send between the client and the graph.
  std::vector<std::pair<std::string, AttrValue>> TransferAttrs(const Output& output) const {
    return {{"tensor_name", Endpoint(output)},
            {"send_device", options_.client_device},
            {"recv_device", options_.client_device},
            {"send_device_incarnation", options_.client_incarnation},
            {"client_terminated", true}};
  }

  absl::StatusOr<NodeId> AddClientNode(absl::string_view name, NodeSpec* node) {
    const std::string unique = result_.graph.UniqueName(name);
    node->name = unique;
    node->device = options_.client_device;
    return result_.graph.AddNode(*node);
  }

  // Where the value of `output` comes from in the new graph.
  Output NewSource(const Output& output) const {
    const int32_t feed = spec_.FedBy(output);
    if (feed < 0) return Output{NewId(output.node), output.index};
    return Output{feed_nodes_[static_cast<size_t>(feed)], 0};
  }

  absl::Status Rewire() {
    Graph& graph = result_.graph;
    for (const Cut& cut : cuts_) {
      const NodeId feed = feed_nodes_[static_cast<size_t>(cut.feed)];
      if (cut.input == kControlIndex) {
        SLUICE_RETURN_IF_ERROR(graph.AddControl(NewId(cut.node), feed));
      } else {
        SLUICE_RETURN_IF_ERROR(graph.SetInput(NewId(cut.node), cut.input, Output{feed, 0}));
      }
    }
    for (size_t i = num_feeds(); i < spec_.fed.size(); ++i) {
      if (!needed_[i]) continue;
      SLUICE_RETURN_IF_ERROR(graph.SetInput(feed_nodes_[i], 0, NewSource(spec_.sources[i - num_feeds()])));
    }
    return absl::OkStatus();
  }

  // Frames must still fit after feeding, and what is fetched must lie outside of them.
  absl::Status CheckFrames() const {
    SLUICE_ASSIGN_OR_RETURN(const ControlFlowInfo info, BuildControlFlowInfo(result_.graph, options_.limits));
    if (!info.has_frames) return absl::OkStatus();
    for (const Output& fetch : spec_.fetches) {
      if (spec_.FedBy(fetch) >= 0) continue;
      const NodeId id = NewId(fetch.node);
      const int32_t frame = OutputFrame(result_.graph, info, id);
      if (frame == 0) continue;
      return result_.graph.Locate(
          id, Error(ErrorCode::kFetchInFrame)
                  .Text(absl::StrCat("cannot be fetched: it has one value per iteration of the loop '",
                                     PrintableName(info.frames[static_cast<size_t>(frame)].name), "'")));
    }
    return absl::OkStatus();
  }

  // An Exit's value stands in the parent of its frame.
  static int32_t OutputFrame(const Graph& graph, const ControlFlowInfo& info, NodeId id) {
    const int32_t frame = info.frame(id);
    const bool exits = graph.op(id).op_class == OpClass::kExit;
    return exits && frame > 0 ? info.frames[static_cast<size_t>(frame)].parent : frame;
  }

  absl::Status AddFetchNodes() {
    HashMap<Output, NodeId> sends;
    for (size_t i = 0; i < spec_.fetches.size(); ++i) {
      const Output& fetch = spec_.fetches[i];
      FeedFetchGraph::Port port;
      port.endpoint = Endpoint(fetch);
      port.dtype = BaseType(graph_.output_type(fetch.node, fetch.index));
      if (options_.convention == FeedFetchOptions::Convention::kFunction) {
        SLUICE_ASSIGN_OR_RETURN(port.node, AddRetval(i, fetch, port.dtype));
      } else {
        NodeId& send = sends[fetch];  // One value under one key, however often it is asked for.
        if (!send.valid()) {
          SLUICE_ASSIGN_OR_RETURN(send, AddSend(fetch, port.dtype));
        }
        port.node = send;
      }
      result_.fetches.push_back(std::move(port));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<NodeId> AddRetval(size_t index, const Output& fetch, DType dtype) {
    NodeSpec node;
    node.op = "_Retval";
    node.inputs = {NewSource(fetch)};
    node.attrs = {
        {"T", dtype}, {"index", static_cast<int64_t>(index)}, MadeForAttr({"fetch", graph_.OutputName(fetch)})};
    return AddClientNode(absl::StrCat("_retval_", graph_.name(fetch.node), "_", fetch.index, "_", index), &node);
  }

  absl::StatusOr<NodeId> AddSend(const Output& fetch, DType dtype) {
    NodeSpec node;
    node.op = "_Send";
    node.inputs = {NewSource(fetch)};
    node.attrs = TransferAttrs(fetch);
    node.attrs.push_back({"T", dtype});
    node.attrs.push_back(MadeForAttr({"fetch", graph_.OutputName(fetch)}));
    return AddClientNode(absl::StrCat("_send_", graph_.name(fetch.node), "_", fetch.index), &node);
  }

  const Graph& graph_;
  const FeedFetchOptions& options_;
  const ResolvedSpec spec_;
  const OpSchema* const placeholder_;
  const OpSchema* const placeholder_v2_;
  HashMap<NodeId, int32_t> placeholders_;  // Fed ones, and their feed.
  NodeMarks seen_;
  std::vector<NodeId> kept_;
  std::vector<bool> needed_;        // By feed.
  std::vector<NodeId> feed_nodes_;  // By feed, in the new graph.
  std::vector<Cut> cuts_;
  MovedNodes moved_;
  FeedFetchGraph result_;
};

}  // namespace

absl::StatusOr<FeedFetchGraph> ApplyFeedsAndFetches(const Graph& graph, const FeedFetchSpec& spec,
                                                    const FeedFetchOptions& options) {
  SLUICE_ASSIGN_OR_RETURN(ResolvedSpec resolved, EndpointResolver(graph).Resolve(spec));
  return FeedFetchRewriter(graph, options, std::move(resolved)).Run();
}

}  // namespace sluice
