#include "kernels/strings/histogram.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>

#include "graph/wire/wire_writer.h"

namespace sluice {
namespace {

constexpr double kEnd = std::numeric_limits<double>::max();

std::vector<double> MakeLimits() {
  std::vector<double> positive;
  for (double limit = 1.0e-12; limit < 1.0e20; limit *= 1.1) positive.push_back(limit);
  positive.push_back(kEnd);
  std::vector<double> limits;
  for (auto limit = positive.rbegin(); limit != positive.rend(); ++limit) limits.push_back(-*limit);
  limits.push_back(0);
  limits.insert(limits.end(), positive.begin(), positive.end());
  return limits;
}

// Where each bucket ends, ascending.
const std::vector<double>& Limits() {
  static const std::vector<double>& limits = *std::make_unique<std::vector<double>>(MakeLimits()).release();
  return limits;
}

void WriteNumber(uint32_t field, double value, WireWriter* writer) {
  uint64_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  if (bits != 0) writer->Double(field, value);
}

void WritePacked(uint32_t field, const std::vector<double>& values, WireWriter* writer) {
  writer->Bytes(field, {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(double)});
}

}  // namespace

Histogram::Histogram() : counts_(Limits().size(), 0), min_(kEnd), max_(-kEnd) {}

void Histogram::Add(double value) {
  const std::vector<double>& limits = Limits();
  const auto limit = std::upper_bound(limits.begin(), limits.end() - 1, value);
  counts_[static_cast<size_t>(limit - limits.begin())] += 1;
  min_ = std::min(min_, value);
  max_ = std::max(max_, value);
  num_ += 1;
  sum_ += value;
  sum_of_squares_ += value * value;
}

std::string Histogram::Encode() const {
  std::vector<double> limits, counts;
  for (size_t i = 0; i < counts_.size(); ++i) {
    if (counts_[i] == 0 && !counts.empty() && counts.back() == 0) {
      limits.back() = Limits()[i];
    } else {
      limits.push_back(Limits()[i]);
      counts.push_back(counts_[i]);
    }
  }
  std::string encoded;
  WireWriter writer(&encoded);
  WriteNumber(1, min_, &writer);
  WriteNumber(2, max_, &writer);
  WriteNumber(3, num_, &writer);
  WriteNumber(4, sum_, &writer);
  WriteNumber(5, sum_of_squares_, &writer);
  WritePacked(6, limits, &writer);
  WritePacked(7, counts, &writer);
  return encoded;
}

}  // namespace sluice
