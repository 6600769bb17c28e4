#ifndef SLUICE_KERNELS_STATE_TENSOR_ARRAY_H_
#define SLUICE_KERNELS_STATE_TENSOR_ARRAY_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "graph/base/hash_table.h"
#include "graph/base/mutex.h"
#include "graph/value/tensor.h"
#include "kernels/memory/container_allocator.h"
#include "kernels/state/step_resource.h"

namespace sluice {

// An array of tensors that loops write and read by index. Each element is written once (those of a gradient array add
// up) and, with clear_after_read, read once.
// Owned by its handle or the step container; a gradient array by the array that it is of. Thread-safe.
class TensorArray final : public StepResource {
 public:
  static constexpr absl::string_view kTypeName = "TensorArray";
  // More elements than any loop writes, few enough that empty ones do not fill the memory.
  static constexpr int64_t kMaxSize = int64_t{1} << 24;
  // Of gradients of gradients. Each is owned by the one before and has its name in its own.
  static constexpr int kMaxGradientLevel = 64;

  struct Options {
    DType dtype = DType::kInvalid;
    int64_t size = 0;            // At first.
    PartialShape element_shape;  // Of every element.
    bool identical_element_shapes = false;
    bool dynamic_size = false;  // Grows to hold what is written.
    bool clear_after_read = true;
    int gradient_level = 0;  // From 1: writes to one element add up.
  };
  // The table of elements lies in memory of `allocator`, which must outlive the array: it counts against the limit of
  // the session. Throws std::bad_alloc where the table does not fit, as all methods that make the array grow.
  // REQUIRES: 0 <= options.size <= kMaxSize.
  TensorArray(std::string name, Options options, Allocator& allocator);

  DType dtype() const { return options_.dtype; }
  // kTensorArray when the elements are of another dtype.
  absl::Status CheckDType(DType wanted) const;

  // Errors of all methods below: kTensorArray when the array is closed or the call is against its rules,
  // kTensorArrayIndex for an index that leads out of it.

  // Writes value i to element indices[i], one after the other until one fails.
  absl::Status Write(absl::Span<const int64_t> indices, absl::Span<Tensor> values, Allocator& allocator)
      ABSL_LOCKS_EXCLUDED(mu_);
  // Returns the elements at `indices`. An element that was never written is zeros if its shape is known; so is one
  // after the end of a gradient array, which grows.
  absl::StatusOr<std::vector<Tensor>> Read(absl::Span<const int64_t> indices, Allocator& allocator)
      ABSL_LOCKS_EXCLUDED(mu_);
  absl::StatusOr<int64_t> Size() const ABSL_LOCKS_EXCLUDED(mu_);
  // The size, after it grew to `needed` where the array may; kTensorArray unless it is `needed` then. Also the size
  // that concatenating the gradient will have.
  absl::Status CheckOrGrowSize(int64_t needed) ABSL_LOCKS_EXCLUDED(mu_);
  // How many elements Concat and Pack take: of a gradient, as many as the last CheckOrGrowSize asked for.
  absl::StatusOr<int64_t> SizeToConcat() const ABSL_LOCKS_EXCLUDED(mu_);
  // Merges `shape` into the known part of the elements' shape. kTensorArray if they contradict.
  absl::StatusOr<PartialShape> MergeElementShape(const PartialShape& shape) ABSL_LOCKS_EXCLUDED(mu_);

  // The array that adds up the gradients of this one for `source`; made when first asked for, with elements of `prefix`
  // followed by the shape of this array's. This one does not grow afterwards. kOpUnimplemented past kMaxGradientLevel.
  absl::StatusOr<CountedPtr<TensorArray>> Gradient(const std::string& source, const Shape& prefix)
      ABSL_LOCKS_EXCLUDED(mu_);
  // Drops all elements; afterwards reads and writes fail.
  void Close() ABSL_LOCKS_EXCLUDED(mu_);
  // At the end of the step: the gradients are closed, too.
  void CloseForGood() ABSL_LOCKS_EXCLUDED(mu_);
  std::string DebugString() const override ABSL_LOCKS_EXCLUDED(mu_);

 private:
  struct Element {
    Tensor value;             // Without one: zeros of `shape` when written.
    Shape shape;              // Of what was written.
    bool is_written = false;  // Or known to have been written in the array that this is the gradient of.
    bool was_read = false;
    bool was_cleared = false;
  };
  using Table = std::vector<Element, ContainerAllocator<Element>>;

  bool is_gradient() const { return options_.gradient_level > 0; }
  absl::Status CheckOpen() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status WriteOne(int64_t index, Tensor& value, Allocator& allocator, Tensor* old)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status AddTo(Element& element, Tensor value, Allocator& allocator, Tensor* old);
  absl::StatusOr<Tensor> ReadOne(int64_t index, Allocator& allocator) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::StatusOr<CountedPtr<TensorArray>> MakeGradient(const std::string& source, const Shape& prefix) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const Options options_;
  mutable Mutex mu_;  // Lock order: an array before its gradients.
  PartialShape element_shape_ ABSL_GUARDED_BY(mu_);
  Table elements_ ABSL_GUARDED_BY(mu_);
  int64_t size_to_concat_ ABSL_GUARDED_BY(mu_) = 0;
  bool may_grow_ ABSL_GUARDED_BY(mu_);
  bool is_closed_ ABSL_GUARDED_BY(mu_) = false;
  HashMap<std::string, CountedPtr<TensorArray>> gradients_ ABSL_GUARDED_BY(mu_);
};

}  // namespace sluice

#endif  // SLUICE_KERNELS_STATE_TENSOR_ARRAY_H_
