#include "kernels/families/register_all.h"

#include <memory>

#include "kernels/array/array_kernels.h"
#include "kernels/control/assert_print.h"
#include "kernels/control/basic.h"
#include "kernels/linalg/linalg_kernels.h"
#include "kernels/math/math_kernels.h"
#include "kernels/reduce/reduce_kernels.h"
#include "kernels/state/state_kernels.h"
#include "kernels/transfer/send_recv.h"

namespace sluice {

void RegisterAllKernels(KernelRegistry& registry) {
  AddArrayKernels(registry);
  registry.AddTable(BasicKernels());
  AddLinalgKernels(registry);
  AddMathKernels(registry);
  AddReduceKernels(registry);
  AddStateKernels(registry);
  registry.AddTable(AssertPrintKernels());
  registry.AddTable(SendRecvKernels());
}

const KernelRegistry& BuiltinKernels() {
  static const KernelRegistry* const registry = [] {
    auto made = std::make_unique<KernelRegistry>();
    RegisterAllKernels(*made);
    return made.release();
  }();
  return *registry;
}

}  // namespace sluice
