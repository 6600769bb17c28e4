#include "tests/fuzz/trial_requests.h"

#include <algorithm>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/testing/hostile_values.h"

namespace sluice {
namespace {

constexpr size_t kMaxFetches = 24;
constexpr int kRounds = 2;

// The attr "shape" of a Placeholder with unknown sizes filled in; any shape if the attr is missing or large, and
// sometimes otherwise.
Shape ShapeToFeed(const Graph& graph, NodeId id, FuzzRandom& random) {
  const absl::StatusOr<PartialShape> wanted = graph.GetShape(id, "shape");
  if (!wanted.ok() || wanted->rank() < 0 || random.OneIn(12)) return HostileShape(random);
  std::vector<int64_t> dims;
  int64_t count = 1;
  for (int i = 0; i < wanted->rank(); ++i) {
    dims.push_back(wanted->dim(i) >= 0 ? wanted->dim(i) : random.Int(4));
    if (dims.back() > 10'000 || (count *= std::max<int64_t>(dims.back(), 1)) > 10'000) return HostileShape(random);
  }
  const absl::StatusOr<Shape> shape = Shape::Make(dims);
  return shape.ok() ? *shape : HostileShape(random);
}

Tensor ValueToFeed(const Graph& graph, NodeId id, FuzzRandom& random, Allocator& allocator) {
  DType type = BaseType(graph.output_type(id, 0));
  if (random.OneIn(80) || !IsSupported(type)) type = static_cast<DType>(1 + random.Int(23));
  const uint64_t kind = random.Below(8);
  return HostileTensor(type, ShapeToFeed(graph, id, random),
                       kElementKinds[kind < 4   ? 0
                                     : kind < 6 ? 1
                                                : 2],
                       random, allocator);
}

// Adds what can be asked of `id`: its outputs, or itself.
void Ask(const Graph& graph, NodeId id, FeedFetchSpec* spec) {
  const size_t num_outputs = graph.signature(id).outputs.size();
  for (size_t i = 0; i < num_outputs && spec->fetches.size() < kMaxFetches; ++i) {
    spec->fetches.push_back(absl::StrCat(graph.name(id), ":", i));
  }
  if (num_outputs == 0) spec->targets.push_back(std::string(graph.name(id)));
}

bool IsPlaceholder(const Graph& graph, NodeId id) { return absl::StartsWith(graph.op(id).name, "Placeholder"); }

// The feeds of one request, values for all rounds.
void Feed(const Graph& graph, uint64_t seed, Allocator& allocator, TrialRequest* request) {
  request->rounds.resize(kRounds);
  for (const NodeId id : graph.Nodes()) {
    const uint64_t hash = HashOf(graph.name(id), seed);
    const bool is_fed = IsPlaceholder(graph, id) ? hash % 64 != 0 : hash % 97 == 0;
    if (!is_fed || graph.signature(id).outputs.size() != 1) continue;
    request->spec.feeds.push_back(absl::StrCat(graph.name(id), ":0"));
    for (size_t round = 0; round < kRounds; ++round) {
      FuzzRandom random(hash + round);
      request->rounds[round].push_back(ValueToFeed(graph, id, random, allocator));
    }
  }
}

}  // namespace

uint64_t HashOf(absl::string_view text, uint64_t seed) {
  uint64_t hash = 0xcbf29ce484222325u ^ (seed * 0x9e3779b97f4a7c15u);
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash ^ (hash >> 29);
}

std::vector<TrialRequest> MakeTrialRequests(const Graph& graph, uint64_t seed, Allocator& allocator) {
  const std::vector<NodeId> nodes = graph.Nodes();
  std::vector<bool> is_used(nodes.empty() ? 0 : static_cast<size_t>(nodes.back().value()) + 1);
  for (const NodeId id : nodes) {
    for (const Output& input : graph.all_inputs(id)) is_used[static_cast<size_t>(input.node.value())] = true;
  }
  std::vector<TrialRequest> requests(3);
  for (const NodeId id : nodes) {
    if (IsPlaceholder(graph, id)) continue;
    const uint64_t hash = HashOf(graph.name(id), seed + 1);
    if (!is_used[static_cast<size_t>(id.value())]) Ask(graph, id, &requests[0].spec);
    // One or two nodes each, whatever the size of the graph.
    if (hash % nodes.size() < 1) Ask(graph, id, &requests[1].spec);
    if ((hash >> 20) % nodes.size() < 2) Ask(graph, id, &requests[2].spec);
    if ((hash >> 40) % (nodes.size() * 4) == 0) requests[2].spec.targets.push_back(std::string(graph.name(id)));
  }
  for (size_t i = 0; i < requests.size(); ++i) Feed(graph, seed + i, allocator, &requests[i]);
  requests.erase(std::remove_if(requests.begin(), requests.end(),
                                [](const TrialRequest& r) { return r.spec.fetches.empty() && r.spec.targets.empty(); }),
                 requests.end());
  return requests;
}

}  // namespace sluice
