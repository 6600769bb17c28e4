#ifndef SLUICE_KERNELS_AT_START_H_
#define SLUICE_KERNELS_AT_START_H_

// Note [Code that runs at the start]
// A process registers every kernel, whatever it runs: hundreds of functions of a few bytes, one in the code of each
// family. Each would page in the code around it, in all most of the program. So they have a section of their own (which
// the linker keeps apart: -z keep-text-section-prefix in .bazelrc), and a family's code is paged in when it is called.
//
//   SLUICE_AT_START absl::Span<const KernelRow> MatMulKernels();
#define SLUICE_AT_START [[gnu::section(".text.startup")]]

#endif  // SLUICE_KERNELS_AT_START_H_
