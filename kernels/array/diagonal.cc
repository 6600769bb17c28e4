#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/array/diagonal_band.h"
#include "kernels/array/families.h"
#include "kernels/array/index_values.h"
#include "kernels/array/moved_types.h"
#include "kernels/array/strided_copy.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/new_kernel.h"

namespace sluice {
namespace {

// Base of the kernels here: how shorter diagonals lie in their rows. Thread-safe.
class BandKernel : public Kernel {
 public:
  explicit BandKernel(std::string align) : align_(std::move(align)) {}

 protected:
  // A band without diagonals but the main one, aligned as the node says.
  DiagonalBand MakeBand() const {
    DiagonalBand band;
    SetAlignment(align_, &band);
    return band;
  }
  // The diagonals that input `input` names, where the op has it; the main one for ops of the first version.
  static absl::Status ReadBand(const KernelContext& context, int input, DiagonalBand* band) {
    return input < context.num_inputs() ? ReadDiagonals(context, input, band) : absl::OkStatus();
  }

 private:
  const std::string align_;
};

// The third version has attr align, the others keep to the left.
absl::StatusOr<std::string> ReadAlign(const KernelConstruction& construction) {
  return construction.GetOr<std::string>("align", "LEFT_LEFT");
}

absl::Status NeedsRank(const Tensor& tensor, int input, int rank) {
  if (tensor.rank() >= rank) return absl::OkStatus();
  return ShapeError(input, "", tensor.shape(), absl::StrCat("at least ", rank, " dimensions"));
}

// The sizes of the packed diagonals of matrices of shape `matrices`: one row is not counted.
IndexVector PackedSizes(absl::Span<const int64_t> batch, const DiagonalBand& band) {
  IndexVector dims(batch.begin(), batch.end());
  if (band.num_diagonals() > 1) dims.push_back(band.num_diagonals());
  dims.push_back(band.MaxLength());
  return dims;
}

// Moves the diagonals of `batch` matrices between `matrices` and `packed`, on the threads of the run.
template <bool kToPacked>
void MoveDiagonals(const KernelContext& context, const DiagonalBand& band, int64_t batch, Tensor& to,
                   const Tensor& from) {
  // Before anything is counted: there may be any number of matrices or diagonals without elements.
  if (to.num_elements() == 0 || from.num_elements() == 0) return;
  const int64_t matrix_size = band.rows * band.columns;
  const int64_t diagonals = band.num_diagonals();
  const int64_t step = band.columns + 1;
  DispatchMoved(to.dtype(), [&](auto type) {
    using T = typename decltype(type)::Type;
    const double unit_ns = 6.0 + 2 * kMoveNs<T> * static_cast<double>(band.MaxLength());
    T* const target = Elements<T>(to);
    const T* const source = Elements<T>(from);
    context.ParallelFor(batch * diagonals, unit_ns, [&](int64_t begin, int64_t end) {
      for (int64_t unit = begin; unit < end; ++unit) {
        const int64_t d = band.upper - unit % diagonals;
        const int64_t matrix = unit / diagonals * matrix_size + band.InMatrix(d);
        const int64_t packed = unit * band.MaxLength() + band.Start(d);
        const int64_t length = band.Length(d);
        for (int64_t i = 0; i < length; ++i) {
          if constexpr (kToPacked) {
            target[packed + i] = source[matrix + i * step];
          } else {
            target[matrix + i * step] = source[packed + i];
          }
        }
      }
    });
  });
}

// Fills with input `input`, or with what new elements are: zeros, empty strings.
void FillWithPadding(const KernelContext& context, int input, Tensor& output) {
  if (input < context.num_inputs()) {
    FillElements(context, output, context.input(input));
  } else if (IsTrivial(output.dtype())) {
    std::memset(output.mutable_raw_data(), 0, output.total_bytes());
  }
}

// --- MatrixDiagPart ----------------------------------------------------------------------------------------------

// The diagonals of each matrix. Inputs of later versions: k, padding_value.
class MatrixDiagPartKernel final : public BandKernel {
 public:
  using BandKernel::BandKernel;
  absl::Status Compute(KernelContext& context) const override {
    const Tensor& input = context.input(0);
    SLUICE_RETURN_IF_ERROR(NeedsRank(input, 0, 2));
    DiagonalBand band = MakeBand();
    SLUICE_RETURN_IF_ERROR(ReadBand(context, 1, &band));
    const absl::Span<const int64_t> batch = input.shape().dims().first(static_cast<size_t>(input.rank() - 2));
    band.rows = input.dim(input.rank() - 2);
    band.columns = input.dim(input.rank() - 1);
    SLUICE_RETURN_IF_ERROR(CheckInside(band, 1));
    if (context.num_inputs() > 2) {
      if (context.input(2).num_elements() != 1) {  // Of any rank, unlike that of MatrixDiag.
        SLUICE_RETURN_IF_ERROR(CheckScalar(context, 2, "padding_value"));
      }
    }
    SLUICE_ASSIGN_OR_RETURN(const Shape shape, MakeShape(PackedSizes(batch, band)));
    SLUICE_ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, shape));
    FillWithPadding(context, 2, *output);
    MoveDiagonals<true>(context, band, SizeOfAxes(input.shape(), 0, input.rank() - 2), *output, input);
    return absl::OkStatus();
  }
};

// --- MatrixDiag --------------------------------------------------------------------------------------------------

// Matrices with the given diagonals. Inputs of later versions: k, num_rows, num_cols, padding_value.
class MatrixDiagKernel final : public BandKernel {
 public:
  using BandKernel::BandKernel;
  absl::Status Compute(KernelContext& context) const override {
    const Tensor& diagonal = context.input(0);
    SLUICE_RETURN_IF_ERROR(NeedsRank(diagonal, 0, 1));
    DiagonalBand band = MakeBand();
    SLUICE_RETURN_IF_ERROR(ReadBand(context, 1, &band));
    const bool has_many = band.num_diagonals() > 1;
    if (has_many) {
      SLUICE_RETURN_IF_ERROR(NeedsRank(diagonal, 0, 2));
      if (diagonal.dim(diagonal.rank() - 2) != band.num_diagonals()) {
        return ShapesError(0, "diagonal", diagonal.shape(), absl::StrCat(band.num_diagonals(), " diagonals"));
      }
    }
    SLUICE_RETURN_IF_ERROR(SetMatrixSize(context, diagonal.dim(diagonal.rank() - 1), &band));
    const int batch_rank = diagonal.rank() - (has_many ? 2 : 1);
    IndexVector dims(diagonal.shape().dims().begin(), diagonal.shape().dims().begin() + batch_rank);
    dims.push_back(band.rows);
    dims.push_back(band.columns);
    SLUICE_ASSIGN_OR_RETURN(const Shape shape, MakeShape(dims));
    SLUICE_ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, shape));
    FillWithPadding(context, 4, *output);
    MoveDiagonals<false>(context, band, SizeOfAxes(shape, 0, batch_rank), *output, diagonal);
    return absl::OkStatus();
  }

 private:
  // Finds the sizes that are not given (-1): just large enough for the longest diagonal, of `length` elements.
  static absl::Status SetMatrixSize(const KernelContext& context, int64_t length, DiagonalBand* band) {
    const int64_t min_rows = length - std::min<int64_t>(band->upper, 0);
    const int64_t min_columns = length + std::max<int64_t>(band->lower, 0);
    int64_t rows = -1, columns = -1;
    if (context.num_inputs() > 1) {
      SLUICE_RETURN_IF_ERROR(CheckScalar(context, 2, "num_rows"));
      SLUICE_RETURN_IF_ERROR(CheckScalar(context, 3, "num_cols"));
      SLUICE_RETURN_IF_ERROR(CheckScalar(context, 4, "padding_value"));
      rows = IndexAt(context.input(2), 0);
      columns = IndexAt(context.input(3), 0);
    }
    if (rows == -1 && columns == -1) {
      rows = columns = std::max(min_rows, min_columns);
    } else if (rows == -1) {
      rows = min_rows;
    } else if (columns == -1) {
      columns = min_columns;
    }
    if (rows < min_rows || columns < min_columns || (rows != min_rows && columns != min_columns)) {
      return ShapesError(
          absl::StrCat(rows, " x ", columns),
          absl::StrCat("a matrix that diagonals of ", length, " fit exactly, as ", min_rows, " x ", min_columns));
    }
    band->rows = rows;
    band->columns = columns;
    return absl::OkStatus();
  }
};

// --- MatrixSetDiag -----------------------------------------------------------------------------------------------

// Matrices with their diagonals replaced; in place if this kernel is the only holder. Input of later versions: k.
class MatrixSetDiagKernel final : public BandKernel {
 public:
  using BandKernel::BandKernel;
  absl::Status Compute(KernelContext& context) const override {
    const Shape shape = context.input(0).shape();
    const Tensor& diagonal = context.input(1);
    SLUICE_RETURN_IF_ERROR(NeedsRank(context.input(0), 0, 2));
    SLUICE_RETURN_IF_ERROR(NeedsRank(diagonal, 1, 1));
    DiagonalBand band = MakeBand();
    SLUICE_RETURN_IF_ERROR(ReadBand(context, 2, &band));
    band.rows = shape.dim(shape.rank() - 2);
    band.columns = shape.dim(shape.rank() - 1);
    SLUICE_RETURN_IF_ERROR(CheckInside(band, 2));
    const IndexVector wanted = PackedSizes(shape.dims().first(static_cast<size_t>(shape.rank() - 2)), band);
    if (diagonal.shape().dims() != absl::MakeConstSpan(wanted)) {
      SLUICE_ASSIGN_OR_RETURN(const Shape fits, MakeShape(wanted));
      return ShapesError(1, "diagonal", diagonal.shape(), fits.ToString());
    }
    const bool in_place = context.InputIsWritable(0);
    Tensor result = context.TakeInput(0);
    if (!in_place) {
      const Tensor source = std::move(result);
      SLUICE_ASSIGN_OR_RETURN(result, Tensor::Make(source.dtype(), shape, context.allocator()));
      const CopyAxis all = {shape.num_elements(), 1, 1};
      CopyStrided(context, {&all, 1}, result, 0, source, 0);
    }
    MoveDiagonals<false>(context, band, SizeOfAxes(shape, 0, shape.rank() - 2), result, diagonal);
    context.SetOutput(0, std::move(result));
    return absl::OkStatus();
  }
};

constexpr KernelRow kRows[] = {
    KernelRow("MatrixDiagPart", &NewWith<MatrixDiagPartKernel, ReadAlign>),
    KernelRow("MatrixDiagPartV2", &NewWith<MatrixDiagPartKernel, ReadAlign>),
    KernelRow("MatrixDiagPartV3", &NewWith<MatrixDiagPartKernel, ReadAlign>),
    KernelRow("MatrixDiag", &NewWith<MatrixDiagKernel, ReadAlign>),
    KernelRow("MatrixDiagV2", &NewWith<MatrixDiagKernel, ReadAlign>),
    KernelRow("MatrixDiagV3", &NewWith<MatrixDiagKernel, ReadAlign>),
    KernelRow("MatrixSetDiag", &NewWith<MatrixSetDiagKernel, ReadAlign>),
    KernelRow("MatrixSetDiagV2", &NewWith<MatrixSetDiagKernel, ReadAlign>),
    KernelRow("MatrixSetDiagV3", &NewWith<MatrixSetDiagKernel, ReadAlign>),
};

}  // namespace

absl::Span<const KernelRow> DiagonalKernels() { return kRows; }

}  // namespace sluice
