#ifndef SLUICE_GRAPH_IR_ATTR_AGREEMENT_H_
#define SLUICE_GRAPH_IR_ATTR_AGREEMENT_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "graph/ir/signature.h"

namespace sluice {

// Rules between attrs of one op that no AttrSpec can state: each attr is right, but together they mean nothing, and
// TensorFlow has no kernel for them or refuses to make it.
//   Imag, Real, Angle, ComplexAbs: Tout is the type of the parts of T. Complex: T is that of the parts of Tout.
//   _ReadVariablesOp: as many dtypes as resources.
//
// kAttrValue naming the attr at fault. OK for all other ops.
absl::Status CheckAttrAgreement(absl::string_view op, const Signature& signature);

}  // namespace sluice

#endif  // SLUICE_GRAPH_IR_ATTR_AGREEMENT_H_
