// SPDX-License-Identifier: Apache-2.0
#include "tern/target/target.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "tern/ffi/json.h"
#include "tern/ffi/registry.h"
#include "tern/ffi/text.h"

namespace tern::target {
namespace {

const char* TypeText(AttrSpec::Type type) {
  switch (type) {
    case AttrSpec::Type::kString:
      return "a string";
    case AttrSpec::Type::kInt:
      return "an integer";
    case AttrSpec::Type::kBool:
      return "true or false";
  }
  return "?";
}

// Splits at blanks; quotes ('...') keep them.
std::vector<std::string> Words(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  bool inside = false, quoted = false;
  for (char c : text) {
    if (c == '\'') {
      quoted = !quoted;
      inside = true;
    } else if (!quoted && (c == ' ' || c == '\t' || c == '\n')) {
      if (inside) words.push_back(std::exchange(word, ""));
      inside = false;
    } else {
      word += c;
      inside = true;
    }
  }
  TERN_CHECK(!quoted) << "target \"" << text << "\": a quote (') is not closed";
  if (inside) words.push_back(word);
  return words;
}

ffi::Any ParseValue(const TargetKind& kind, const std::string& name, const AttrSpec& spec,
                    const std::string& text) {
  if (spec.type == AttrSpec::Type::kString) return text;
  if (spec.type == AttrSpec::Type::kBool && (text == "true" || text == "1")) return true;
  if (spec.type == AttrSpec::Type::kBool && (text == "false" || text == "0")) return false;
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (spec.type == AttrSpec::Type::kInt && error == std::errc() && end == text.data() + text.size())
    return value;
  TERN_THROW(ValueError) << "target " << kind.name << ": -" << name << "=" << text << ": expected "
                         << TypeText(spec.type);
}

const AttrSpec& FindAttr(const TargetKind& kind, const std::string& name) {
  auto it = kind.attrs.find(name);
  if (it == kind.attrs.end()) {
    std::vector<std::string> names, flags;
    for (const auto& [known, spec] : kind.attrs) {
      names.push_back(known);
      flags.push_back("-" + known);
    }
    TERN_THROW(ValueError) << "target " << kind.name << " has no attribute -" << name
                           << ffi::DidYouMean(name, names) << "; it has "
                           << (names.empty() ? "none" : ffi::Join(flags));
  }
  return it->second;
}

bool HasType(const ffi::Any& value, AttrSpec::Type type) {
  switch (type) {
    case AttrSpec::Type::kString:
      return value.TryAs<std::string>().has_value();
    case AttrSpec::Type::kInt:
      return value.type_index() == kTernInt;
    case AttrSpec::Type::kBool:
      return value.type_index() == kTernBool;
  }
  return false;
}

// Checks the given attributes and fills the others in.
Target Finish(const TargetKind& kind, std::map<std::string, ffi::Any> given, Target host) {
  auto node = ffi::Make<TargetNode>();
  node->kind = &kind;
  for (const auto& [name, value] : given) {
    const AttrSpec& spec = FindAttr(kind, name);
    TERN_CHECK(HasType(value, spec.type))
        << "target " << kind.name << ": attribute " << name << ": expected " << TypeText(spec.type);
    if (spec.check)
      WithContext("checking -" + name + " of target " + kind.name, [&] { spec.check(value); });
  }
  for (const auto& [name, spec] : kind.attrs)
    if (!spec.default_value.is_none()) given.emplace(name, spec.default_value);
  node->attrs = std::move(given);
  if (kind.role == Role::kDevice) {
    node->host = host ? host : Target::DefaultHost();
    TERN_CHECK(!node->host->is_device()) << "target " << kind.name << ": the host is "
                                         << node->host->kind->name << ", which is a device";
  } else {
    TERN_CHECK(!host) << "target " << kind.name << " is a host and takes none";
  }
  return Target(node);
}

Target ParseWords(std::string_view text, Target host) {
  std::vector<std::string> words = Words(text);
  TERN_CHECK(!words.empty())
      << "the target is empty; give a kind and attributes, as in \"KIND -name=value\"";
  std::string head = words[0];
  size_t first_given = 1;  // behind the words of a tag
  if (std::optional<std::string> tag = FindTag(head)) {
    // Attributes after a tag override the tag's.
    std::vector<std::string> expanded = Words(*tag);
    words.insert(words.begin() + 1, expanded.begin() + 1, expanded.end());
    head = expanded[0];
    first_given = expanded.size();
  }
  const TargetKind& kind = GetTargetKind(head);
  std::map<std::string, ffi::Any> attrs;
  std::set<std::string> given;
  for (size_t i = 1; i < words.size(); ++i) {
    const std::string& word = words[i];
    size_t equal = word.find('=');
    // A name alone is for what is true or false.
    auto flag = kind.attrs.find(word.substr(std::min<size_t>(1, word.size())));
    bool is_flag = flag != kind.attrs.end() && flag->second.type == AttrSpec::Type::kBool;
    TERN_CHECK(word.size() > 1 && word[0] == '-' && (equal != std::string::npos || is_flag))
        << "target \"" << text << "\": expected -name=value, got '" << word << "'";
    std::string name = word.substr(1, equal - 1);
    std::string value = is_flag ? "true" : word.substr(equal + 1);
    if (name == "host") {
      TERN_CHECK(!host) << "target \"" << text << "\": the host is given twice";
      host = Target::Parse(value);
    } else {
      attrs[name] = ParseValue(kind, name, FindAttr(kind, name), value);
      TERN_CHECK(i < first_given || given.insert(name).second)
          << "target \"" << text << "\": -" << name << " is given twice";
    }
  }
  return Finish(kind, std::move(attrs), host);
}

Target ParseJsonTarget(std::string_view text, Target host) {
  ffi::Any json = WithContext("reading the target's JSON", [&] { return ffi::ParseJson(text); });
  auto map = json.TryAs<ffi::Map>();
  TERN_CHECK(map) << "a target in JSON is an object with \"kind\"";
  std::string kind;
  std::map<std::string, ffi::Any> attrs;
  for (const auto& [key, value] : (*map)->items) {
    if (key == "kind") {
      TERN_CHECK(value.TryAs<std::string>()) << "target: \"kind\" is not a string";
      kind = value.As<std::string>();
    } else if (key == "host") {
      TERN_CHECK(!host) << "target: the host is given twice";
      host = Target::Parse(value.TryAs<std::string>() ? value.As<std::string>()
                                                      : ffi::WriteJson(value));
    } else {
      attrs[key] = value;
    }
  }
  TERN_CHECK(!kind.empty()) << "a target in JSON needs \"kind\"";
  return Finish(GetTargetKind(kind), std::move(attrs), host);
}

Target ParseAny(std::string_view text, Target host) {
  size_t begin = text.find_first_not_of(" \t\n");
  if (begin != std::string_view::npos && text[begin] == '{')
    return ParseJsonTarget(text, std::move(host));
  return ParseWords(text, std::move(host));
}

thread_local std::vector<Target> current_targets;

}  // namespace

Target Target::Parse(std::string_view text) { return ParseAny(text, {}); }

Target Target::Parse(std::string_view text, std::string_view host) {
  return ParseAny(text, host.empty() ? Target() : Parse(host));
}

Target Target::DefaultHost() {
  const TargetKind* best = nullptr;
  for (const TargetKind* kind : TargetKinds())
    if (kind->role == Role::kHost && kind->unavailable.empty() &&
        (!best || kind->host_rank > best->host_rank))
      best = kind;
  TERN_CHECK(best) << "this build of Tern has no host code generator";
  return Finish(*best, {}, {});
}

std::string TargetNode::GetString(const std::string& name) const {
  auto it = attrs.find(name);
  TERN_ICHECK(it != attrs.end()) << kind->name << " -" << name;
  return it->second.As<std::string>();
}

std::string TargetNode::GetString(const std::string& name, const std::string& otherwise) const {
  return attrs.count(name) ? GetString(name) : otherwise;
}

int64_t TargetNode::GetInt(const std::string& name) const {
  auto it = attrs.find(name);
  TERN_ICHECK(it != attrs.end()) << kind->name << " -" << name;
  return it->second.As<int64_t>();
}

std::string TargetNode::str() const {
  auto quoted = [](const std::string& text) {
    return text.empty() || text.find_first_of(" \t") != std::string::npos ? "'" + text + "'" : text;
  };
  std::string text = kind->name;
  for (const auto& [name, value] : attrs) {
    auto string = value.TryAs<std::string>();
    std::string shown = string ? quoted(*string) : ffi::WriteJson(value);
    const ffi::Any& standard = kind->attrs.at(name).default_value;
    if (standard.is_none() || ffi::WriteJson(standard) != ffi::WriteJson(value))
      text += " -" + name + "=" + shown;
  }
  if (host && host->str() != Target::DefaultHost()->str()) text += " -host=" + quoted(host->str());
  return text;
}

bool TakesVector(const TargetKind& kind, const ir::Expr& vector) {
  const auto* load = vector.As<ir::BufferLoadNode>();
  if (load && load->predicate.get() && !kind.masked_accesses) return false;
  return kind.takes_vector ? kind.takes_vector(vector) : kind.vectors;
}

int64_t PointerBytes(const Target& target) {
  return target->kind->pointer_bytes ? target->kind->pointer_bytes(target) : 8;
}

bool HasPlainApi(const Target& host) {
  auto it = host->attrs.find("api");
  return it != host->attrs.end() && it->second.As<std::string>() == "plain";
}

int64_t WarpSize(const Target& target) {
  auto it = target->attrs.find("warp_size");
  if (it != target->attrs.end()) return it->second.As<int64_t>();
  return target->kind->warp_size_of ? target->kind->warp_size_of(target) : target->kind->warp_size;
}

void AddMachineAttrs(TargetKind* kind) {
  auto add = [&](const char* name, ffi::Any otherwise, int64_t low, int64_t high,
                 const char* help) {
    kind->attrs[name] = {
        .type = AttrSpec::Type::kInt,
        .default_value = std::move(otherwise),
        .help = std::string(help) + ", " + std::to_string(low) + " to " + std::to_string(high),
        .check = [=](const ffi::Any& value) {
          auto number = value.As<int64_t>();
          TERN_CHECK(number >= low && number <= high)
              << name << "=" << number << " is out of range; expected " << low << " to " << high;
        }};
  };
  add("vector_bytes", {}, 0, 256, "bytes of a vector that schedules use; by default the machine's");
  add("vector_registers", {}, 1, 1024, "registers that hold a vector; by default the machine's");
  add("l1_bytes", {}, 0, 1 << 30, "bytes of a core's L1 data cache; by default as known");
  add("l2_bytes", {}, 0, 1 << 30, "bytes of a core's L2 cache; by default as known");
  kind->attrs["masked_vectors"] = {
      .type = AttrSpec::Type::kBool,
      .default_value = {},
      .help = "whether loads and stores of vectors may be masked; by default as the machine has it",
      .check = nullptr};
  add("threads", 0, 0, 1 << 16,
      "threads that schedules count on; 0: as many as there are, 1: no parallel loops");
}

Machine DescribeMachine(const Target& target) {
  const TargetKind& kind = *target->kind;
  Machine machine = kind.machine ? kind.machine(target) : Machine();
  if (!kind.vectors) machine.vector_bytes = 0;
  auto take = [&](const char* attribute, int64_t* number) {
    auto it = target->attrs.find(attribute);
    if (it != target->attrs.end()) *number = it->second.As<int64_t>();
  };
  take("vector_bytes", &machine.vector_bytes);
  take("vector_registers", &machine.vector_registers);
  take("l1_bytes", &machine.l1_bytes);
  take("l2_bytes", &machine.l2_bytes);
  if (auto it = target->attrs.find("masked_vectors"); it != target->attrs.end())
    machine.masked_vectors = it->second.As<bool>();
  machine.masked_vectors = machine.masked_vectors && kind.masked_accesses;
  return machine;
}

Target CurrentTarget() { return current_targets.empty() ? Target() : current_targets.back(); }

TargetScope::TargetScope(Target target) { current_targets.push_back(std::move(target)); }
TargetScope::~TargetScope() { current_targets.pop_back(); }

}  // namespace tern::target
