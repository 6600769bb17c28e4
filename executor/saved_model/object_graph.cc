#include "executor/saved_model/object_graph.h"

#include <utility>

#include "graph/wire/message_fields.h"
#include "graph/wire/packed_fields.h"
#include "graph/wire/wire_reader.h"

namespace sluice {
namespace {

// One child of an object.
struct Child {
  int32_t object = 0;  // The root, as in protobuf, where no number is written.
  absl::string_view name;
};

// Reads the children from a message SavedObject or TrackableObject: field 1 of both is the same message.
std::vector<Child> ChildrenOf(absl::string_view object) {
  std::vector<Child> children;
  for (const absl::string_view reference : MessagesOf(object, 1)) {
    Child child;
    WireReader reader(reference);
    while (reader.Next()) {
      if (reader.tag() == WireTag(1, WireType::kVarint)) child.object = static_cast<int32_t>(reader.varint());
      if (reader.tag() == WireTag(2, WireType::kBytes)) child.name = reader.bytes();
    }
    children.push_back(child);
  }
  return children;
}

std::vector<int32_t> BoundInputsOf(absl::string_view concrete_function) {
  std::vector<int32_t> bound;
  WireReader reader(concrete_function);
  while (reader.Next()) {
    if (reader.field() != 2) continue;
    ForEachVarint(reader, [&bound](uint64_t value) { bound.push_back(static_cast<int32_t>(value)); }).IgnoreError();
  }
  return bound;
}

// The key of the value of the message TrackableObject.
absl::string_view ValueKeyOf(absl::string_view stored) {
  for (const absl::string_view attribute : MessagesOf(stored, 2)) {
    if (LastOf(attribute, 1) == ObjectGraph::kValueAttribute) return LastOf(attribute, 3);
  }
  return absl::string_view();
}

bool IsIndex(int32_t i, size_t size) { return i >= 0 && static_cast<size_t>(i) < size; }

}  // namespace

ObjectGraph::ObjectGraph(absl::string_view saved, absl::string_view stored) {
  ReadSaved(saved);
  Match(stored);
}

void ObjectGraph::ReadSaved(absl::string_view saved) {
  constexpr uint32_t kVariable = 7;
  objects_ = MessagesOf(saved, 1);
  for (size_t i = 0; i < objects_.size(); ++i) {
    const absl::string_view name = LastOf(LastOf(objects_[i], kVariable), 6);
    if (name.empty()) continue;
    const auto [place, is_new] = variables_.emplace(name, static_cast<int32_t>(i));
    if (!is_new) place->second = kNone;
  }
  for (const absl::string_view entry : MessagesOf(saved, 2)) {
    captures_[LastOf(entry, 1)] = BoundInputsOf(LastOf(entry, 2));
  }
}

void ObjectGraph::Match(absl::string_view stored) {
  const std::vector<absl::string_view> twins = MessagesOf(stored, 1);
  keys_.assign(objects_.size(), absl::string_view());
  if (objects_.empty() || twins.empty()) return;
  // Visit each object of either side once, so that circles end and many ways to one object cost no more than one.
  std::vector<bool> has_twin(objects_.size()), is_twin(twins.size());
  std::vector<std::pair<int32_t, int32_t>> pairs;
  const auto add = [&](int32_t object, int32_t twin) {
    if (!IsIndex(object, objects_.size()) || !IsIndex(twin, twins.size())) return;
    if (has_twin[static_cast<size_t>(object)] || is_twin[static_cast<size_t>(twin)]) return;
    has_twin[static_cast<size_t>(object)] = is_twin[static_cast<size_t>(twin)] = true;
    pairs.emplace_back(object, twin);
  };
  add(0, 0);
  for (size_t at = 0; at < pairs.size(); ++at) {
    const auto [object, twin] = pairs[at];
    keys_[static_cast<size_t>(object)] = ValueKeyOf(twins[static_cast<size_t>(twin)]);
    HashMap<absl::string_view, int32_t> children;
    for (const Child& child : ChildrenOf(twins[static_cast<size_t>(twin)])) children.emplace(child.name, child.object);
    if (children.empty()) continue;
    for (const Child& child : ChildrenOf(objects_[static_cast<size_t>(object)])) {
      const auto found = children.find(child.name);
      if (found != children.end()) add(child.object, found->second);
    }
  }
}

absl::Span<const int32_t> ObjectGraph::CapturesOf(absl::string_view function) const {
  const auto found = captures_.find(function);
  return found == captures_.end() ? absl::Span<const int32_t>() : absl::MakeConstSpan(found->second);
}

int32_t ObjectGraph::VariableCalled(absl::string_view name) const {
  const auto found = variables_.find(name);
  return found == variables_.end() ? kNone : found->second;
}

absl::string_view ObjectGraph::KeyOf(int32_t object) const {
  return IsIndex(object, keys_.size()) ? keys_[static_cast<size_t>(object)] : absl::string_view();
}

}  // namespace sluice
