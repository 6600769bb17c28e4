// Sparse tensors that are kept under numbers: AddSparseToTensorsMap, AddManySparseToTensorsMap,
// TakeManySparseFromTensorsMap.

#include <algorithm>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/base/mutex.h"
#include "graph/base/status_macros.h"
#include "graph/value/allocator.h"
#include "graph/value/counted.h"
#include "graph/value/resource_handle.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/memory/container_allocator.h"
#include "kernels/new_kernel.h"
#include "kernels/queues/named_resource.h"
#include "kernels/sparse/families.h"
#include "kernels/sparse/sparse_input.h"
#include "kernels/sparse/sparse_rows.h"
#include "kernels/tables/key_index.h"

namespace sluice {
namespace {

using Unnamed = ResourceName::Unnamed;

// A sparse tensor that is kept. Rows without entries share one. Immutable; thread-safe.
class KeptTensor final : public Counted {
 public:
  explicit KeptTensor(SparseParts parts) : parts_(std::move(parts)) {}
  const SparseParts& parts() const { return parts_; }

 private:
  const SparseParts parts_;
};
using KeptPtr = CountedPtr<const KeptTensor>;
KeptPtr Keep(SparseParts parts) { return MakeCounted<KeptTensor>(std::move(parts)); }

// Sparse tensors by number, from 0 on. Per-row data comes from an allocator, which must outlive it, since the number of
// rows is only claimed by their shape. Owned by the resource manager. Thread-safe.
class SparseTensorsMap final : public Resource {
 public:
  static constexpr absl::string_view kTypeName = "SparseTensorsMap";
  explicit SparseTensorsMap(Allocator* allocator)
      : Resource(kTypeName), numbers_(*allocator), kept_(ContainerAllocator<KeptPtr>(*allocator)) {}

  // Throws std::bad_alloc where memory is short, or there are too many, and changes nothing then.
  int64_t Add(KeptPtr kept) {
    MutexLock lock(&mu_);
    if (numbers_.size() == IntKeyIndex::kMaxSize) throw std::bad_alloc();
    if (kept_.size() == kept_.capacity()) kept_.reserve(std::max<size_t>(16, 2 * kept_.size()));
    numbers_.Insert(next_);
    kept_.push_back(std::move(kept));  // There is room.
    return next_++;
  }
  // Takes the tensors of `numbers` out, up to one that is not there: kOpValue.
  absl::Status Take(absl::Span<const int64_t> numbers, std::vector<KeptPtr>* taken) {
    MutexLock lock(&mu_);
    for (const int64_t number : numbers) {
      const int64_t at = numbers_.Remove(number);
      if (at < 0) {
        return ValueError(0, "sparse_handles", number, "a number that an op gave, of a tensor that was not taken yet");
      }
      taken->push_back(std::move(kept_[static_cast<size_t>(at)]));
      kept_[static_cast<size_t>(at)] = std::move(kept_.back());  // The last number has this place now.
      kept_.pop_back();
    }
    return absl::OkStatus();
  }
  std::string DebugString() const override {
    MutexLock lock(&mu_);
    return absl::StrCat(kept_.size(), " sparse tensors");
  }

 private:
  mutable Mutex mu_;
  IntKeyIndex numbers_ ABSL_GUARDED_BY(mu_);
  std::vector<KeptPtr, ContainerAllocator<KeptPtr>> kept_ ABSL_GUARDED_BY(mu_);
  int64_t next_ ABSL_GUARDED_BY(mu_) = 0;
};

// Base of the kernels: which map it is. Immutable; thread-safe.
template <typename K, Unnamed kUnnamed>
class MapKernel : public Kernel {
 public:
  explicit MapKernel(ResourceName name) : name_(std::move(name)) {}

  static absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelConstruction& construction) {
    SLUICE_ASSIGN_OR_RETURN(ResourceName name, ResourceName::Make(construction, SparseTensorsMap::kTypeName, kUnnamed));
    return std::make_unique<K>(std::move(name));
  }

 protected:
  absl::StatusOr<CountedPtr<SparseTensorsMap>> Map(const KernelContext& context) const {
    return name_.LookupOrCreate<SparseTensorsMap>(context, &context.allocator());
  }

 private:
  const ResourceName name_;
};

// Keeps the sparse tensor and gives its number. Kept tensors may outlive the inputs; they share the counted buffers,
// and only a row that is cut out is copied.
class AddKernel final : public MapKernel<AddKernel, Unnamed::kNodeName> {
 public:
  using MapKernel::MapKernel;

  absl::Status Compute(KernelContext& context) const override {
    SLUICE_ASSIGN_OR_RETURN(const SparseInput sparse, ReadSparse(context, 0, IndexRule::kAny));
    SLUICE_ASSIGN_OR_RETURN(const CountedPtr<SparseTensorsMap> map, Map(context));
    context.SetScalar<int64_t>(0, map->Add(Keep({*sparse.indices, *sparse.values, sparse.dims})));
    return absl::OkStatus();
  }
};

// Keeps each row. Rows without entries come last, as in TensorFlow, which numbers them so.
class AddManyKernel final : public MapKernel<AddManyKernel, Unnamed::kNodeName> {
 public:
  using MapKernel::MapKernel;

  absl::Status Compute(KernelContext& context) const override {
    SLUICE_ASSIGN_OR_RETURN(const SparseInput sparse, ReadSparse(context, 0, IndexRule::kAscending));
    SLUICE_ASSIGN_OR_RETURN(const std::vector<RowEntries> runs, FindRows(sparse));
    SLUICE_ASSIGN_OR_RETURN(const Shape shape, MakeShape({sparse.dims[0]}));
    SLUICE_ASSIGN_OR_RETURN(Tensor* const out, context.AllocateOutput(0, shape));
    SLUICE_ASSIGN_OR_RETURN(const CountedPtr<SparseTensorsMap> map, Map(context));
    const absl::Span<int64_t> numbers = out->flat<int64_t>();
    std::fill(numbers.begin(), numbers.end(), int64_t{-1});
    for (const RowEntries& run : runs) {
      SLUICE_ASSIGN_OR_RETURN(SparseParts parts, CopyRow(context, sparse, run));
      numbers[static_cast<size_t>(run.row)] = map->Add(Keep(std::move(parts)));
    }
    SLUICE_ASSIGN_OR_RETURN(SparseParts no_entries, CopyRow(context, sparse, RowEntries()));
    const KeptPtr none = Keep(std::move(no_entries));
    for (int64_t& number : numbers) {
      if (number < 0) number = map->Add(none);
    }
    return absl::OkStatus();
  }
};

// Takes tensors out and makes them the rows of one.
class TakeManyKernel final : public MapKernel<TakeManyKernel, Unnamed::kOwn> {
 public:
  using MapKernel::MapKernel;

  absl::Status Compute(KernelContext& context) const override {
    const Tensor& numbers = context.input(0);
    if (numbers.rank() != 1 || numbers.num_elements() == 0) {
      return ShapeError(0, "sparse_handles", numbers.shape(), "a vector of one element or more");
    }
    SLUICE_ASSIGN_OR_RETURN(const CountedPtr<SparseTensorsMap> map, Map(context));
    std::vector<KeptPtr> taken;
    SLUICE_RETURN_IF_ERROR(map->Take(numbers.flat<int64_t>(), &taken));
    std::vector<const SparseParts*> parts;
    for (const KeptPtr& kept : taken) {
      parts.push_back(&kept->parts());
      const DType dtype = kept->parts().values.dtype();
      if (dtype == context.output_type(1)) continue;
      return ValueError(0, "sparse_handles", absl::StrCat("values of ", DTypeName(dtype)),
                        DTypeName(context.output_type(1)));
    }
    return OutputJoined(context, parts, numbers.shape());
  }
};

constexpr KernelRow kRows[] = {
    KernelRow("AddManySparseToTensorsMap", &New<AddManyKernel>),
    KernelRow("AddSparseToTensorsMap", &New<AddKernel>),
    KernelRow("TakeManySparseFromTensorsMap", &New<TakeManyKernel>),
};

}  // namespace

absl::Span<const KernelRow> SparseTensorsMapKernels() { return kRows; }

}  // namespace sluice
