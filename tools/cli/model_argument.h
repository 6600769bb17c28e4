#ifndef SLUICE_TOOLS_CLI_MODEL_ARGUMENT_H_
#define SLUICE_TOOLS_CLI_MODEL_ARGUMENT_H_

#include <string>

#include "CLI/App.hpp"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/load/load_graph.h"
#include "tools/cli/console/console.h"
#include "tools/cli/plugin_option.h"

namespace sluice {

// The MODEL argument of a command and the options that say how to load it. Lives in its command.
class ModelArgument {
 public:
  // Declares the argument `name` ("MODEL", "IN") and --tags, --plugin, --max-file-bytes and the like.
  void Declare(CLI::App& app, const std::string& name = "MODEL");

  const std::string& path() const { return path_; }
  // Returns `defaults` with the user's options, and the plug-ins' ops once they are loaded.
  LoadOptions Options(LoadOptions defaults = LoadOptions()) const;

  // Loads the plug-ins of the command line. Call before Options; an error is not about the model.
  absl::Status LoadPlugins() { return plugins_.Load(); }
  // The kernels that the model can run with. They live as long as this.
  const KernelRegistry& kernels() const { return plugins_.kernels(); }
  // Adds to `status` what users of this program can do about it: raise a limit by an option, load a plug-in, use
  // another command.
  absl::Status Explained(const absl::Status& status) const;
  // Loads the model; progress and warnings go to the console, errors to the caller.
  absl::StatusOr<LoadedGraph> Load(Console& console, const LoadOptions& options) const;

 private:
  std::string path_;
  std::string tags_;
  PluginOption plugins_;
  LoadLimits limits_;
};

// --freeze and --restore of commands that write a graph. Lives in its command.
struct FreezeOption {
  bool is_given = false;
  std::string restore;  // Empty: the model's own values.

  // Declares both in the group "Graph"; `kept` describes the remaining graph in the help.
  void Declare(CLI::App& app, absl::string_view kept);
};

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_MODEL_ARGUMENT_H_
