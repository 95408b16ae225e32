// SPDX-License-Identifier: Apache-2.0
#include "tern/graph/offload.h"

#include <map>

#include "tern/ffi/text.h"
#include "tern/graph/transform/passes.h"

namespace tern::graph {
namespace {

std::map<std::string, Offload>& Offloads() {
  static auto* offloads = new std::map<std::string, Offload>;
  return *offloads;
}

class Claimer : public Rewriter {
 public:
  explicit Claimer(const Offload& offload) : offload_(offload) {}

 protected:
  std::vector<Value> Rewrite(Builder& builder, const Node& node,
                             const std::vector<Value>& inputs) override {
    std::vector<Value> claimed = offload_.claim(builder, node, inputs);
    return claimed.empty() ? builder.Copy(node, inputs) : claimed;
  }

 private:
  const Offload& offload_;
};

}  // namespace

void RegisterOffload(Offload offload) {
  std::string name = offload.name;
  TERN_CHECK(Offloads().try_emplace(name, std::move(offload)).second)
      << "there are two libraries " << name << " to offload to";
}

const Offload& GetOffload(const std::string& name) {
  auto it = Offloads().find(name);
  if (it != Offloads().end()) return it->second;
  std::vector<std::string> names;
  for (const auto& [known, offload] : Offloads()) names.push_back(known);
  TERN_THROW(ValueError) << "offload " << name << ": no such library"
                         << ffi::DidYouMean(name, names) << "; there are: " << ffi::Join(names);
}

Function OffloadNodes(const Function& function, const std::string& name) {
  return RemoveDeadNodes(Claimer(GetOffload(name)).Run(function));
}

}  // namespace tern::graph
