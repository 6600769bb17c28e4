// TensorFlow's C interface for kernels over that of plug-ins. A library of both files and of kernels written for
// TensorFlow is a plug-in.

#include "tests/kernels/plugin/tf_api.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernels/plugin/plugin_api.h"

namespace {

const SluiceApi* api = nullptr;
// Where TF_InitKernel, which has no arguments, registers. Set during SluicePlugin::add, on its thread.
thread_local SluiceRegistration* registration = nullptr;

using ShapeFunction = void (*)(TF_ShapeInferenceContext* ctx, TF_Status* status);

}  // namespace

struct TF_Status {
  TF_Code code = TF_OK;
  std::string text;
};

struct TF_Tensor {
  SluiceView view{};
  SluiceTensor* kept = nullptr;  // Null: an output, which the call keeps.
};

struct TF_OpDefinitionBuilder {
  std::string name;
  std::vector<std::string> inputs, outputs, attrs;
  uint32_t flags = 0;
  ShapeFunction shapes = nullptr;
};

struct TF_ShapeInferenceContext {
  SluiceNode* node;
  SluiceShapes* shapes;
};

struct TF_ShapeHandle {
  SluiceShape shape{-1, nullptr};
};

// Lives as long as the library: kernels are made from it.
struct TF_KernelBuilder {
  std::string op, device, label;
  void* (*create)(TF_OpKernelConstruction*) = nullptr;
  void (*compute)(void*, TF_OpKernelContext*) = nullptr;
  void (*compute_async)(void*, TF_OpKernelContext*, TF_AsyncOpKernelDoneCallback*) = nullptr;
  void (*destroy)(void*) = nullptr;
  std::vector<std::pair<std::string, int32_t>> types;
  std::vector<std::string> host_args;
  int32_t priority = 0;
};

struct TF_OpKernelConstruction {
  SluiceNode* node;
  SluiceStatus* failure = nullptr;
};

struct TF_OpKernelContext {
  SluiceCall* call;
  SluiceStatus* failure = nullptr;
};

// An asynchronous call: both what the kernel gets, and what ends it.
struct TF_AsyncOpKernelDoneCallback {
  TF_OpKernelContext context;
  SluiceDone done;
};

namespace {

// A kernel of TensorFlow's interface, and the functions that it is called with.
struct MadeKernel {
  const TF_KernelBuilder* builder;
  void* kernel;
};

// Moves an error of ours into `status`. Whether there was none.
bool Report(SluiceStatus* error, TF_Status* status) {
  if (error == nullptr) {
    *status = TF_Status();
    return true;
  }
  *status = {static_cast<TF_Code>(api->status_code(error)), api->status_text(error)};
  api->delete_status(error);
  return false;
}

SluiceStatus* ErrorOf(const TF_Status& status) {
  return status.code == TF_OK ? nullptr : api->new_status(status.code, status.text.c_str());
}

std::vector<const char*> Pointers(const std::vector<std::string>& texts) {
  std::vector<const char*> pointers;
  for (const std::string& text : texts) pointers.push_back(text.c_str());
  return pointers;
}

SluiceStatus* InferShapes(void* data, SluiceNode* node, SluiceShapes* shapes) {
  TF_ShapeInferenceContext context{node, shapes};
  TF_Status status;
  reinterpret_cast<ShapeFunction>(data)(&context, &status);
  return ErrorOf(status);
}

SluiceStatus* Create(void* data, SluiceNode* node, void** kernel) {
  const auto* const builder = static_cast<const TF_KernelBuilder*>(data);
  TF_OpKernelConstruction construction{node};
  void* const made = builder->create != nullptr ? builder->create(&construction) : nullptr;
  if (construction.failure != nullptr) return construction.failure;
  *kernel = std::make_unique<MadeKernel>(MadeKernel{builder, made}).release();
  return nullptr;
}

SluiceStatus* Compute(void* kernel, SluiceCall* call) {
  const MadeKernel& made = *static_cast<const MadeKernel*>(kernel);
  TF_OpKernelContext context{call};
  made.builder->compute(made.kernel, &context);
  return context.failure;
}

void ComputeAsync(void* kernel, SluiceCall* call, SluiceDone done) {
  const MadeKernel& made = *static_cast<const MadeKernel*>(kernel);
  auto* const begun =
      std::make_unique<TF_AsyncOpKernelDoneCallback>(TF_AsyncOpKernelDoneCallback{{call}, done}).release();
  made.builder->compute_async(made.kernel, &begun->context, begun);
}

void Destroy(void* kernel) {
  const std::unique_ptr<MadeKernel> made(static_cast<MadeKernel*>(kernel));
  if (made->builder->destroy != nullptr) made->builder->destroy(made->kernel);
}

SluiceStatus* AddAll(const SluiceApi* functions, SluiceRegistration* where) {
  if (api == nullptr) api = functions;
  registration = where;
  TF_InitKernel();
  registration = nullptr;
  return nullptr;  // What was refused fails the load, also where TF_InitKernel overlooks it.
}

SluiceStatus* GetAttr(TF_OpKernelConstruction* ctx, const char* name, int32_t kind, SluiceAttr* attr) {
  return api->get_attr(ctx->node, name, kind, attr);
}

}  // namespace

TF_Status* TF_NewStatus(void) { return std::make_unique<TF_Status>().release(); }
void TF_DeleteStatus(TF_Status* s) { std::unique_ptr<TF_Status>(s).reset(); }
void TF_SetStatus(TF_Status* s, TF_Code code, const char* msg) { *s = {code, msg}; }
TF_Code TF_GetCode(const TF_Status* s) { return s->code; }

TF_DataType TF_TensorType(const TF_Tensor* tensor) { return static_cast<TF_DataType>(tensor->view.dtype); }
int TF_NumDims(const TF_Tensor* tensor) { return tensor->view.rank; }
int64_t TF_Dim(const TF_Tensor* tensor, int dim_index) { return tensor->view.dims[dim_index]; }
int64_t TF_TensorElementCount(const TF_Tensor* tensor) { return tensor->view.num_elements; }
size_t TF_TensorByteSize(const TF_Tensor* tensor) { return tensor->view.num_bytes; }
void* TF_TensorData(const TF_Tensor* tensor) { return const_cast<void*>(tensor->view.data); }
void TF_DeleteTensor(TF_Tensor* tensor) {
  const std::unique_ptr<TF_Tensor> owned(tensor);
  if (owned != nullptr) api->delete_tensor(owned->kept);
}

TF_OpDefinitionBuilder* TF_NewOpDefinitionBuilder(const char* op_name) {
  auto builder = std::make_unique<TF_OpDefinitionBuilder>();
  builder->name = op_name;
  return builder.release();
}
void TF_OpDefinitionBuilderAddAttr(TF_OpDefinitionBuilder* builder, const char* attr_spec) {
  builder->attrs.emplace_back(attr_spec);
}
void TF_OpDefinitionBuilderAddInput(TF_OpDefinitionBuilder* builder, const char* input_spec) {
  builder->inputs.emplace_back(input_spec);
}
void TF_OpDefinitionBuilderAddOutput(TF_OpDefinitionBuilder* builder, const char* output_spec) {
  builder->outputs.emplace_back(output_spec);
}
void TF_OpDefinitionBuilderSetIsStateful(TF_OpDefinitionBuilder* builder, bool is_stateful) {
  builder->flags = is_stateful ? SLUICE_OP_STATEFUL : 0;
}
void TF_OpDefinitionBuilderSetShapeInferenceFunction(TF_OpDefinitionBuilder* builder, ShapeFunction function) {
  builder->shapes = function;
}
void TF_RegisterOpDefinition(TF_OpDefinitionBuilder* builder, TF_Status* status) {
  const std::unique_ptr<TF_OpDefinitionBuilder> owned(builder);
  const std::vector<const char*> inputs = Pointers(owned->inputs), outputs = Pointers(owned->outputs),
                                 attrs = Pointers(owned->attrs);
  SluiceOpDef op{};
  op.struct_size = sizeof(op);
  op.name = owned->name.c_str();
  op.inputs = inputs.data();
  op.outputs = outputs.data();
  op.attrs = attrs.data();
  op.num_inputs = static_cast<int32_t>(inputs.size());
  op.num_outputs = static_cast<int32_t>(outputs.size());
  op.num_attrs = static_cast<int32_t>(attrs.size());
  op.flags = owned->flags;
  if (owned->shapes != nullptr) {
    op.shapes = &InferShapes;
    op.data = reinterpret_cast<void*>(owned->shapes);
  }
  Report(api->add_op(registration, &op), status);
}

int64_t TF_ShapeInferenceContextNumInputs(TF_ShapeInferenceContext* ctx) { return api->num_inputs(ctx->node); }
TF_ShapeHandle* TF_NewShapeHandle() { return std::make_unique<TF_ShapeHandle>().release(); }
void TF_ShapeInferenceContextGetInput(TF_ShapeInferenceContext* ctx, int i, TF_ShapeHandle* handle, TF_Status* status) {
  Report(api->input_shape(ctx->shapes, i, &handle->shape), status);
}
void TF_ShapeInferenceContextSetOutput(TF_ShapeInferenceContext* ctx, int i, TF_ShapeHandle* handle,
                                       TF_Status* status) {
  Report(api->set_shape(ctx->shapes, i, &handle->shape), status);
}
void TF_DeleteShapeHandle(TF_ShapeHandle* handle) { std::unique_ptr<TF_ShapeHandle>(handle).reset(); }

TF_KernelBuilder* TF_NewKernelBuilder(const char* op_name, const char* device_name,
                                      void* (*create_func)(TF_OpKernelConstruction*),
                                      void (*compute_func)(void*, TF_OpKernelContext*), void (*delete_func)(void*)) {
  auto builder = std::make_unique<TF_KernelBuilder>();
  builder->op = op_name;
  builder->device = device_name;
  builder->create = create_func;
  builder->compute = compute_func;
  builder->destroy = delete_func;
  return builder.release();
}
TF_KernelBuilder* TF_NewAsyncKernelBuilder(const char* op_name, const char* device_name,
                                           void* (*create_func)(TF_OpKernelConstruction*),
                                           void (*compute_async_func)(void*, TF_OpKernelContext*,
                                                                      TF_AsyncOpKernelDoneCallback* done),
                                           void (*delete_func)(void*)) {
  TF_KernelBuilder* const builder = TF_NewKernelBuilder(op_name, device_name, create_func, nullptr, delete_func);
  builder->compute_async = compute_async_func;
  return builder;
}
void TF_KernelBuilder_TypeConstraint(TF_KernelBuilder* kernel_builder, const char* attr_name, const TF_DataType type,
                                     TF_Status* status) {
  kernel_builder->types.emplace_back(attr_name, static_cast<int32_t>(type));
  *status = TF_Status();
}
void TF_KernelBuilder_HostMemory(TF_KernelBuilder* kernel_builder, const char* arg_name) {
  kernel_builder->host_args.emplace_back(arg_name);
}
void TF_KernelBuilder_Priority(TF_KernelBuilder* kernel_builder, int32_t priority_number) {
  kernel_builder->priority = priority_number;
}
void TF_KernelBuilder_Label(TF_KernelBuilder* kernel_builder, const char* label) { kernel_builder->label = label; }
void TF_RegisterKernelBuilder(const char*, TF_KernelBuilder* builder, TF_Status* status) {
  std::vector<SluiceTypes> types;
  for (const auto& [attr, type] : builder->types) types.push_back({attr.c_str(), &type, 1});
  const std::vector<const char*> host_args = Pointers(builder->host_args);
  SluiceKernelDef kernel{};
  kernel.struct_size = sizeof(kernel);
  kernel.op = builder->op.c_str();
  kernel.device = builder->device.c_str();
  kernel.types = types.data();
  kernel.num_types = static_cast<int32_t>(types.size());
  kernel.host_args = host_args.data();
  kernel.num_host_args = static_cast<int32_t>(host_args.size());
  kernel.label = builder->label.empty() ? nullptr : builder->label.c_str();
  kernel.priority = builder->priority;
  kernel.create = &Create;
  if (builder->compute != nullptr) kernel.compute = &Compute;
  if (builder->compute_async != nullptr) kernel.compute_async = &ComputeAsync;
  kernel.destroy = &Destroy;
  kernel.data = builder;  // Kept for ever, as the library is.
  static std::vector<std::unique_ptr<TF_KernelBuilder>>* const kept =
      std::make_unique<std::vector<std::unique_ptr<TF_KernelBuilder>>>().release();
  kept->emplace_back(builder);
  Report(api->add_kernel(registration, &kernel), status);
}

void TF_OpKernelConstruction_GetAttrType(TF_OpKernelConstruction* ctx, const char* attr_name, TF_DataType* val,
                                         TF_Status* status) {
  SluiceAttr attr{};
  if (!Report(GetAttr(ctx, attr_name, SLUICE_ATTR_TYPE, &attr), status)) return;
  *val = static_cast<TF_DataType>(*static_cast<const int32_t*>(attr.values));
}
void TF_OpKernelConstruction_GetAttrInt64(TF_OpKernelConstruction* ctx, const char* attr_name, int64_t* val,
                                          TF_Status* status) {
  SluiceAttr attr{};
  if (Report(GetAttr(ctx, attr_name, SLUICE_ATTR_INT, &attr), status)) *val = *static_cast<const int64_t*>(attr.values);
}
void TF_OpKernelConstruction_GetAttrFloat(TF_OpKernelConstruction* ctx, const char* attr_name, float* val,
                                          TF_Status* status) {
  SluiceAttr attr{};
  if (Report(GetAttr(ctx, attr_name, SLUICE_ATTR_FLOAT, &attr), status)) *val = *static_cast<const float*>(attr.values);
}
void TF_OpKernelConstruction_GetAttrSize(TF_OpKernelConstruction* ctx, const char* attr_name, int32_t* list_size,
                                         int32_t* total_size, TF_Status* status) {
  SluiceAttr attr{};
  if (!Report(GetAttr(ctx, attr_name, SLUICE_ATTR_FLOAT + SLUICE_ATTR_LIST, &attr), status)) return;
  *list_size = static_cast<int32_t>(attr.count);
  *total_size = -1;  // Of lists of strings and shapes only.
}
void TF_OpKernelConstruction_GetAttrFloatList(TF_OpKernelConstruction* ctx, const char* attr_name, float* vals,
                                              int max_vals, TF_Status* status) {
  SluiceAttr attr{};
  if (!Report(GetAttr(ctx, attr_name, SLUICE_ATTR_FLOAT + SLUICE_ATTR_LIST, &attr), status)) return;
  for (int64_t i = 0; i < attr.count && i < max_vals; ++i) vals[i] = static_cast<const float*>(attr.values)[i];
}
void TF_OpKernelConstruction_Failure(TF_OpKernelConstruction* ctx, TF_Status* status) {
  if (ctx->failure == nullptr) ctx->failure = ErrorOf(*status);
}

int TF_NumInputs(TF_OpKernelContext* ctx) { return api->call_num_inputs(ctx->call); }
int TF_NumOutputs(TF_OpKernelContext* ctx) { return api->call_num_outputs(ctx->call); }
void TF_GetInput(TF_OpKernelContext* ctx, int i, TF_Tensor** tensor, TF_Status* status) {
  if (i < 0 || i >= TF_NumInputs(ctx)) return TF_SetStatus(status, TF_OUT_OF_RANGE, "input index out of range");
  SluiceTensor* kept = nullptr;
  if (!Report(api->keep_input(ctx->call, i, &kept), status)) return;
  auto made = std::make_unique<TF_Tensor>();
  made->kept = kept;
  api->view_tensor(kept, &made->view);
  *tensor = made.release();
}
TF_Tensor* TF_AllocateOutput(TF_OpKernelContext* context, int index, TF_DataType, const int64_t* dims, int num_dims,
                             size_t, TF_Status* status) {
  auto made = std::make_unique<TF_Tensor>();
  SluiceStatus* const error = api->allocate_output(context->call, index, num_dims, dims, &made->view);
  return Report(error, status) ? made.release() : nullptr;
}
void TF_SetOutput(TF_OpKernelContext* ctx, int i, const TF_Tensor* tensor, TF_Status* status) {
  if (i < 0 || i >= TF_NumOutputs(ctx)) return TF_SetStatus(status, TF_OUT_OF_RANGE, "output index out of range");
  if (tensor->kept != nullptr) Report(api->set_output(ctx->call, i, tensor->kept), status);
}
void TF_OpKernelContext_Failure(TF_OpKernelContext* ctx, TF_Status* status) {
  if (ctx->failure == nullptr) ctx->failure = ErrorOf(*status);
}
void TF_RunAsyncOpKernelDoneCallback(TF_AsyncOpKernelDoneCallback* done) {
  const std::unique_ptr<TF_AsyncOpKernelDoneCallback> owned(done);
  api->delete_status(api->finish(owned->done, owned->context.failure));
}

extern "C" SLUICE_PLUGIN_EXPORT const SluicePlugin sluice_plugin;
const SluicePlugin sluice_plugin = {SLUICE_PLUGIN_MAGIC,
                                    SLUICE_PLUGIN_MAJOR,
                                    SLUICE_PLUGIN_MINOR,
                                    SLUICE_PLUGIN_LAYOUT,
                                    sizeof(SluicePlugin),
                                    "kernels for TensorFlow",
                                    "2.19",
                                    &AddAll};
