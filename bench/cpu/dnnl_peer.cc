// SPDX-License-Identifier: Apache-2.0
//
// oneDNN, version 2 or 3: activations lie as the case has them, weights as the library likes them
// best. For convolutions also with activations in blocks, which are then put in order and back in
// the time.
#include <memory>
#include <oneapi/dnnl/dnnl.hpp>
#include <unordered_map>

#include "bench/cpu/worker.h"

namespace tern::bench {
namespace {

using dnnl::memory;
using Tag = memory::format_tag;

const dnnl::engine& Engine() {
  static dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

memory::data_type TypeOf(const TensorSpec& tensor) {
  static const std::map<std::string, memory::data_type> kTypes = {
      {"float32", memory::data_type::f32},
      {"int32", memory::data_type::s32},
      {"int8", memory::data_type::s8},
      {"uint8", memory::data_type::u8},
      {"bfloat16", memory::data_type::bf16}};
  return kTypes.at(tensor.dtype);
}

// Version 2 has a description of the operation between the arguments and that of the primitive.
template <class P, class... A>
P::primitive_desc Describe(const dnnl::primitive_attr& attributes, A... arguments) {
#if DNNL_VERSION_MAJOR >= 3
  return {Engine(), arguments..., attributes};
#else
  return {typename P::desc(arguments...), attributes, Engine()};
#endif
}
template <class P, class... A>
P::primitive_desc DescribePlain(A... arguments) {
  return Describe<P>(dnnl::primitive_attr(), arguments...);
}

// Primitives one after another.
class Program {
 public:
  Program(const Case& the_case, const Buffers& buffers)
      : case_(the_case), buffers_(buffers), stream_(Engine()) {}

  memory::desc Plain(const std::string& name, const memory::dims& shape) const {
    static const Tag kTags[] = {Tag::undef, Tag::a, Tag::ab, Tag::abc, Tag::abcd, Tag::abcde};
    return {shape, TypeOf(case_.tensor(name)), kTags[shape.size()]};
  }
  memory::desc Plain(const std::string& name) const {
    return Plain(name, case_.tensor(name).shape);
  }
  memory::desc Any(const std::string& name, const memory::dims& shape) const {
    return {shape, TypeOf(case_.tensor(name)), Tag::any};
  }
  memory Tensor(const std::string& name, const memory::desc& desc) const {
    return {desc, Engine(), buffers_.Get(name)};
  }
  // The constant in the layout that a primitive wants, made now.
  memory Packed(const memory& plain, const memory::desc& wanted) {
    if (plain.get_desc() == wanted) return plain;
    memory packed(wanted, Engine());
    dnnl::reorder(plain, packed).execute(stream_, const_cast<memory&>(plain), packed);
    stream_.wait();
    return packed;
  }
  void Add(const dnnl::primitive& primitive, const std::unordered_map<int, memory>& args) {
    steps_.push_back({primitive, args});
  }
  void AddReorder(const memory& from, const memory& to) {
    Add(dnnl::reorder(from, to), {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}});
  }
  void Run() {
    for (Step& step : steps_) step.primitive.execute(stream_, step.args);
    stream_.wait();
  }

 private:
  struct Step {
    dnnl::primitive primitive;
    std::unordered_map<int, memory> args;
  };
  const Case& case_;
  const Buffers& buffers_;
  dnnl::stream stream_;
  std::vector<Step> steps_;
};
using ProgramPtr = std::shared_ptr<Program>;

Variant Finished(const std::string& name, const ProgramPtr& program) {
  return {name, [program] { program->Run(); }};
}

std::vector<Variant> Matmul(const Case& the_case, const ProgramPtr& program) {
  memory::desc a = program->Plain("A"), b = program->Any("B", the_case.tensor("B").shape),
               c = program->Plain("C");
  auto desc = DescribePlain<dnnl::matmul>(a, b, c);
  memory weights = program->Packed(program->Tensor("B", program->Plain("B")), desc.weights_desc());
  program->Add(dnnl::matmul(desc), {{DNNL_ARG_SRC, program->Tensor("A", a)},
                                    {DNNL_ARG_WEIGHTS, weights},
                                    {DNNL_ARG_DST, program->Tensor("C", c)}});
  return {Finished("packed", program)};
}

Variant Conv(const Case& the_case, const ProgramPtr& program, bool in_blocks) {
  int64_t groups = the_case.Number("groups"), stride = the_case.Number("stride"),
          pad = the_case.Number("pad");
  memory::dims weight_shape = the_case.tensor("W").shape;
  if (groups > 1) {
    weight_shape[0] /= groups;
    weight_shape.insert(weight_shape.begin(), groups);
  }
  memory::desc plain_x = program->Plain("X"), plain_y = program->Plain("Y");
  memory::desc x = in_blocks ? program->Any("X", the_case.tensor("X").shape) : plain_x;
  memory::desc y = in_blocks ? program->Any("Y", the_case.tensor("Y").shape) : plain_y;
  using Dims = memory::dims;
  auto desc = DescribePlain<dnnl::convolution_forward>(
      dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_auto, x,
      program->Any("W", weight_shape), y, Dims{stride, stride}, Dims{pad, pad}, Dims{pad, pad});
  memory weights =
      program->Packed(program->Tensor("W", program->Plain("W", weight_shape)), desc.weights_desc());
  memory from = program->Tensor("X", plain_x), to = program->Tensor("Y", plain_y);
  memory source = from, result = to;
  if (desc.src_desc() != plain_x) {
    source = memory(desc.src_desc(), Engine());
    program->AddReorder(from, source);
  }
  if (desc.dst_desc() != plain_y) result = memory(desc.dst_desc(), Engine());
  program->Add(dnnl::convolution_forward(desc),
               {{DNNL_ARG_SRC, source}, {DNNL_ARG_WEIGHTS, weights}, {DNNL_ARG_DST, result}});
  if (desc.dst_desc() != plain_y) program->AddReorder(result, to);
  return Finished(in_blocks ? "in_blocks" : "plain", program);
}

void Softmax(const ProgramPtr& program) {
  memory::desc x = program->Plain("X");
#if DNNL_VERSION_MAJOR >= 3
  auto desc = DescribePlain<dnnl::softmax_forward>(dnnl::prop_kind::forward_inference,
                                                   dnnl::algorithm::softmax_accurate, x, x, 1);
#else
  auto desc = DescribePlain<dnnl::softmax_forward>(dnnl::prop_kind::forward_inference, x, 1);
#endif
  program->Add(dnnl::softmax_forward(desc),
               {{DNNL_ARG_SRC, program->Tensor("X", x)}, {DNNL_ARG_DST, program->Tensor("Y", x)}});
}

void LayerNorm(const ProgramPtr& program) {
  memory::desc x = program->Plain("X");
  using Flags = dnnl::normalization_flags;
  Flags flags = Flags::use_scale | Flags::use_shift;
#if DNNL_VERSION_MAJOR >= 3
  auto desc = DescribePlain<dnnl::layer_normalization_forward>(dnnl::prop_kind::forward_inference,
                                                               x, x, 1e-5F, flags);
#else
  auto desc = DescribePlain<dnnl::layer_normalization_forward>(dnnl::prop_kind::forward_inference,
                                                               x, 1e-5F, flags);
#endif
  program->Add(dnnl::layer_normalization_forward(desc),
               {{DNNL_ARG_SRC, program->Tensor("X", x)},
                {DNNL_ARG_SCALE, program->Tensor("scale", program->Plain("scale"))},
                {DNNL_ARG_SHIFT, program->Tensor("shift", program->Plain("shift"))},
                {DNNL_ARG_DST, program->Tensor("Y", x)}});
}

void BiasGelu(const Case& the_case, const ProgramPtr& program) {
  memory::desc x = program->Plain("X");
  memory::desc bias = program->Plain("bias", {1, the_case.tensor("bias").shape[0]});
  dnnl::post_ops after;
#if DNNL_VERSION_MAJOR >= 3
  after.append_eltwise(dnnl::algorithm::eltwise_gelu_erf, 0, 0);
#else
  after.append_eltwise(1, dnnl::algorithm::eltwise_gelu_erf, 0, 0);
#endif
  dnnl::primitive_attr attributes;
  attributes.set_post_ops(after);
  auto desc = Describe<dnnl::binary>(attributes, dnnl::algorithm::binary_add, x, bias, x);
  program->Add(dnnl::binary(desc), {{DNNL_ARG_SRC_0, program->Tensor("X", x)},
                                    {DNNL_ARG_SRC_1, program->Tensor("bias", bias)},
                                    {DNNL_ARG_DST, program->Tensor("Y", x)}});
}

void Sum(const Case& the_case, const ProgramPtr& program) {
  memory::dims shape = the_case.tensor("X").shape, sums = shape;
  sums.back() = 1;
  memory::desc x = program->Plain("X"), s = program->Plain("S", sums);
  auto desc = DescribePlain<dnnl::reduction>(dnnl::algorithm::reduction_sum, x, s, 0.0F, 0.0F);
  program->Add(dnnl::reduction(desc),
               {{DNNL_ARG_SRC, program->Tensor("X", x)}, {DNNL_ARG_DST, program->Tensor("S", s)}});
}

void Transpose(const Case& the_case, const ProgramPtr& program) {
  memory::desc x = program->Plain("X");
  memory::desc y(the_case.tensor("X").shape, memory::data_type::f32, Tag::ba);
  program->AddReorder(program->Tensor("X", x), program->Tensor("Y", y));
}

std::vector<Variant> PrepareDnnl(const Case& the_case, const Buffers& buffers) {
  auto program = std::make_shared<Program>(the_case, buffers);
  const std::string& kind = the_case.kind();
  try {
    if (kind == "matmul") return Matmul(the_case, program);
    if (kind == "conv")
      return {Conv(the_case, program, false),
              Conv(the_case, std::make_shared<Program>(the_case, buffers), true)};
    if (kind == "softmax") Softmax(program);
    if (kind == "layernorm") LayerNorm(program);
    if (kind == "bias_gelu") BiasGelu(the_case, program);
    if (kind == "sum") Sum(the_case, program);
    if (kind == "transpose") Transpose(the_case, program);
  } catch (const dnnl::error& error) {
    throw Unsupported(std::string(error.what()) + ": " + kind);
  }
  return {Finished(kind, program)};
}

}  // namespace
}  // namespace tern::bench

int main() {
  return tern::bench::WorkerMain(
      [] {
        const dnnl_version_t* version = dnnl_version();
        return std::to_string(version->major) + "." + std::to_string(version->minor) + "." +
               std::to_string(version->patch);
      },
      tern::bench::PrepareDnnl);
}
