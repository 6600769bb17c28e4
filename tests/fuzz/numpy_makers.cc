#include <cstring>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/corpus/mutator.h"
#include "tests/fuzz/file_makers.h"
#include "tools/cli/numpy/npy.h"
#include "tools/cli/numpy/npz.h"
#include "tools/cli/numpy/zip.h"

namespace sluice {
namespace {

std::string DamagedBytes(const std::string& bytes, FuzzRandom& random) {
  return bytes.empty() ? bytes : Mutator(bytes).Mutate(static_cast<uint32_t>(random.Next()));
}

Tensor AnyTensor(FuzzRandom& random) {
  static constexpr DType kTypes[] = {DType::kFloat, DType::kDouble, DType::kInt32,     DType::kUInt8,
                                     DType::kInt64, DType::kBool,   DType::kComplex64, DType::kString,
                                     DType::kHalf,  DType::kUInt64, DType::kInt8,      DType::kComplex128};
  return HostileTensor(random.Pick(kTypes), HostileShape(random), random.Pick(kElementKinds), random);
}

// Shapes such as "(2, 3)", and malformed ones.
std::string ShapeText(FuzzRandom& random) {
  static const char* const kTexts[] = {"()", "(", "(,)", "(2 3)", "2", "(-1,)", "(1L,)", "(0x1,)", "[2]", "(2.0,)"};
  if (random.OneIn(5)) return kTexts[random.Below(std::size(kTexts))];
  std::string text = "(";
  for (int n = random.OneIn(20) ? 70 : random.Int(4); n > 0; --n) {
    absl::StrAppend(&text, random.OneIn(4) ? HostileInt(random) : random.Int(4), ",");
  }
  return text + ")";
}

std::string HeaderText(FuzzRandom& random) {
  static const char* const kTypes[] = {"'<f4'",        "'>f8'", "'|b1'", "'<i4'",          "'>i2'", "'|u1'", "'<c8'",
                                       "'|S3'",        "'<U2'", "'|V2'", "'|O'",           "'<M8'", "'f4'",  "'<f16'",
                                       "[('a','f4')]", "'|S0'", "'<U0'", "'<U1000000000'", "''",    "'<i3'", "7"};
  static const char* const kOrders[] = {"False", "True", "false", "0", ""};
  std::string header = absl::StrCat("{'descr': ", kTypes[random.Below(std::size(kTypes))],
                                    ", 'fortran_order': ", kOrders[random.Below(random.OneIn(5) ? 5 : 2)],
                                    ", 'shape': ", ShapeText(random), ", }");
  if (random.OneIn(8)) header = DamagedBytes(header, random);
  return header + "\n";
}

}  // namespace

std::string MakeNpyFile(FuzzRandom& random) {
  const absl::StatusOr<std::string> written = WriteNpy(AnyTensor(random));
  if (written.ok() && random.OneIn(2)) return random.OneIn(2) ? *written : DamagedBytes(*written, random);
  const std::string header = HeaderText(random);
  const int version = random.OneIn(10) ? random.Int(256) : 1 + random.Int(3);
  std::string bytes = absl::StrCat("\x93NUMPY", std::string(1, static_cast<char>(version)), std::string(1, '\0'));
  const uint32_t length =
      random.OneIn(10) ? static_cast<uint32_t>(HostileInt(random)) : static_cast<uint32_t>(header.size());
  bytes.append(reinterpret_cast<const char*>(&length), version == 1 ? 2 : 4);
  bytes += header;
  for (uint64_t n = random.OneIn(4) ? random.Below(200) : 8 * random.Below(10); n > 0; --n) {
    bytes += static_cast<char>(random.OneIn(2) ? 0 : random.Next());
  }
  return bytes;
}

std::string MakeNpzFile(FuzzRandom& random) {
  ZipWriter zip;
  for (int i = random.Int(4); i >= 0; --i) zip.Add(absl::StrCat("a", i, ".npy"), MakeNpyFile(random));
  std::string bytes = *zip.Finish();
  // Two or four bytes of a header of the archive, or of its end.
  for (int n = random.Int(3); n > 0; --n) {
    static const char* const kMarks[] = {"PK\x01\x02", "PK\x03\x04", "PK\x05\x06"};
    const size_t at = bytes.find(absl::string_view(kMarks[random.Below(3)], 4).data(), random.Below(bytes.size()), 4);
    if (at == std::string::npos) continue;
    const int64_t value = HostileInt(random);
    const size_t size = random.OneIn(2) ? 2 : 4, field = at + 4 + 2 * random.Below(21);
    if (field + size <= bytes.size()) std::memcpy(&bytes[field], &value, size);
  }
  return random.OneIn(3) ? DamagedBytes(bytes, random) : bytes;
}

std::string MakeFeedValue(FuzzRandom& random) {
  static const char* const kWords[] = {"1",     "-2.5", "[",       "]",     ",",      "true",
                                       "\"a\"", "nan",  "-inf",    "1e400", "x",      "f32",
                                       "=",     "2x3x", "i64",     "0",     ":",      "7",
                                       "1+2j",  "\\x",  "\"\\777", " ",     "random", "99999999999999999999",
                                       "-1x",   "1x",   "string",  "bool",  "0x",     "[[[["};
  std::string text(1, static_cast<char>(random.Next()));
  switch (random.Int(6)) {
    case 0:
      absl::StrAppend(&text, random.Int(4), "x", HostileInt(random), "xf32=", random.OneIn(2) ? "random:7" : "1");
      break;
    case 1:
      absl::StrAppend(&text, "[[1,2],[", HostileInt(random), ",4]]");
      break;
    case 2:
      absl::StrAppend(&text, "[", random.Int(3), ",", random.Int(2), "]");
      break;
    case 3:
      absl::StrAppend(&text, random.OneIn(2) ? "1" : "0");
      break;
    default:
      for (int n = random.Int(12); n >= 0; --n) text += kWords[random.Below(std::size(kWords))];
      break;
  }
  return random.OneIn(6) ? DamagedBytes(text, random) : text;
}

}  // namespace sluice
