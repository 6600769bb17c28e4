#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "kernels/kernel.h"
#include "kernels/new_kernel.h"
#include "kernels/state/step_resource.h"
#include "kernels/tables/families.h"
#include "kernels/tables/lookup_table.h"

namespace sluice {
namespace {

absl::Status ComputeFind(KernelContext& context) {
  SLUICE_ASSIGN_OR_RETURN(const CountedPtr<LookupTable> table, LookupNamed<LookupTable>(context));
  SLUICE_RETURN_IF_ERROR(table->CheckTypes(context.input(1).dtype(), context.input(2).dtype()));
  SLUICE_ASSIGN_OR_RETURN(Tensor values, table->Find(context, context.input(1), context.input(2)));
  context.SetOutput(0, std::move(values));
  return absl::OkStatus();
}

// Insert, Import and InitializeTable: a change with keys and values.
template <absl::Status (LookupTable::*kChange)(const KernelContext&, const Tensor&, const Tensor&)>
absl::Status ComputeChange(KernelContext& context) {
  SLUICE_ASSIGN_OR_RETURN(const CountedPtr<LookupTable> table, LookupNamed<LookupTable>(context));
  SLUICE_RETURN_IF_ERROR(table->CheckTypes(context.input(1).dtype(), context.input(2).dtype()));
  return ((*table).*kChange)(context, context.input(1), context.input(2));
}

absl::Status ComputeRemove(KernelContext& context) {
  SLUICE_ASSIGN_OR_RETURN(const CountedPtr<LookupTable> table, LookupNamed<LookupTable>(context));
  SLUICE_RETURN_IF_ERROR(table->CheckTypes(context.input(1).dtype(), table->value_dtype()));
  return table->Remove(context, context.input(1));
}

absl::Status ComputeSize(KernelContext& context) {
  SLUICE_ASSIGN_OR_RETURN(const CountedPtr<LookupTable> table, LookupNamed<LookupTable>(context));
  context.SetScalar(0, table->size());
  return absl::OkStatus();
}

absl::Status ComputeExport(KernelContext& context) {
  SLUICE_ASSIGN_OR_RETURN(const CountedPtr<LookupTable> table, LookupNamed<LookupTable>(context));
  SLUICE_RETURN_IF_ERROR(table->CheckTypes(context.output_type(0), context.output_type(1)));
  SLUICE_ASSIGN_OR_RETURN(TableItems items, table->Export(context));
  context.SetOutput(0, std::move(items.keys));
  context.SetOutput(1, std::move(items.values));
  return absl::OkStatus();
}

constexpr KernelRow kRows[] = {
    KernelRow("LookupTableFind", &Call<ComputeFind>),
    KernelRow("LookupTableFindV2", &Call<ComputeFind>),
    KernelRow("LookupTableInsert", &Call<ComputeChange<&LookupTable::Insert>>),
    KernelRow("LookupTableInsertV2", &Call<ComputeChange<&LookupTable::Insert>>),
    KernelRow("LookupTableRemoveV2", &Call<ComputeRemove>),
    KernelRow("LookupTableSize", &Call<ComputeSize>).Cheap(),
    KernelRow("LookupTableSizeV2", &Call<ComputeSize>).Cheap(),
    KernelRow("LookupTableExport", &Call<ComputeExport>),
    KernelRow("LookupTableExportV2", &Call<ComputeExport>),
    KernelRow("LookupTableImport", &Call<ComputeChange<&LookupTable::Import>>),
    KernelRow("LookupTableImportV2", &Call<ComputeChange<&LookupTable::Import>>),
    KernelRow("InitializeTable", &Call<ComputeChange<&LookupTable::Initialize>>),
    KernelRow("InitializeTableV2", &Call<ComputeChange<&LookupTable::Initialize>>),
};

}  // namespace

absl::Span<const KernelRow> TableKernels() { return kRows; }

}  // namespace sluice
