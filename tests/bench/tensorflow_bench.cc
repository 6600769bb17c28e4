// Times steps of one graph in TensorFlow, through its C API, opened at run time (development only):
//   tensorflow_bench LIBRARY GRAPH.pb SIDE [--config NAME] [--batches N] [--batch-ms MS]
// LIBRARY is libtensorflow_cc.so.2 of the wheel. Graph rewriting is off, but for the last configuration: what is timed
// is the executor.
//   default: TensorFlow's own pools; caller: all nodes on the calling thread; single: its executor for one thread;
//   pool: pools of one thread; rewriting: all nodes on the calling thread, graphs rewritten as TensorFlow does by
//   default. Prints a line like graph_bench's.

#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/bench/batch_timer.h"
#include "tests/bench/caller_batches.h"
#include "tests/bench/side_file.h"

namespace sluice {
namespace {

// The few declarations of the C API that are needed, as its documentation has them.
struct Buffer {
  const void* data;
  size_t length;
  void (*deallocator)(void*, size_t);
};
struct Endpoint {
  void* operation;
  int index;
};

using SessionRun = void(void* session, const Buffer* options, const Endpoint* inputs, void* const* values, int,
                        const Endpoint* outputs, void** results, int, void* const* targets, int, Buffer* metadata,
                        void* status);

void* library = nullptr;

template <typename Function>
Function* Symbol(const char* name) {
  void* const symbol = dlsym(library, name);
  if (symbol == nullptr) {
    std::fprintf(stderr, "no symbol %s\n", name);
    std::exit(1);
  }
  return reinterpret_cast<Function*>(symbol);
}

void* status = nullptr;

void Check(const char* what, void* of = status) {
  if (Symbol<int(void*)>("TF_GetCode")(of) == 0) return;
  std::fprintf(stderr, "%s: %s\n", what, Symbol<const char*(void*)>("TF_Message")(of));
  std::exit(1);
}

void AppendVarint(std::string* out, uint64_t value) {
  for (; value >= 128; value >>= 7) out->push_back(static_cast<char>(value | 128));
  out->push_back(static_cast<char>(value));
}
std::string NumberField(int field, int64_t value) {
  std::string out;
  AppendVarint(&out, static_cast<uint64_t>(field) << 3);
  AppendVarint(&out, static_cast<uint64_t>(value));
  return out;
}
std::string BytesField(int field, const std::string& bytes) {
  std::string out;
  AppendVarint(&out, static_cast<uint64_t>(field) << 3 | 2);
  AppendVarint(&out, bytes.size());
  return out + bytes;
}

// ConfigProto: rewriting (graph_options) and threads as `name` says, as many CPU devices as the side file says.
std::string Config(const std::string& name, const SideFile& side) {
  std::string config;
  if (name != "rewriting") {
    config = BytesField(10, BytesField(3, NumberField(3, -1)) + BytesField(10, NumberField(19, 1)));
  }
  if (side.devices > 1) config += BytesField(1, BytesField(1, "CPU") + NumberField(2, side.devices));  // device_count
  if (name == "default") return config;
  config += NumberField(2, 1);  // intra_op_parallelism_threads
  // inter_op_parallelism_threads, in pools of the session's own.
  if (name == "pool") return config + NumberField(5, std::max(1, side.threads)) + NumberField(9, 1);
  if (side.threads > 1) {
    std::fprintf(stderr, "%s has one thread, the graph wants %d\n", name.c_str(), side.threads);
    std::exit(3);
  }
  config += NumberField(5, -1);  // inter_op_parallelism_threads: the caller's thread.
  if (name == "single") config += BytesField(16, BytesField(3, "SINGLE_THREADED_EXECUTOR"));
  return config;
}

int TypeNumber(const std::string& name) {
  return name == "float32" ? 1 : name == "int32" ? 3 : name == "int64" ? 9 : 10;
}

class Peer {
 public:
  Peer(const std::string& graph_path, const SideFile& side, const std::string& config_name) {
    std::ifstream file(graph_path, std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    graph_ = Symbol<void*()>("TF_NewGraph")();
    Buffer buffer{bytes.data(), bytes.size(), nullptr};
    Symbol<void(void*, Buffer*, void*, void*)>("TF_GraphImportGraphDef")(
        graph_, &buffer, Symbol<void*()>("TF_NewImportGraphDefOptions")(), status);
    Check("import");
    void* const options = Symbol<void*()>("TF_NewSessionOptions")();
    const std::string config = Config(config_name, side);
    Symbol<void(void*, const void*, size_t, void*)>("TF_SetConfig")(options, config.data(), config.size(), status);
    Check("config");
    session_ = Symbol<void*(void*, void*, void*)>("TF_NewSession")(graph_, options, status);
    Check("session");
    if (config_name == "caller" || config_name == "single" || config_name == "rewriting") {
      run_options_ = NumberField(3, -1);  // inter_op_thread_pool: none.
      run_buffer_ = {run_options_.data(), run_options_.size(), nullptr};
    }
    RunInit(side.init);
    for (const SideFeed& feed : side.feeds) {
      inputs_.push_back(Find(feed.name));
      void* const tensor = Symbol<void*(int, const int64_t*, int, size_t)>("TF_AllocateTensor")(
          TypeNumber(feed.dtype), feed.dims.data(), static_cast<int>(feed.dims.size()), feed.bytes.size());
      std::memcpy(Symbol<void*(void*)>("TF_TensorData")(tensor), feed.bytes.data(), feed.bytes.size());
      values_.push_back(tensor);
    }
    for (const std::string& fetch : side.fetches) outputs_.push_back(Find(fetch));
    for (const std::string& target : side.targets) targets_.push_back(Find(target).operation);
  }

  // Calls from one thread.
  class Caller {
   public:
    explicit Caller(const Peer& peer)
        : peer_(peer), results_(peer.outputs_.size()), status_(Symbol<void*()>("TF_NewStatus")()) {}
    void Run() {
      const Peer& p = peer_;
      p.run_(p.session_, p.run_options_.empty() ? nullptr : &p.run_buffer_, p.inputs_.data(), p.values_.data(),
             static_cast<int>(p.inputs_.size()), p.outputs_.data(), results_.data(),
             static_cast<int>(p.outputs_.size()), p.targets_.data(), static_cast<int>(p.targets_.size()), nullptr,
             status_);
      if (p.get_code_(status_) != 0) Check("run", status_);
      for (void* const result : results_) p.delete_tensor_(result);
    }

   private:
    const Peer& peer_;
    std::vector<void*> results_;
    void* const status_;  // Lives until the process ends.
  };

 private:
  // The nodes that run once, before the graph is fed.
  void RunInit(const std::vector<std::string>& names) {
    std::vector<void*> operations;
    for (const std::string& name : names) operations.push_back(Find(name).operation);
    if (operations.empty()) return;
    run_(session_, nullptr, nullptr, nullptr, 0, nullptr, nullptr, 0, operations.data(),
         static_cast<int>(operations.size()), nullptr, status);
    Check("init");
  }
  Endpoint Find(const std::string& name) {
    const size_t colon = name.rfind(':');
    void* const operation =
        Symbol<void*(void*, const char*)>("TF_GraphOperationByName")(graph_, name.substr(0, colon).c_str());
    return {operation, colon == std::string::npos ? 0 : std::atoi(name.c_str() + colon + 1)};
  }

  void* graph_ = nullptr;
  void* session_ = nullptr;
  std::string run_options_;
  Buffer run_buffer_ = {nullptr, 0, nullptr};
  std::vector<Endpoint> inputs_, outputs_;
  std::vector<void*> values_, targets_;
  SessionRun* const run_ = Symbol<SessionRun>("TF_SessionRun");
  int (*const get_code_)(void*) = Symbol<int(void*)>("TF_GetCode");
  void (*const delete_tensor_)(void*) = Symbol<void(void*)>("TF_DeleteTensor");
};

int Main(int argc, char** argv) {
  std::string config = "caller";
  int batches = 5;
  double batch_ms = 50;
  for (int i = 4; i + 1 < argc; i += 2) {
    const std::string flag = argv[i];
    if (flag == "--config") config = argv[i + 1];
    if (flag == "--batches") batches = std::atoi(argv[i + 1]);
    if (flag == "--batch-ms") batch_ms = std::atof(argv[i + 1]);
  }
  library = dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  status = Symbol<void*()>("TF_NewStatus")();
  const SideFile side = ReadSideFile(argv[3]);
  const double start = NowSeconds();
  const Peer peer(argv[2], side, config);
  Peer::Caller caller(peer);
  caller.Run();
  const std::string to_first = ToFirstJson(NowSeconds() - start);
  if (side.callers == 0) {
    const std::vector<double> ns = TimeBatches(batches, batch_ms, side.units, [&] { caller.Run(); });
    std::printf("%s\n", BatchJson(ns, to_first).c_str());
    return 0;
  }
  std::vector<Peer::Caller> callers;
  for (int i = 0; i < side.callers; ++i) callers.emplace_back(peer);
  const CallerTimes times = TimeCallers(side.callers, batches, std::max(batch_ms, 500.0), side.units,
                                        [&](int i) { callers[static_cast<size_t>(i)].Run(); });
  std::printf("%s\n", CallerJson(times, to_first).c_str());
  return 0;
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr,
                 "usage: tensorflow_bench LIBRARY GRAPH.pb SIDE [--config NAME] [--batches N] [--batch-ms MS]\n");
    return 2;
  }
  return sluice::Main(argc, argv);
}
