#ifndef SLUICE_GRAPH_WIRE_WIRE_WRITER_H_
#define SLUICE_GRAPH_WIRE_WIRE_WRITER_H_

// Writes one protobuf message in its binary form, field by field.
//
//   std::string out;
//   WireWriter writer(&out);
//   writer.Bytes(1, node.name);
//   const size_t mark = writer.BeginMessage(4);  // versions
//   writer.Varint(1, 1987);
//   writer.EndMessage(mark);

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "graph/wire/wire_reader.h"

namespace sluice {

// Appends fields to a string that it borrows and that must outlive it. Writes what it is told, default values
// included: a caller that wants proto3's bytes leaves those out. Several writers may take turns on one string.
// Thread-safety: none.
class WireWriter {
 public:
  explicit WireWriter(std::string* out) : out_(*out) {}

  void Varint(uint32_t field, uint64_t value);
  void Int(uint32_t field, int64_t value) { Varint(field, static_cast<uint64_t>(value)); }  // int32, int64, enums.
  void Bool(uint32_t field, bool value) { Varint(field, value ? 1 : 0); }
  void Fixed32(uint32_t field, uint32_t value);
  void Fixed64(uint32_t field, uint64_t value);
  void Float(uint32_t field, float value);
  void Double(uint32_t field, double value);
  void Bytes(uint32_t field, absl::string_view value);

  // Appends a field exactly as WireReader::raw() gave it.
  void Raw(absl::string_view field_bytes) { out_.append(field_bytes.data(), field_bytes.size()); }

  // Opens a nested message and returns the mark that EndMessage needs to close it; what is written in between
  // belongs to it. Marks nest.
  size_t BeginMessage(uint32_t field);
  void EndMessage(size_t mark);

  // The bare number, without a tag: for packed fields.
  void RawVarint(uint64_t value);

 private:
  void Tag(uint32_t field, WireType type) { RawVarint(WireTag(field, type)); }

  std::string& out_;
};

}  // namespace sluice

#endif  // SLUICE_GRAPH_WIRE_WIRE_WRITER_H_
