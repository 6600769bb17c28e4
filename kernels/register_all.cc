#include "kernels/register_all.h"

#include <memory>

#include "kernels/control/basic.h"

namespace sluice {

void RegisterAllKernels(KernelRegistry& registry) { registry.AddTable(BasicKernels()); }

const KernelRegistry& BuiltinKernels() {
  static const KernelRegistry* const registry = [] {
    auto made = std::make_unique<KernelRegistry>();
    RegisterAllKernels(*made);
    return made.release();
  }();
  return *registry;
}

}  // namespace sluice
