// SPDX-License-Identifier: Apache-2.0
#include "tern/ir/pass.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <sstream>

#include "tern/ffi/log.h"
#include "tern/ffi/registry_table.h"
#include "tern/ir/deep_stack.h"

namespace tern::ir {
namespace {

// Filled by Initialize and by code generators from outside; entries are never removed.
ffi::RegistryTable<Pass>& Passes() {
  static auto* passes = new ffi::RegistryTable<Pass>("pass");
  return *passes;
}

}  // namespace

void RegisterPass(Pass pass) {
  std::string name = pass.name;
  Passes().Add(name, std::move(pass));
}

const Pass& GetPass(std::string_view name) { return Passes().Get(name); }

std::vector<std::string> PassNames() { return Passes().Names(); }

const ffi::Any& PassValues::Get(std::string_view option) const {
  auto it = values_.find(option);
  TERN_ICHECK(it != values_.end()) << "the pass declares no option " << option;
  return it->second;
}

std::vector<std::string> SplitPassList(std::string_view text) {
  std::vector<std::string> passes{""};
  int nesting = 0;
  for (char c : text) {
    nesting += c == '{' ? 1 : c == '}' ? -1 : 0;
    if (c == ',' && nesting <= 0)
      passes.emplace_back();
    else if (c != ' ')
      passes.back() += c;
  }
  for (size_t i = 0; i < passes.size(); ++i)
    TERN_CHECK(!passes[i].empty())
        << "the list of passes '" << text << "' has nothing at place " << i + 1;
  return passes;
}

namespace {

ffi::Any ParseValue(const PassOption& option, const std::string& text) {
  if (option.default_value.type_index() == kTernBool) {
    TERN_CHECK(text == "true" || text == "false") << "expected true or false, got '" << text << "'";
    return text == "true";
  }
  if (option.default_value.type_index() == kTernInt) {
    int64_t value = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    TERN_CHECK(error == std::errc() && end == text.data() + text.size())
        << "expected an integer, got '" << text << "'";
    return value;
  }
  return ffi::Any(text);
}

// One pass with the values of its options.
struct Step {
  const Pass* pass;
  PassValues values;
};

// option=value, where the pass has that option.
void SetOption(const Pass& pass, std::string_view text,
               std::map<std::string, ffi::Any, std::less<>>* given) {
  size_t equals = text.find('=');
  std::string name(text.substr(0, equals));
  TERN_CHECK(equals != std::string_view::npos && !name.empty())
      << "pass " << pass.name << ": expected option=value, got '" << text << "'";
  std::vector<std::string> names;
  for (const PassOption& option : pass.options) names.push_back(option.name);
  auto option = std::find_if(pass.options.begin(), pass.options.end(),
                             [&](const PassOption& known) { return known.name == name; });
  TERN_CHECK(option != pass.options.end())
      << "pass " << pass.name << " has no option '" << name << "'" << ffi::DidYouMean(name, names)
      << "; its options are: " << ffi::Join(names);
  TERN_CHECK(!given->count(name)) << "pass " << pass.name << ": option " << name
                                  << " is given twice";
  try {
    ffi::Any value = ParseValue(*option, std::string(text.substr(equals + 1)));
    if (option->check) option->check(value);
    given->emplace(name, std::move(value));
  } catch (const Error& error) {
    throw Error(error.kind(), "pass " + pass.name + ": option " + name + ": " + error.message());
  }
}

Step ParseStep(const std::string& text) {
  size_t brace = text.find('{');
  const Pass& pass = GetPass(text.substr(0, brace));
  std::map<std::string, ffi::Any, std::less<>> values;
  if (brace != std::string::npos) {
    TERN_CHECK(text.back() == '}' && text.find('}') == text.size() - 1)
        << "'" << text << "': expected a pass as name, or as name{option=value, ...}";
    std::string inside = text.substr(brace + 1, text.size() - brace - 2);
    std::istringstream items(inside);
    for (std::string item; std::getline(items, item, ',');) SetOption(pass, item, &values);
    TERN_CHECK(!values.empty()) << "'" << text << "' names no option between the braces";
  }
  for (const PassOption& option : pass.options) values.emplace(option.name, option.default_value);
  return {&pass, PassValues(std::move(values))};
}

void CheckPrintAfter(const std::vector<std::string>& print_after, const std::vector<Step>& steps) {
  for (const std::string& name : print_after) {
    if (name == "*") continue;
    GetPass(name);
    TERN_CHECK(std::any_of(steps.begin(), steps.end(),
                           [&](const Step& step) { return step.pass->name == name; }))
        << "nothing can be printed after pass " << name << ", which is not run";
  }
}

// Programs have their types checked where they are read or built: an expression with wrong types
// that appears in a pass is made by that pass.
IRModule RunStep(const Step& step, const IRModule& module) {
  try {
    return step.pass->run(module, step.values);
  } catch (const Error& error) {
    if (error.kind() != "TypeError") throw;
    Error internal("InternalError",
                   "bug in Tern, please report it: pass " + step.pass->name +
                       " makes an expression with wrong types: " + error.message());
    for (const std::string& context : error.context()) internal.AddContext(context);
    throw internal;
  }
}

}  // namespace

IRModule RunPasses(IRModule module, const std::vector<std::string>& passes,
                   const PassOptions& options) {
  std::vector<Step> steps;
  for (const std::string& text : passes) steps.push_back(ParseStep(text));
  CheckPrintAfter(options.print_after, steps);
  auto prints = [&](const std::string& name) {
    return std::any_of(options.print_after.begin(), options.print_after.end(),
                       [&](const std::string& asked) { return asked == "*" || asked == name; });
  };

  return OnDeepStack([&] {
    if (options.verify) options.verify(module, "");
    for (const Step& step : steps) {
      const std::string& name = step.pass->name;
      auto start = std::chrono::steady_clock::now();
      module = WithContext("running pass " + name, [&] { return RunStep(step, module); });
      double seconds =
          std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      if (options.timing) options.timing->emplace_back(name, seconds);
      if (IsLogged("passes"))
        Log("passes", name + " took " + std::to_string(1e3 * seconds) + " ms");
      if (options.print && prints(name)) options.print(module, name);
      if (options.verify) options.verify(module, name);
    }
    return std::move(module);
  });
}

}  // namespace tern::ir
