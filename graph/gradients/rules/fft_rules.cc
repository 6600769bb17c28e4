// Gradients of Fourier transforms, over the last `rank` dimensions.

#include "graph/gradients/rules/families.h"
#include "graph/gradients/rules/shared_rules.h"

namespace sluice {
namespace {

Expr Transform(absl::string_view op, const Expr& x) { return AddOp(op, {x}); }

// The number of elements of one transform, of the type of x.
Expr NumElements(const Expr& x, int rank) {
  const Expr count = Prod(SliceFrom(ShapeOf(x, DType::kInt64), -rank), Int32(x, 0));
  return Cast(Cast(count, DType::kDouble), x.type());
}

template <int rank>
absl::Status Fft(GradientContext& c) {
  constexpr absl::string_view kInverse[] = {"IFFT", "IFFT2D", "IFFT3D"};
  const Expr dy = c.dy();
  c.SetInput(0, Transform(kInverse[rank - 1], dy) * NumElements(dy, rank));
  return absl::OkStatus();
}

template <int rank>
absl::Status Ifft(GradientContext& c) {
  constexpr absl::string_view kForward[] = {"FFT", "FFT2D", "FFT3D"};
  const Expr dy = c.dy();
  c.SetInput(0, Transform(kForward[rank - 1], dy) / NumElements(dy, rank));
  return absl::OkStatus();
}

// Cuts `x` and fills it up with zeros at the ends to have `shape`.
Expr FitTo(const Expr& x, const Expr& shape) {
  const Expr size = Minimum(ShapeOf(x), shape);
  const Expr before = Fill(ShapeOf(shape), Zero(shape));
  return Pad(Slice(x, before, size), Pack({before, shape - size}, 1));
}

// The shape of `x` with the last dimensions replaced by `last`, a vector of `rank` elements.
Expr WithLastDims(const Expr& x, const Expr& last, int rank) {
  return Concat({SliceRange(ShapeOf(x), 0, -rank), last}, 0);
}

// The transform gives half of the spectrum. Pad dy with zeros to the full spectrum, apply the inverse complex FFT, and
// keep the real part.
template <int rank>
absl::Status Rfft(GradientContext& c) {
  constexpr absl::string_view kInverse[] = {"IFFT", "IFFT2D", "IFFT3D"};
  const Expr dy = c.dy(), length = c.Input(1), x = c.Input(0);
  const Expr whole = FitTo(dy, WithLastDims(dy, length, rank));
  const Expr back = Transform(kInverse[rank - 1], whole) * NumElements(whole, rank);
  c.SetInput(0, FitTo(Real(back), ShapeOf(x)));
  return absl::OkStatus();
}

// Of each pair of conjugates only one is an input, which so counts twice; the first of the last dimension, and the
// middle one where the length is even, stand alone.
template <int rank>
absl::Status Irfft(GradientContext& c) {
  constexpr absl::string_view kForward[] = {"RFFT", "RFFT2D", "RFFT3D"};
  const Expr dy = c.dy(), length = c.Input(1), last = Element(length, -1);
  const Expr two = c.Int32(2), places = Iota(FloorDiv(last, two) + c.Int32(1));
  const Expr is_alone = Or(Equal(places, c.Int32(0)), Equal(places * two, last));
  const Expr counts = Select(is_alone, Number(dy, 1), Number(dy, 2)) / NumElements(dy, rank);
  const Expr spectrum = AddOp(kForward[rank - 1], {dy, length}, {{"Tcomplex", AttrValue(c.input_type(0))}});
  c.SetInput(0, FitTo(spectrum * Complex(counts, Zero(counts)), ShapeOf(c.Input(0))));
  return absl::OkStatus();
}

constexpr GradientRow kRows[] = {
    {"FFT", &Fft<1>},       {"FFT2D", &Fft<2>},   {"FFT3D", &Fft<3>},   {"IFFT", &Ifft<1>},
    {"IFFT2D", &Ifft<2>},   {"IFFT3D", &Ifft<3>}, {"IRFFT", &Irfft<1>}, {"IRFFT2D", &Irfft<2>},
    {"IRFFT3D", &Irfft<3>}, {"RFFT", &Rfft<1>},   {"RFFT2D", &Rfft<2>}, {"RFFT3D", &Rfft<3>},
};
static_assert(RowsAscend(kRows), "rows ascend by op");

}  // namespace

absl::Span<const GradientRow> FftGradients() { return kRows; }

}  // namespace sluice
