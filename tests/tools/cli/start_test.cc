// What a process costs that runs a small graph.

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/tools/cli/run_sluice.h"

namespace sluice {
namespace {

// Kilobytes in memory at most, of the largest process that this one has waited for.
int64_t PeakOfChildren() {
  rusage usage;
  return ::getrusage(RUSAGE_CHILDREN, &usage) == 0 ? usage.ru_maxrss : -1;
}

// Lets the system forget what it holds of a file in memory. False where it does not (tmpfs, a sandbox).
bool DropFromMemory(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY);
  struct stat info = {};
  if (file < 0 || ::fstat(file, &info) != 0) return false;
  ::fsync(file);  // Pages that are not written yet stay.
  ::posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
  const auto bytes = static_cast<size_t>(info.st_size);
  void* const map = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, file, 0);
  ::close(file);
  if (map == MAP_FAILED) return false;
  std::vector<unsigned char> is_there(bytes / 4096 + 1);
  const bool is_known = ::mincore(map, bytes, is_there.data()) == 0;
  ::munmap(map, bytes);
  return is_known && std::none_of(is_there.begin(), is_there.end(), [](unsigned char page) { return (page & 1) != 0; });
}

// The program has some 20 MB, of which a small graph needs a part: see Note [Code that runs at the start]. What counts
// as that part depends on how the system holds the file: a page that is touched brings those around it, and of a file
// that was just written, up to 2 MB more in all than of one that was read. So this measures a copy, read anew.
TEST(StartTest, ASmallGraphTakesLittleMemory) {
  const std::string program = TestFile("program"), out = TestFile("out");
  std::filesystem::copy_file("tools/cli/sluice", program);
  const bool is_read_anew = DropFromMemory(program);
  const std::string line = absl::StrCat(
      program, " run tools/examples/digits.pb --feed image=1x64xf32=random:7 --fetch digit --threads 1 >'", out, "'");
  EXPECT_EQ(std::system(line.c_str()), 0);
  EXPECT_EQ(ReadTestFile(out).substr(0, 5), "digit");
#if defined(__SANITIZE_ADDRESS__) || defined(SLUICE_TSAN)
  constexpr int64_t kMaxKilobytes = 400'000, kMore = 0;
#else
  constexpr int64_t kMaxKilobytes = 16'000, kMore = 2'000;
#endif
  const int64_t peak = PeakOfChildren();
  RecordProperty("kilobytes", std::to_string(peak));
  EXPECT_GT(peak, 1000);
  EXPECT_LT(peak, kMaxKilobytes + (is_read_anew ? 0 : kMore)) << (is_read_anew ? "read anew" : "not read anew");
}

}  // namespace
}  // namespace sluice
