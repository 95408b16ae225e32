// SPDX-License-Identifier: Apache-2.0
#include "tern/target_list.h"

#include "tern/ffi/error.h"

namespace tern {

using target::Target;

std::vector<Target> TargetsFor(const std::vector<std::string>& targets,
                               const std::vector<std::string>& hosts) {
  std::vector<Target> all;
  for (const std::string& text : targets) {
    all.push_back(Target::Parse(text));
    TERN_CHECK(targets.size() == 1 || !all.back()->is_device())
        << "target " << text << " is a device: where there are several targets, all are hosts";
  }
  if (all.empty()) all.push_back(Target::DefaultHost());
  bool is_device = all[0]->is_device();
  if (is_device && !hosts.empty()) all.clear();
  for (const std::string& host : hosts) {
    if (is_device) {
      all.push_back(Target::Parse(targets[0], host));
      continue;
    }
    all.push_back(Target::Parse(host));
    TERN_CHECK(!all.back()->is_device()) << "host " << host << " is a device, not a host";
  }
  return all;
}

}  // namespace tern
