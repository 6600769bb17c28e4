#ifndef SLUICE_GRAPH_IR_OP_SCHEMA_BUILDER_H_
#define SLUICE_GRAPH_IR_OP_SCHEMA_BUILDER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/ir/op_schema.h"

namespace sluice {

// Makes an OpSchema from short texts in the notation that TensorFlow programs use to register ops:
//
//   StatusOr<OpSchema> schema = OpSchemaBuilder("ConcatV2")
//       .Input("values: N * T").Input("axis: Tidx").Output("output: T")
//       .Attr("N: int >= 2").Attr("T: type").Attr("Tidx: {int32, int64} = DT_INT32").Build();
//
// Arguments: "name: type", "name: T", "name: N * T", "name: list_attr", each perhaps as "Ref(...)".
// Attrs: "name: type" with `type` one of string int float bool type shape tensor func, "numbertype", "realnumbertype",
// "quantizedtype", a set ("{float, int32}", "{'SAME', 'VALID'}") or list(any of these); then ">= minimum" and
// "= default" (attr_literal.h) in this order, both optional.
//
// The first mistake is kept and returned by Build(). Lives for one expression; not thread-safe.
class OpSchemaBuilder {
 public:
  explicit OpSchemaBuilder(absl::string_view op) { schema_.name = std::string(op); }

  OpSchemaBuilder& Input(absl::string_view spec) { return AddArg(spec, &schema_.inputs); }
  OpSchemaBuilder& Output(absl::string_view spec) { return AddArg(spec, &schema_.outputs); }
  OpSchemaBuilder& Attr(absl::string_view spec);
  OpSchemaBuilder& ControlOutput(absl::string_view name);
  OpSchemaBuilder& Stateful();
  OpSchemaBuilder& Commutative();
  OpSchemaBuilder& Aggregate();
  OpSchemaBuilder& AllowsUninitializedInput();
  OpSchemaBuilder& DistributedCommunication();
  OpSchemaBuilder& Deprecated(int32_t version, absl::string_view text);

  // The schema, validated; kOpSchema for the first mistake. Call once.
  absl::StatusOr<OpSchema> Build();

 private:
  OpSchemaBuilder& AddArg(absl::string_view spec, std::vector<ArgSpec>* args);

  OpSchema schema_;
  absl::Status status_;
};

}  // namespace sluice

#endif  // SLUICE_GRAPH_IR_OP_SCHEMA_BUILDER_H_
