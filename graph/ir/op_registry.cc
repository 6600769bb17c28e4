#include "graph/ir/op_registry.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/nearest_names.h"
#include "graph/base/status_macros.h"

namespace sluice {

const OpSchema* OpRegistry::FindKept(absl::string_view name) const {
  MutexLock lock(&mu_);
  const auto it = kept_.find(name);
  return it == kept_.end() ? nullptr : it->second.get();
}

const OpSchema* OpRegistry::Keep(OpSchema schema) const {
  schema.op_class = OpClassOf(schema.name);
  auto owned = std::make_unique<const OpSchema>(std::move(schema));
  const absl::string_view name = owned->name;
  MutexLock lock(&mu_);
  return kept_.try_emplace(name, std::move(owned)).first->second.get();
}

const OpSchema* OpRegistry::Find(absl::string_view name) const {
  if (const OpSchema* const kept = FindKept(name)) return kept;
  if (base_ != nullptr) return base_->Find(name);
  if (table_ == nullptr) return nullptr;
  absl::StatusOr<OpSchema> schema = table_->Find(name);
  return schema.ok() ? Keep(*std::move(schema)) : nullptr;
}

absl::Status OpRegistry::Add(OpSchema schema) {
  SLUICE_RETURN_IF_ERROR(ValidateOpSchema(schema));
  const std::string name = schema.name;
  schema.op_class = OpClassOf(name);
  if (Find(name) == nullptr) {
    auto owned = std::make_unique<const OpSchema>(std::move(schema));
    const absl::string_view key = owned->name;
    MutexLock lock(&mu_);
    // Of two threads that add one name at once, the one that comes later is refused here.
    if (kept_.try_emplace(key, std::move(owned)).second) return absl::OkStatus();
  }
  return Error(ErrorCode::kOpSchema).Text(absl::StrCat("op '", PrintableName(name), "': there is an op of this name"));
}

void OpRegistry::ForEachName(absl::FunctionRef<void(absl::string_view)> fn) const {
  std::vector<absl::string_view> names;
  const auto add = [&names](absl::string_view name) { names.push_back(name); };
  if (base_ != nullptr) base_->ForEachName(add);
  if (table_ != nullptr) table_->ForEachName(add);
  {
    MutexLock lock(&mu_);
    for (const auto& entry : kept_) names.push_back(entry.first);
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  for (const absl::string_view name : names) fn(name);
}

std::vector<std::string> OpRegistry::Nearest(absl::string_view name, size_t max) const {
  std::vector<absl::string_view> names;
  ForEachName([&names](absl::string_view candidate) { names.push_back(candidate); });
  return NearestNames(name, names, max);
}

}  // namespace sluice
