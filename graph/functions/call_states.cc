#include "graph/functions/call_states.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace sluice {

CallStates::Scope CallStates::Enter(const Scope& from, bool by_call_op, const BoundFunction& function) {
  const int32_t next = static_cast<int32_t>(arounds_.size());
  std::tuple<int32_t, bool, std::string> key(from.around, by_call_op, Canonicalize(function.name(), function.attrs));
  const auto [found, is_new] = numbers_.emplace(std::move(key), next);
  if (is_new) arounds_.push_back(by_call_op ? next : from.around);
  return ScopeOf(found->second);
}

CallStates::Scope CallStates::ScopeOf(int64_t instance) const {
  Scope scope;
  if (instance <= 0 || instance >= static_cast<int64_t>(arounds_.size())) return scope;
  scope.instance = static_cast<int32_t>(instance);
  scope.around = arounds_[static_cast<size_t>(instance)];
  return scope;
}

std::string CallStates::KeyOf(int32_t instance) { return absl::StrCat(instance, "/"); }

std::string CallStates::NodeKey(const Scope& scope, absl::string_view name) {
  return absl::StrCat(scope.instance, "/", name.substr(std::min(scope.prefix, name.size())));
}

absl::string_view CallStates::NameIn(absl::string_view node_key) {
  const size_t slash = node_key.find('/');
  return slash != absl::string_view::npos ? node_key.substr(slash + 1) : node_key;
}

}  // namespace sluice
