#include <algorithm>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/value/tstring.h"
#include "kernels/array/index_values.h"
#include "kernels/dispatch.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/new_kernel.h"
#include "kernels/sparse/families.h"
#include "kernels/sparse/sparse_input.h"

namespace sluice {
namespace {

enum class SetOperation { kAMinusB, kBMinusA, kIntersection, kUnion };

absl::StatusOr<SetOperation> ReadOperation(const KernelConstruction& construction) {
  SLUICE_ASSIGN_OR_RETURN(const std::string stated, construction.Get<std::string>("set_operation"));
  const std::string name = absl::AsciiStrToLower(stated);
  if (name == "a-b") return SetOperation::kAMinusB;
  if (name == "b-a") return SetOperation::kBMinusA;
  if (name == "intersection") return SetOperation::kIntersection;
  if (name == "union") return SetOperation::kUnion;
  return AttrError("set_operation", PrintableName(stated), "a-b, b-a, intersection or union");
}

// Elements of sets, as what all dtypes are compared as: integers, or views of strings.
struct Integers {
  using Type = int64_t;
  static Type At(const Tensor& values, int64_t i) { return IndexAt(values, i); }
};
struct Texts {
  using Type = absl::string_view;
  static Type At(const Tensor& values, int64_t i) { return values.flat<TString>()[static_cast<size_t>(i)].view(); }
};

// Sets along the last axis: of a dense tensor, or of a sparse one whose entries are in order. Group g is the g-th by
// the indices on the other axes. Borrows the inputs.
struct Sets {
  const Tensor* values = nullptr;
  IndexVector groups;                                  // Sizes of the other axes.
  int64_t width = 0;                                   // Of a dense tensor: elements of each group.
  std::vector<std::pair<int64_t, int64_t>> of_groups;  // Of a sparse one: group and its first entry, in order.
  bool is_sparse = false;
};

IndexVector AllButLast(const Shape& shape) { return {shape.dims().begin(), shape.dims().end() - 1}; }

absl::StatusOr<Sets> DenseSets(const KernelContext& context, int i) {
  const Tensor& tensor = context.input(i);
  if (tensor.rank() < 2) return ShapeError(i, "", tensor.shape(), "rank 2 or more");
  Sets sets;
  sets.values = &tensor;
  sets.groups = AllButLast(tensor.shape());
  sets.width = tensor.shape().dims().back();
  return sets;
}

// The sets in inputs [first, first + 3).
absl::StatusOr<Sets> SparseSets(const KernelContext& context, int first, IndexRule rule) {
  SLUICE_ASSIGN_OR_RETURN(const SparseInput sparse, ReadSparse(context, first, IndexRule::kInside));
  if (rule != IndexRule::kInside) SLUICE_RETURN_IF_ERROR(CheckIndices(sparse, rule));
  if (sparse.rank < 2) return ShapeError(first + 2, "", sparse.shape, "rank 2 or more");
  Sets sets;
  sets.is_sparse = true;
  sets.values = sparse.values;
  sets.groups = AllButLast(sparse.shape);
  for (int64_t i = 0; i < sparse.entries; ++i) {
    int64_t group = 0;
    for (int d = 0; d + 1 < sparse.rank; ++d) group = group * sparse.shape.dim(d) + sparse.at(i)[d];
    if (!sets.of_groups.empty() && group < sets.of_groups.back().first) {
      return ValueError(first, "", absl::StrCat("entry ", i, " of an earlier group"),
                        "entries in the order of their indices");
    }
    if (sets.of_groups.empty() || group != sets.of_groups.back().first) sets.of_groups.emplace_back(group, i);
  }
  return sets;
}

// The different elements of one group, in order.
template <typename Element>
std::vector<typename Element::Type> SetOf(const Sets& sets, int64_t group) {
  int64_t begin = group * sets.width, end = begin + sets.width;
  if (sets.is_sparse) {
    const auto found =
        std::lower_bound(sets.of_groups.begin(), sets.of_groups.end(), std::make_pair(group, int64_t{0}));
    const bool is_there = found != sets.of_groups.end() && found->first == group;
    begin = is_there ? found->second : 0;
    end = !is_there                                  ? 0
          : std::next(found) == sets.of_groups.end() ? sets.values->num_elements()
                                                     : std::next(found)->second;
  }
  std::vector<typename Element::Type> set;
  set.reserve(static_cast<size_t>(end - begin));
  for (int64_t i = begin; i < end; ++i) set.push_back(Element::At(*sets.values, i));
  std::sort(set.begin(), set.end());
  set.erase(std::unique(set.begin(), set.end()), set.end());
  return set;
}

template <typename T>
std::vector<T> Combined(SetOperation operation, const std::vector<T>& a, const std::vector<T>& b) {
  std::vector<T> result;
  const auto out = std::back_inserter(result);
  switch (operation) {
    case SetOperation::kAMinusB:
      std::set_difference(a.begin(), a.end(), b.begin(), b.end(), out);
      break;
    case SetOperation::kBMinusA:
      std::set_difference(b.begin(), b.end(), a.begin(), a.end(), out);
      break;
    case SetOperation::kIntersection:
      std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), out);
      break;
    case SetOperation::kUnion:
      std::set_union(a.begin(), a.end(), b.begin(), b.end(), out);
      break;
  }
  return result;
}

void PutElement(int64_t value, Tensor& to, int64_t i) {
  DispatchDType<IntegerCppTypes>(to.dtype(), [&](auto type) {
    using T = typename decltype(type)::Type;
    to.flat<T>()[static_cast<size_t>(i)] = static_cast<T>(value);
  });
}
void PutElement(absl::string_view value, Tensor& to, int64_t i) { to.flat<TString>()[static_cast<size_t>(i)] = value; }

// Groups that have elements in either operand, in order.
std::vector<int64_t> GroupsToVisit(const Sets& a, const Sets& b, int64_t num_groups) {
  std::vector<int64_t> groups;
  if (a.width > 0 || b.width > 0) {  // A dense tensor with elements: no more groups than these.
    for (int64_t g = 0; g < num_groups; ++g) groups.push_back(g);
    return groups;
  }
  for (const auto& group : a.of_groups) groups.push_back(group.first);
  for (const auto& group : b.of_groups) groups.push_back(group.first);
  std::sort(groups.begin(), groups.end());
  groups.erase(std::unique(groups.begin(), groups.end()), groups.end());
  return groups;
}

// The sets of the results, as a sparse tensor: elements in order, numbered from 0 in each group.
template <typename Element>
absl::Status OutputSets(KernelContext& context, SetOperation operation, const Sets& a, const Sets& b) {
  SLUICE_ASSIGN_OR_RETURN(const Shape shape, MakeShape(a.groups));
  std::vector<int64_t> groups = GroupsToVisit(a, b, shape.num_elements());
  std::vector<std::vector<typename Element::Type>> results;
  int64_t total = 0, largest = 0;
  for (const int64_t group : groups) {
    results.push_back(Combined(operation, SetOf<Element>(a, group), SetOf<Element>(b, group)));
    total += static_cast<int64_t>(results.back().size());
    largest = std::max(largest, static_cast<int64_t>(results.back().size()));
  }
  const int64_t rank = shape.rank() + 1;
  SLUICE_ASSIGN_OR_RETURN(Tensor* const indices, context.AllocateOutput(0, Shape::Of({total, rank})));
  SLUICE_ASSIGN_OR_RETURN(Tensor* const values, context.AllocateOutput(1, Shape::Of({total})));
  int64_t* at = indices->flat<int64_t>().data();
  int64_t next = 0;
  for (size_t g = 0; g < groups.size(); ++g) {
    for (size_t k = 0; k < results[g].size(); ++k, at += rank) {
      at[rank - 1] = static_cast<int64_t>(k);
      int64_t rest = groups[g];
      for (int d = shape.rank() - 1; d >= 0; rest /= shape.dim(d), --d) at[d] = rest % shape.dim(d);
      PutElement(results[g][k], *values, next++);
    }
  }
  IndexVector dims = a.groups;
  dims.push_back(largest);
  return OutputVector(context, 2, dims);
}

// DenseToDenseSetOperation, DenseToSparseSetOperation, SparseToSparseSetOperation.
class SetOperationKernel : public Kernel {
 public:
  SetOperationKernel(SetOperation operation, IndexRule rule) : operation_(operation), rule_(rule) {}

  static absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelConstruction& construction) {
    SLUICE_ASSIGN_OR_RETURN(const SetOperation operation, ReadOperation(construction));
    SLUICE_ASSIGN_OR_RETURN(const bool validate, construction.Get<bool>("validate_indices"));
    return std::make_unique<SetOperationKernel>(operation, validate ? IndexRule::kAscending : IndexRule::kInside);
  }

  absl::Status Compute(KernelContext& context) const override {
    const int count = context.num_inputs();  // A dense tensor is one input, a sparse one three.
    SLUICE_ASSIGN_OR_RETURN(const Sets a, count == 6 ? SparseSets(context, 0, rule_) : DenseSets(context, 0));
    SLUICE_ASSIGN_OR_RETURN(const Sets b, count == 2   ? DenseSets(context, 1)
                                          : count == 4 ? SparseSets(context, 1, rule_)
                                                       : SparseSets(context, 3, rule_));
    if (a.groups != b.groups) {
      return ShapesError(absl::StrCat(a.groups.size() + 1, " and ", b.groups.size() + 1, " axes, or other sizes"),
                         "equal sizes but on the last axis");
    }
    if (a.values->dtype() == DType::kString) return OutputSets<Texts>(context, operation_, a, b);
    return OutputSets<Integers>(context, operation_, a, b);
  }

 private:
  const SetOperation operation_;
  const IndexRule rule_;
};

// How many different elements each group has.
class SetSizeKernel : public Kernel {
 public:
  explicit SetSizeKernel(bool validate) : rule_(validate ? IndexRule::kAscending : IndexRule::kInside) {}

  absl::Status Compute(KernelContext& context) const override {
    SLUICE_ASSIGN_OR_RETURN(const Sets sets, SparseSets(context, 0, rule_));
    SLUICE_ASSIGN_OR_RETURN(const Shape shape, MakeShape(sets.groups));
    SLUICE_ASSIGN_OR_RETURN(Tensor* const out, context.AllocateOutput(0, shape));
    const absl::Span<int32_t> sizes = out->flat<int32_t>();
    std::fill(sizes.begin(), sizes.end(), 0);
    for (const auto& group : sets.of_groups) {
      const size_t size = sets.values->dtype() == DType::kString ? SetOf<Texts>(sets, group.first).size()
                                                                 : SetOf<Integers>(sets, group.first).size();
      sizes[static_cast<size_t>(group.first)] = static_cast<int32_t>(size);
    }
    return absl::OkStatus();
  }

 private:
  const IndexRule rule_;
};

constexpr DTypeSet kSetTypes = kSignedTypes | DTypeSet{DType::kUInt8, DType::kUInt16, DType::kString};

constexpr KernelRow kRows[] = {
    KernelRow("DenseToDenseSetOperation", &New<SetOperationKernel>).Types("T", kSetTypes),
    KernelRow("DenseToSparseSetOperation", &New<SetOperationKernel>).Types("T", kSetTypes),
    KernelRow("SparseToSparseSetOperation", &New<SetOperationKernel>).Types("T", kSetTypes),
    KernelRow("SetSize", FromAttr<SetSizeKernel, bool>("validate_indices")).Types("T", kSetTypes),
};

}  // namespace

absl::Span<const KernelRow> SetKernels() { return kRows; }

}  // namespace sluice
