#include "tests/kernels/checkpoint/bundle_values.h"

#include <algorithm>
#include <memory>

#include "graph/base/status_macros.h"
#include "graph/value/tstring.h"
#include "kernels/checkpoint/bundle_index.h"
#include "kernels/checkpoint/bundle_reader.h"
#include "kernels/checkpoint/bundle_writer.h"
#include "kernels/workers.h"

namespace sluice {

absl::Status WriteBundle(const std::string& prefix, const BundleValues& values) {
  SLUICE_ASSIGN_OR_RETURN(const std::unique_ptr<BundleWriter> writer, BundleWriter::Create(prefix));
  for (const auto& [name, value] : values) SLUICE_RETURN_IF_ERROR(writer->Add(name, value));
  return writer->Finish();
}

absl::StatusOr<BundleValues> ReadBundle(const std::string& prefix) {
  SLUICE_ASSIGN_OR_RETURN(const BundleIndex index, BundleIndex::OpenIndexOnly(prefix));
  const Workers workers(nullptr);
  BundleReader reader(index, workers);
  BundleValues values;
  for (const auto& [name, entry] : index.entries()) {
    Tensor& value = values[name];
    const auto allocate = [&value, dtype = entry.dtype](const Shape& shape) -> absl::StatusOr<Tensor*> {
      SLUICE_ASSIGN_OR_RETURN(value, Tensor::Make(dtype, shape));
      return &value;
    };
    SLUICE_RETURN_IF_ERROR(reader.AddWhole(name, entry, allocate));
  }
  SLUICE_RETURN_IF_ERROR(reader.Run());
  return values;
}

bool AreEqual(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) return false;
  if (a.dtype() != DType::kString) return a.bytes() == b.bytes();
  const absl::Span<const TString> x = a.flat<TString>(), y = b.flat<TString>();
  return std::equal(x.begin(), x.end(), y.begin());
}

}  // namespace sluice
