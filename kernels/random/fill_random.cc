#include "kernels/random/fill_random.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "kernels/array/index_values.h"
#include "kernels/dispatch.h"
#include "kernels/input_error.h"
#include "kernels/random/bits_to_float.h"
#include "kernels/random/normal_pair.h"
#include "kernels/random/philox_words.h"

namespace sluice {
namespace {

// How many Ts a block gives.
template <typename T>
constexpr int64_t kPerBlock = sizeof(T) == 8 ? 2 : 4;

template <typename T>
void UniformGroup(Philox& generator, T* numbers) {
  const Philox::Block bits = generator.Next();
  for (size_t i = 0; i < kPerBlock<T>; ++i) {
    if constexpr (std::is_same_v<T, double>) {
      numbers[i] = BitsToDouble(bits[2 * i], bits[2 * i + 1]);
    } else if constexpr (std::is_same_v<T, float>) {
      numbers[i] = BitsToFloat(bits[i]);
    } else if constexpr (std::is_same_v<T, Half>) {
      numbers[i] = BitsToHalf(bits[i]);
    } else {
      numbers[i] = BitsToBFloat16(bits[i]);
    }
  }
}

// 16-bit numbers are rounded floats.
template <typename T>
void NormalGroup(Philox& generator, T* numbers) {
  const Philox::Block bits = generator.Next();
  if constexpr (std::is_same_v<T, double>) {
    NormalPair(bits[0], bits[1], bits[2], bits[3], numbers);
  } else {
    float wide[4];
    NormalPair(bits[0], bits[1], wide);
    NormalPair(bits[2], bits[3], wide + 2);
    for (int i = 0; i < 4; ++i) numbers[i] = static_cast<T>(wide[i]);
  }
}

// Truncated before they are rounded.
template <typename T>
void TruncatedNormalGroup(Philox& generator, T* numbers) {
  constexpr bool kIsDouble = std::is_same_v<T, double>;
  using Wide = std::conditional_t<kIsDouble, double, float>;
  PhiloxWords words(generator);
  for (int64_t found = 0; found < kPerBlock<T>;) {
    uint32_t bits[4];
    for (int i = 0; i < (kIsDouble ? 4 : 2); ++i) bits[i] = words.Next32();
    Wide pair[2];
    if constexpr (kIsDouble) {
      NormalPair(bits[0], bits[1], bits[2], bits[3], pair);
    } else {
      NormalPair(bits[0], bits[1], pair);
    }
    for (const Wide number : pair) {
      if (std::abs(number) < Wide{2} && found < kPerBlock<T>) numbers[found++] = static_cast<T>(number);
    }
  }
}

template <typename T>
void BitsGroup(Philox& generator, T* numbers) {
  const Philox::Block bits = generator.Next();
  for (size_t i = 0; i < kPerBlock<T>; ++i) {
    if constexpr (sizeof(T) == 8) {
      numbers[i] = bits[2 * i] | uint64_t{bits[2 * i + 1]} << 32;
    } else {
      numbers[i] = bits[i];
    }
  }
}

// Gives the T* for `size` numbers what group(generator, T*) makes, a group at a time; group i begins `blocks` * i
// blocks after `first`. See Note [Blocks of samples].
template <typename T, typename Group>
absl::Status FillGroups(const Workers& workers, const Philox& first, uint64_t blocks, double group_ns, T* numbers,
                        int64_t size, const Group& group) {
  constexpr int64_t kNumbers = kPerBlock<T>;
  return workers.ForEachPart((size + kNumbers - 1) / kNumbers, group_ns, [=, &group](int64_t begin, int64_t end) {
    const auto at = [&](int64_t i) {
      Philox generator = first;
      generator.Skip(blocks * static_cast<uint64_t>(i));
      return generator;
    };
    Philox generator = at(begin);
    const int64_t full_end = std::min(end, size / kNumbers);
    for (int64_t i = begin; i < full_end; ++i) {
      if (blocks != 1) generator = at(i);
      group(generator, numbers + i * kNumbers);
    }
    if (full_end == end) return absl::OkStatus();
    T last[kNumbers];
    generator = at(full_end);
    group(generator, last);
    std::copy(last, last + (size - full_end * kNumbers), numbers + full_end * kNumbers);
    return absl::OkStatus();
  });
}

template <typename T>
absl::Status FillFloats(const Workers& workers, const Philox& first, Distribution distribution, Tensor* out) {
  const absl::Span<T> numbers = out->flat<T>();
  const int64_t size = static_cast<int64_t>(numbers.size());
  switch (distribution) {
    case Distribution::kNormal:
      return FillGroups(workers, first, 1, 60, numbers.data(), size, &NormalGroup<T>);
    case Distribution::kTruncatedNormal:
      return FillGroups(workers, first, kBlocksPerNumber * kPerBlock<T> / 4, 90, numbers.data(), size,
                        &TruncatedNormalGroup<T>);
    default:
      return FillGroups(workers, first, 1, 12, numbers.data(), size,
                        [](Philox& generator, T* to) { UniformGroup(generator, to); });
  }
}

template <typename Word>
absl::Status FillInts(const Workers& workers, const Philox& first, const IntRange& range, Tensor* out) {
  const Word low = static_cast<Word>(range.low);
  const Word width = static_cast<Word>(range.width);
  Word* const numbers = static_cast<Word*>(out->mutable_raw_data());
  return FillGroups(workers, first, 1, 20, numbers, out->num_elements(), [=](Philox& generator, Word* to) {
    BitsGroup(generator, to);
    if (width == 0) return;  // All of them.
    for (int64_t i = 0; i < kPerBlock<Word>; ++i) to[i] = static_cast<Word>(low + to[i] % width);
  });
}

}  // namespace

absl::Status FillRandom(const Workers& workers, const Philox& first, Distribution distribution, Tensor* out) {
  if (distribution == Distribution::kBits) {
    const IntRange all = {0, 0};
    return DTypeSize(out->dtype()) == 8 ? FillInts<uint64_t>(workers, first, all, out)
                                        : FillInts<uint32_t>(workers, first, all, out);
  }
  absl::Status status;
  DispatchDType<FloatCppTypes>(out->dtype(), [&](auto type) {
    status = FillFloats<typename decltype(type)::Type>(workers, first, distribution, out);
  });
  return status;
}

absl::Status FillRandomInts(const Workers& workers, const Philox& first, const IntRange& range, Tensor* out) {
  return DTypeSize(out->dtype()) == 8 ? FillInts<uint64_t>(workers, first, range, out)
                                      : FillInts<uint32_t>(workers, first, range, out);
}

absl::StatusOr<IntRange> ReadIntRange(const KernelContext& context, int input, bool is_empty) {
  SLUICE_ASSIGN_OR_RETURN(const int64_t low, ReadScalar(context, input, "minval"));
  SLUICE_ASSIGN_OR_RETURN(const int64_t high, ReadScalar(context, input + 1, "maxval"));
  if (low >= high && !is_empty) {
    return ValueError(input + 1, "maxval", absl::StrCat("minval ", low, " and maxval ", high), "minval < maxval");
  }
  return IntRange{static_cast<uint64_t>(low), static_cast<uint64_t>(high) - static_cast<uint64_t>(low)};
}

}  // namespace sluice
