#include "executor/session/signature_key.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/base/stable_hash.h"

namespace sluice {

// Names joined, each with its length in front.
std::string SignatureKey(const FeedFetchSpec& spec) {
  std::string key;
  const auto append = [&key](const std::string& name) { absl::StrAppend(&key, name.size(), ":", name); };
  for (const std::vector<std::string>* const names : {&spec.feeds, &spec.fetches, &spec.targets}) {
    absl::StrAppend(&key, names->size(), ";");
    for (const std::string& name : *names) append(name);
  }
  for (const auto& [from, to] : spec.connections) {
    append(from);
    append(to);
  }
  if (spec.fed_is_answer) key.push_back('!');
  return key;
}

std::string PlanName(const FeedFetchSpec& spec) {
  return absl::StrCat(absl::Hex(StableHash(SignatureKey(spec)), absl::kZeroPad16));
}

}  // namespace sluice
