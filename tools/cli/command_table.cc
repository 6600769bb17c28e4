#include "tools/cli/command_table.h"

#include <algorithm>

#include "tools/cli/bench_command.h"
#include "tools/cli/check_command.h"
#include "tools/cli/conform_command.h"
#include "tools/cli/convert_command.h"
#include "tools/cli/explain_command.h"
#include "tools/cli/grad_command.h"
#include "tools/cli/ops_command.h"
#include "tools/cli/run_command.h"
#include "tools/cli/show_command.h"
#include "tools/cli/train_command.h"
#include "tools/cli/version_command.h"

namespace sluice {
namespace {

constexpr CommandRow kCommands[] = {
    {"run", "MODEL", "feeds a model, runs it and shows what it answers",
     "sluice run tools/examples/digits.pb --feed image=1x64xf32=random:7 --fetch digit --stats", &MakeRunCommand},
    {"show", "MODEL",
     "what is in a model or checkpoint: nodes, ops, inputs, outputs, signatures, functions, loops, variables",
     "sluice show detector.pb --html detector.html", &MakeShowCommand},
    {"check", "MODEL", "whether a model is sound and can run here; every error at once", "sluice check detector.pb",
     &MakeCheckCommand},
    {"convert", "IN OUT", "between binary and text, SavedModel to GraphDef, pruned to what is fetched",
     "sluice convert train.pbtxt infer.pb --fetch logits", &MakeConvertCommand},
    {"grad", "MODEL", "adds gradients to a model: a GraphDef that TensorFlow runs, too",
     "sluice grad model.pb --y loss --x weights,bias -o with_gradients.pb", &MakeGradCommand},
    {"train", "MODEL DATA", "trains a model on arrays: checkpoints, loss curve, resumes where it was interrupted",
     "sluice train model.pb digits.npz --loss loss --metric accuracy --optimizer adam --validate 0.1 -o run1",
     &MakeTrainCommand},
    {"bench", "MODEL", "how long a model takes to load, to prepare and to run",
     "sluice bench tools/examples/digits.pb --feed image=1x64xf32=random:7 --threads 1 --profile", &MakeBenchCommand},
    {"conform", "DIR ...", "run conformance cases and count what passes", "sluice conform tests/goldens",
     &MakeConformCommand},
    {"ops", "[NAME ...]", "which ops run here and with which dtypes; what an op takes, gives and can be told",
     "sluice ops MatMul", &MakeOpsCommand},
    {"explain", "[CODE]", "what an error code means, with an example and the way out", "sluice explain SLC2103",
     &MakeExplainCommand},
    {"version", "", "version and build of this program", "sluice version --json", &MakeVersionCommand},
};

}  // namespace

absl::Span<const CommandRow> AllCommands() { return kCommands; }

const CommandRow* FindCommand(absl::string_view name) {
  const auto row = std::find_if(std::begin(kCommands), std::end(kCommands),
                                [name](const CommandRow& candidate) { return candidate.name == name; });
  return row == std::end(kCommands) ? nullptr : row;
}

}  // namespace sluice
