#ifndef SLUICE_KERNELS_ARRAY_DIAGONAL_BAND_H_
#define SLUICE_KERNELS_ARRAY_DIAGONAL_BAND_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "kernels/kernel_context.h"

namespace sluice {

// Neighbouring diagonals of a matrix, as the MatrixDiag ops pack them: one row per diagonal, the uppermost first, each
// as long as the longest of them. Diagonal 0 is the main one, those above count up. A value type.
struct DiagonalBand {
  int64_t rows = 0, columns = 0;  // Of the matrix.
  int64_t lower = 0, upper = 0;   // First and last diagonal, both included.
  bool above_is_left = false;     // Shorter diagonals above the main one start at the left of their row.
  bool below_is_left = true;      // The same for those below.

  int64_t num_diagonals() const { return upper - lower + 1; }
  // Elements of diagonal `d`.
  int64_t Length(int64_t d) const;
  // Of the longest diagonal: the length of each row.
  int64_t MaxLength() const;
  // Where diagonal `d` starts in its row.
  int64_t Start(int64_t d) const;
  // Where diagonal `d` starts in the matrix.
  int64_t InMatrix(int64_t d) const { return d >= 0 ? d : -d * columns; }
};

// Reads the diagonals that input `input`, called k, names: one number, or the first and the last. kOpShape, kOpValue.
absl::Status ReadDiagonals(const KernelContext& context, int input, DiagonalBand* band);
// kOpValue unless the band's diagonals lie in a matrix of its size.
absl::Status CheckInside(const DiagonalBand& band, int input);
// Reads attr align: "LEFT_RIGHT" says above, then below.
void SetAlignment(absl::string_view align, DiagonalBand* band);

}  // namespace sluice

#endif  // SLUICE_KERNELS_ARRAY_DIAGONAL_BAND_H_
