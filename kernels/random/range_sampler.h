#ifndef SLUICE_KERNELS_RANDOM_RANGE_SAMPLER_H_
#define SLUICE_KERNELS_RANDOM_RANGE_SAMPLER_H_

// Classes of [0, range), each with a probability: what candidate samplers draw from.

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "kernels/random/philox_words.h"

namespace sluice {

// Thread-safe for const methods; the caller keeps Learn apart from all else.
class RangeSampler {
 public:
  explicit RangeSampler(int64_t range) : range_(range) {}
  RangeSampler(const RangeSampler&) = delete;
  RangeSampler& operator=(const RangeSampler&) = delete;
  virtual ~RangeSampler() = default;

  int64_t range() const { return range_; }
  virtual int64_t Sample(PhiloxWords& words) const = 0;
  // REQUIRES: 0 <= value < range().
  virtual float Probability(int64_t value) const = 0;
  // How many classes are ever drawn.
  virtual int64_t NumPossible() const { return range_; }
  // Whether Learn does anything.
  virtual bool Learns() const { return false; }
  // Makes these classes more likely. REQUIRES: each of [0, range()).
  virtual void Learn(absl::Span<const int64_t>) {}

 private:
  const int64_t range_;
};

// All of them equally likely. REQUIRES: range > 0.
std::unique_ptr<RangeSampler> NewUniformSampler(int64_t range);
// Class i about as likely as 1 / (i + 1): words of a language in the order of their frequency.
std::unique_ptr<RangeSampler> NewLogUniformSampler(int64_t range);
// By the given weights. REQUIRES: at least one.
std::unique_ptr<RangeSampler> NewWeightedSampler(std::vector<float> weights);
// As often as they were learnt, plus one. REQUIRES: 0 < range < 2^31.
std::unique_ptr<RangeSampler> NewLearningSampler(int64_t range);

}  // namespace sluice

#endif  // SLUICE_KERNELS_RANDOM_RANGE_SAMPLER_H_
