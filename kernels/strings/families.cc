#include "kernels/strings/families.h"

#include "kernels/kernel_registry.h"

namespace sluice {

void AddStringsKernels(KernelRegistry& registry) {
  registry.AddTable(AsStringKernels());
  registry.AddTable(Base64Kernels());
  registry.AddTable(FingerprintKernels());
  registry.AddTable(HashBucketKernels());
  registry.AddTable(RegexKernels());
  registry.AddTable(StringBytesKernels());
  registry.AddTable(StringChangeKernels());
  registry.AddTable(StringFormatKernels());
  registry.AddTable(StringJoinKernels());
  registry.AddTable(StringNGramsKernels());
  registry.AddTable(StringReduceKernels());
  registry.AddTable(StringSplitKernels());
  registry.AddTable(StringToNumberKernels());
  registry.AddTable(SubstrKernels());
  registry.AddTable(SummaryKernels());
  registry.AddTable(UnicodeKernels());
}

}  // namespace sluice
