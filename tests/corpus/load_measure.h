#ifndef SLUICE_TESTS_CORPUS_LOAD_MEASURE_H_
#define SLUICE_TESTS_CORPUS_LOAD_MEASURE_H_

#include <chrono>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "tests/corpus/corpus_row.h"
#include "tests/testing/counting_new.h"

namespace sluice {

// Loads `bytes` and expects the load to end soon, without much more memory than the input has. Generous, as machines
// differ and sanitizers slow things down: an attack takes minutes.
inline absl::Status LoadWithinMeasure(const std::string& bytes, int64_t max_bytes_per_byte = 40) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(SLUICE_TSAN)
  constexpr double kMaxSeconds = 120;  // Twenty times slower at worst.
#else
  constexpr double kMaxSeconds = 20;
#endif
  constexpr int64_t kFixedBytes = 4 << 20;
  const int64_t before = LiveNewBytes();
  ResetPeakNewBytes();
  const auto start = std::chrono::steady_clock::now();
  const absl::Status status = LoadCorpusGraph(bytes).status();
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  EXPECT_LE(seconds, kMaxSeconds);
  EXPECT_LE(PeakNewBytes() - before, kFixedBytes + max_bytes_per_byte * static_cast<int64_t>(bytes.size()));
  return status;
}

}  // namespace sluice

#endif  // SLUICE_TESTS_CORPUS_LOAD_MEASURE_H_
