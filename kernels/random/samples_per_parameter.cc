#include "kernels/random/samples_per_parameter.h"

#include <algorithm>
#include <limits>
#include <type_traits>

#include "graph/base/check.h"
#include "graph/base/status_macros.h"
#include "kernels/array/index_values.h"
#include "kernels/dispatch.h"
#include "kernels/element_type.h"
#include "kernels/random/fill_random.h"
#include "kernels/random/stateless_generator.h"

namespace sluice {
namespace {

using SampleTypes = TypeList<float, double, Half, BFloat16, int32_t, int64_t>;

template <typename T>
void Store(absl::Span<const double> samples, int64_t stride, T* out) {
  for (size_t i = 0; i < samples.size(); ++i) {
    T& to = out[static_cast<int64_t>(i) * stride];
    if constexpr (std::is_class_v<T>) {
      to = T(static_cast<float>(samples[i]));
    } else {
      to = static_cast<T>(samples[i]);
    }
  }
}

}  // namespace

Philox GeneratorOfNumber(const Philox& first, int64_t number, uint64_t blocks) {
  Philox generator = first;
  generator.Skip(blocks * static_cast<uint64_t>(number));
  return generator;
}

absl::Status FillSamples(const Workers& workers, int64_t parameters, double draw_ns, DrawSamples draw, Tensor* out) {
  if (out->num_elements() == 0) return absl::OkStatus();
  constexpr int64_t kAtOnce = 64;
  const int64_t per_parameter = out->num_elements() / parameters;
  return workers.ForEachPart(out->num_elements(), draw_ns, [&](int64_t begin, int64_t end) -> absl::Status {
    double samples[kAtOnce];
    for (int64_t number = begin; number < end;) {
      const int64_t parameter = number / per_parameter;
      const int64_t sample = number % per_parameter;
      const int64_t count = std::min({kAtOnce, per_parameter - sample, end - number});
      const absl::Span<double> drawn(samples, static_cast<size_t>(count));
      SLUICE_RETURN_IF_ERROR(draw(parameter, number, drawn));
      DispatchDType<SampleTypes>(out->dtype(), [&](auto type) {
        using T = typename decltype(type)::Type;
        Store(absl::Span<const double>(drawn), parameters, out->flat<T>().data() + sample * parameters + parameter);
      });
      number += count;
    }
    return absl::OkStatus();
  });
}

absl::Status DrawReserved(KernelContext& context, DrawCall draw, SeededGenerator* generator) {
  SLUICE_ASSIGN_OR_RETURN(const Shape samples, ReadShapeInput(context, 0, "shape"));
  SLUICE_ASSIGN_OR_RETURN(const Shape shape, JoinShapes(samples, context.input(1).shape()));
  SLUICE_ASSIGN_OR_RETURN(Tensor* const out, context.AllocateOutput(0, shape));
  if (out->num_elements() == 0) return absl::OkStatus();
  const Philox first = generator->Reserve(static_cast<uint64_t>(out->num_elements()) * kBlocksPerNumber);
  return draw(context, first, 1, out);
}

absl::Status DrawStateless(KernelContext& context, DrawCall draw, const Philox& first, int parameters) {
  SLUICE_ASSIGN_OR_RETURN(const Shape shape, ReadShapeInput(context, 0, "shape"));
  SLUICE_RETURN_IF_ERROR(CheckEndsWith(shape, context.input(parameters).shape()));
  SLUICE_ASSIGN_OR_RETURN(Tensor* const out, context.AllocateOutput(0, shape));
  return draw(context, first, parameters, out);
}

bool HoldsIntegers(DType dtype) { return dtype == DType::kInt32 || dtype == DType::kInt64; }

double LargestOf(DType dtype) {
  switch (dtype) {
    case DType::kInt32:
      return std::numeric_limits<int32_t>::max();
    case DType::kInt64:
      return 9223372036854774784.0;  // 2^63 - 1024.
    case DType::kHalf:
      return 65504.0;
    default:
      return std::numeric_limits<double>::infinity();
  }
}

double NumberAt(const Tensor& tensor, int64_t i) {
  double number = 0.0;
  const bool is_known = DispatchDType<SampleTypes>(tensor.dtype(), [&](auto type) {
    using T = typename decltype(type)::Type;
    number = ToDouble(static_cast<const T*>(tensor.raw_data())[i]);
  });
  SLUICE_DCHECK(is_known);
  return number;
}

}  // namespace sluice
