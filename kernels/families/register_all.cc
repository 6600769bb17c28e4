#include "kernels/families/register_all.h"

#include <memory>

#include "kernels/array/families.h"
#include "kernels/control/families.h"
#include "kernels/fft/families.h"
#include "kernels/image/families.h"
#include "kernels/io/families.h"
#include "kernels/layout/families.h"
#include "kernels/linalg/families.h"
#include "kernels/lists/families.h"
#include "kernels/math/families.h"
#include "kernels/nn/families.h"
#include "kernels/norm/families.h"
#include "kernels/optimizers/families.h"
#include "kernels/parsing/families.h"
#include "kernels/pool/families.h"
#include "kernels/proto/families.h"
#include "kernels/queues/families.h"
#include "kernels/ragged/families.h"
#include "kernels/random/families.h"
#include "kernels/reduce/families.h"
#include "kernels/rnn/families.h"
#include "kernels/sequence/families.h"
#include "kernels/sparse/families.h"
#include "kernels/state/families.h"
#include "kernels/strings/families.h"
#include "kernels/tables/families.h"
#include "kernels/transfer/families.h"

namespace sluice {

void RegisterAllKernels(KernelRegistry& registry) {
  AddArrayKernels(registry);
  AddControlKernels(registry);
  AddFftKernels(registry);
  AddImageKernels(registry);
  AddIoKernels(registry);
  AddLayoutKernels(registry);
  AddLinalgKernels(registry);
  AddListsKernels(registry);
  AddMathKernels(registry);
  AddNnKernels(registry);
  AddNormKernels(registry);
  AddOptimizerKernels(registry);
  AddParsingKernels(registry);
  AddPoolKernels(registry);
  AddProtoKernels(registry);
  AddQueueKernels(registry);
  AddRaggedKernels(registry);
  AddRandomKernels(registry);
  AddReduceKernels(registry);
  AddRnnKernels(registry);
  AddSequenceKernels(registry);
  AddSparseKernels(registry);
  AddStateKernels(registry);
  AddStringsKernels(registry);
  AddTablesKernels(registry);
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
