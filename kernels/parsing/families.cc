#include "kernels/parsing/families.h"

#include "kernels/kernel_registry.h"

namespace sluice {

void AddParsingKernels(KernelRegistry& registry) {
  registry.AddTable(DecodeBytesKernels());
  registry.AddTable(DecodeCsvKernels());
  registry.AddTable(ParseExampleKernels());
  registry.AddTable(ParseSequenceExampleKernels());
}

}  // namespace sluice
