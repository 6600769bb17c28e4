#ifndef SLUICE_TESTS_BENCH_SIDE_FILE_H_
#define SLUICE_TESTS_BENCH_SIDE_FILE_H_

// Reads a benchmark graph's side file (tools/bench/graphs.py writes them), without any library of ours or others: the
// programs that time peers read it, too.

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace sluice {

// One fed tensor: bytes of its elements, filled as the file says.
struct SideFeed {
  std::string name, dtype;
  std::vector<int64_t> dims;
  std::vector<char> bytes;
};

struct SideFile {
  double units = 1;
  int callers = 0;  // Threads that call the graph at once; 0: the program's own, timed without any.
  int threads = 0;  // Threads that run nodes; 0: the program's own option decides.
  int devices = 1;
  bool cut = false;  // Whether Sluice runs a part per device, as others do.
  std::vector<SideFeed> feeds;
  std::vector<std::string> fetches, targets, init;
};

namespace side_file_internal {

// "const:1.5" is that number everywhere, "randint:10" gives whole numbers from 0 to 9; all else small numbers that
// differ.
template <typename T>
void Fill(const std::string& fill, int64_t count, std::vector<char>* bytes) {
  const bool is_const = fill.rfind("const:", 0) == 0;
  const double value = is_const ? std::atof(fill.c_str() + 6) : 0;
  const int64_t below = fill.rfind("randint:", 0) == 0 ? std::atoll(fill.c_str() + 8) : 0;
  bytes->resize(static_cast<size_t>(count) * sizeof(T));
  for (int64_t i = 0; i < count; ++i) {
    const double any =
        below > 0 ? static_cast<double>(i * 7919 % below) : static_cast<double>(i * 7919 % 1000) / 1000 - 0.5;
    const T element = static_cast<T>(is_const ? value : any);
    std::memcpy(bytes->data() + static_cast<size_t>(i) * sizeof(T), &element, sizeof(T));
  }
}

inline SideFeed MakeFeed(const std::string& name, const std::string& dtype, const std::string& dims,
                         const std::string& fill) {
  SideFeed feed;
  feed.name = name;
  feed.dtype = dtype;
  int64_t count = 1;
  std::istringstream sizes(dims == "scalar" ? "" : dims);
  for (std::string size; std::getline(sizes, size, 'x');) {
    feed.dims.push_back(std::atoll(size.c_str()));
    count *= feed.dims.back();
  }
  if (dtype == "float32") Fill<float>(fill, count, &feed.bytes);
  if (dtype == "int32") Fill<int32_t>(fill, count, &feed.bytes);
  if (dtype == "int64") Fill<int64_t>(fill, count, &feed.bytes);
  if (dtype == "bool") Fill<bool>(fill, count, &feed.bytes);
  return feed;
}

}  // namespace side_file_internal

inline SideFile ReadSideFile(const std::string& path) {
  SideFile side;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string key, a, b, c, d;
    words >> key >> a >> b >> c >> d;
    if (key == "units") side.units = std::atof(a.c_str());
    if (key == "callers") side.callers = std::atoi(a.c_str());
    if (key == "threads") side.threads = std::atoi(a.c_str());
    if (key == "devices") side.devices = std::atoi(a.c_str());
    if (key == "cut") side.cut = a == "1";
    if (key == "feed") side.feeds.push_back(side_file_internal::MakeFeed(a, b, c, d));
    if (key == "fetch") side.fetches.push_back(a);
    if (key == "target") side.targets.push_back(a);
    if (key == "init") side.init.push_back(a);
  }
  return side;
}

}  // namespace sluice

#endif  // SLUICE_TESTS_BENCH_SIDE_FILE_H_
