// Imports the binary GraphDef in the file given and prints one line of JSON: what tools/bench/import_vs_tensorflow.py
// reads. The bytes are in memory before the clock starts, as TensorFlow's are.

#include <malloc.h>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

#include "graph/base/error.h"
#include "graph/ir/import.h"
#include "graph/ops/op_table.h"

namespace sluice {
namespace {

size_t HeapBytes() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

int Main(const char* path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  ImportOptions options;
  options.ops = NewOpRegistry();
  GraphSource source;
  source.bytes = bytes;
  const size_t before = HeapBytes();
  const auto start = std::chrono::steady_clock::now();
  const absl::StatusOr<Graph> graph = ImportGraph(std::move(source), options);
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
  if (!graph.ok()) return std::fputs(FormatError(graph.status()).c_str(), stderr), 1;
  std::printf("{\"nodes\": %zu, \"import_ms\": %.3f, \"graph_bytes\": %zu, \"file_bytes\": %zu}\n", graph->num_nodes(),
              took.count(), HeapBytes() - before, bytes.size());
  return 0;
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
  if (argc != 2) return std::fputs("usage: import_once GRAPH.pb\n", stderr), 2;
  return sluice::Main(argv[1]);
}
