// SPDX-License-Identifier: Apache-2.0
//
// What a packed function expects of its arguments, as a table that one routine reads
// (check_arguments.c). Code generators put the routine into a module once, and for each function a
// constant.
//
//   check_arguments(env, args, num_args, slots, steps, table...)
//
// compares the arguments with the table, puts values, extents and addresses into `slots`, memory of
// 8 bytes each, and has the function return -1 where an argument is not as it should be, the error
// having been raised. Steps: 1 reads arguments, 2 compares extents, strides and places; 3 does
// both. In between, a function puts extents that are expressions into their slots.
#ifndef TERN_TIR_ARGUMENT_TABLE_H_
#define TERN_TIR_ARGUMENT_TABLE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tern/ffi/c_abi.h"
#include "tern/tir/function.h"

namespace tern::tir {

namespace intrinsic {
inline constexpr const char* kCheckArguments = "check_arguments";
}  // namespace intrinsic

inline constexpr int kUnpackArguments = 1, kCompareArguments = 2;
// Where the table begins among the arguments of the call.
inline constexpr size_t kArgumentTableWords = 5;

// C99, behind tern/ffi/host_abi.inc and <stdint.h>, with a macro
// TERN_CHECK_ARGUMENTS_LINKAGE that says what the routine is declared as:
//   int tern_check_arguments(const TernEnv*, const TernAny* args, int32_t num_args, void* slots,
//                            const void* table, int32_t steps)
inline constexpr const char* kCheckArgumentsSymbol = "tern_check_arguments";
extern const std::string_view kCheckArgumentsC;

// What a table says of a tensor beside its type and shape.
struct TensorFacts {
  bool is_written = false;
  bool takes_no_offset = false;  // where memory has handles
  int64_t alignment = 0;         // 0 and 1: any
};

struct ArgumentFacts {
  std::string device;  // as messages name it
  int32_t device_type;
  bool has_addresses;                // memory, not handles
  bool must_be_apart;                // memory that is written, from that of all other tensors
  std::vector<TensorFacts> tensors;  // by parameter; of scalars nothing is read
};

struct ArgumentTable {
  std::vector<Expr> words;  // the last arguments of check_arguments
  int64_t num_slots;
  // By parameter: of its value or address, and of the byte offset where memory has handles.
  std::vector<int64_t> values, offsets;
  int64_t device = -1;  // of the number of the tensors' device, where it is not the host
  std::vector<std::pair<Var, int64_t>> variables;  // that extents and strides define
  // What the function has to put into slots before arguments are compared.
  std::vector<std::pair<Expr, int64_t>> computed;
};
ArgumentTable MakeArgumentTable(const PrimFunc& function, const ArgumentFacts& facts);

// The table of a call as compiled code has it: texts are byte offsets, and stand behind the words.
struct TableData {
  std::vector<int64_t> words;
  std::string texts;  // each ends with a NUL
};
TableData ReadTable(const ir::CallNode* check_arguments);

// The routine in this process, for the interpreter. Throws the error that it raises.
void CheckArgumentsHere(const TernAny* args, int32_t num_args, void* slots, const TableData& table,
                        int32_t steps);

}  // namespace tern::tir

#endif  // TERN_TIR_ARGUMENT_TABLE_H_
