#ifndef SLUICE_TESTS_FUZZ_TRIAL_REQUESTS_H_
#define SLUICE_TESTS_FUZZ_TRIAL_REQUESTS_H_

#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"
#include "graph/ir/graph.h"
#include "graph/passes/feed_fetch.h"
#include "graph/value/allocator.h"
#include "graph/value/tensor.h"

namespace sluice {

// Equal on every machine, unlike std::hash.
uint64_t HashOf(absl::string_view text, uint64_t seed);

// One signature of a graph and values for its feeds, several times.
struct TrialRequest {
  FeedFetchSpec spec;
  std::vector<std::vector<Tensor>> rounds;
};

// What to ask of `graph`: everything that nothing else uses at once, and some outputs alone, all Placeholders fed with
// values that mostly fit. Depends on the seed and the names of nodes only.
// Values are in memory of `allocator`.
std::vector<TrialRequest> MakeTrialRequests(const Graph& graph, uint64_t seed, Allocator& allocator);

}  // namespace sluice

#endif  // SLUICE_TESTS_FUZZ_TRIAL_REQUESTS_H_
