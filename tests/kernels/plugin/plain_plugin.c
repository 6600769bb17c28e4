/* A plug-in in plain C: y = -x, and nothing but plugin_api.h. */

#include "kernels/plugin/plugin_api.h"

static const SluiceApi* api;

static SluiceStatus* Negate(void* kernel, SluiceCall* call) {
  SluiceView x, y;
  SluiceStatus* status = api->input(call, 0, &x);
  const int32_t candidate = 0;
  (void)kernel;
  if (status != NULL) return status;
  status = api->forward_or_allocate(call, 0, x.rank, x.dims, &candidate, 1, &y);
  if (status != NULL) return status;
  for (int64_t i = 0; i < y.num_elements; ++i) ((float*)y.mutable_data)[i] = -((const float*)x.data)[i];
  return NULL;
}

static SluiceStatus* Shape(void* data, SluiceNode* node, SluiceShapes* shapes) {
  SluiceShape shape;
  SluiceStatus* status = api->input_shape(shapes, 0, &shape);
  (void)data;
  (void)node;
  return status != NULL ? status : api->set_shape(shapes, 0, &shape);
}

static SluiceStatus* Add(const SluiceApi* functions, SluiceRegistration* registration) {
  static const char* const inputs[] = {"x: float"};
  static const char* const outputs[] = {"y: float"};
  SluiceOpDef op = {0};
  SluiceKernelDef kernel = {0};
  SluiceStatus* status;
  if (api == NULL) api = functions;
  op.struct_size = sizeof(op);
  op.name = "PlainNegate";
  op.inputs = inputs;
  op.outputs = outputs;
  op.num_inputs = op.num_outputs = 1;
  op.shapes = &Shape;
  status = api->add_op(registration, &op);
  if (status != NULL) return status;
  kernel.struct_size = sizeof(kernel);
  kernel.op = "PlainNegate";
  kernel.compute = &Negate;
  return api->add_kernel(registration, &kernel);
}

SLUICE_PLUGIN_EXPORT const SluicePlugin sluice_plugin = {SLUICE_PLUGIN_MAGIC,
                                                         SLUICE_PLUGIN_MAJOR,
                                                         SLUICE_PLUGIN_MINOR,
                                                         SLUICE_PLUGIN_LAYOUT,
                                                         sizeof(SluicePlugin),
                                                         "plain",
                                                         "0.1",
                                                         &Add};
