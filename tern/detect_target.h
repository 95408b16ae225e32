// SPDX-License-Identifier: Apache-2.0
//
// The target of a device that is here. Compiling never asks for it: what is compiled depends on the
// target that was named.
#ifndef TERN_DETECT_TARGET_H_
#define TERN_DETECT_TARGET_H_

#include <string_view>

#include "tern/target/target.h"

namespace tern {

// Of "KIND" or "KIND:NUMBER", as in "x:0": the target kind whose functions take tensors of that
// device, with the attributes that the plugin's detector says. A code generator may have its own,
// as the global function target.detect.<kind>, from the number of a device to a map: that of "cpu"
// says mcpu and the features of this machine. Throws where the plugin is absent, where there is no
// detector, and where there is no such device.
target::Target DetectTarget(std::string_view device);

}  // namespace tern

#endif  // TERN_DETECT_TARGET_H_
