#include "tools/cli/conform/conform_values.h"

#include <cmath>
#include <complex>
#include <filesystem>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/value/tensor_proto.h"
#include "graph/value/tstring.h"
#include "nlohmann/json.hpp"
#include "tools/cli/numpy/npy.h"

namespace sluice {
namespace {

constexpr int64_t kMaxBytes = int64_t{1} << 30;

bool IsClose(double got, double want, double rtol, double atol) {
  if (std::isnan(got) || std::isnan(want)) return std::isnan(got) && std::isnan(want);
  if (std::isinf(got) || std::isinf(want)) return got == want;
  return std::abs(got - want) <= atol + rtol * std::abs(want);
}

bool IsClose(std::complex<double> got, std::complex<double> want, double rtol, double atol) {
  const auto finite = [](std::complex<double> v) { return std::isfinite(v.real()) && std::isfinite(v.imag()); };
  if (finite(got) && finite(want)) return std::abs(got - want) <= atol + rtol * std::abs(want);
  return IsClose(got.real(), want.real(), rtol, atol) && IsClose(got.imag(), want.imag(), rtol, atol);
}

std::string DifferenceAt(size_t i, const std::string& got, const std::string& want) {
  return absl::StrCat("element ", i, " is ", got, ", expected ", want);
}

// Elements as Wide: double or complex<double>.
template <typename T, typename Wide>
std::string FloatDifference(const Tensor& got, const Tensor& want, double rtol, double atol) {
  const absl::Span<const T> a = got.flat<T>(), b = want.flat<T>();
  for (size_t i = 0; i < a.size(); ++i) {
    if (IsClose(Wide(a[i]), Wide(b[i]), rtol, atol)) continue;
    return DifferenceAt(i, got.ToString(), want.ToString());
  }
  return "";
}

template <typename T>
std::string LowDifference(const Tensor& got, const Tensor& want, double rtol, double atol) {
  const absl::Span<const T> a = got.flat<T>(), b = want.flat<T>();
  for (size_t i = 0; i < a.size(); ++i) {
    const double x = static_cast<double>(static_cast<float>(a[i])), y = static_cast<double>(static_cast<float>(b[i]));
    if (!IsClose(x, y, rtol, atol)) return DifferenceAt(i, got.ToString(), want.ToString());
  }
  return "";
}

std::string ExactDifference(const Tensor& got, const Tensor& want) {
  if (got.dtype() == DType::kString) {
    const absl::Span<const TString> a = got.flat<TString>(), b = want.flat<TString>();
    for (size_t i = 0; i < a.size(); ++i) {
      if (a[i].view() != b[i].view()) return DifferenceAt(i, got.ToString(), want.ToString());
    }
    return "";
  }
  if (!IsTrivial(got.dtype())) return absl::StrCat("a ", DTypeName(got.dtype()), " cannot be compared");
  return got.bytes() == want.bytes() ? "" : absl::StrCat("is ", got.ToString(), ", expected ", want.ToString());
}

}  // namespace

absl::StatusOr<std::string> ConformValues::ReadBytes(const std::string& file) const {
  return ReadFile((std::filesystem::path(folder_) / file).string(), kMaxBytes);
}

absl::StatusOr<Tensor> ConformValues::Read(const std::string& file) {
  if (absl::EndsWith(file, ".pb")) {
    SLUICE_ASSIGN_OR_RETURN(const std::string bytes, ReadBytes(file));
    return DecodeTensorProto(bytes);
  }
  if (!is_opened_) {
    is_opened_ = true;
    absl::StatusOr<std::string> bytes = ReadBytes("tensors.npz");
    if (bytes.ok()) {
      npz_bytes_ = *std::move(bytes);
      SLUICE_ASSIGN_OR_RETURN(NpzReader reader, NpzReader::Open(npz_bytes_));
      npz_ = std::make_unique<NpzReader>(std::move(reader));
    }
  }
  if (npz_ != nullptr) {
    const std::string member = absl::EndsWith(file, ".npy") ? file.substr(0, file.size() - 4) : file;
    absl::StatusOr<Tensor> found = npz_->Read(member);
    if (found.ok()) return found;
  }
  SLUICE_ASSIGN_OR_RETURN(const std::string bytes, ReadBytes(file));
  return ReadNpy(bytes);
}

std::string TensorDifference(const Tensor& got, const Tensor& want, double rtol, double atol) {
  if (got.dtype() != want.dtype()) {
    return absl::StrCat("is ", DTypeName(got.dtype()), ", expected ", DTypeName(want.dtype()));
  }
  if (got.shape() != want.shape()) {
    return absl::StrCat("has shape ", got.shape().ToString(), ", expected ", want.shape().ToString());
  }
  switch (got.dtype()) {
    case DType::kFloat:
      return FloatDifference<float, double>(got, want, rtol, atol);
    case DType::kDouble:
      return FloatDifference<double, double>(got, want, rtol, atol);
    case DType::kHalf:
      return LowDifference<Half>(got, want, rtol, atol);
    case DType::kBFloat16:
      return LowDifference<BFloat16>(got, want, rtol, atol);
    case DType::kComplex64:
      return FloatDifference<std::complex<float>, std::complex<double>>(got, want, rtol, atol);
    case DType::kComplex128:
      return FloatDifference<std::complex<double>, std::complex<double>>(got, want, rtol, atol);
    default:
      return ExactDifference(got, want);
  }
}

std::string DescriptionDifference(const Tensor& got, const std::string& json) {
  const nlohmann::json wanted = nlohmann::json::parse(json, nullptr, /*allow_exceptions=*/false);
  if (wanted.is_discarded() || !wanted.is_object()) return "the description cannot be read";
  const absl::StatusOr<DType> dtype = ParseDType(wanted.value("dtype", ""));
  if (!dtype.ok() || got.dtype() != *dtype) {
    return absl::StrCat("is ", DTypeName(got.dtype()), ", expected ", wanted.value("dtype", ""));
  }
  if (!wanted.contains("shape")) return "";
  const nlohmann::json& shape = wanted["shape"];
  bool fits = shape.is_array() && shape.size() == static_cast<size_t>(got.rank());
  for (int i = 0; fits && i < got.rank(); ++i) {
    const int64_t size = shape[static_cast<size_t>(i)].get<int64_t>();
    fits = size < 0 || size == got.dim(i);
  }
  return fits ? "" : absl::StrCat("has shape ", got.shape().ToString(), ", expected ", shape.dump());
}

}  // namespace sluice
