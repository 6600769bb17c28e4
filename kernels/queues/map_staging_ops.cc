#include <algorithm>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/new_kernel.h"
#include "kernels/queues/families.h"
#include "kernels/queues/staging_map.h"
#include "kernels/queues/staging_spec.h"

namespace sluice {
namespace {

// Input 0, the key of an element.
absl::Status CheckKey(const KernelContext& context) {
  const Shape& shape = context.input(0).shape();
  if (shape.num_elements() == 1) return absl::OkStatus();
  return ShapeError(0, "key", shape, "one key");
}

// Which tensors of an element input `input` names: `count` numbers, ascending, below `limit`.
absl::StatusOr<std::vector<size_t>> Numbers(const KernelContext& context, int input, size_t count, size_t limit) {
  const absl::Span<const int32_t> indices = context.input(input).flat<int32_t>();
  std::vector<size_t> numbers;
  numbers.reserve(count);
  if (indices.size() != count || count == 0) {
    return ShapesError(input, "indices", absl::StrCat(indices.size(), " indices"),
                       absl::StrCat(std::max<size_t>(count, 1), ", one for each tensor"));
  }
  int64_t last = -1;
  for (const int32_t index : indices) {
    if (index <= last || static_cast<size_t>(index) >= limit) {
      return ValueError(input, "indices", index, absl::StrCat("ascending numbers of tensors, below ", limit));
    }
    last = index;
    numbers.push_back(static_cast<size_t>(index));
  }
  return numbers;
}

// Puts some tensors of an element, or all.
template <typename Map>
class MapStageKernel final : public AsyncKernel {
 public:
  MapStageKernel(StagedOfNode<Map> map, size_t width) : map_(std::move(map)), width_(width) {}

  static absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelConstruction& construction) {
    SLUICE_ASSIGN_OR_RETURN(StagedOfNode<Map> map, StagedOfNode<Map>::Make(construction));
    SLUICE_ASSIGN_OR_RETURN(const std::vector<DType> types, construction.Get<std::vector<DType>>("dtypes"));
    return std::make_unique<MapStageKernel>(std::move(map), types.size());
  }

  void ComputeAsync(KernelContext& context, Done done) const override {
    absl::StatusOr<CountedPtr<Map>> map = map_.Find(context);
    if (!map.ok()) return done(map.status());
    const absl::Status key = CheckKey(context);
    if (!key.ok()) return done(key);
    const size_t count = static_cast<size_t>(context.num_inputs() - 2);
    absl::StatusOr<std::vector<size_t>> numbers = Numbers(context, 1, count, width_);
    if (!numbers.ok()) return done(numbers.status());
    absl::StatusOr<QueueElement> tensors = InputsToKeep(context, 2);
    if (!tensors.ok()) return done(tensors.status());
    Map& target = **map;
    target.Put(
        context.input(0), {*std::move(numbers), *std::move(tensors)}, width_, context.run().cancellation,
        [owner = *std::move(map), done = std::move(done)](absl::Status status) mutable { done(std::move(status)); });
  }
  CostHint cost_hint() const override { return CostHint::kCheap; }

 private:
  const StagedOfNode<Map> map_;
  const size_t width_;
};

enum class Getting { kPeek, kTake, kTakeAny };

// MapPeek, MapUnstage and MapUnstageNoKey, which gives the key, too.
template <typename Map, Getting kGetting>
class MapGetKernel final : public AsyncKernel {
 public:
  explicit MapGetKernel(StagedOfNode<Map> map) : map_(std::move(map)) {}

  void ComputeAsync(KernelContext& context, Done done) const override {
    absl::StatusOr<CountedPtr<Map>> map = map_.Find(context);
    if (!map.ok()) return done(map.status());
    absl::StatusOr<StagingMap::Request> request = ReadRequest(context);
    if (!request.ok()) return done(request.status());
    Map& source = **map;
    source.Get(*std::move(request), context.run().cancellation,
               [&context, owner = *std::move(map), done = std::move(done)](absl::Status status, Tensor key,
                                                                           QueueElement found) mutable {
                 int output = 0;
                 if (kGetting == Getting::kTakeAny && status.ok()) context.SetOutput(output++, std::move(key));
                 for (Tensor& value : found) context.SetOutput(output++, std::move(value));
                 done(std::move(status));
               });
  }
  CostHint cost_hint() const override { return CostHint::kCheap; }

 private:
  static absl::StatusOr<StagingMap::Request> ReadRequest(const KernelContext& context) {
    constexpr bool kHasKey = kGetting != Getting::kTakeAny;
    StagingMap::Request request;
    request.has_key = kHasKey;
    request.takes = kGetting != Getting::kPeek;
    if (kHasKey) {
      SLUICE_RETURN_IF_ERROR(CheckKey(context));
      request.key = context.input(0).flat<int64_t>()[0];
    }
    request.types = OutputTypes(context, kHasKey ? 0 : 1);
    SLUICE_ASSIGN_OR_RETURN(
        request.numbers, Numbers(context, kHasKey ? 1 : 0, request.types.size(), std::numeric_limits<int32_t>::max()));
    return request;
  }

  const StagedOfNode<Map> map_;
};

// How many elements there are of one kind.
template <typename Map, int64_t (StagingMap::*kSize)() const>
class MapSizeKernel final : public Kernel {
 public:
  explicit MapSizeKernel(StagedOfNode<Map> map) : map_(std::move(map)) {}

  absl::Status Compute(KernelContext& context) const override {
    SLUICE_ASSIGN_OR_RETURN(const CountedPtr<Map> map, map_.Find(context));
    const int64_t most = std::numeric_limits<int32_t>::max();
    context.SetScalar(0, static_cast<int32_t>(std::min((map.get()->*kSize)(), most)));
    return absl::OkStatus();
  }
  CostHint cost_hint() const override { return CostHint::kCheap; }

 private:
  const StagedOfNode<Map> map_;
};

// Drops all elements, incomplete ones, too.
template <typename Map>
class MapClearKernel final : public Kernel {
 public:
  explicit MapClearKernel(StagedOfNode<Map> map) : map_(std::move(map)) {}

  absl::Status Compute(KernelContext& context) const override {
    SLUICE_ASSIGN_OR_RETURN(const CountedPtr<Map> map, map_.Find(context));
    map->Clear();
    return absl::OkStatus();
  }

 private:
  const StagedOfNode<Map> map_;
};

template <typename K, typename Map>
constexpr KernelFactory kNewOf = &NewWith<K, StagedOfNode<Map>::Make>;
using Plain = PlainStagingMap;
using Ordered = OrderedStagingMap;

constexpr KernelRow kRows[] = {
    KernelRow("MapStage", &New<MapStageKernel<Plain>>),
    KernelRow("MapPeek", kNewOf<MapGetKernel<Plain, Getting::kPeek>, Plain>),
    KernelRow("MapUnstage", kNewOf<MapGetKernel<Plain, Getting::kTake>, Plain>),
    KernelRow("MapUnstageNoKey", kNewOf<MapGetKernel<Plain, Getting::kTakeAny>, Plain>),
    KernelRow("MapSize", kNewOf<MapSizeKernel<Plain, &StagingMap::num_complete>, Plain>),
    KernelRow("MapIncompleteSize", kNewOf<MapSizeKernel<Plain, &StagingMap::num_incomplete>, Plain>),
    KernelRow("MapClear", kNewOf<MapClearKernel<Plain>, Plain>),
    KernelRow("OrderedMapStage", &New<MapStageKernel<Ordered>>),
    KernelRow("OrderedMapPeek", kNewOf<MapGetKernel<Ordered, Getting::kPeek>, Ordered>),
    KernelRow("OrderedMapUnstage", kNewOf<MapGetKernel<Ordered, Getting::kTake>, Ordered>),
    KernelRow("OrderedMapUnstageNoKey", kNewOf<MapGetKernel<Ordered, Getting::kTakeAny>, Ordered>),
    KernelRow("OrderedMapSize", kNewOf<MapSizeKernel<Ordered, &StagingMap::num_complete>, Ordered>),
    KernelRow("OrderedMapIncompleteSize", kNewOf<MapSizeKernel<Ordered, &StagingMap::num_incomplete>, Ordered>),
    KernelRow("OrderedMapClear", kNewOf<MapClearKernel<Ordered>, Ordered>),
};

}  // namespace

absl::Span<const KernelRow> MapStagingKernels() { return kRows; }

}  // namespace sluice
