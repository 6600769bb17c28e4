// Checkpoints read: RestoreV2.

#include <string>
#include <utility>
#include <vector>

#include "graph/base/status_macros.h"
#include "graph/value/tstring.h"
#include "kernels/checkpoint/bundle_index.h"
#include "kernels/checkpoint/bundle_reader.h"
#include "kernels/checkpoint/tensor_slice.h"
#include "kernels/io/families.h"
#include "kernels/io/inputs.h"
#include "kernels/io/table_restore.h"
#include "kernels/kernel.h"
#include "kernels/new_kernel.h"
#include "kernels/workers.h"

namespace sluice {
namespace {

absl::Status AddOutput(KernelContext& context, int i, absl::string_view name, absl::string_view spec,
                       const BundleEntry& entry, BundleReader* reader) {
  const auto allocate = [&context, i](const Shape& shape) { return context.AllocateOutput(i, shape); };
  if (spec.empty()) return reader->AddWhole(name, entry, allocate);
  SLUICE_ASSIGN_OR_RETURN(const SliceSpec slice, ParseSliceSpec(spec));
  SLUICE_RETURN_IF_ERROR(CheckRestoredShape(name, entry.shape, slice.box.full_shape));
  return reader->AddPart(name, entry, slice.box, allocate);
}

absl::Status Restore(KernelContext& context) {
  SLUICE_ASSIGN_OR_RETURN(const std::string prefix,
                          PathInput(context, 0, "the prefix of the checkpoint's files", PathUse::kRead));
  const int count = context.num_outputs();
  SLUICE_ASSIGN_OR_RETURN(const NamedSlices wanted, NamesAndSlices(context, count));
  if (!HasBundleIndex(prefix)) return RestoreFromTables(context, prefix, wanted);
  SLUICE_ASSIGN_OR_RETURN(const BundleIndex index, BundleIndex::OpenIndexOnly(prefix));
  std::vector<const BundleEntry*> entries;
  for (const TString& name : wanted.names) {
    SLUICE_ASSIGN_OR_RETURN(const BundleEntry* const entry, index.Find(name.view()));
    entries.push_back(entry);
  }
  const Workers workers(context.run());
  BundleReader reader(index, workers);
  for (int i = 0; i < count; ++i) {
    const size_t at = static_cast<size_t>(i);
    const absl::string_view name = wanted.names[at].view();
    SLUICE_RETURN_IF_ERROR(CheckRestoredType(name, entries[at]->dtype, context.output_type(i)));
    SLUICE_RETURN_IF_ERROR(AddOutput(context, i, name, wanted.slices[at].view(), *entries[at], &reader));
  }
  return reader.Run();
}

constexpr KernelRow kRows[] = {KernelRow("RestoreV2", &Call<Restore>).Heavy()};

}  // namespace

absl::Span<const KernelRow> RestoreV2Kernels() { return kRows; }

}  // namespace sluice
