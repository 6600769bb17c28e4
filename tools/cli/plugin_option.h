#ifndef SLUICE_TOOLS_CLI_PLUGIN_OPTION_H_
#define SLUICE_TOOLS_CLI_PLUGIN_OPTION_H_

#include <memory>
#include <string>
#include <vector>

#include "CLI/App.hpp"
#include "absl/status/status.h"
#include "graph/ir/op_registry.h"
#include "kernels/kernel_registry.h"

namespace sluice {

// --plugin of a command, and the ops and kernels with these plug-ins. Lives in its command, longer than the graphs and
// sessions that use them. One thread's until Load has returned.
class PluginOption {
 public:
  void Declare(CLI::App& app, const std::string& group);

  // Whether the command line names any.
  bool are_given() const { return !files_.empty(); }
  // Loads the plug-ins of the command line, in their order; later calls do nothing. The first error ends it.
  absl::Status Load();

  // The built-in ops, and those of loaded plug-ins.
  const OpRegistry& ops() const;
  const KernelRegistry& kernels() const;
  // The same for LoadOptions::ops: null without plug-ins.
  std::shared_ptr<const OpRegistry> added_ops() const { return ops_; }

 private:
  std::vector<std::string> files_;
  std::shared_ptr<OpRegistry> ops_;
  std::unique_ptr<KernelRegistry> kernels_;
};

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_PLUGIN_OPTION_H_
