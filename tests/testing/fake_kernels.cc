#include "tests/testing/fake_kernels.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "kernels/families/register_all.h"
#include "kernels/kernel.h"
#include "kernels/launch.h"
#include "tests/testing/fake_device.h"

namespace sluice {
namespace {

FakeStream& StreamOf(const Launch& launch) { return static_cast<FakeStream&>(launch.stream()); }

// What the device's thread reads (writes) for a tensor. REQUIRES: it has elements.
template <typename T>
T* OnDevice(const Launch& launch, const Tensor& tensor) {
  const FakeMemory& memory = static_cast<FakeDevice&>(launch.stream().device()).memory();
  return memory.ForDevice(static_cast<T*>(const_cast<void*>(tensor.raw_data())));
}

// How one operand of a broadcast is walked: by how many elements each axis of the result moves it.
std::vector<int64_t> StepsOf(const Shape& operand, const Shape& result) {
  std::vector<int64_t> steps(static_cast<size_t>(result.rank()), 0);
  int64_t step = 1;
  for (int i = 1; i <= operand.rank(); ++i) {
    const int64_t size = operand.dim(operand.rank() - i);
    if (size != 1) steps[static_cast<size_t>(result.rank() - i)] = step;
    step *= size;
  }
  return steps;
}

absl::StatusOr<Shape> BroadcastShape(const Shape& a, const Shape& b) {
  std::vector<int64_t> dims(static_cast<size_t>(std::max(a.rank(), b.rank())));
  for (int i = 1; i <= static_cast<int>(dims.size()); ++i) {
    const int64_t of_a = i <= a.rank() ? a.dim(a.rank() - i) : 1;
    const int64_t of_b = i <= b.rank() ? b.dim(b.rank() - i) : 1;
    if (of_a != of_b && of_a != 1 && of_b != 1) return Error(ErrorCode::kOpShapes);
    dims[dims.size() - static_cast<size_t>(i)] = of_a == 1 ? of_b : of_a;
  }
  return Shape::Make(dims);
}

// Calls `at(i, a, b)` for each element of `result`, with the places of the operands.
template <typename At>
void ForEachPair(const std::vector<int64_t>& dims, const std::vector<int64_t>& steps_a,
                 const std::vector<int64_t>& steps_b, int64_t count, const At& at) {
  for (int64_t i = 0; i < count; ++i) {
    int64_t rest = i, a = 0, b = 0;
    for (size_t axis = dims.size(); axis-- > 0;) {
      const int64_t place = rest % dims[axis];
      rest /= dims[axis];
      a += place * steps_a[axis];
      b += place * steps_b[axis];
    }
    at(i, a, b);
  }
}

template <typename T>
T Wrapped(int64_t value) {
  return static_cast<T>(static_cast<uint32_t>(value));
}

struct Add {
  template <typename T>
  static T Of(T a, T b) {
    if constexpr (std::is_integral_v<T>) return Wrapped<T>(int64_t{a} + b);
    return a + b;
  }
};
struct Sub {
  template <typename T>
  static T Of(T a, T b) {
    if constexpr (std::is_integral_v<T>) return Wrapped<T>(int64_t{a} - b);
    return a - b;
  }
};
struct Mul {
  template <typename T>
  static T Of(T a, T b) {
    if constexpr (std::is_integral_v<T>) return Wrapped<T>(int64_t{a} * b);
    return a * b;
  }
};
struct Maximum {
  template <typename T>
  static T Of(T a, T b) {
    return a > b ? a : b;
  }
};
struct Minimum {
  template <typename T>
  static T Of(T a, T b) {
    return a < b ? a : b;
  }
};
struct Less {
  template <typename T>
  static bool Of(T a, T b) {
    return a < b;
  }
};
struct Greater {
  template <typename T>
  static bool Of(T a, T b) {
    return a > b;
  }
};
struct And {
  static bool Of(bool a, bool b) { return a && b; }
};
struct Neg {
  template <typename T>
  static T Of(T a) {
    if constexpr (std::is_integral_v<T>) return Wrapped<T>(-int64_t{a});
    return -a;
  }
};
struct Abs {
  template <typename T>
  static T Of(T a) {
    if constexpr (std::is_integral_v<T>) return a < 0 ? Wrapped<T>(-int64_t{a}) : a;
    return std::abs(a);
  }
};

template <typename Op, typename T>
class FakeBinary final : public Kernel {
 public:
  absl::Status Compute(KernelContext& context) const override {
    using R = decltype(Op::Of(T(), T()));
    const Launch launch(context);
    const Shape shape_a = context.input(0).shape(), shape_b = context.input(1).shape();
    SLUICE_ASSIGN_OR_RETURN(const Shape shape, BroadcastShape(shape_a, shape_b));
    const bool is_empty = shape.num_elements() == 0;
    const T* const a = is_empty ? nullptr : OnDevice<const T>(launch, context.input(0));
    const T* const b = is_empty ? nullptr : OnDevice<const T>(launch, context.input(1));
    Tensor* output;
    if constexpr (std::is_same_v<R, T>) {
      SLUICE_ASSIGN_OR_RETURN(output, context.ForwardOrAllocate(0, shape, {0, 1}));
    } else {
      SLUICE_ASSIGN_OR_RETURN(output, launch.AllocateOutput(0, shape));
    }
    if (is_empty) return absl::OkStatus();
    std::vector<int64_t> dims;
    for (int i = 0; i < shape.rank(); ++i) dims.push_back(shape.dim(i));
    return StreamOf(launch).Launch([a, b, out = OnDevice<R>(launch, *output), dims, count = shape.num_elements(),
                                    steps_a = StepsOf(shape_a, shape), steps_b = StepsOf(shape_b, shape)] {
      ForEachPair(dims, steps_a, steps_b, count,
                  [&](int64_t i, int64_t at_a, int64_t at_b) { out[i] = Op::Of(a[at_a], b[at_b]); });
      return absl::OkStatus();
    });
  }
};

template <typename Op, typename T>
class FakeUnary final : public Kernel {
 public:
  absl::Status Compute(KernelContext& context) const override {
    const Launch launch(context);
    const Shape shape = context.input(0).shape();
    const int64_t count = shape.num_elements();
    const T* const a = count == 0 ? nullptr : OnDevice<const T>(launch, context.input(0));
    SLUICE_ASSIGN_OR_RETURN(Tensor* const output, context.ForwardOrAllocate(0, shape, {0}));
    if (count == 0) return absl::OkStatus();
    return StreamOf(launch).Launch([a, out = OnDevice<T>(launch, *output), count] {
      for (int64_t i = 0; i < count; ++i) out[i] = Op::Of(a[i]);
      return absl::OkStatus();
    });
  }
};

// Plain matrices, nothing transposed.
class FakeMatMul final : public Kernel {
 public:
  absl::Status Compute(KernelContext& context) const override {
    const Launch launch(context);
    const Shape &a = context.input(0).shape(), &b = context.input(1).shape();
    if (a.rank() != 2 || b.rank() != 2 || a.dim(1) != b.dim(0)) return Error(ErrorCode::kOpShapes);
    const int64_t m = a.dim(0), k = a.dim(1), n = b.dim(1);
    SLUICE_ASSIGN_OR_RETURN(Tensor* const output, launch.AllocateOutput(0, Shape::Of({m, n})));
    if (m * k * n == 0) return Error(ErrorCode::kOpUnimplemented);
    // In two steps through temporary memory, which goes before the device has used it.
    SLUICE_ASSIGN_OR_RETURN(const Tensor turned, launch.AllocateTemp(DType::kFloat, Shape::Of({n, k})));
    float* const temp = OnDevice<float>(launch, turned);
    SLUICE_RETURN_IF_ERROR(StreamOf(launch).Launch([temp, in = OnDevice<const float>(launch, context.input(1)), k, n] {
      for (int64_t i = 0; i < k * n; ++i) temp[i % n * k + i / n] = in[i];
      return absl::OkStatus();
    }));
    return StreamOf(launch).Launch(
        [temp, in = OnDevice<const float>(launch, context.input(0)), out = OnDevice<float>(launch, *output), m, k, n] {
          for (int64_t i = 0; i < m * n; ++i) {
            float sum = 0;
            for (int64_t j = 0; j < k; ++j) sum += in[i / n * k + j] * temp[i % n * k + j];
            out[i] = sum;
          }
          return absl::OkStatus();
        });
  }
};

// Reads its axis when it launches: that is in host memory, as the row says.
class FakeConcat final : public Kernel {
 public:
  absl::Status Compute(KernelContext& context) const override {
    const Launch launch(context);
    const int last = context.num_inputs() - 1;
    SLUICE_ASSIGN_OR_RETURN(int64_t axis, context.input(last).AsScalar<int32_t>());
    const Shape& first = context.input(0).shape();
    if (axis < 0) axis += first.rank();
    if (axis < 0 || axis >= first.rank()) return Error(ErrorCode::kOpValue).Input(last);
    std::vector<int64_t> dims;
    int64_t outer = 1, inner = static_cast<int64_t>(DTypeSize(context.input_type(0)));
    for (int i = 0; i < first.rank(); ++i) {
      dims.push_back(first.dim(i));
      if (i != axis) (i < axis ? outer : inner) *= first.dim(i);
    }
    int64_t joined = 0;
    std::vector<Part> parts;
    for (int i = 0; i < last; ++i) {
      const Tensor& input = context.input(i);
      if (input.rank() != first.rank()) return Error(ErrorCode::kOpShapes);
      for (int j = 0; j < first.rank(); ++j) {
        if (j != axis && input.dim(j) != first.dim(j)) return Error(ErrorCode::kOpShapes);
      }
      const int64_t size = input.dim(static_cast<int>(axis));
      if (input.num_elements() > 0)
        parts.push_back({OnDevice<const char>(launch, input), size * inner, joined * inner});
      joined += size;
    }
    dims[static_cast<size_t>(axis)] = joined;
    SLUICE_ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
    SLUICE_ASSIGN_OR_RETURN(Tensor* const output, launch.AllocateOutput(0, shape));
    if (parts.empty()) return absl::OkStatus();
    return StreamOf(launch).Launch([parts, out = OnDevice<char>(launch, *output), outer, row = joined * inner] {
      for (int64_t i = 0; i < outer; ++i) {
        for (const Part& part : parts) {
          std::memcpy(out + i * row + part.place, part.data + i * part.bytes, static_cast<size_t>(part.bytes));
        }
      }
      return absl::OkStatus();
    });
  }

 private:
  struct Part {
    const char* data;
    int64_t bytes;  // Of one row.
    int64_t place;
  };
};

// What the CPU's row makes for such a node.
absl::StatusOr<std::unique_ptr<Kernel>> MakeOfCpu(const KernelConstruction& construction) {
  return BuiltinKernels().Create(construction, DeviceKind::kCpu);
}

template <typename K>
OwnedKernelRow Row(absl::string_view op) {
  OwnedKernelRow row(
      op, [](const KernelConstruction&) -> absl::StatusOr<std::unique_ptr<Kernel>> { return std::make_unique<K>(); });
  row.On(DeviceKind::kCuda).Shared(Sharing::kBySchema);
  return row;
}

template <typename Op>
absl::Status AddBinary(KernelRegistry& registry, absl::string_view op) {
  SLUICE_RETURN_IF_ERROR(registry.Add(Row<FakeBinary<Op, int32_t>>(op).Types("T", DTypeSet{DType::kInt32})));
  return registry.Add(Row<FakeBinary<Op, float>>(op).Types("T", DTypeSet{DType::kFloat}));
}

template <typename Op>
absl::Status AddUnary(KernelRegistry& registry, absl::string_view op) {
  SLUICE_RETURN_IF_ERROR(registry.Add(Row<FakeUnary<Op, int32_t>>(op).Types("T", DTypeSet{DType::kInt32})));
  return registry.Add(Row<FakeUnary<Op, float>>(op).Types("T", DTypeSet{DType::kFloat}));
}

}  // namespace

absl::Status AddFakeKernels(KernelRegistry& registry) {
  SLUICE_RETURN_IF_ERROR(AddBinary<Add>(registry, "AddV2"));
  SLUICE_RETURN_IF_ERROR(AddBinary<Sub>(registry, "Sub"));
  SLUICE_RETURN_IF_ERROR(AddBinary<Mul>(registry, "Mul"));
  SLUICE_RETURN_IF_ERROR(AddBinary<Maximum>(registry, "Maximum"));
  SLUICE_RETURN_IF_ERROR(AddBinary<Minimum>(registry, "Minimum"));
  SLUICE_RETURN_IF_ERROR(AddBinary<Less>(registry, "Less"));
  SLUICE_RETURN_IF_ERROR(AddBinary<Greater>(registry, "Greater"));
  SLUICE_RETURN_IF_ERROR(AddUnary<Neg>(registry, "Neg"));
  SLUICE_RETURN_IF_ERROR(AddUnary<Abs>(registry, "Abs"));
  SLUICE_RETURN_IF_ERROR(registry.Add(Row<FakeBinary<And, bool>>("LogicalAnd")));
  SLUICE_RETURN_IF_ERROR(registry.Add(Row<FakeMatMul>("MatMul").Types("T", DTypeSet{DType::kFloat})));
  SLUICE_RETURN_IF_ERROR(registry.Add(Row<FakeConcat>("ConcatV2")
                                          .Types("T", DTypeSet{DType::kFloat, DType::kInt32})
                                          .Types("Tidx", DTypeSet{DType::kInt32})
                                          .HostInput("axis")));
  SLUICE_RETURN_IF_ERROR(registry.Add(OwnedKernelRow("Shape", &MakeOfCpu).On(DeviceKind::kCuda).HostOutput("output")));
  SLUICE_RETURN_IF_ERROR(registry.Add(OwnedKernelRow("Const", &MakeOfCpu).On(DeviceKind::kCuda).HostOutput("output")));
  for (const char* const op : {"Identity", "IdentityN", "StopGradient", "PreventGradient"}) {
    SLUICE_RETURN_IF_ERROR(registry.Add(OwnedKernelRow(op, &MakeOfCpu).On(DeviceKind::kCuda)));
  }
  return absl::OkStatus();
}

}  // namespace sluice
