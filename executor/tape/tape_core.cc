#include "executor/tape/tape_core.h"

#include "absl/strings/str_cat.h"
#include "executor/step_ids.h"
#include "graph/ops/op_table.h"
#include "kernels/families/register_all.h"

namespace sluice {
namespace {

std::unique_ptr<ThreadPool> MakePool(int num_threads) {
  if (num_threads == 1) return nullptr;
  ThreadPoolOptions options;
  options.num_threads = num_threads;
  options.name = "tape";
  return std::make_unique<ThreadPool>(options);
}

}  // namespace

TapeCore::TapeCore(const TapeOptions& options)
    : kernels_(options.kernels != nullptr ? *options.kernels : BuiltinKernels()),
      pool_(MakePool(options.num_threads)),
      device_(absl::StrCat(kLocalTask, "/device:CPU:0"), 1),
      ops_(options.ops != nullptr ? *options.ops : BuiltinOps(), kernels_, options.rows, &device_),
      structures_(options.max_structures, options.max_structure_bytes) {
  run_.step_id = NewStepId();  // Of ops called at once; passes have their own.
  run_.device = &device_;
  run_.resources = &device_.resources();
  run_.task_runner = pool_.get();
  run_.session_state = &state_;
  run_.deterministic = true;
}

}  // namespace sluice
