#include "tools/cli/version_command.h"

#include <google/protobuf/stubs/common.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "graph/ir/graph.h"
#include "graph/ops/op_table.h"
#include "kernels/families/register_all.h"
#include "nlohmann/json.hpp"
#include "tools/cli/console/json_document.h"
#include "tools/cli/console/number_text.h"
#include "tools/cli/ops/op_support.h"
#include "tools/cli/version.h"

namespace sluice {
namespace {

// Facts the compiler knows. Nothing here depends on when, where or from which commit it was built, so that equal
// sources give equal programs.
std::string CompilerName() {
#if defined(__clang__)
  return absl::StrCat("clang ", __clang_major__, ".", __clang_minor__, ".", __clang_patchlevel__);
#else
  return absl::StrCat("gcc ", __GNUC__, ".", __GNUC_MINOR__, ".", __GNUC_PATCHLEVEL__);
#endif
}

std::string BuildMode() {
  std::string mode;
#ifdef __OPTIMIZE__
  mode = "optimised";
#else
  mode = "not optimised";
#endif
#if defined(__SANITIZE_ADDRESS__)
  mode += ", address sanitizer";
#elif defined(__SANITIZE_THREAD__)
  mode += ", thread sanitizer";
#endif
  return mode;
}

// `sluice version`: which build this is. Lives for one run, on one thread.
class VersionCommand : public Command {
 public:
  void Declare(CLI::App& app) override { app.add_flag("--json", json_, "one JSON document")->group("Output"); }

  int Run(Console& console) override {
    const int pb = GOOGLE_PROTOBUF_VERSION;
    const std::string protobuf = absl::StrCat(pb / 1000000, ".", pb / 1000 % 1000, ".", pb % 1000);
    int ops = 0, ops_that_run = 0;
    BuiltinOps().ForEachName([&](absl::string_view op) {
      ++ops;
      if (SupportOf(BuiltinKernels(), op) != OpSupport::kNone) ++ops_that_run;
    });
    if (json_) {
      nlohmann::ordered_json document = {{"version", std::string(kVersion)},
                                         {"graph_version", kGraphVersion},
                                         {"compiler", CompilerName()},
                                         {"build", BuildMode()},
                                         {"protobuf", protobuf},
                                         {"ops", ops},
                                         {"ops_that_run", ops_that_run}};
      console.Write(JsonDocument(document));
      return kExitOk;
    }
    console.Write(absl::StrCat("sluice ", kVersion, "\n", "  graph format  ", kGraphVersion, " (TensorFlow 2.19)\n",
                               "  compiler      ", CompilerName(), ", ", BuildMode(), "\n", "  protobuf      ",
                               protobuf, "\n", "  ops           ", CountText(ops_that_run), " of ", CountText(ops),
                               " run here (sluice ops lists them)\n"));
    return kExitOk;
  }

 private:
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> MakeVersionCommand() { return std::make_unique<VersionCommand>(); }

}  // namespace sluice
