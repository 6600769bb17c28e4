#include "executor/session/expanded_names.h"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "graph/ir/function_library.h"

namespace sluice {
namespace {

bool MakesParts(CallKind kind) { return kind == CallKind::kIf || kind == CallKind::kCase || kind == CallKind::kWhile; }

// `name` without "_" and a number at its end; empty where it has none.
absl::string_view WithoutNumber(absl::string_view name) {
  size_t end = name.size();
  while (end > 0 && absl::ascii_isdigit(static_cast<unsigned char>(name[end - 1]))) --end;
  const bool has_number = end > 0 && end < name.size() && name[end - 1] == '_';
  return has_number ? name.substr(0, end - 1) : absl::string_view();
}

}  // namespace

bool ExpandedNames::MayHave(absl::string_view name) {
  if (graph_.Find(name).valid()) return true;
  std::vector<Place> places;
  for (size_t slash = name.find('/'); slash != name.npos; slash = name.find('/', slash + 1)) {
    const NodeId call = graph_.Find(name.substr(0, slash));
    if (!call.valid() || calls_.KindOf(call) == CallKind::kNone) continue;
    const BodyNode described = DescribeCall(call);
    if (described.is_vague) return true;
    AddPlaces(described, name, slash, &places);
  }
  std::set<std::pair<const FunctionDefinition*, size_t>> seen;
  while (!places.empty()) {
    const Place place = places.back();
    places.pop_back();
    if (!seen.emplace(place.function, place.begin).second) continue;
    const Body& body = BodyOf(*place.function);
    if (Find(body, name.substr(place.begin)) != nullptr) return true;
    for (size_t slash = name.find('/', place.begin); slash != name.npos; slash = name.find('/', slash + 1)) {
      const BodyNode* const node = Find(body, name.substr(place.begin, slash - place.begin));
      if (node == nullptr) continue;
      if (node->is_vague) return true;
      AddPlaces(*node, name, slash, &places);
    }
  }
  return false;
}

void ExpandedNames::AddPlaces(const BodyNode& node, absl::string_view name, size_t slash, std::vector<Place>* places) {
  for (; slash != name.npos; slash = node.makes_parts ? name.find('/', slash + 1) : name.npos) {
    for (const FunctionDefinition* const callee : node.callees) places->push_back({callee, slash + 1});
  }
}

const ExpandedNames::BodyNode* ExpandedNames::Find(const Body& body, absl::string_view name) {
  auto found = body.find(name);
  if (found == body.end()) found = body.find(WithoutNumber(name));
  return found != body.end() ? &found->second : nullptr;
}

const ExpandedNames::Body& ExpandedNames::BodyOf(const FunctionDefinition& function) {
  const auto added = bodies_.try_emplace(&function);
  Body& body = added.first->second;
  if (!added.second) return body;
  for (const NodeDefView& node : function.nodes) body.emplace(node.name, Describe(node));
  return body;
}

ExpandedNames::BodyNode ExpandedNames::DescribeCall(NodeId call) {
  BodyNode described;
  const CallKind kind = calls_.KindOf(call);
  described.makes_parts = MakesParts(kind);
  const absl::StatusOr<std::vector<Callee>> callees = calls_.Callees(call);
  described.is_vague = kind == CallKind::kGradient || !callees.ok();
  if (described.is_vague) return described;
  for (const Callee& callee : *callees) {
    const std::shared_ptr<const FunctionDefinition> function = graph_.library().Find(callee.name);
    if (function != nullptr) described.callees.push_back(function.get());
  }
  return described;
}

ExpandedNames::BodyNode ExpandedNames::Describe(const NodeDefView& node) const {
  BodyNode described;
  const CallKind kind = CallKindOf(node.op);
  described.makes_parts = MakesParts(kind);
  described.is_vague = kind == CallKind::kGradient;
  const auto add = [&](absl::string_view name) {
    const std::shared_ptr<const FunctionDefinition> function = graph_.library().Find(name);
    if (function != nullptr) described.callees.push_back(function.get());
  };
  add(node.op);
  for (const NamedAttr& attr : node.attrs) {
    for (const FuncView& function : attr.value.Functions()) add(function.name);
    if (attr.value.kind() == AttrKind::kPlaceholder && kind != CallKind::kNone) {
      described.is_vague = described.is_vague || attr.name == "f" || MakesParts(kind);
    }
  }
  return described;
}

}  // namespace sluice
