#include "kernels/register_all.h"

#include <memory>

#include "kernels/array/array_kernels.h"
#include "kernels/control/basic.h"
#include "kernels/linalg/linalg_kernels.h"
#include "kernels/math/math_kernels.h"
#include "kernels/state/state_kernels.h"

namespace sluice {

void RegisterAllKernels(KernelRegistry& registry) {
  AddArrayKernels(registry);
  registry.AddTable(BasicKernels());
  AddLinalgKernels(registry);
  AddMathKernels(registry);
  AddStateKernels(registry);
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
