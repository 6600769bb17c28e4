// What a process costs that runs a small graph.

#include <sys/resource.h>

#include <cstdint>

#include "gtest/gtest.h"
#include "tests/tools/cli/run_sluice.h"

namespace sluice {
namespace {

// Kilobytes in memory at most, of the largest process that this one has waited for.
int64_t PeakOfChildren() {
  rusage usage;
  return ::getrusage(RUSAGE_CHILDREN, &usage) == 0 ? usage.ru_maxrss : -1;
}

// The program has some 20 MB, of which a small graph needs a part: see Note [Code that runs at the start].
TEST(StartTest, ASmallGraphTakesLittleMemory) {
  const RunResult run = RunSluice(
      {"run", "tools/examples/digits.pb", "--feed", "image=1x64xf32=random:7", "--fetch", "digit", "--threads", "1"});
  EXPECT_EQ(run.status, 0) << run.err;
#if defined(__SANITIZE_ADDRESS__) || defined(SLUICE_TSAN)
  constexpr int64_t kMaxKilobytes = 400'000;
#else
  constexpr int64_t kMaxKilobytes = 18'000;  // 17,300 were seen; 15,300 before the program grew by 0.5 MB of code.
#endif
  EXPECT_GT(PeakOfChildren(), 1000);
  EXPECT_LT(PeakOfChildren(), kMaxKilobytes);
}

}  // namespace
}  // namespace sluice
