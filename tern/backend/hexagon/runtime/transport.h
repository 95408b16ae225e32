// SPDX-License-Identifier: Apache-2.0
//
// How bytes come to an executor and back.
#ifndef TERN_BACKEND_HEXAGON_RUNTIME_TRANSPORT_H_
#define TERN_BACKEND_HEXAGON_RUNTIME_TRANSPORT_H_

#include <cstddef>

namespace tern::backend::hexagon {

// One that cannot send or receive all of the bytes, because the other side is gone or takes too
// long, throws, and says which; afterwards it is of no use. Not for several threads at once.
class Transport {
 public:
  virtual ~Transport() = default;
  virtual void Send(const void* data, size_t bytes) = 0;
  virtual void Receive(void* data, size_t bytes) = 0;
};

}  // namespace tern::backend::hexagon

#endif  // TERN_BACKEND_HEXAGON_RUNTIME_TRANSPORT_H_
