// Plug-ins that are refused: each macro makes another one of this file.

#include <stdexcept>

#include "kernels/plugin/plugin_api.h"

#ifndef PLUGIN_MAJOR
#define PLUGIN_MAJOR SLUICE_PLUGIN_MAJOR
#endif
#ifndef PLUGIN_MINOR
#define PLUGIN_MINOR SLUICE_PLUGIN_MINOR
#endif
#ifndef PLUGIN_MAGIC
#define PLUGIN_MAGIC SLUICE_PLUGIN_MAGIC
#endif
#ifndef PLUGIN_LAYOUT
#define PLUGIN_LAYOUT SLUICE_PLUGIN_LAYOUT
#endif

namespace {

[[maybe_unused]] SluiceStatus* Compute(void*, SluiceCall*) { return nullptr; }

[[maybe_unused]] SluiceStatus* AddOp(const SluiceApi* api, SluiceRegistration* registration, const char* name) {
  SluiceOpDef op{};
  op.struct_size = sizeof(op);
  op.name = name;
#ifdef WRONG_SIZE
  op.struct_size = 8;
#endif
  return api->add_op(registration, &op);
}

[[maybe_unused]] SluiceKernelDef KernelFor(const char* op) {
  SluiceKernelDef kernel{};
  kernel.struct_size = sizeof(kernel);
  kernel.op = op;
  kernel.compute = &Compute;
  return kernel;
}

SluiceStatus* Add(const SluiceApi* api, SluiceRegistration* registration) {
#if defined(FAILS_IN_THE_MIDDLE)
  api->delete_status(AddOp(api, registration, "HalfDone"));
  const SluiceKernelDef kernel = KernelFor("HalfDone");
  api->delete_status(api->add_kernel(registration, &kernel));
  return api->new_status(SLUICE_UNAVAILABLE, "the audio server is not there");
#elif defined(OVERLOOKS_AN_ERROR)
  api->delete_status(AddOp(api, registration, "HalfDone"));
  api->delete_status(AddOp(api, registration, "HalfDone"));
  return nullptr;
#elif defined(THROWS)
  api->delete_status(AddOp(api, registration, "HalfDone"));
  throw std::runtime_error("no reason");
#elif defined(TAKES_A_KNOWN_NAME)
  api->delete_status(AddOp(api, registration, "HalfDone"));
  return AddOp(api, registration, "MatMul");
#elif defined(TAKES_A_KNOWN_SHAPE_FUNCTION)
  api->delete_status(AddOp(api, registration, "HalfDone"));
  SluiceOpDef op{};
  op.struct_size = sizeof(op);
  op.name = "MatMul";
  op.shapes = [](void*, SluiceNode*, SluiceShapes*) -> SluiceStatus* { return nullptr; };
  return api->add_op(registration, &op);
#elif defined(TAKES_ANOTHERS_NAME)
  api->delete_status(AddOp(api, registration, "HalfDone"));
  return AddOp(api, registration, "PlainNegate");
#elif defined(KERNEL_TWICE)
  const SluiceKernelDef kernel = KernelFor("HalfDone");
  api->delete_status(AddOp(api, registration, "HalfDone"));
  api->delete_status(api->add_kernel(registration, &kernel));
  return api->add_kernel(registration, &kernel);
#elif defined(BAD_KERNELS)
  // Each is refused; the first error is that of the load.
  SluiceKernelDef kernel = KernelFor("NoSuchOp");
  api->delete_status(api->add_kernel(registration, &kernel));
  kernel = KernelFor("Neg");
  kernel.compute = nullptr;
  api->delete_status(api->add_kernel(registration, &kernel));
  return nullptr;
#elif defined(KERNEL_FOR_A_GPU)
  SluiceKernelDef kernel = KernelFor("HalfDone");
  kernel.device = "GPU";
  api->delete_status(AddOp(api, registration, "HalfDone"));
  return api->add_kernel(registration, &kernel);
#elif defined(GRADIENT_OF_KNOWN_OP)
  api->delete_status(AddOp(api, registration, "HalfDone"));
  SluiceGradientDef gradient{};
  gradient.struct_size = sizeof(gradient);
  gradient.op = "MatMul";
  gradient.gradient = [](void*, SluiceNode*, SluiceGradients*) -> SluiceStatus* { return nullptr; };
  return api->add_gradient(registration, &gradient);
#elif defined(KERNEL_OF_KNOWN_OP)
  const SluiceKernelDef kernel = KernelFor("Neg");
  return api->add_kernel(registration, &kernel);
#else
  return AddOp(api, registration, "HalfDone");
#endif
}

}  // namespace

#ifndef NO_SYMBOL
extern "C" SLUICE_PLUGIN_EXPORT const SluicePlugin sluice_plugin;
const SluicePlugin sluice_plugin = {PLUGIN_MAGIC,         PLUGIN_MAJOR, PLUGIN_MINOR, PLUGIN_LAYOUT,
                                    sizeof(SluicePlugin), "refused",    "1.0",        &Add};
#else
extern "C" SLUICE_PLUGIN_EXPORT const void* not_a_plugin() { return reinterpret_cast<const void*>(&Add); }
#endif
