#include "kernels/random/bounded_normal.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "kernels/dispatch.h"
#include "kernels/input_error.h"
#include "kernels/random/bits_to_float.h"
#include "kernels/random/normal_pair.h"
#include "kernels/random/rounded_half.h"

namespace sluice {
namespace {

using std::exp;
using std::isfinite;
using std::isinf;
using std::log;
using std::sqrt;

// Rejections in a row after which the proposal is taken as it is.
constexpr int kMaxRejections = 1000;

// The numbers of one block.
template <typename T>
struct Group {
  static constexpr int kSize = std::is_same_v<T, double> ? 2 : 4;
  T numbers[kSize];
};

template <typename T>
Group<T> UniformGroup(Philox& generator) {
  const Philox::Block bits = generator.Next();
  Group<T> group;
  for (size_t i = 0; i < Group<T>::kSize; ++i) {
    if constexpr (std::is_same_v<T, double>) {
      group.numbers[i] = BitsToDouble(bits[2 * i], bits[2 * i + 1]);
    } else if constexpr (std::is_same_v<T, float>) {
      group.numbers[i] = BitsToFloat(bits[i]);
    } else {
      group.numbers[i] = T(BitsToHalf(bits[i]));
    }
  }
  return group;
}

template <typename T>
Group<T> NormalGroup(Philox& generator) {
  const Philox::Block bits = generator.Next();
  Group<T> group;
  if constexpr (std::is_same_v<T, double>) {
    NormalPair(bits[0], bits[1], bits[2], bits[3], group.numbers);
  } else {
    float wide[4];
    NormalPair(bits[0], bits[1], wide);
    NormalPair(bits[2], bits[3], wide + 2);
    for (int i = 0; i < 4; ++i) group.numbers[i] = T(wide[i]);
  }
  return group;
}

// How the samples of a batch ended.
enum class Drawn {
  kAll,
  kNone,     // Normal numbers never come between the bounds.
  kStopped,  // The run must stop.
};

// Looks at the run now and then: a batch may be of any size, and each of its samples take a thousand tries.
class Poll {
 public:
  explicit Poll(const Workers& workers) : workers_(workers) {}
  bool MustStop() { return ++count_ % 4096 == 0 && workers_.MustStop(); }

 private:
  const Workers& workers_;
  uint32_t count_ = 0;
};

// Draws the samples of one batch. T: float, double or RoundedHalf.
template <typename T>
class BatchSampler {
 public:
  // Turned so that one bound alone is the lower one, and both lie above the mean where both lie on one side.
  BatchSampler(T mean, T deviation, T low, T high) : mean_(mean), deviation_(deviation) {
    if ((isinf(low) && low < T(0.0f)) || high < mean) {
      std::swap(low, high);
      deviation_ = -deviation_;
    }
    low_ = (low - mean_) / deviation_;
    high_ = (high - mean_) / deviation_;
  }

  // Of [0, count), to out[i * stride].
  template <typename Out>
  Drawn Draw(Philox& generator, int64_t count, int64_t stride, Poll* poll, Out* out) const {
    const T inside = T(1.3);  // So far beyond the mean most normal numbers are within the bounds.
    const T zero = T(0.0f);
    if ((low_ < -inside && high_ >= zero) || (high_ > inside && low_ <= zero)) {
      return DrawNormal(generator, count, stride, poll, out);
    }
    const T root = sqrt(low_ * low_ + T(4.0f));
    const T cutoff = T(2.0f) * exp(T(0.5f) + (low_ * (low_ - root)) / T(4.0f)) / (low_ + root);
    return high_ - low_ < cutoff ? DrawUniform(generator, count, stride, poll, out)
                                 : DrawExponential(generator, count, stride, poll, out);
  }

 private:
  template <typename Out>
  Drawn DrawNormal(Philox& generator, int64_t count, int64_t stride, Poll* poll, Out* out) const {
    int rejections = 0;
    for (int64_t i = 0; i < count;) {
      if (poll->MustStop()) return Drawn::kStopped;
      const Group<T> normal = NormalGroup<T>(generator);
      for (int j = 0; j < Group<T>::kSize && i < count; ++j) {
        if (normal.numbers[j] >= low_ && normal.numbers[j] <= high_) {
          out[i++ * stride] = static_cast<Out>(normal.numbers[j] * deviation_ + mean_);
          rejections = 0;
        } else if (++rejections > kMaxRejections) {
          return Drawn::kNone;
        }
      }
    }
    return Drawn::kAll;
  }

  // Proposals between the bounds, equally likely.
  template <typename Out>
  Drawn DrawUniform(Philox& generator, int64_t count, int64_t stride, Poll* poll, Out* out) const {
    const T width = high_ - low_;
    const T plus = low_ < T(0.0f) ? T(0.0f) : low_ * low_;
    int rejections = 0;
    for (int64_t i = 0; i < count;) {
      if (poll->MustStop()) return Drawn::kStopped;
      const Group<T> proposals = UniformGroup<T>(generator);
      const Group<T> chances = UniformGroup<T>(generator);
      for (int j = 0; j < Group<T>::kSize && i < count; ++j) {
        const T z = proposals.numbers[j] * width + low_;
        const T g = (plus - z * z) / T(2.0f);
        if (chances.numbers[j] <= exp(g) || rejections + 1 >= kMaxRejections) {
          out[i++ * stride] = static_cast<Out>(z * deviation_ + mean_);
          rejections = 0;
        } else {
          ++rejections;
        }
      }
    }
    return Drawn::kAll;
  }

  // Exponential proposals above the lower bound.
  template <typename Out>
  Drawn DrawExponential(Philox& generator, int64_t count, int64_t stride, Poll* poll, Out* out) const {
    const T alpha = (low_ + sqrt(low_ * low_ + T(4.0f))) / T(2.0f);
    int rejections = 0;
    for (int64_t i = 0; i < count;) {
      if (poll->MustStop()) return Drawn::kStopped;
      const Group<T> uniform = UniformGroup<T>(generator);
      for (int j = 0; j < Group<T>::kSize && i < count; j += 2) {
        const T z = -log(uniform.numbers[j]) / alpha + low_;
        const T x = low_ < alpha ? alpha - z : low_ - alpha;
        const T g = exp(-x * x / T(2.0f));
        if ((uniform.numbers[j + 1] <= g && z < high_) || rejections + 1 >= kMaxRejections) {
          out[i++ * stride] = static_cast<Out>(z * deviation_ + mean_);
          rejections = 0;
        } else {
          ++rejections;
        }
      }
    }
    return Drawn::kAll;
  }

  T mean_;
  T deviation_;
  T low_;  // Of standard normal numbers.
  T high_;
};

absl::Status BadParameters(int first_input, const double (&found)[4]) {
  return ValueError(first_input + 1, "",
                    absl::StrCat("deviation ", found[1], " and bounds ", found[2], " and ", found[3]),
                    "a deviation above 0 and a lower bound below the upper one, not both infinite");
}

// Fills `out`, whose elements are of type In, with numbers that are computed in T.
template <typename In, typename T>
absl::Status FillAs(const Workers& workers, Philox generator, const BoundedNormalInputs& inputs,
                    const BoundedNormalBatches& batches, ParameterIndex index, Tensor* out) {
  In* const numbers = out->flat<In>().data();
  const int64_t size = out->num_elements();
  Poll poll(workers);
  for (int64_t batch = 0; batch < batches.count; ++batch) {
    if (batch % 64 == 0 && workers.MustStop()) return workers.WhyStopped();
    T p[4];
    for (size_t i = 0; i < 4; ++i) p[i] = T(inputs.tensors[i]->flat<In>()[static_cast<size_t>(index(i, batch))]);
    if (!(p[1] > T(0.0f) && p[2] < p[3] && (isfinite(p[2]) || isfinite(p[3])))) {
      double found[4];
      for (int i = 0; i < 4; ++i) {
        if constexpr (std::is_class_v<T>) {
          found[i] = static_cast<double>(static_cast<float>(p[i]));
        } else {
          found[i] = static_cast<double>(p[i]);
        }
      }
      return BadParameters(inputs.first_input, found);
    }
    const BatchSampler<T> sampler(p[0], p[1], p[2], p[3]);
    const int64_t count =
        batches.is_inner ? batches.samples : std::min(batches.samples, size - batch * batches.samples);
    In* const first = numbers + (batches.is_inner ? batch : batch * batches.samples);
    const Drawn drawn = sampler.Draw(generator, count, batches.is_inner ? batches.count : 1, &poll, first);
    if (drawn == Drawn::kStopped) return workers.WhyStopped();
    if (drawn == Drawn::kNone) return Error(ErrorCode::kOpBroken).Text("found no normal number between the bounds");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status FillBoundedNormal(const Workers& workers, Philox generator, const BoundedNormalInputs& inputs,
                               const BoundedNormalBatches& batches, ParameterIndex index, Tensor* out) {
  switch (out->dtype()) {
    case DType::kHalf:
      return FillAs<Half, RoundedHalf>(workers, generator, inputs, batches, index, out);
    case DType::kFloat:
      return FillAs<float, float>(workers, generator, inputs, batches, index, out);
    default:
      return FillAs<double, double>(workers, generator, inputs, batches, index, out);
  }
}

}  // namespace sluice
