// SPDX-License-Identifier: Apache-2.0
#include "tern/schedule/rules/plan.h"

#include <charconv>
#include <iomanip>
#include <sstream>

#include "tern/schedule/nest.h"

namespace tern::schedule {
namespace {

std::string Trimmed(const std::string& text) {
  size_t first = text.find_first_not_of(' '), last = text.find_last_not_of(' ');
  return first == std::string::npos ? "" : text.substr(first, last - first + 1);
}

Plan::Field ParseField(const std::string& text) {
  size_t equal = text.find('=');
  std::string name = Trimmed(text.substr(0, equal)),
              value = equal == std::string::npos ? "" : Trimmed(text.substr(equal + 1));
  Plan::Field field{name};
  auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), field.value);
  if (name.empty() || error != std::errc() || end != value.data() + value.size())
    Refuse("expected a field of a plan, as in tile_m = 8, got " + (text.empty() ? "none" : text));
  return field;
}

}  // namespace

const int64_t* Plan::Find(const std::string& name) const {
  for (const Field& field : fields)
    if (field.name == name) return &field.value;
  return nullptr;
}

std::string Plan::str() const {
  std::string text;
  for (const Field& field : fields)
    text += (text.empty() ? "" : ", ") + field.name + " = " + std::to_string(field.value);
  return "{" + text + "}";
}

Plan Plan::Parse(const std::string& text) {
  std::string trimmed = Trimmed(text);
  if (trimmed.size() < 2 || trimmed.front() != '{' || trimmed.back() != '}')
    Refuse("expected a plan, as in {tile_m = 8}, got " + text);
  std::string inner = Trimmed(trimmed.substr(1, trimmed.size() - 2));
  Plan plan;
  std::istringstream parts(inner);
  for (std::string part; std::getline(parts, part, ',');) {
    Field field = ParseField(Trimmed(part));
    if (plan.Find(field.name)) Refuse("a plan has " + field.name + " once");
    plan.fields.push_back(field);
  }
  return plan;
}

void HostPlan::CheckParallel() {
  if (is_parallelized) return;
  if (parallel != kOpen && parallel != 0)
    Refuse("no plan has parallel = " + std::to_string(parallel) + "; without that it is 0");
  parallel = 0;
}

std::string CyclesText(double cycles) {
  std::ostringstream text;
  text << std::setprecision(3) << cycles;
  return text.str();
}

}  // namespace tern::schedule
