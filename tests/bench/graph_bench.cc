// Times steps of one graph: graph_bench GRAPH.pb SIDE [--threads N] [--batches N] [--batch-ms MS] [--driver
// auto|serial| dataflow]. SIDE is the text file that tools/bench/graphs.py writes beside each graph: feeds, fetches,
// units. Prints one line of JSON: nanoseconds per unit of each batch, and the times up to the first result.

#include <cstdlib>
#include <cstring>
#include <iostream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "executor/session/session.h"
#include "graph/base/error.h"
#include "graph/load/load_graph.h"
#include "tests/bench/batch_timer.h"
#include "tests/bench/side_file.h"

namespace sluice {
namespace {

[[noreturn]] void Die(const absl::Status& status) {
  std::cerr << FormatError(status) << "\n";
  std::exit(1);
}

Tensor FeedTensor(const SideFeed& feed) {
  const absl::StatusOr<DType> dtype = ParseDType(feed.dtype);
  if (!dtype.ok()) Die(dtype.status());
  const absl::StatusOr<Shape> shape = Shape::Make(feed.dims);
  if (!shape.ok()) Die(shape.status());
  absl::StatusOr<Tensor> tensor = Tensor::Make(*dtype, *shape);
  if (!tensor.ok()) Die(tensor.status());
  std::memcpy(tensor->mutable_raw_data(), feed.bytes.data(), feed.bytes.size());
  return *std::move(tensor);
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
  const SideFile side = ReadSideFile(argv[2]);
  std::vector<Tensor> feeds;
  for (const SideFeed& feed : side.feeds) feeds.push_back(FeedTensor(feed));
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
  for (const SideFeed& feed : side.feeds) spec.feeds.push_back(feed.name);
  spec.fetches = side.fetches;
  spec.targets = side.targets;
  const absl::StatusOr<std::shared_ptr<const Callable>> callable = (*session)->Prepare(spec);
  if (!callable.ok()) Die(callable.status());
  const double prepared = NowSeconds();
  std::vector<Tensor> inputs(side.feeds.size()), outputs(side.fetches.size());
  const auto run = [&] {
    for (size_t i = 0; i < inputs.size(); ++i) inputs[i] = feeds[i];
    const absl::Status status = (*callable)->Run(absl::MakeSpan(inputs), absl::MakeSpan(outputs));
    if (!status.ok()) Die(status);
  };
  run();
  const double first = NowSeconds();
  const std::vector<double> ns = TimeBatches(batches, batch_ms, side.units, run);
  std::cout << BatchJson(ns, absl::StrCat("\"import_ms\": ", (imported - start) * 1e3, ", \"prepare_ms\": ",
                                          (prepared - imported) * 1e3, ", \"first_ms\": ", (first - prepared) * 1e3,
                                          ", \"to_first_ms\": ", (first - start) * 1e3))
            << "\n";
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
