#include "tools/examples/example_data.h"

#include <algorithm>
#include <cmath>

namespace sluice {
namespace {

constexpr float kPi = 3.14159265f;
constexpr int kSide = 8, kRows = 6, kColumns = 4;

// Six rows of four dots, the upper one first.
constexpr const char* kDigits[10] = {
    ".##."
    "#..#"
    "#..#"
    "#..#"
    "#..#"
    ".##.",
    "..#."
    ".##."
    "..#."
    "..#."
    "..#."
    ".###",
    ".##."
    "#..#"
    "...#"
    "..#."
    ".#.."
    "####",
    "###."
    "...#"
    ".##."
    "...#"
    "...#"
    "###.",
    "#..#"
    "#..#"
    "#..#"
    "####"
    "...#"
    "...#",
    "####"
    "#..."
    "###."
    "...#"
    "...#"
    "###.",
    ".##."
    "#..."
    "###."
    "#..#"
    "#..#"
    ".##.",
    "####"
    "...#"
    "..#."
    "..#."
    ".#.."
    ".#..",
    ".##."
    "#..#"
    ".##."
    "#..#"
    "#..#"
    ".##.",
    ".##."
    "#..#"
    "#..#"
    ".###"
    "...#"
    ".##.",
};

}  // namespace

uint64_t ExampleRandom::Next() {
  state_ += 0x9e3779b97f4a7c15u;
  uint64_t z = state_;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

float ExampleRandom::Uniform() { return static_cast<float>(Next() >> 40) * 0x1p-24f; }

float ExampleRandom::Normal() {
  const float radius = std::sqrt(-2 * std::log(1 - Uniform()));
  return radius * std::cos(2 * kPi * Uniform());
}

ExampleData TwoMoons(int64_t count, uint64_t seed) {
  constexpr float kNoise = 0.1f;
  ExampleRandom random(seed);
  ExampleData data;
  data.count = count;
  for (int64_t i = 0; i < count; ++i) {
    const int label = random.Below(2);
    const float angle = kPi * random.Uniform();
    const float x = std::cos(angle), y = std::sin(angle);
    data.values.push_back((label == 0 ? x : 1 - x) + kNoise * random.Normal());
    data.values.push_back((label == 0 ? y : 0.5f - y) + kNoise * random.Normal());
    data.labels.push_back(label);
  }
  return data;
}

ExampleData DrawnDigits(int64_t count, uint64_t seed) {
  constexpr float kNoise = 0.15f;
  ExampleRandom random(seed);
  ExampleData data;
  data.count = count;
  for (int64_t i = 0; i < count; ++i) {
    const int digit = random.Below(10), top = random.Below(kSide - kRows + 1),
              left = random.Below(kSide - kColumns + 1);
    const float strength = 0.6f + 0.4f * random.Uniform();
    for (int y = 0; y < kSide; ++y) {
      for (int x = 0; x < kSide; ++x) {
        const int row = y - top, column = x - left;
        const bool is_inside = row >= 0 && row < kRows && column >= 0 && column < kColumns;
        const bool is_dot = is_inside && kDigits[digit][row * kColumns + column] == '#';
        const float value = (is_dot ? strength : 0) + kNoise * random.Normal();
        data.values.push_back(std::clamp(value, 0.0f, 1.0f));
      }
    }
    data.labels.push_back(digit);
  }
  return data;
}

}  // namespace sluice
