#ifndef SLUICE_TOOLS_EXAMPLES_EXAMPLE_DATA_H_
#define SLUICE_TOOLS_EXAMPLES_EXAMPLE_DATA_H_

// Small data sets that need no files: drawn here, the same numbers for the same seed.

#include <cstdint>
#include <vector>

namespace sluice {

// Random numbers for examples: SplitMix64. Not thread-safe.
class ExampleRandom {
 public:
  explicit ExampleRandom(uint64_t seed) : state_(seed) {}

  uint64_t Next();
  float Uniform();  // From 0 up to 1.
  float Normal();   // Of mean 0 and deviation 1.
  int Below(int limit) { return static_cast<int>(Next() % static_cast<uint64_t>(limit)); }

 private:
  uint64_t state_;
};

// Rows of numbers, and what each is. A value type.
struct ExampleData {
  int64_t count = 0;
  std::vector<float> values;  // `count` rows.
  std::vector<int32_t> labels;
};

// Points (x, y) on two half circles that reach into each other, with noise: 0 or 1.
ExampleData TwoMoons(int64_t count, uint64_t seed);

// Pictures of 8 x 8 numbers from 0 to 1: digits of 6 x 4 dots anywhere in it, of different strength, with noise.
ExampleData DrawnDigits(int64_t count, uint64_t seed);

}  // namespace sluice

#endif  // SLUICE_TOOLS_EXAMPLES_EXAMPLE_DATA_H_
