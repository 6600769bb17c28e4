#include "kernels/families/register_all.h"

#include <memory>

#include "kernels/array/families.h"
#include "kernels/control/families.h"
#include "kernels/fft/families.h"
#include "kernels/image/families.h"
#include "kernels/linalg/families.h"
#include "kernels/math/families.h"
#include "kernels/nn/families.h"
#include "kernels/random/families.h"
#include "kernels/reduce/families.h"
#include "kernels/rnn/families.h"
#include "kernels/sequence/families.h"
#include "kernels/state/families.h"
#include "kernels/transfer/families.h"

namespace sluice {

void RegisterAllKernels(KernelRegistry& registry) {
  AddArrayKernels(registry);
  AddControlKernels(registry);
  AddFftKernels(registry);
  AddImageKernels(registry);
  AddLinalgKernels(registry);
  AddMathKernels(registry);
  AddNnKernels(registry);
  AddRandomKernels(registry);
  AddReduceKernels(registry);
  AddRnnKernels(registry);
  AddSequenceKernels(registry);
  AddStateKernels(registry);
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
