#ifndef SLUICE_GRAPH_FUNCTIONS_ATTR_BINDING_H_
#define SLUICE_GRAPH_FUNCTIONS_ATTR_BINDING_H_

// A function and the values its attrs have at one call.

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/ir/attr.h"
#include "graph/ir/function_library.h"
#include "graph/ir/signature.h"

namespace sluice {

// Values of attrs by name. Iterates in order of name.
using BoundAttrs = std::map<std::string, AttrValue, std::less<>>;

// A function with all its attrs known: what "f[T=float32]" means. A value type; shares the definition.
struct BoundFunction {
  std::shared_ptr<const FunctionDefinition> definition;
  BoundAttrs attrs;     // Those given by the call, and defaults.
  Signature signature;  // Types of arguments and results under `attrs`.

  const std::string& name() const { return definition->name(); }
};

// Looks `name` up and binds its attrs to `given`; attrs that `given` lacks get the signature's defaults. Given attrs
// that the function does not declare are kept when they do not start with '_' (bodies may use them all the same).
// kFunctionUnknown, kAttrUnbound when an attr has neither value nor default, kAttrKind / kAttrValue when a value does
// not match the signature; errors name the function but no node.
absl::StatusOr<BoundFunction> BindFunction(const FunctionLibrary& library, absl::string_view name,
                                           absl::Span<const NamedAttr> given);

// `value` with each placeholder ("$T") in it replaced by the value bound for it, inside nested functions too.
// kAttrUnbound naming the placeholder if no value is bound. Not recursive. Subtracts the bytes of replacements from
// `budget` (may be null); kLimitAttrBytes when it is used up.
absl::StatusOr<AttrValue> SubstitutePlaceholders(AttrView value, const BoundAttrs& bound, int64_t* budget = nullptr);

// Returns a budget for all nodes of one body: each bound value once, and some more for small values. Without it, attrs
// whose size doubles with each call would fill the memory after thirty calls.
int64_t SubstitutionBudget(const BoundAttrs& bound);

// Whether `value` holds a placeholder anywhere. Not recursive.
bool HasPlaceholder(AttrView value);

// A name for a function under its attrs, equal for equal bindings and different for different ones:
// "Poly[N=2,T=float32]". For caches and for names that people read.
std::string Canonicalize(absl::string_view name, const BoundAttrs& attrs);

}  // namespace sluice

#endif  // SLUICE_GRAPH_FUNCTIONS_ATTR_BINDING_H_
