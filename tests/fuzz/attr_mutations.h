#ifndef SLUICE_TESTS_FUZZ_ATTR_MUTATIONS_H_
#define SLUICE_TESTS_FUZZ_ATTR_MUTATIONS_H_

#include "graph/ir/op_schema.h"
#include "graph/proto/graph.pb.h"
#include "tests/testing/hostile_values.h"

namespace sluice {

// Another value of the kind that `spec` asks for: numbers at their extremes, lists empty, long or cut, shapes with
// unknown and huge sizes, tensors with hostile elements. Types and functions are left alone. False: nothing changed.
bool ChangeAttrValue(const AttrSpec& spec, FuzzRandom& random, proto::AttrValue* value);

// Any value of any kind, or a damaged tensor.
void DamageAttrValue(FuzzRandom& random, proto::AttrValue* value);

// A tensor of `type` with hostile elements, encoded.
proto::TensorProto HostileTensorProto(DType type, FuzzRandom& random);

}  // namespace sluice

#endif  // SLUICE_TESTS_FUZZ_ATTR_MUTATIONS_H_
