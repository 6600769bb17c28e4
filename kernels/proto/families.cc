#include "kernels/proto/families.h"

#include "kernels/kernel_registry.h"

namespace sluice {

void AddProtoKernels(KernelRegistry& registry) {
  registry.AddTable(DecodeProtoKernels());
  registry.AddTable(EncodeProtoKernels());
}

}  // namespace sluice
