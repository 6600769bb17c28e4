#include "tools/cli/run/latency.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "graph/base/check.h"

namespace sluice {

nlohmann::ordered_json Latency::ToJson() const {
  const auto micros = [](double ns) { return std::round(ns) / 1000; };
  return {
      {"min", micros(min)}, {"p50", micros(p50)}, {"p90", micros(p90)}, {"p99", micros(p99)}, {"mean", micros(mean)}};
}

Latency SummarizeLatency(std::vector<int64_t> times_ns) {
  SLUICE_CHECK(!times_ns.empty());
  std::sort(times_ns.begin(), times_ns.end());
  const auto count = static_cast<double>(times_ns.size());
  const auto percentile = [&](double share) {
    const auto rank = static_cast<size_t>(std::max(std::ceil(share * count), 1.0));
    return static_cast<double>(times_ns[std::min(rank, times_ns.size()) - 1]);
  };
  Latency latency;
  latency.runs = static_cast<int64_t>(times_ns.size());
  latency.min = static_cast<double>(times_ns.front());
  latency.p50 = percentile(0.50);
  latency.p90 = percentile(0.90);
  latency.p99 = percentile(0.99);
  latency.mean = static_cast<double>(std::accumulate(times_ns.begin(), times_ns.end(), int64_t{0})) / count;
  return latency;
}

}  // namespace sluice
