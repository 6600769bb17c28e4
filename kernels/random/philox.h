#ifndef SLUICE_KERNELS_RANDOM_PHILOX_H_
#define SLUICE_KERNELS_RANDOM_PHILOX_H_

#include <array>
#include <cstdint>

namespace sluice {

// Philox 4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011): the n-th block of four numbers
// is a function of a key and the counter n, so that threads need not follow each other. TensorFlow's numbering: the
// first seed is the key, the second one the upper half of the counter. A small value.
class Philox {
 public:
  using Block = std::array<uint32_t, 4>;

  Philox(uint64_t seed, uint64_t seed2) : key_(seed), high_(seed2) {}
  // Starts at the counter that consists of these two halves.
  Philox(uint64_t key, uint64_t low, uint64_t high) : key_(key), low_(low), high_(high) {}

  uint64_t key() const { return key_; }
  // The counter: which block is next.
  uint64_t low() const { return low_; }
  uint64_t high() const { return high_; }

  // Leaves out `blocks` blocks.
  void Skip(uint64_t blocks) {
    low_ += blocks;
    if (low_ < blocks) ++high_;
  }
  // The next block.
  Block Next() {
    const Block result = Rounds();
    Skip(1);
    return result;
  }

 private:
  // Two products of 32 bits: their halves, mixed with the key, are the next counter.
  static Block Round(const Block& c, uint32_t key0, uint32_t key1) {
    const uint64_t product0 = uint64_t{0xD2511F53} * c[0];
    const uint64_t product1 = uint64_t{0xCD9E8D57} * c[2];
    return {static_cast<uint32_t>(product1 >> 32) ^ c[1] ^ key0, static_cast<uint32_t>(product1),
            static_cast<uint32_t>(product0 >> 32) ^ c[3] ^ key1, static_cast<uint32_t>(product0)};
  }
  Block Rounds() const {
    Block c = {static_cast<uint32_t>(low_), static_cast<uint32_t>(low_ >> 32), static_cast<uint32_t>(high_),
               static_cast<uint32_t>(high_ >> 32)};
    uint32_t key0 = static_cast<uint32_t>(key_);
    uint32_t key1 = static_cast<uint32_t>(key_ >> 32);
    for (int round = 0; round < 10; ++round) {
      c = Round(c, key0, key1);
      key0 += 0x9E3779B9;  // Weyl sequences: the golden ratio,
      key1 += 0xBB67AE85;  // and the square root of three less one.
    }
    return c;
  }

  uint64_t key_;
  uint64_t low_ = 0;
  uint64_t high_;
};

}  // namespace sluice

#endif  // SLUICE_KERNELS_RANDOM_PHILOX_H_
