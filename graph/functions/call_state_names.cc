#include "graph/functions/call_state_names.h"

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "graph/base/error.h"
#include "graph/base/stable_hash.h"

namespace sluice {

std::string CallStateNames::Make(absl::string_view how, const BoundFunction& function) {
  constexpr size_t kMaxReadable = 64;
  const uint64_t hash = StableHash(absl::StrCat(how, Canonicalize(function.name(), function.attrs)));
  const std::string readable = PrintableName(function.name(), kMaxReadable);
  return absl::StrCat(absl::StrReplaceAll(readable, {{"/", "."}}), "-", absl::Hex(hash, absl::kZeroPad16));
}

void CallStateNames::Add(const CallStates::Scope& from, bool by_call_op, const BoundFunction& function,
                         int32_t instance) {
  std::string& name = names_[instance];
  if (!name.empty()) return;
  const auto around = names_.find(from.around);
  const std::string of_around = around != names_.end() ? around->second : "";
  name = Make(absl::StrCat(of_around, by_call_op ? " calls " : " enters "), function);
  while (!taken_.insert(name).second) name.push_back('+');  // Another one has the same hash.
}

std::string CallStateNames::WithName(absl::string_view key) const {
  const size_t slash = key.find('/');
  int32_t instance = 0;
  if (slash == absl::string_view::npos || !absl::SimpleAtoi(key.substr(0, slash), &instance)) return std::string(key);
  const auto found = names_.find(instance);
  return found != names_.end() ? absl::StrCat(found->second, key.substr(slash)) : std::string(key);
}

}  // namespace sluice
