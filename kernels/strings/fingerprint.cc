#include <cstring>
#include <string>

#include "graph/base/error.h"
#include "graph/value/tstring.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/new_kernel.h"
#include "kernels/strings/families.h"
#include "kernels/strings/farmhash64.h"
#include "kernels/strings/text_memory.h"

namespace sluice {
namespace {

constexpr int64_t kHashBytes = 8;

// The fingerprint of a row of strings: of the only one, or of the fingerprints of several.
uint64_t HashStrings(absl::Span<const TString> row, std::string* hashes) {
  if (row.size() == 1) return FarmHash64(row[0].view());
  hashes->clear();
  for (const TString& text : row) {
    const uint64_t hash = FarmHash64(text.view());
    hashes->append(reinterpret_cast<const char*>(&hash), sizeof(hash));
  }
  return FarmHash64(*hashes);
}

absl::Status ComputeFingerprint(KernelContext& context) {
  const Tensor& data = context.input(0);
  if (data.rank() == 0) return ShapeError(0, "data", "a scalar", "one dimension or more");
  SLUICE_RETURN_IF_ERROR(CheckScalar(context, 1, "method"));
  const absl::string_view method = context.input(1).flat<TString>()[0].view();
  if (method != "farmhash64") return ValueError(1, "method", PrintableName(method), "farmhash64");
  const int64_t rows = data.dim(0);
  SLUICE_ASSIGN_OR_RETURN(const Shape shape, Shape::Make({rows, kHashBytes}));
  SLUICE_ASSIGN_OR_RETURN(Tensor* const output, context.AllocateOutput(0, shape));
  if (rows == 0) return absl::OkStatus();
  uint8_t* const hashes = output->flat<uint8_t>().data();
  const size_t width = static_cast<size_t>(data.num_elements() / rows);
  const size_t row_bytes = width * DTypeSize(data.dtype());
  const bool is_string = data.dtype() == DType::kString;
  const double unit_ns = is_string ? 30.0 * static_cast<double>(width) : 10 + 0.3 * static_cast<double>(row_bytes);
  return ForStrings(context, rows, unit_ns, [&](int64_t begin, int64_t end) {
    std::string scratch;
    for (size_t row = static_cast<size_t>(begin); row < static_cast<size_t>(end); ++row) {
      const uint64_t hash = is_string
                                ? HashStrings(data.flat<TString>().subspan(row * width, width), &scratch)
                                : FarmHash64({static_cast<const char*>(data.raw_data()) + row * row_bytes, row_bytes});
      std::memcpy(hashes + row * sizeof(hash), &hash, sizeof(hash));
    }
    return absl::OkStatus();
  });
}

constexpr DTypeSet kPlainTypes = kNumberTypes | kQuantizedTypes | DTypeSet{DType::kBool, DType::kString};

constexpr KernelRow kRows[] = {
    KernelRow("Fingerprint", &Call<ComputeFingerprint>).Types("T", kPlainTypes),
};

}  // namespace

absl::Span<const KernelRow> FingerprintKernels() { return kRows; }

}  // namespace sluice
