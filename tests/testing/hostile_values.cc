#include "tests/testing/hostile_values.h"

#include <cmath>
#include <complex>
#include <cstring>
#include <iterator>
#include <limits>
#include <string>

#include "graph/base/check.h"
#include "graph/value/float16.h"
#include "graph/value/tstring.h"

namespace sluice {
namespace {

constexpr int64_t kInts[] = {0,
                             1,
                             2,
                             3,
                             4,
                             7,
                             8,
                             64,
                             255,
                             -1,
                             -2,
                             -3,
                             -127,
                             INT32_MAX,
                             INT32_MIN,
                             int64_t{1} << 31,
                             (int64_t{1} << 31) + 1,
                             (int64_t{1} << 32) + 1,
                             int64_t{1} << 40,
                             INT64_MAX,
                             INT64_MIN,
                             INT64_MIN + 1,
                             1'000'000'000'000'000'000};

constexpr float kFloats[] = {0.0f,
                             -0.0f,
                             1.0f,
                             -1.0f,
                             0.5f,
                             2.5f,
                             1e30f,
                             -1e30f,
                             1e-40f,
                             std::numeric_limits<float>::infinity(),
                             -std::numeric_limits<float>::infinity(),
                             std::numeric_limits<float>::quiet_NaN()};

int64_t Element(ElementKind kind, FuzzRandom& random) {
  switch (kind) {
    case ElementKind::kSmall:
      return random.Int(4);
    case ElementKind::kSigned:
      return random.Int(7) - 3;
    case ElementKind::kExtreme:
      break;
  }
  return HostileInt(random);
}

double RealElement(ElementKind kind, FuzzRandom& random) {
  if (kind == ElementKind::kExtreme) return static_cast<double>(HostileFloat(random));
  return static_cast<double>(Element(kind, random)) * (random.OneIn(2) ? 1 : 0.25);
}

std::string Text(ElementKind kind, FuzzRandom& random) {
  static const char* const kTexts[] = {"", "a", "1.5", "-7", "abc", "\xff\xfe", "a,b->c", "x/y"};
  if (kind == ElementKind::kExtreme && random.OneIn(4)) return std::string(random.Below(300), '\x80');
  return kTexts[random.Below(std::size(kTexts))];
}

template <typename T, typename Make>
void Fill(Tensor& tensor, Make make) {
  for (T& element : tensor.flat<T>()) element = make();
}

// The low bytes of integers, for all integer types and quantized ones.
void FillInts(Tensor& tensor, ElementKind kind, FuzzRandom& random) {
  const size_t size = DTypeSize(tensor.dtype());
  char* to = static_cast<char*>(tensor.mutable_raw_data());
  for (int64_t i = 0; i < tensor.num_elements(); ++i, to += size) {
    const int64_t value = Element(kind, random);
    std::memcpy(to, &value, size);
  }
}

}  // namespace

int64_t HostileInt(FuzzRandom& random) { return kInts[random.Below(std::size(kInts))]; }

float HostileFloat(FuzzRandom& random) { return kFloats[random.Below(std::size(kFloats))]; }

Tensor HostileTensor(DType dtype, const Shape& shape, ElementKind kind, FuzzRandom& random, Allocator& allocator) {
  absl::StatusOr<Tensor> made = Tensor::Make(dtype, shape, allocator);
  SLUICE_CHECK_OK(made.status());
  const auto real = [&] { return RealElement(kind, random); };
  switch (dtype) {
    case DType::kFloat:
      Fill<float>(*made, [&] { return static_cast<float>(real()); });
      break;
    case DType::kDouble:
      Fill<double>(*made, real);
      break;
    case DType::kHalf:
      Fill<Half>(*made, [&] { return Half(static_cast<float>(real())); });
      break;
    case DType::kBFloat16:
      Fill<BFloat16>(*made, [&] { return BFloat16(static_cast<float>(real())); });
      break;
    case DType::kComplex64:
      Fill<std::complex<float>>(*made, [&] { return std::complex<float>(static_cast<float>(real()), 1.0f); });
      break;
    case DType::kComplex128:
      Fill<std::complex<double>>(*made, [&] { return std::complex<double>(real(), real()); });
      break;
    case DType::kBool:
      Fill<bool>(*made, [&] { return random.OneIn(2); });
      break;
    case DType::kString:
      for (TString& element : made->flat<TString>()) element = TString(Text(kind, random));
      break;
    case DType::kResource:
    case DType::kVariant:
      break;
    default:
      FillInts(*made, kind, random);
      break;
  }
  return *std::move(made);
}

Shape HostileShape(FuzzRandom& random) {
  static const std::vector<int64_t> kDims[] = {{},
                                               {},
                                               {1},
                                               {2},
                                               {3},
                                               {0},
                                               {4},
                                               {2, 3},
                                               {3, 3},
                                               {0, 2},
                                               {2, 0},
                                               {1, 1},
                                               {1, 4},
                                               {2, 1, 3},
                                               {2, 2, 2},
                                               {1, 2, 2, 1},
                                               {70},
                                               {9, 9},
                                               {0, 0, 0},
                                               {1, 0, 1},
                                               {2, 3, 4},
                                               {300},
                                               {1, 1, 1, 1, 1, 1, 1}};
  return *Shape::Make(kDims[random.Below(std::size(kDims))]);
}

}  // namespace sluice
