#include "kernels/families/register_all.h"

#include <memory>

#include "kernels/array/families.h"
#include "kernels/control/families.h"
#include "kernels/linalg/families.h"
#include "kernels/math/families.h"
#include "kernels/nn/families.h"
#include "kernels/parsing/families.h"
#include "kernels/random/families.h"
#include "kernels/reduce/families.h"
#include "kernels/state/families.h"
#include "kernels/strings/families.h"
#include "kernels/transfer/families.h"

namespace sluice {

void RegisterAllKernels(KernelRegistry& registry) {
  AddArrayKernels(registry);
  AddControlKernels(registry);
  AddLinalgKernels(registry);
  AddMathKernels(registry);
  AddNnKernels(registry);
  AddParsingKernels(registry);
  AddRandomKernels(registry);
  AddReduceKernels(registry);
  AddStateKernels(registry);
  AddStringsKernels(registry);
  AddTransferKernels(registry);
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
