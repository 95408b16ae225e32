// SPDX-License-Identifier: Apache-2.0
#include "runtime/machine.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "tern/ffi/error.h"

namespace emu {
namespace {

constexpr uint64_t kOffsetMask = (uint64_t{1} << kAllocationShift) - 1;

template <class T>
T Get(uint64_t bits) {
  if constexpr (std::is_same_v<T, float>)
    return std::bit_cast<float>(static_cast<uint32_t>(bits));
  else if constexpr (std::is_same_v<T, double>)
    return std::bit_cast<double>(bits);
  else
    return static_cast<T>(bits);
}

template <class T>
uint64_t Put(T value) {
  if constexpr (std::is_same_v<T, float>)
    return std::bit_cast<uint32_t>(value);
  else if constexpr (std::is_same_v<T, double>)
    return std::bit_cast<uint64_t>(value);
  else if constexpr (std::is_signed_v<T>)
    return static_cast<uint64_t>(static_cast<int64_t>(value));
  else
    return value;
}

// Calls `f` with a value of the C++ type that `type` is.
template <class F>
auto WithType(Type type, F&& f) {
  switch (type) {
#define EMU_TYPE(name, type) \
  case Type::k##name:        \
    return f(type{});
    EMU_TYPES(EMU_TYPE)
#undef EMU_TYPE
  }
  __builtin_unreachable();
}

// Dividing by zero gives 0: both values of a `select` are computed, the one that is not meant too.
template <class T>
T Divide(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    return a / b;
  else if (b == 0)
    return 0;
  else if (std::is_signed_v<T> && b == static_cast<T>(-1))
    return static_cast<T>(0 - static_cast<uint64_t>(a));
  else
    return static_cast<T>(a / b);
}

template <class T>
T Remainder(T a, T b) {
  return static_cast<T>(static_cast<uint64_t>(a) -
                        static_cast<uint64_t>(Divide(a, b)) * static_cast<uint64_t>(b));
}

// Rounded down.
template <class T>
T FloorDivide(T a, T b) {
  T quotient = Divide(a, b);
  bool inexact = b != 0 && Remainder(a, b) != 0;
  return static_cast<T>(quotient - (inexact && ((a < 0) != (b < 0)) ? 1 : 0));
}

// Out of range is undefined to programs, and the nearest number here.
template <class To, class From>
To Convert(From value) {
  if constexpr (std::is_same_v<To, bool>) {
    return value != 0;
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    if (std::isnan(value)) return 0;
    if (value <= static_cast<From>(std::numeric_limits<To>::min()))
      return std::numeric_limits<To>::min();
    if (value >= static_cast<From>(std::numeric_limits<To>::max()))
      return std::numeric_limits<To>::max();
    return static_cast<To>(value);
  } else {
    return static_cast<To>(value);
  }
}

template <class T>
uint64_t Integers(Op op, T a, T b) {
  auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
  unsigned shift = static_cast<unsigned>(y) & (sizeof(T) * 8 - 1);
  switch (op) {
    case Op::kAdd:
      return Put(static_cast<T>(x + y));
    case Op::kSub:
      return Put(static_cast<T>(x - y));
    case Op::kMul:
      return Put(static_cast<T>(x * y));
    case Op::kMod:
      return Put(Remainder(a, b));
    case Op::kFloorDiv:
      return Put(FloorDivide(a, b));
    case Op::kFloorMod:
      return Put(static_cast<T>(x - static_cast<uint64_t>(FloorDivide(a, b)) * y));
    case Op::kShiftLeft:
      return Put(static_cast<T>(x << shift));
    case Op::kShiftRight:
      return Put(static_cast<T>(a >> shift));
    case Op::kBitAnd:
      return Put(static_cast<T>(x & y));
    case Op::kBitOr:
      return Put(static_cast<T>(x | y));
    case Op::kBitXor:
      return Put(static_cast<T>(x ^ y));
    case Op::kBitNot:
      return Put(std::is_same_v<T, bool> ? static_cast<T>(!a) : static_cast<T>(~x));
    default:
      TERN_THROW(RuntimeError) << "emu: an operation that integers do not have";
  }
}

template <class T>
uint64_t Floats(Op op, T a, T b) {
  switch (op) {
    case Op::kAdd:
      return Put(a + b);
    case Op::kSub:
      return Put(a - b);
    case Op::kMul:
      return Put(a * b);
    case Op::kFloorDiv:
      return Put(std::floor(a / b));
    case Op::kFloorMod:
      return Put(a - std::floor(a / b) * b);
    case Op::kMod:
      return Put(std::fmod(a, b));
    case Op::kSqrt:
      return Put(std::sqrt(a));
    default:
      TERN_THROW(RuntimeError) << "emu: an operation that floats do not have";
  }
}

// a op b, of one type.
template <class T>
uint64_t Compute(Op op, T a, T b) {
  switch (op) {
    case Op::kDiv:
      return Put(Divide(a, b));
    case Op::kMin:
      return Put(a < b ? a : b);
    case Op::kMax:
      return Put(a > b ? a : b);
    case Op::kEq:
      return a == b;
    case Op::kNe:
      return a != b;
    case Op::kLt:
      return a < b;
    case Op::kLe:
      return a <= b;
    default:
      if constexpr (std::is_floating_point_v<T>)
        return Floats(op, a, b);
      else
        return Integers(op, a, b);
  }
}

struct Thread {
  std::vector<uint64_t> registers;
  std::vector<char> local;
  uint32_t index[6] = {};
  size_t at = 0;  // of the next instruction
  bool halted = false;
};

class Block {
 public:
  Block(const Kernel& kernel, Memory& memory, const uint32_t block[3])
      : kernel_(kernel),
        memory_(memory),
        shared_(kernel.shared_bytes),
        threads_(size_t{block[0]} * block[1] * block[2]) {
    for (size_t i = 0; i < threads_.size(); ++i) {
      threads_[i].index[3] = static_cast<uint32_t>(i % block[0]);
      threads_[i].index[4] = static_cast<uint32_t>(i / block[0] % block[1]);
      threads_[i].index[5] = static_cast<uint32_t>(i / block[0] / block[1]);
    }
  }

  // All threads run to the next barrier, one after another, until they are done.
  void Run(const uint32_t index[3], const std::vector<uint64_t>& args) {
    for (Thread& thread : threads_) {
      std::copy(index, index + 3, thread.index);
      thread.registers.assign(kernel_.num_registers, 0);
      std::copy(args.begin(), args.end(), thread.registers.begin());
      thread.local.assign(kernel_.local_bytes, 0);
      thread.at = 0;
      thread.halted = false;
    }
    for (size_t running = threads_.size(); running > 0;) {
      for (Thread& thread : threads_)
        if (!thread.halted) {
          RunToBarrier(thread);
          running -= thread.halted;
        }
    }
  }

 private:
  char* Address(Thread& thread, const Instruction& instruction, uint64_t bytes) {
    uint64_t address = thread.registers[instruction.a];
    address += thread.registers[instruction.b] * bytes;
    auto inside = [&](std::vector<char>& memory, uint64_t base) {
      if (address - base > memory.size() || memory.size() - (address - base) < bytes)
        TERN_THROW(RuntimeError) << "emu: kernel " << kernel_.name
                                 << " accesses memory of its own out of bounds";
      return memory.data() + (address - base);
    };
    if (address & kLocalBase) return inside(thread.local, kLocalBase);
    if (address & kSharedBase) return inside(shared_, kSharedBase);
    return memory_.At(address, bytes);
  }

  void RunToBarrier(Thread& thread) {
    while (true) {
      const Instruction& instruction = kernel_.code[thread.at++];
      uint64_t* r = thread.registers.data();
      switch (instruction.op) {
        case Op::kHalt:
          thread.halted = true;
          return;
        case Op::kBarrier:
          return;
        case Op::kJump:
          thread.at = instruction.d;
          break;
        case Op::kJumpUnless:
          if (!r[instruction.a]) thread.at = instruction.d;
          break;
        case Op::kIndex:
          r[instruction.d] = thread.index[instruction.immediate()];
          break;
        case Op::kLoad:
          WithType(instruction.type, [&](auto t) {
            char* place = Address(thread, instruction, sizeof t);
            std::memcpy(&t, place, sizeof t);
            r[instruction.d] = Put(t);
          });
          break;
        case Op::kStore:
          WithType(instruction.type, [&](auto t) {
            char* place = Address(thread, instruction, sizeof t);
            t = Get<decltype(t)>(r[instruction.c]);
            std::memcpy(place, &t, sizeof t);
          });
          break;
        default:
          r[instruction.d] = Result(instruction, r);
      }
    }
  }

  static uint64_t Result(const Instruction& instruction, const uint64_t* r) {
    uint64_t a = r[instruction.a];
    switch (instruction.op) {
      case Op::kConst:
        return instruction.immediate();
      case Op::kMove:
        return a;
      case Op::kNot:
        return !a;
      case Op::kSelect:
        return a ? r[instruction.b] : r[instruction.c];
      case Op::kReinterpret:
        return WithType(instruction.to, [&](auto t) { return Put(Get<decltype(t)>(a)); });
      case Op::kCast:
        return WithType(instruction.type, [&](auto from) {
          return WithType(instruction.to, [&](auto to) {
            return Put(Convert<decltype(to)>(Get<decltype(from)>(a)));
          });
        });
      case Op::kMac:
        return WithType(instruction.type, [&](auto t) {
          using T = decltype(t);
          uint64_t product = Compute(Op::kMul, Get<T>(a), Get<T>(r[instruction.b]));
          return Compute(Op::kAdd, Get<T>(product), Get<T>(r[instruction.c]));
        });
      default:
        return WithType(instruction.type, [&](auto t) {
          using T = decltype(t);
          bool unary = instruction.op == Op::kSqrt || instruction.op == Op::kBitNot;
          return Compute(instruction.op, Get<T>(a), unary ? T{} : Get<T>(r[instruction.b]));
        });
    }
  }

  const Kernel& kernel_;
  Memory& memory_;
  std::vector<char> shared_;
  std::vector<Thread> threads_;
};

}  // namespace

uint64_t Memory::Allocate(uint64_t bytes) {
  std::lock_guard lock(mutex_);
  if (bytes > kBytes - used_)
    TERN_THROW(MemoryError) << "emu has " << kBytes - used_ << " bytes left, not " << bytes;
  size_t place = 0;
  while (place < live_.size() && live_[place]) ++place;
  if (place == live_.size()) {
    live_.push_back(false);
    allocations_.emplace_back();
  }
  allocations_[place].assign(bytes, 0);
  live_[place] = true;
  used_ += bytes;
  return (place + 1) << kAllocationShift;
}

void Memory::Free(uint64_t address) {
  std::lock_guard lock(mutex_);
  uint64_t place = (address >> kAllocationShift) - 1;
  if (place >= live_.size() || !live_[place] || (address & kOffsetMask))
    TERN_THROW(ValueError) << "emu: no memory was allocated at " << address;
  used_ -= allocations_[place].size();
  allocations_[place] = {};
  live_[place] = false;
}

uint64_t Memory::free() {
  std::lock_guard lock(mutex_);
  return kBytes - used_;
}

char* Memory::At(uint64_t address, uint64_t bytes) {
  std::lock_guard lock(mutex_);
  uint64_t place = (address >> kAllocationShift) - 1, offset = address & kOffsetMask;
  if (place >= live_.size() || !live_[place] || offset > allocations_[place].size() ||
      allocations_[place].size() - offset < bytes)
    TERN_THROW(RuntimeError) << "emu: an access of " << bytes << " bytes out of bounds";
  return allocations_[place].data() + offset;
}

void Run(const Kernel& kernel, Memory& memory, const uint32_t grid[3], const uint32_t block[3],
         const std::vector<uint64_t>& args) {
  Block threads(kernel, memory, block);
  for (uint32_t z = 0; z < grid[2]; ++z)
    for (uint32_t y = 0; y < grid[1]; ++y)
      for (uint32_t x = 0; x < grid[0]; ++x) {
        const uint32_t index[3] = {x, y, z};
        threads.Run(index, args);
      }
}

uint64_t ReadArgument(Type type, const void* value) {
  return WithType(type, [&](auto t) {
    std::memcpy(&t, value, sizeof t);
    return Put(t);
  });
}

}  // namespace emu
