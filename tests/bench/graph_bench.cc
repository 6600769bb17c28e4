// Times steps of one graph: graph_bench GRAPH.pb SIDE [--threads N] [--batches N] [--batch-ms MS] [--driver auto|serial|
// dataflow]. SIDE is the text file that tools/bench/graphs.py writes beside each graph: feeds, fetches, units.
// Prints one line of JSON: nanoseconds per unit of each batch, and the times up to the first result.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "executor/session/session.h"
#include "graph/base/error.h"
#include "graph/load/load_graph.h"

namespace sluice {
namespace {

double NowSeconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

[[noreturn]] void Die(const absl::Status& status) {
  std::cerr << FormatError(status) << "\n";
  std::exit(1);
}

// What a side file says.
struct Side {
  double units = 1;
  std::vector<std::string> feed_names;
  std::vector<Tensor> feeds;
  std::vector<std::string> fetches, targets, init;
};

// "const:1.5" fills with a number, "lcg" and everything else with small numbers that differ.
template <typename T>
Tensor Filled(const Shape& shape, const std::string& fill) {
  absl::StatusOr<Tensor> tensor = Tensor::Make(DTypeOf<T>::value, shape);
  if (!tensor.ok()) Die(tensor.status());
  double value = 0;
  const bool is_const = fill.rfind("const:", 0) == 0 && absl::SimpleAtod(fill.substr(6), &value);
  const absl::Span<T> elements = tensor->flat<T>();
  for (size_t i = 0; i < elements.size(); ++i) {
    elements[i] = static_cast<T>(is_const ? value : static_cast<double>(i * 7919 % 1000) / 1000 - 0.5);
  }
  return *std::move(tensor);
}

Tensor Feed(const std::string& dtype, const std::string& dims, const std::string& fill) {
  std::vector<int64_t> sizes;
  if (dims != "scalar") {
    for (const auto& size : absl::StrSplit(dims, 'x')) {
      sizes.push_back(0);
      if (!absl::SimpleAtoi(size, &sizes.back())) Die(absl::InvalidArgumentError(dims));
    }
  }
  const absl::StatusOr<Shape> shape = Shape::Make(sizes);
  if (!shape.ok()) Die(shape.status());
  if (dtype == "float32") return Filled<float>(*shape, fill);
  if (dtype == "int32") return Filled<int32_t>(*shape, fill);
  if (dtype == "int64") return Filled<int64_t>(*shape, fill);
  if (dtype == "bool") return Filled<bool>(*shape, fill);
  Die(absl::InvalidArgumentError(dtype));
}

Side ReadSide(const std::string& path) {
  Side side;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string key, a, b, c, d;
    words >> key >> a >> b >> c >> d;
    if (key == "units") side.units = std::atof(a.c_str());
    if (key == "fetch") side.fetches.push_back(a);
    if (key == "target") side.targets.push_back(a);
    if (key == "init") side.init.push_back(a);
    if (key != "feed") continue;
    side.feed_names.push_back(a);
    side.feeds.push_back(Feed(b, c, d));
  }
  return side;
}

int Main(int argc, char** argv) {
  SessionOptions options;
  options.num_threads = 1;
  int batches = 9;
  double batch_ms = 50;
  for (int i = 3; i + 1 < argc; i += 2) {
    const std::string flag = argv[i], value = argv[i + 1];
    if (flag == "--threads") options.num_threads = std::atoi(value.c_str());
    if (flag == "--batches") batches = std::atoi(value.c_str());
    if (flag == "--batch-ms") batch_ms = std::atof(value.c_str());
    if (flag == "--driver" && value == "serial") options.driver = Driver::kSerial;
    if (flag == "--driver" && value == "dataflow") options.driver = Driver::kDataflow;
  }
  const Side side = ReadSide(argv[2]);
  const double start = NowSeconds();
  LoadOptions load;
  load.infer_shapes = false;
  absl::StatusOr<LoadedGraph> loaded = LoadGraphFile(argv[1], load);
  if (!loaded.ok()) Die(loaded.status());
  const double imported = NowSeconds();
  absl::StatusOr<std::unique_ptr<Session>> session = Session::Create(options, std::move(loaded->graph));
  if (!session.ok()) Die(session.status());
  if (!side.init.empty()) {
    const auto init = (*session)->Run({}, {}, side.init);
    if (!init.ok()) Die(init.status());
  }
  FeedFetchSpec spec;
  spec.feeds = side.feed_names;
  spec.fetches = side.fetches;
  spec.targets = side.targets;
  const absl::StatusOr<std::shared_ptr<const Callable>> callable = (*session)->Prepare(spec);
  if (!callable.ok()) Die(callable.status());
  const double prepared = NowSeconds();
  std::vector<Tensor> inputs(side.feeds.size()), outputs(side.fetches.size());
  const auto run = [&] {
    for (size_t i = 0; i < inputs.size(); ++i) inputs[i] = side.feeds[i];
    const absl::Status status = (*callable)->Run(absl::MakeSpan(inputs), absl::MakeSpan(outputs));
    if (!status.ok()) Die(status);
  };
  run();
  const double first = NowSeconds();
  std::vector<double> ns;
  int64_t runs = 1;
  for (int batch = -2; batch < batches; ++batch) {
    const double begin = NowSeconds();
    int64_t done = 0;
    double end = begin;
    for (; end - begin < batch_ms / 1000; end = NowSeconds()) {
      for (int64_t i = 0; i < runs; ++i) run();
      done += runs;
    }
    if (batch < 0) runs = std::max<int64_t>(1, done / 50);
    if (batch >= 0) ns.push_back((end - begin) * 1e9 / static_cast<double>(done) / side.units);
  }
  std::sort(ns.begin(), ns.end());
  std::cout << "{\"min\": " << ns[0] << ", \"median\": " << ns[ns.size() / 2] << ", \"import_ms\": "
            << (imported - start) * 1e3 << ", \"prepare_ms\": " << (prepared - imported) * 1e3
            << ", \"first_ms\": " << (first - prepared) * 1e3 << ", \"batches\": [" << absl::StrJoin(ns, ", ") << "]}\n";
  return 0;
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
  if (argc < 3) {
    std::cerr << "usage: graph_bench GRAPH.pb SIDE [--threads N] [--batches N] [--batch-ms MS] [--driver NAME]\n";
    return 2;
  }
  return sluice::Main(argc, argv);
}
