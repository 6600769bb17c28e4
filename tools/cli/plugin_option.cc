#include "tools/cli/plugin_option.h"

#include <utility>

#include "graph/base/status_macros.h"
#include "graph/ops/op_table.h"
#include "kernels/families/register_all.h"
#include "kernels/plugin/load_plugin.h"

namespace sluice {

void PluginOption::Declare(CLI::App& app, const std::string& group) {
  app.add_option("--plugin", files_,
                 "also use the ops and kernels of this shared library, whose code runs in this program; once for each")
      ->allow_extra_args(false)
      ->option_text("FILE")
      ->group(group);
}

absl::Status PluginOption::Load() {
  if (files_.empty() || ops_ != nullptr) return absl::OkStatus();
  std::shared_ptr<OpRegistry> ops = NewOpRegistry();
  auto kernels = std::make_unique<KernelRegistry>();
  RegisterAllKernels(*kernels);
  for (const std::string& file : files_) SLUICE_RETURN_IF_ERROR(LoadPlugin(file, ops, *kernels).status());
  ops_ = std::move(ops);
  kernels_ = std::move(kernels);
  return absl::OkStatus();
}

const OpRegistry& PluginOption::ops() const { return ops_ != nullptr ? *ops_ : BuiltinOps(); }

const KernelRegistry& PluginOption::kernels() const { return kernels_ != nullptr ? *kernels_ : BuiltinKernels(); }

}  // namespace sluice
