#include "tests/fuzz/graph_subject.h"

#include <algorithm>
#include <cstring>

namespace sluice {
namespace {

// Field 5000, eight bytes.
constexpr char kSeedTag[] = {'\xc1', '\xb8', '\x02'};
constexpr size_t kSeedBytes = sizeof(kSeedTag) + sizeof(uint64_t);

absl::string_view Tag() { return absl::string_view(kSeedTag, sizeof(kSeedTag)); }

absl::string_view WithoutTrialSeed(absl::string_view input) {
  if (input.size() < kSeedBytes || input.substr(input.size() - kSeedBytes, sizeof(kSeedTag)) != Tag()) return input;
  return input.substr(0, input.size() - kSeedBytes);
}

// What `graph` looks like with parts left out of one list of nodes: halves, quarters, ..., single ones.
template <typename Nodes>
void AddWithout(const proto::GraphDef& graph, Nodes nodes_of, std::vector<proto::GraphDef>* smaller) {
  const int count = nodes_of(const_cast<proto::GraphDef&>(graph))->size();
  for (int size = (count + 1) / 2; size > 0; size = size == 1 ? 0 : (size + 1) / 2) {
    for (int at = 0; at < count; at += size) {
      proto::GraphDef less = graph;
      nodes_of(less)->DeleteSubrange(at, std::min(size, count - at));
      smaller->push_back(std::move(less));
    }
  }
}

template <typename Nodes>
void AddWithoutDetails(const proto::GraphDef& graph, Nodes nodes_of, std::vector<proto::GraphDef>* smaller) {
  const int count = nodes_of(const_cast<proto::GraphDef&>(graph))->size();
  for (int i = 0; i < count; ++i) {
    const proto::NodeDef& node = nodes_of(const_cast<proto::GraphDef&>(graph))->Get(i);
    for (const auto& [name, value] : node.attr()) {
      proto::GraphDef less = graph;
      nodes_of(less)->Mutable(i)->mutable_attr()->erase(name);
      smaller->push_back(std::move(less));
    }
    for (int k = 0; k < node.input_size(); ++k) {
      proto::GraphDef less = graph;
      nodes_of(less)->Mutable(i)->mutable_input()->DeleteSubrange(k, 1);
      smaller->push_back(std::move(less));
    }
    if (node.device().empty()) continue;
    proto::GraphDef less = graph;
    nodes_of(less)->Mutable(i)->clear_device();
    smaller->push_back(std::move(less));
  }
}

}  // namespace

uint64_t GraphSubject::TrialSeed(absl::string_view input) {
  if (WithoutTrialSeed(input).size() == input.size()) return 0;
  uint64_t seed;
  std::memcpy(&seed, input.data() + input.size() - sizeof(seed), sizeof(seed));
  return seed;
}

std::string GraphSubject::WithTrialSeed(std::string graph, uint64_t seed) {
  graph.append(kSeedTag, sizeof(kSeedTag));
  return graph.append(reinterpret_cast<const char*>(&seed), sizeof(seed));
}

std::string GraphSubject::MakeInput(uint64_t seed) {
  FuzzRandom random(seed);
  const proto::GraphDef graph = seeds_.Pick(mutator_.ops(), random);
  return WithTrialSeed(mutator_.Mutate(graph, random), random.Next());
}

void GraphSubject::Execute(absl::string_view input) { trial_.Run(WithoutTrialSeed(input), TrialSeed(input)); }

FuzzSubject::Remarks GraphSubject::TakeRemarks() { return trial_.remarks(); }

std::vector<std::string> GraphSubject::Smaller(absl::string_view input) const {
  proto::GraphDef graph;
  const absl::string_view bytes = WithoutTrialSeed(input);
  if (!graph.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return FuzzSubject::Smaller(input);
  std::vector<proto::GraphDef> smaller;
  AddWithout(
      graph, [](proto::GraphDef& g) { return g.mutable_node(); }, &smaller);
  AddWithout(
      graph, [](proto::GraphDef& g) { return g.mutable_library()->mutable_function(); }, &smaller);
  for (int f = 0; f < graph.library().function_size(); ++f) {
    AddWithout(
        graph, [f](proto::GraphDef& g) { return g.mutable_library()->mutable_function(f)->mutable_node_def(); },
        &smaller);
  }
  AddWithoutDetails(
      graph, [](proto::GraphDef& g) { return g.mutable_node(); }, &smaller);
  for (int f = 0; f < graph.library().function_size(); ++f) {
    AddWithoutDetails(
        graph, [f](proto::GraphDef& g) { return g.mutable_library()->mutable_function(f)->mutable_node_def(); },
        &smaller);
  }
  std::vector<std::string> encoded;
  for (const proto::GraphDef& less : smaller) {
    encoded.push_back(WithTrialSeed(less.SerializeAsString(), TrialSeed(input)));
  }
  return encoded;
}

}  // namespace sluice
