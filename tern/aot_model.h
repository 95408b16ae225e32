// SPDX-License-Identifier: Apache-2.0
//
// A model without a virtual machine: its program as one host function that calls the kernels.
#ifndef TERN_AOT_MODEL_H_
#define TERN_AOT_MODEL_H_

#include <set>
#include <string>
#include <vector>

#include "tern/ir/constant.h"
#include "tern/ir/module.h"
#include "tern/runtime/artifact/artifact.h"
#include "tern/runtime/vm/program.h"
#include "tern/target/target.h"

namespace tern {

// Where the function finds the weights.
enum class AotWeights {
  kArgument,  // its last parameter, uint8[bytes]
  kLinked,    // data of the module, kAotWeightsSymbol
};
inline constexpr const char* kAotWeightsSymbol = "tern_weights";
// Of weights that are linked with the code: what one relocation of every machine reaches.
inline constexpr uint64_t kMostLinkedWeights = uint64_t{1} << 30;

struct AotInput {
  const runtime::vm::Program& program;
  const std::vector<ir::Constant>& weights;             // that it reads
  const std::vector<runtime::FunctionInfo>& functions;  // its kernels
  const target::Target& target;
  std::string name;  // of the function
  AotWeights where = AotWeights::kArgument;
};

struct AotModel {
  // The function, and the copies that it makes: to be compiled with the kernels.
  ir::IRModule functions;
  std::set<std::string> called;  // of the kernels
  std::string weights;           // all constants, each at a multiple of 64 bytes
  int64_t memory_bytes = 0;
  // A program that calls the function, for whoever loads the file as a model.
  runtime::vm::Program program;
  std::vector<ir::Constant> program_weights;
};

// name(input..., output..., [weights]): the calls in their order, tensors between them at fixed
// places of one piece of memory (on devices whose memory has no addresses, of several). The program
// is followed with what is known: extents, conditions and trip counts have to be. Throws where one
// is not, and says which and what to do.
AotModel MakeAot(const AotInput& input);

}  // namespace tern

#endif  // TERN_AOT_MODEL_H_
