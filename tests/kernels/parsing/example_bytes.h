#ifndef SLUICE_TESTS_KERNELS_PARSING_EXAMPLE_BYTES_H_
#define SLUICE_TESTS_KERNELS_PARSING_EXAMPLE_BYTES_H_

// Examples as bytes, written field by field.

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "graph/wire/wire_writer.h"

namespace sluice {

// A Feature with a list of the kind.
inline std::string IntFeature(const std::vector<int64_t>& values) {
  std::string bytes, packed;
  WireWriter numbers(&packed);
  for (const int64_t value : values) numbers.RawVarint(static_cast<uint64_t>(value));
  WireWriter writer(&bytes);
  const size_t mark = writer.BeginMessage(3);
  if (!values.empty()) writer.Bytes(1, packed);
  writer.EndMessage(mark);
  return bytes;
}
inline std::string FloatFeature(const std::vector<float>& values) {
  std::string bytes;
  WireWriter writer(&bytes);
  const size_t mark = writer.BeginMessage(2);
  writer.Bytes(1, {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)});
  writer.EndMessage(mark);
  return bytes;
}
inline std::string TextFeature(const std::vector<std::string>& values) {
  std::string bytes;
  WireWriter writer(&bytes);
  const size_t mark = writer.BeginMessage(1);
  for (const std::string& value : values) writer.Bytes(1, value);
  writer.EndMessage(mark);
  return bytes;
}

using NamedBytes = std::vector<std::pair<std::string, std::string>>;

// A map of `entries` as field `field`.
inline void WriteMap(uint32_t field, const NamedBytes& entries, WireWriter* writer) {
  const size_t map = writer->BeginMessage(field);
  for (const auto& [name, value] : entries) {
    const size_t entry = writer->BeginMessage(1);
    writer->Bytes(1, name);
    writer->Bytes(2, value);
    writer->EndMessage(entry);
  }
  writer->EndMessage(map);
}

inline std::string Example(const NamedBytes& features) {
  std::string bytes;
  WireWriter writer(&bytes);
  WriteMap(1, features, &writer);
  return bytes;
}

// A FeatureList of Features.
inline std::string FeatureList(const std::vector<std::string>& features) {
  std::string bytes;
  WireWriter writer(&bytes);
  for (const std::string& feature : features) writer.Bytes(1, feature);
  return bytes;
}

inline std::string SequenceExample(const NamedBytes& context, const NamedBytes& lists) {
  std::string bytes;
  WireWriter writer(&bytes);
  WriteMap(1, context, &writer);
  WriteMap(2, lists, &writer);
  return bytes;
}

}  // namespace sluice

#endif  // SLUICE_TESTS_KERNELS_PARSING_EXAMPLE_BYTES_H_
