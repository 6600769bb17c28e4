#ifndef SLUICE_KERNELS_RANDOM_PHILOX_WORDS_H_
#define SLUICE_KERNELS_RANDOM_PHILOX_WORDS_H_

#include <cstdint>

#include "kernels/random/bits_to_float.h"
#include "kernels/random/philox.h"

namespace sluice {

// The words of a generator's blocks one by one, and numbers made of them, in TensorFlow's order: for ops that cannot
// say beforehand how many they need. One thread's.
class PhiloxWords {
 public:
  explicit PhiloxWords(const Philox& first) : generator_(first) {}

  uint32_t Next32() {
    if (used_ == 4) {
      block_ = generator_.Next();
      used_ = 0;
    }
    return block_[used_++];
  }
  // The lower half comes first.
  uint64_t Next64() {
    const uint64_t low = Next32();
    return low | uint64_t{Next32()} << 32;
  }
  // Of [0, 1).
  float NextFloat() { return BitsToFloat(Next32()); }
  double NextDouble() {
    const uint32_t first = Next32();
    return BitsToDouble(first, Next32());
  }
  // A number of [0, n), each as likely as the others: numbers of the short rest of the range are thrown away.
  // REQUIRES: n > 0.
  uint32_t Below32(uint32_t n) {
    return Below(n, [this] { return Next32(); });
  }
  uint64_t Below64(uint64_t n) {
    return Below(n, [this] { return Next64(); });
  }

 private:
  template <typename Word, typename Draw>
  static Word Below(Word n, const Draw& draw) {
    if ((n & (n - 1)) == 0) return draw() & (n - 1);
    const Word rest = static_cast<Word>(~Word{0} % n + 1);
    for (;;) {
      const Word word = draw();
      if (word >= rest) return word % n;
    }
  }

  Philox generator_;
  Philox::Block block_ = {};
  size_t used_ = 4;
};

// Doubles of [0, 1), two of each block, the second one first: as TensorFlow's rejection samplers take them. One
// thread's.
class PhiloxDoubles {
 public:
  explicit PhiloxDoubles(Philox* generator) : generator_(*generator) {}

  double Next() {
    has_first_ = !has_first_;
    if (!has_first_) return first_;
    const Philox::Block block = generator_.Next();
    first_ = BitsToDouble(block[0], block[1]);
    return BitsToDouble(block[2], block[3]);
  }

 private:
  Philox& generator_;
  double first_ = 0.0;
  bool has_first_ = false;
};

}  // namespace sluice

#endif  // SLUICE_KERNELS_RANDOM_PHILOX_WORDS_H_
