#ifndef SLUICE_TESTS_EXECUTOR_TAPE_HOOK_PROGRAM_FUNCTIONS_H_
#define SLUICE_TESTS_EXECUTOR_TAPE_HOOK_PROGRAM_FUNCTIONS_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "executor/tape/tape.h"

namespace sluice {

// What a function says when its gradient is computed: its name and the gradients of its outputs.
using NoteFunction = std::function<void(const std::string& name, absl::Span<const Var> grads)>;

// The custom function of this name in torch_functions.py; null where there is none.
std::shared_ptr<CustomFunction> HookProgramFunction(const std::string& name, Tape& tape, const NoteFunction& note);

}  // namespace sluice

#endif  // SLUICE_TESTS_EXECUTOR_TAPE_HOOK_PROGRAM_FUNCTIONS_H_
