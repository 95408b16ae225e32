// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_RUNTIME_TEST_PLUGINS_LYING_PLUGIN_H_
#define TERN_RUNTIME_TEST_PLUGINS_LYING_PLUGIN_H_

namespace tern::test {

enum class Lie {
  kNone,
  kManyDevices,
  kFewDevices,
  kNullMemory,
  kUnknownType,
  kNullObject,
  kNullText,
  kLongSmallText,
  kNotANumber,
  kNullName,
  kNullValue,
  kThrows,
  kThrowsNumber,
};

}  // namespace tern::test

#endif  // TERN_RUNTIME_TEST_PLUGINS_LYING_PLUGIN_H_
