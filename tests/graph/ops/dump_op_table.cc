// Writes the table of TensorFlow's ops, parsed and encoded again, to standard output as an OpList message: what
// compare_op_table.py holds against the ops that a real TensorFlow registers.

#include <iostream>
#include <string>

#include "absl/strings/string_view.h"
#include "graph/ir/op_schema.h"
#include "graph/ops/op_table.h"
#include "graph/ops/tensorflow_ops.h"
#include "graph/wire/wire_writer.h"

int main() {
  std::string list;
  sluice::WireWriter writer(&list);
  const sluice::OpTextTable table(sluice::TensorFlowOpsText());
  table.ForEachName([&](absl::string_view name) {
    const absl::StatusOr<sluice::OpSchema> schema = table.Find(name);
    if (schema.ok()) writer.Bytes(1, sluice::EncodeOpDef(*schema));
  });
  std::cout.write(list.data(), static_cast<std::streamsize>(list.size()));
  return std::cout.good() ? 0 : 1;
}
