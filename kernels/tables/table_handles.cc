#include <memory>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "kernels/device/device.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/state/handles.h"
#include "kernels/tables/dense_table.h"
#include "kernels/tables/families.h"
#include "kernels/tables/hash_table.h"

namespace sluice {
namespace {

enum class TableKind { kInitialized, kMutable, kMutableOfTensors, kDense };

TableKind KindOf(absl::string_view op) {
  if (absl::StrContains(op, "Dense")) return TableKind::kDense;
  if (absl::StrContains(op, "OfTensors")) return TableKind::kMutableOfTensors;
  return absl::StrContains(op, "Mutable") ? TableKind::kMutable : TableKind::kInitialized;
}

// What the attrs say of a table.
struct TableSpec {
  TableKind kind = TableKind::kInitialized;
  DType key = DType::kInvalid;
  DType value = DType::kInvalid;
  PartialShape value_shape = PartialShape::Scalar();
  int64_t num_buckets = 0;
  float max_load = 0;
};

absl::StatusOr<TableSpec> ReadSpec(const KernelConstruction& construction) {
  TableSpec spec;
  spec.kind = KindOf(construction.op());
  SLUICE_ASSIGN_OR_RETURN(spec.key, construction.Get<DType>("key_dtype"));
  SLUICE_ASSIGN_OR_RETURN(spec.value, construction.Get<DType>("value_dtype"));
  if (spec.kind == TableKind::kMutableOfTensors || spec.kind == TableKind::kDense) {
    SLUICE_ASSIGN_OR_RETURN(spec.value_shape, construction.Get<PartialShape>("value_shape"));
  }
  if (spec.kind == TableKind::kDense) {
    SLUICE_ASSIGN_OR_RETURN(spec.num_buckets, construction.Get<int64_t>("initial_num_buckets"));
    SLUICE_ASSIGN_OR_RETURN(spec.max_load, construction.Get<float>("max_load_factor"));
  }
  return spec;
}

absl::StatusOr<CountedPtr<LookupTable>> MakeDense(const KernelContext& context, const TableSpec& spec) {
  DenseTable::Options options;
  options.value_dtype = spec.value;
  options.value_shape = spec.value_shape.ToShape();
  // Copies: inputs may be parts of something large.
  SLUICE_ASSIGN_OR_RETURN(options.empty_key, context.input(0).DeepCopy());
  SLUICE_ASSIGN_OR_RETURN(options.deleted_key, context.input(1).DeepCopy());
  options.num_buckets = spec.num_buckets;
  options.max_load = spec.max_load;
  SLUICE_ASSIGN_OR_RETURN(CountedPtr<DenseTable> table, DenseTable::Make(options, context.allocator()));
  return CountedPtr<LookupTable>(std::move(table));
}

absl::StatusOr<CountedPtr<LookupTable>> MakeTable(const KernelContext& context, const TableSpec& spec) {
  const bool needs_vector = spec.kind == TableKind::kMutableOfTensors;
  if (!spec.value_shape.IsFullyDefined() || (needs_vector && spec.value_shape.rank() != 1)) {
    return AttrError("value_shape", spec.value_shape.ToString(),
                     needs_vector ? "a vector of known size" : "a known shape");
  }
  switch (spec.kind) {
    case TableKind::kDense:
      return MakeDense(context, spec);
    case TableKind::kInitialized:
      return CountedPtr<LookupTable>(MakeCounted<InitializedTable>(spec.key, spec.value));
    default:
      return CountedPtr<LookupTable>(
          MakeCounted<MutableTable>(spec.key, spec.value, spec.value_shape.ToShape(), context.allocator()));
  }
}

// A table of a container, under its shared_name or one of the node's own; made in the first run, and kept until the
// resources are cleared.
class NamedTableKernel : public Kernel {
 public:
  NamedTableKernel(TableSpec spec, ResourceHandleData data)
      : spec_(std::move(spec)), handle_(HandleTensor(data)), names_(DType::kString) {
    MutexLock lock(&names_.mu);
    names_.tensor = Tensor::Strings({data.container, data.name});
  }

  absl::Status Compute(KernelContext& context) const override {
    SLUICE_ASSIGN_OR_RETURN(ResourceManager* const resources, RunResources(context));
    const ResourceHandleData& data = std::as_const(handle_).flat<ResourceHandle>()[0].data();
    SLUICE_ASSIGN_OR_RETURN(
        const CountedPtr<LookupTable> table,
        resources->LookupOrCreate<LookupTable>(data.container, data.name, [&]() { return MakeTable(context, spec_); }));
    SLUICE_RETURN_IF_ERROR(table->CheckTypes(spec_.key, spec_.value));
    if (IsRef(context.output_type(0))) {
      context.SetRefOutput(0, &names_);
    } else {
      context.SetOutput(0, handle_);
    }
    return absl::OkStatus();
  }
  CostHint cost_hint() const override { return CostHint::kCheap; }

 private:
  const TableSpec spec_;
  const Tensor handle_;
  mutable RefCell names_;  // For references; never changed.
};

// A new table in each run, held by its handle alone.
class AnonymousTableKernel : public Kernel {
 public:
  AnonymousTableKernel(TableSpec spec, std::string device) : spec_(std::move(spec)), device_(std::move(device)) {}

  absl::Status Compute(KernelContext& context) const override {
    ResourceHandleData data;
    data.device = device_;
    data.name = "_anonymous_table";
    data.maybe_type_name = std::string(LookupTable::kTypeName);
    SLUICE_ASSIGN_OR_RETURN(data.resource, MakeTable(context, spec_));
    context.SetOutput(0, HandleTensor(std::move(data)));
    return absl::OkStatus();
  }
  CostHint cost_hint() const override { return CostHint::kCheap; }

 private:
  const TableSpec spec_;
  const std::string device_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeHandle(const KernelConstruction& construction) {
  SLUICE_ASSIGN_OR_RETURN(TableSpec spec, ReadSpec(construction));
  const std::string device = construction.device() != nullptr ? construction.device()->name() : std::string();
  if (absl::StartsWith(construction.op(), "Anonymous")) {
    return std::make_unique<AnonymousTableKernel>(std::move(spec), device);
  }
  ResourceHandleData data;
  data.device = device;
  data.maybe_type_name = std::string(LookupTable::kTypeName);
  SLUICE_ASSIGN_OR_RETURN(data.container, construction.Get<std::string>("container"));
  SLUICE_ASSIGN_OR_RETURN(data.name, construction.Get<std::string>("shared_name"));
  SLUICE_ASSIGN_OR_RETURN(const bool shares_by_node_name, construction.Get<bool>("use_node_name_sharing"));
  if (data.container.empty()) data.container = std::string(kDefaultContainer);
  // A table without a shared name is private to the node, even if another node's shared_name is this node's name.
  if (data.name.empty()) data.name = absl::StrCat(shares_by_node_name ? "" : "_own/", construction.name());
  return std::make_unique<NamedTableKernel>(std::move(spec), std::move(data));
}

constexpr DType kText = DType::kString, kI32 = DType::kInt32, kI64 = DType::kInt64;
constexpr DTypeSet kOfInt32{kI32, DType::kFloat, DType::kDouble};
constexpr DTypeSet kOfInt64 = kOfInt32 | DTypeSet{kI64};
constexpr DTypeSet kOfText = kOfInt64 | DTypeSet{DType::kBool};
constexpr DTypeSet kString{kText}, kVariant{DType::kVariant}, kResource{DType::kResource}, kBool{DType::kBool};

// The dtypes are those for which TensorFlow has kernels. No row for MutableDenseHashTable, the form before V2: it takes
// no deleted_key, without which TensorFlow's kernel ends with an error, too.
constexpr KernelRow Row(absl::string_view op, DType key, DTypeSet values) {
  return KernelRow(op, &MakeHandle).Types("key_dtype", {key}).Types("value_dtype", values).Cheap();
}

constexpr KernelRow kRows[] = {
    Row("HashTable", kText, kOfText | kString),
    Row("HashTable", kI32, kOfInt32 | kString),
    Row("HashTable", kI64, kOfInt64 | kString),
    Row("HashTableV2", kText, kOfText | kString),
    Row("HashTableV2", kI32, kOfInt32 | kString),
    Row("HashTableV2", kI64, kOfInt64 | kString),
    Row("AnonymousHashTable", kText, kOfText | kString),
    Row("AnonymousHashTable", kI32, kOfInt32 | kString),
    Row("AnonymousHashTable", kI64, kOfInt64 | kString),
    Row("MutableHashTable", kText, kOfText),
    Row("MutableHashTable", kI32, kOfInt32),
    Row("MutableHashTable", kI64, kOfInt64 | kString | kVariant),
    Row("MutableHashTableV2", kText, kOfText),
    Row("MutableHashTableV2", kI32, kOfInt32),
    Row("MutableHashTableV2", kI64, kOfInt64 | kString | kVariant),
    Row("AnonymousMutableHashTable", kText, kOfText),
    Row("AnonymousMutableHashTable", kI32, kOfInt32),
    Row("AnonymousMutableHashTable", kI64, kOfInt64 | kString | kVariant),
    Row("MutableHashTableOfTensors", kText, kOfText),
    Row("MutableHashTableOfTensors", kI32, kOfInt32),
    Row("MutableHashTableOfTensors", kI64, kOfInt64 | kString),
    Row("MutableHashTableOfTensorsV2", kText, kOfText),
    Row("MutableHashTableOfTensorsV2", kI32, kOfInt32),
    Row("MutableHashTableOfTensorsV2", kI64, kOfInt64 | kString),
    Row("AnonymousMutableHashTableOfTensors", kText, kOfText),
    Row("AnonymousMutableHashTableOfTensors", kI32, kOfInt32),
    Row("AnonymousMutableHashTableOfTensors", kI64, kOfInt64 | kString),
    Row("MutableDenseHashTableV2", kText, kOfText | kResource),
    Row("MutableDenseHashTableV2", kI32, kOfInt32),
    Row("MutableDenseHashTableV2", kI64, kOfInt64 | kBool | kVariant),
    Row("AnonymousMutableDenseHashTable", kText, kOfText | kResource),
    Row("AnonymousMutableDenseHashTable", kI32, kOfInt32),
    Row("AnonymousMutableDenseHashTable", kI64, kOfInt64 | kBool | kVariant),
};

}  // namespace

absl::Span<const KernelRow> TableHandleKernels() { return kRows; }

}  // namespace sluice
