#include "graph/ir/op_traits.h"

namespace sluice {
namespace {

struct GradientWord {
  absl::string_view word;
  OpTraits::Gradient gradient;
};

constexpr GradientWord kGradients[] = {
    {"unknown", OpTraits::Gradient::kUnknown},  {"rule", OpTraits::Gradient::kFunction},
    {"none", OpTraits::Gradient::kNone},        {"refused", OpTraits::Gradient::kRefused},
    {"flow", OpTraits::Gradient::kControlFlow},
};

struct FlagWord {
  absl::string_view word;
  bool OpTraits::*flag;
};

constexpr FlagWord kFlags[] = {
    {"impure", &OpTraits::is_impure},        {"rerun", &OpTraits::may_run_again},
    {"total", &OpTraits::takes_any_value},   {"activation", &OpTraits::is_activation},
    {"variable", &OpTraits::makes_variable}, {"placeholder", &OpTraits::is_placeholder},
    {"saver", &OpTraits::is_saver},          {"inner", &OpTraits::is_inner},
};

}  // namespace

bool AddTrait(absl::string_view word, OpTraits* traits) {
  for (const GradientWord& row : kGradients) {
    if (row.word != word) continue;
    traits->gradient = row.gradient;
    return true;
  }
  for (const FlagWord& row : kFlags) {
    if (row.word != word) continue;
    traits->*row.flag = true;
    return true;
  }
  return false;
}

std::vector<std::string> TraitWords(const OpTraits& traits) {
  std::vector<std::string> words;
  for (const GradientWord& row : kGradients) {
    if (row.gradient == traits.gradient) words.emplace_back(row.word);
  }
  for (const FlagWord& row : kFlags) {
    if (traits.*row.flag) words.emplace_back(row.word);
  }
  return words;
}

}  // namespace sluice
