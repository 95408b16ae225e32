// SPDX-License-Identifier: Apache-2.0
//
// Arm Compute Library, with channels first. It may want room around its tensors, so they are its
// own.
#include <arm_compute/runtime/NEON/NEFunctions.h>
#include <arm_compute/runtime/NEON/NEScheduler.h>
#include <arm_compute/runtime/Tensor.h>

#include <cstring>
#include <memory>

#include "bench/cpu/worker.h"

namespace tern::bench {
namespace {

namespace acl = arm_compute;

// A function and its tensors. Shapes start with the fastest axis.
class Program {
 public:
  Program(const Case& the_case, const Buffers& buffers) : case_(the_case), buffers_(buffers) {}

  acl::Tensor* Add(const std::string& name, const std::vector<int64_t>& shape) {
    acl::TensorShape reversed;
    for (size_t axis = 0; axis < shape.size(); ++axis)
      reversed.set(axis, shape[shape.size() - 1 - axis], false);
    auto& tensor = tensors_[name] = std::make_unique<acl::Tensor>();
    tensor->allocator()->init(acl::TensorInfo(reversed, 1, acl::DataType::F32));
    return tensor.get();
  }
  acl::Tensor* Add(const std::string& name) { return Add(name, case_.tensor(name).shape); }

  // After `function` was configured.
  void Start(std::unique_ptr<acl::IFunction> function) {
    function_ = std::move(function);
    for (auto& [name, tensor] : tensors_) {
      tensor->allocator()->allocate();
      if (!case_.tensor(name).is_output) Copy(name, true);
    }
    function_->prepare();
  }
  void Run() { function_->run(); }
  void Finish() { Copy(case_.output().name, false); }

 private:
  // Between the case's memory and the library's, row by row.
  void Copy(const std::string& name, bool in) {
    acl::Tensor& tensor = *tensors_.at(name);
    const acl::TensorShape& shape = tensor.info()->tensor_shape();
    auto* plain = buffers_.Get<uint8_t>(name);
    size_t bytes = shape[0] * sizeof(float);
    for (size_t row = 0; row < shape.total_size() / shape[0]; ++row) {
      acl::Coordinates place;
      size_t rest = row;
      for (size_t axis = 1; axis < shape.num_dimensions(); ++axis) {
        place.set(axis, static_cast<int>(rest % shape[axis]));
        rest /= shape[axis];
      }
      uint8_t* own = tensor.ptr_to_element(place);
      std::memcpy(in ? own : plain + row * bytes, in ? plain + row * bytes : own, bytes);
    }
  }

  const Case& case_;
  const Buffers& buffers_;
  std::map<std::string, std::unique_ptr<acl::Tensor>> tensors_;
  std::unique_ptr<acl::IFunction> function_;
};

void Matmul(Program* program) {
  auto function = std::make_unique<acl::NEGEMM>();
  function->configure(program->Add("A"), program->Add("B"), nullptr, program->Add("C"), 1, 0,
                      acl::GEMMInfo(false, false, /*reshape_b_only_on_first_run=*/true));
  program->Start(std::move(function));
}

void Conv(const Case& the_case, bool fast, Program* program) {
  auto stride = static_cast<unsigned>(the_case.Number("stride")),
       pad = static_cast<unsigned>(the_case.Number("pad"));
  acl::PadStrideInfo places(stride, stride, pad, pad);
  acl::Tensor *x = program->Add("X"), *y = program->Add("Y");
  std::vector<int64_t> weights = the_case.tensor("W").shape;
  if (the_case.Number("groups") > 1) {
    weights.erase(weights.begin() + 1);
    auto function = std::make_unique<acl::NEDepthwiseConvolutionLayer>();
    function->configure(x, program->Add("W", weights), nullptr, y, places);
    program->Start(std::move(function));
    return;
  }
  auto function = std::make_unique<acl::NEConvolutionLayer>();
  function->configure(x, program->Add("W"), nullptr, y, places, acl::WeightsInfo(),
                      acl::Size2D(1, 1), acl::ActivationLayerInfo(), fast);
  program->Start(std::move(function));
}

template <class F, class... A>
void Unary(Program* program, const std::string& output, A... arguments) {
  auto function = std::make_unique<F>();
  function->configure(program->Add("X"), program->Add(output), arguments...);
  program->Start(std::move(function));
}

void Fill(const Case& the_case, bool fast, Program* program) {
  const std::string& kind = the_case.kind();
  if (kind == "matmul") return Matmul(program);
  if (kind == "conv") return Conv(the_case, fast, program);
  if (kind == "softmax") return Unary<acl::NESoftmaxLayer>(program, "Y");
  if (kind == "transpose") return Unary<acl::NETranspose>(program, "Y");
  throw Unsupported("no " + kind);
}

std::vector<Variant> PrepareAcl(const Case& the_case, const Buffers& buffers) {
  if (the_case.tensors()[0].dtype != "float32") throw Unsupported("float32 alone");
  std::vector<Variant> variants;
  // What the library calls fast, Winograd, is among what others do.
  for (bool fast : {false, true}) {
    if (fast && the_case.kind() != "conv") continue;
    auto program = std::make_shared<Program>(the_case, buffers);
    Fill(the_case, fast, program.get());
    variants.push_back(
        {fast ? "fast" : "plain", [program] { program->Run(); }, [program] { program->Finish(); }});
  }
  return variants;
}

}  // namespace
}  // namespace tern::bench

int main() {
  return tern::bench::WorkerMain(
      [] {
        const char* threads = std::getenv("OMP_NUM_THREADS");
        if (threads) arm_compute::NEScheduler::get().set_num_threads(std::stoul(threads));
        return std::string("of the distribution");
      },
      tern::bench::PrepareAcl);
}
