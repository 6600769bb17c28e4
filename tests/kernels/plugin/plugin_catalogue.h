#ifndef SLUICE_TESTS_KERNELS_PLUGIN_PLUGIN_CATALOGUE_H_
#define SLUICE_TESTS_KERNELS_PLUGIN_PLUGIN_CATALOGUE_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "executor/session/session.h"
#include "graph/ir/builder.h"
#include "graph/ops/op_table.h"
#include "kernels/families/register_all.h"
#include "kernels/plugin/load_plugin.h"

namespace sluice {

// Where Bazel puts the plug-ins of this directory.
inline std::string PluginFile(const std::string& name) { return "tests/kernels/plugin/" + name; }

// The ops and kernels of a program that loads plug-ins. One thread's.
struct PluginCatalogue {
  PluginCatalogue() { RegisterAllKernels(kernels); }
  absl::StatusOr<PluginInfo> Load(const std::string& name) { return LoadPlugin(PluginFile(name), ops, kernels); }

  // y of one node `op` over placeholders of the fed values, by a session of its own.
  absl::StatusOr<Tensor> Run(const std::string& op, const std::vector<Tensor>& inputs, GraphBuilder::Attrs attrs = {},
                             const CallOptions& options = {}) const {
    GraphBuilder b(ops);
    std::vector<Output> sources;
    NamedTensors feeds;
    for (const Tensor& input : inputs) {
      const std::string name = "x" + std::to_string(feeds.size());
      sources.push_back(b.Placeholder(name, input.dtype()));
      feeds.emplace_back(name, input);
    }
    b.Op(op, "y", sources, std::move(attrs));
    absl::StatusOr<Graph> graph = b.Build();
    if (!graph.ok()) return graph.status();
    absl::StatusOr<std::unique_ptr<Session>> session = Open(*std::move(graph));
    if (!session.ok()) return session.status();
    absl::StatusOr<std::vector<Tensor>> results = (*session)->Run(feeds, {"y"}, {}, options);
    if (!results.ok()) return results.status();
    return (*results)[0];
  }
  absl::StatusOr<std::unique_ptr<Session>> Open(Graph graph) const {
    SessionOptions options;
    options.kernels = &kernels;
    options.num_threads = 2;
    return Session::Create(options, std::move(graph));
  }

  std::shared_ptr<OpRegistry> ops = NewOpRegistry();
  KernelRegistry kernels;
};

}  // namespace sluice

#endif  // SLUICE_TESTS_KERNELS_PLUGIN_PLUGIN_CATALOGUE_H_
