#include <complex>
#include <type_traits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/value/resource_handle.h"
#include "graph/value/tstring.h"
#include "graph/value/variant.h"
#include "kernels/forward_or_copy.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/math/broadcast.h"
#include "kernels/math/elementwise.h"
#include "kernels/math/families.h"

namespace sluice {
namespace {

// Elements that are more than their bytes.
using ObjectTypes = TypeList<TString, ResourceHandle, Variant>;

// out[i] = c[i] ? t[i] : e[i], each input moving by its step.
template <typename T>
void SelectRow(const bool* c, int64_t c_step, const T* t, int64_t t_step, const T* e, int64_t e_step, T* out,
               int64_t n) {
  if ((c_step & t_step & e_step) == 1) {
    SLUICE_INDEPENDENT_LOOP
    for (int64_t i = 0; i < n; ++i) {
      if constexpr (std::is_integral<T>::value) {  // A mask: loads under a condition do not vectorise.
        const T mask = static_cast<T>(-static_cast<T>(c[i]));
        out[i] = static_cast<T>((t[i] & mask) | (e[i] & static_cast<T>(~mask)));
      } else {
        out[i] = c[i] ? t[i] : e[i];
      }
    }
  } else {
    for (int64_t i = 0; i < n; ++i) out[i] = c[i * c_step] ? t[i * t_step] : e[i * e_step];
  }
}

template <typename T>
void SelectRows(const KernelContext& context, const Broadcast& broadcast, const bool* c, const void* t_data,
                const void* e_data, void* out_data) {
  const T* const t = static_cast<const T*>(t_data);
  const T* const e = static_cast<const T*>(e_data);
  T* const out = static_cast<T*>(out_data);
  ForShards(context, broadcast.shape().num_elements(), 0.5f, [&](int64_t begin, int64_t end) {
    broadcast.ForRows(begin, end, [&](int64_t at, const Broadcast::Offsets& in, int64_t n) {
      SelectRow(c + in[0], broadcast.step(0), t + in[1], broadcast.step(1), e + in[2], broadcast.step(2), out + at, n);
    });
  });
}

// Elements of input 1 where input 0 is true, of input 2 elsewhere; `condition` is the shape that input 0 is taken as.
absl::Status ComputeSelect(KernelContext& context, const Shape& condition) {
  const Tensor& t = context.input(1);
  const Tensor& e = context.input(2);
  SLUICE_ASSIGN_OR_RETURN(const Broadcast broadcast, Broadcast::Make({&condition, &t.shape(), &e.shape()}));
  const DType dtype = t.dtype();
  const bool* const c = context.input(0).flat<bool>().data();
  const void* const t_data = t.raw_data();
  const void* const e_data = e.raw_data();
  SLUICE_ASSIGN_OR_RETURN(Tensor* const y, context.ForwardOrAllocate(0, broadcast.shape(), {1, 2}));
  void* const out = y->mutable_raw_data();
  const auto rows = [&](auto type) {
    SelectRows<typename decltype(type)::Type>(context, broadcast, c, t_data, e_data, out);
  };
  if (!DispatchDType<ObjectTypes>(dtype, rows)) DispatchSize(DTypeSize(dtype), rows);
  return absl::OkStatus();
}

// One input whole.
absl::Status Choose(KernelContext& context) {
  return ForwardOrCopy(context, LoadScalar<bool>(context.input(0)) ? 1 : 2);
}

// Select: the condition is a scalar, of the inputs' shape, or says for each row which input it is from.
class SelectKernel : public Kernel {
 public:
  absl::Status Compute(KernelContext& context) const override {
    const Shape& condition = context.input(0).shape();
    const Shape& shape = context.input(1).shape();
    if (context.input(2).shape() != shape) return NotSameShape(shape, context.input(2).shape());
    if (IsInlineScalar(context.input(0))) return Choose(context);
    if (condition == shape || condition.IsScalar()) return ComputeSelect(context, condition);
    if (condition.rank() != 1 || shape.rank() < 1 || condition.dim(0) != shape.dim(0)) {
      return ShapesError(0, "", absl::StrCat(condition.ToString(), " for values of ", shape.ToString()),
                         "a scalar, a condition for each row, or the values' shape");
    }
    std::vector<int64_t> sizes(static_cast<size_t>(shape.rank()), 1);
    sizes[0] = condition.dim(0);
    SLUICE_ASSIGN_OR_RETURN(const Shape by_row, Shape::Make(sizes));
    return ComputeSelect(context, by_row);
  }
};

// SelectV2: all three broadcast.
class SelectV2Kernel : public Kernel {
 public:
  absl::Status Compute(KernelContext& context) const override {
    if (IsInlineScalar(context.input(0)) && context.input(1).shape() == context.input(2).shape())
      return Choose(context);
    const Shape condition = context.input(0).shape();
    return ComputeSelect(context, condition);
  }
};

// Between the smallest and the largest allowed value: the upper bound first, so that it loses where the bounds cross.
// Complex numbers part by part.
struct ClipOp {
  template <typename T>
  static T Apply(T x, T low, T high) {
    const T below = x > high ? high : x;
    return below < low ? low : below;
  }
  template <typename T>
  static std::complex<T> Apply(std::complex<T> x, std::complex<T> low, std::complex<T> high) {
    return {Apply(x.real(), low.real(), high.real()), Apply(x.imag(), low.imag(), high.imag())};
  }
};

// Each bound is a scalar or of the values' shape.
template <typename T>
class ClipKernel : public Kernel {
 public:
  absl::Status Compute(KernelContext& context) const override {
    using C = ComputeType<T>;
    const Tensor& x = context.input(0);
    const Shape shape = x.shape();
    for (int i = 1; i <= 2; ++i) {
      const Shape& bound = context.input(i).shape();
      if (!bound.IsScalar() && bound != shape) return BadBound(i, bound, shape);
    }
    const T* const in = x.flat<T>().data();
    const T* const low = context.input(1).flat<T>().data();
    const T* const high = context.input(2).flat<T>().data();
    const int64_t low_step = context.input(1).num_elements() == 1 ? 0 : 1;
    const int64_t high_step = context.input(2).num_elements() == 1 ? 0 : 1;
    SLUICE_ASSIGN_OR_RETURN(Tensor* const y, context.ForwardOrAllocate(0, shape, {0}));
    T* const out = y->flat<T>().data();
    ForShards(context, shape.num_elements(), 0.5f, [&](int64_t begin, int64_t end) {
      SLUICE_INDEPENDENT_LOOP
      for (int64_t i = begin; i < end; ++i) {
        out[i] = T(ClipOp::Apply(static_cast<C>(in[i]), static_cast<C>(low[i * low_step]),
                                 static_cast<C>(high[i * high_step])));
      }
    });
    return absl::OkStatus();
  }

 private:
  static absl::Status BadBound(int i, const Shape& bound, const Shape& shape) {
    return ShapesError(i, "", bound, absl::StrCat("a scalar or the values' shape ", shape.ToString()));
  }
};

constexpr KernelRow kRows[] = {
    KernelRow("Select", &New<SelectKernel>),
    KernelRow("SelectV2", &New<SelectV2Kernel>),
    KernelRow("ClipByValue", &NewByType<ClipKernel, NumberCppTypes>).Types("T", kNumberTypes),
};

}  // namespace

absl::Span<const KernelRow> SelectKernels() { return kRows; }

}  // namespace sluice
