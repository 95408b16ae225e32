// SPDX-License-Identifier: Apache-2.0
#include "tern/schedule/trace.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <map>

#include "tern/ffi/json.h"
#include "tern/ffi/text.h"
#include "tern/schedule/nest.h"
#include "tern/schedule/schedule.h"
#include "tern/tir/expr_parser.h"

namespace tern::schedule {

namespace {

std::string Trimmed(const std::string& text) {
  size_t first = text.find_first_not_of(" \t\r\n"), last = text.find_last_not_of(" \t\r\n");
  return first == std::string::npos ? "" : text.substr(first, last - first + 1);
}

// The parts between commas that are not in parentheses or braces; none of nothing.
std::vector<std::string> SplitList(const std::string& text) {
  std::vector<std::string> items;
  if (Trimmed(text).empty()) return items;
  std::string item;
  int depth = 0;
  for (char c : text + ",") {
    if (c == '(' || c == '{') ++depth;
    if (c == ')' || c == '}') --depth;
    if (c != ',' || depth > 0) {
      item += c;
      continue;
    }
    items.push_back(Trimmed(std::exchange(item, "")));
    if (items.back().empty()) Refuse("a name is missing");
  }
  return items;
}

int64_t Number(const std::string& text) {
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    Refuse("expected an integer of 64 bits, got " + text);
  return value;
}

std::vector<int64_t> Numbers(const std::vector<std::string>& args, size_t first) {
  std::vector<int64_t> values;
  for (size_t i = first; i < args.size(); ++i) values.push_back(Number(args[i]));
  return values;
}

DataType TypeNamed(const std::string& name) {
  std::optional<DataType> dtype = DataType::Parse(name);
  if (!dtype) Refuse("expected a type, as in float32, got " + name);
  return *dtype;
}

// An expression over a function's integers: its parameters, and the extents of its tensors.
class SizeParser : public tir::ExprParser {
 public:
  explicit SizeParser(const std::string& text) : ExprParser(ffi::Make<ir::Source>("size", text)) {}

  ir::Expr Parse(const tir::PrimFunc& function) {
    for (const tir::Param& param : function->params) {
      if (!param.is_tensor() && param.var.dtype().is_integer())
        symbols_[param.name()] = {param.var, {}};
      if (!param.is_tensor()) continue;
      for (const ir::Expr& extent : param.buffer->shape)
        if (const auto* var = extent.As<ir::VarNode>()) symbols_[var->name] = {ir::Var(var), {}};
    }
    try {
      ir::Expr expr = ParseExpr().expr;
      if (!AtEnd()) Unexpected("the end of the size");
      if (diagnostics_.empty()) return expr;
    } catch (const Abandon&) {
    }
    Refuse("expected an integer, or an expression over integers of " + function->name + ": " +
           diagnostics_.items()[0].message);
  }
};

tir::StorageScope ScopeNamed(const std::string& name) {
  std::optional<tir::StorageScope> scope = ir::FindStorageScope(name);
  if (!scope) Refuse(ir::NoStorageScope(name));
  return *scope;
}

TailStrategy TailNamed(const std::string& name) {
  using enum TailStrategy;
  std::vector<std::string> names;
  for (TailStrategy tail : {kLoop, kGuard, kMask, kExact}) {
    names.emplace_back(TailStrategyName(tail));
    if (name == names.back()) return tail;
  }
  Refuse("there is no tail " + name + ffi::DidYouMean(name, names) + "; the tails are " +
         ffi::Join(names));
}

// 8, n, n // 8 * 8
ir::Expr SizeOf(const Schedule& schedule, const std::string& text) {
  bool is_number = text.find_first_not_of("-0123456789") == std::string::npos;
  return is_number ? ir::Expr(Number(text)) : SizeParser(text).Parse(schedule.function());
}

LoopRefs LoopsNamed(Schedule* schedule, const std::vector<std::string>& texts) {
  LoopRefs loops;
  for (const std::string& text : texts) loops.push_back(schedule->LoopNamed(text));
  return loops;
}

// split(i, 8), split(i, 4, 8, tail = mask), split(i, n)
void ApplySplit(Schedule* schedule, const Step& step) {
  std::vector<ir::Expr> factors;
  TailStrategy tail = TailStrategy::kLoop;
  for (size_t i = 1; i < step.args.size(); ++i) {
    const std::string& arg = step.args[i];
    size_t equal = arg.find('=');
    if (i + 1 == step.args.size() && equal != std::string::npos &&
        Trimmed(arg.substr(0, equal)) == "tail") {
      tail = TailNamed(Trimmed(arg.substr(equal + 1)));
      continue;
    }
    factors.push_back(SizeOf(*schedule, arg));
  }
  schedule->Split(schedule->LoopNamed(step.args[0]), SplitFactors(std::move(factors)), step.results,
                  tail);
}

void ApplyPipeline(Schedule* schedule, const Step& step) {
  std::vector<int64_t> stages, async, roles, blocks, turns;
  for (size_t i = 1; i < step.args.size(); ++i) {
    size_t space = step.args[i].find(' ');
    std::string what = space == std::string::npos ? "" : step.args[i].substr(0, space);
    std::vector<int64_t>& numbers = what == "async"    ? async
                                    : what == "roles"  ? roles
                                    : what == "blocks" ? blocks
                                    : what == "turns"  ? turns
                                                       : stages;
    numbers.push_back(Number(step.args[i].substr(&numbers == &stages ? 0 : space + 1)));
  }
  if (roles.empty() && !blocks.empty()) Refuse("blocks are given, but no roles");
  if (roles.empty() && !turns.empty()) Refuse("turns are given, but no roles");
  std::optional<PipelineRoles> given;
  if (!roles.empty())
    given = {roles.back(), blocks.empty() ? 0 : blocks.back(), turns.empty() ? 1 : turns.back()};
  schedule->Pipeline(schedule->LoopNamed(step.args[0]), stages, async, given);
}

// A step: how many arguments it takes, for how much it can give names, and what it does.
struct Primitive {
  size_t least, most, results;
  std::function<void(Schedule*, const Step&)> apply;
};

constexpr size_t kAny = 64;

std::string First(const std::vector<std::string>& names) { return names.empty() ? "" : names[0]; }

const std::map<std::string, Primitive>& Primitives() {
  using S = Schedule*;
  using T = const Step&;
  static const std::map<std::string, Primitive> primitives = {
      {"atomic_update", {1, 1, 0, [](S s, T t) { s->AtomicUpdate(s->BlockNamed(t.args[0])); }}},
      {"bind", {2, 2, 0, [](S s, T t) { s->Bind(s->LoopNamed(t.args[0]), t.args[1]); }}},
      {"blockize",
       {1, 1, 1, [](S s, T t) { s->Blockize(s->LoopNamed(t.args[0]), First(t.results)); }}},
      {"break_ties", {1, 1, 0, [](S s, T t) { s->BreakTies(s->BlockNamed(t.args[0])); }}},
      {"cache_read",
       {3, 3, 1,
        [](S s, T t) {
          s->CacheRead(s->BlockNamed(t.args[0]), BufferRef(t.args[1]), ScopeNamed(t.args[2]),
                       First(t.results));
        }}},
      {"cache_write",
       {3, 3, 1,
        [](S s, T t) {
          s->CacheWrite(s->BlockNamed(t.args[0]), BufferRef(t.args[1]), ScopeNamed(t.args[2]),
                        First(t.results));
        }}},
      {"compute_at",
       {2, 2, kAny,
        [](S s, T t) {
          s->ComputeAt(s->BlockNamed(t.args[0]), s->LoopNamed(t.args[1]), t.results);
        }}},
      {"decompose_reduction",
       {2, 2, 1,
        [](S s, T t) {
          s->DecomposeReduction(s->BlockNamed(t.args[0]), s->LoopNamed(t.args[1]),
                                First(t.results));
        }}},
      {"flatten_spatial",
       {2, 2, 2,
        [](S s, T t) {
          s->FlattenSpatial(s->BlockNamed(t.args[0]), Number(t.args[1]), t.results);
        }}},
      {"fuse", {2, kAny, 1, [](S s, T t) { s->Fuse(LoopsNamed(s, t.args), First(t.results)); }}},
      {"canonicalize_axes",
       {0, 0, 0, [](S, T) { Refuse("it is the first step of a schedule section, or none"); }}},
      {"im2col",
       {1, kAny, 3,
        [](S s, T t) {
          s->Im2col(s->BlockNamed(t.args[0]), {t.args.begin() + 1, t.args.end()}, t.results);
        }}},
      {"compute_inline", {1, 1, 0, [](S s, T t) { s->ComputeInline(s->BlockNamed(t.args[0])); }}},
      {"fuse_siblings",
       {2, 2, 0,
        [](S s, T t) { s->FuseSiblings(s->LoopNamed(t.args[0]), s->LoopNamed(t.args[1])); }}},
      {"pad_block",
       {2, kAny, 0, [](S s, T t) { s->PadBlock(s->BlockNamed(t.args[0]), Numbers(t.args, 1)); }}},
      {"pad_einsum",
       {2, kAny, 0, [](S s, T t) { s->PadEinsum(s->BlockNamed(t.args[0]), Numbers(t.args, 1)); }}},
      {"polyphase", {1, 1, 2, [](S s, T t) { s->Polyphase(s->BlockNamed(t.args[0]), t.results); }}},
      {"parallel", {1, 1, 0, [](S s, T t) { s->Parallel(s->LoopNamed(t.args[0])); }}},
      {"loop_partition",
       {2, 2, 2,
        [](S s, T t) {
          s->LoopPartition(s->LoopNamed(t.args[0]), SizeOf(*s, t.args[1]), t.results);
        }}},
      {"pipeline", {2, kAny, 0, ApplyPipeline}},
      {"plan",
       {2, 3, 0,
        [](S, T) {
          Refuse(
              "a plan is carried out by the schedule rules: its section has no other steps, and "
              "the default schedules are not turned off");
        }}},
      {"prefetch",
       {2, 2, 0, [](S s, T t) { s->Prefetch(s->BlockNamed(t.args[0]), BufferRef(t.args[1])); }}},
      {"replicate",
       {3, kAny, 0,
        [](S s, T t) {
          BufferRefs buffers;
          for (size_t i = 0; i + 2 < t.args.size(); ++i) buffers.emplace_back(t.args[i]);
          s->Replicate(buffers, Number(t.args[t.args.size() - 2]), IndexMap::Parse(t.args.back()));
        }}},
      {"reorder", {1, kAny, 0, [](S s, T t) { s->Reorder(LoopsNamed(s, t.args)); }}},
      {"reverse_compute_at",
       {2, 2, kAny,
        [](S s, T t) {
          s->ReverseComputeAt(s->BlockNamed(t.args[0]), s->LoopNamed(t.args[1]), t.results);
        }}},
      {"reverse_compute_inline",
       {1, 1, 0, [](S s, T t) { s->ReverseComputeInline(s->BlockNamed(t.args[0])); }}},
      {"rfactor",
       {1, 1, 1, [](S s, T t) { s->Rfactor(s->LoopNamed(t.args[0]), First(t.results)); }}},
      {"set_scope",
       {2, 2, 0, [](S s, T t) { s->SetScope(BufferRef(t.args[0]), ScopeNamed(t.args[1])); }}},
      {"privatize",
       {3, 3, 1,
        [](S s, T t) {
          s->Privatize(s->BlockNamed(t.args[0]), s->LoopNamed(t.args[1]), ScopeNamed(t.args[2]),
                       First(t.results));
        }}},
      {"reuse_cache",
       {2, 2, 0,
        [](S s, T t) {
          s->ReuseCache(s->BlockNamed(t.args[0]), {s->BlockNamed(t.args[1]), BufferRef(t.args[1])});
        }}},
      {"split", {2, kAny, kAny, ApplySplit}},
      {"split_updates",
       {1, 1, kAny, [](S s, T t) { s->SplitUpdates(s->BlockNamed(t.args[0]), t.results); }}},
      {"split_cases",
       {1, 1, 1, [](S s, T t) { s->SplitCases(s->BlockNamed(t.args[0]), First(t.results)); }}},
      {"split_scan",
       {3, 4, 4,
        [](S s, T t) {
          if (t.args.size() == 3)
            s->SplitScan(s->BlockNamed(t.args[0]), s->LoopNamed(t.args[1]), Number(t.args[2]),
                         t.results);
          else
            s->SplitScan(s->BlockNamed(t.args[0]), s->LoopNamed(t.args[1]), Number(t.args[2]),
                         ScopeNamed(t.args[3]), t.results);
        }}},
      {"storage_align",
       {3, 4, 0,
        [](S s, T t) {
          s->StorageAlign(BufferRef(t.args[0]), Number(t.args[1]), Number(t.args[2]),
                          t.args.size() > 3 ? Number(t.args[3]) : 0);
        }}},
      {"tensorize", {2, 2, 0, [](S s, T t) { s->Tensorize(s->LoopNamed(t.args[0]), t.args[1]); }}},
      {"transform_layout",
       {2, 2, 0,
        [](S s, T t) { s->TransformLayout(BufferRef(t.args[0]), IndexMap::Parse(t.args[1])); }}},
      {"unroll", {1, 1, 0, [](S s, T t) { s->Unroll(s->LoopNamed(t.args[0])); }}},
      {"vectorize", {1, 1, 0, [](S s, T t) { s->Vectorize(s->LoopNamed(t.args[0])); }}},
      {"roll",
       {2, 2, 0, [](S s, T t) { s->Roll(s->LoopNamed(t.args[0]), s->LoopNamed(t.args[1])); }}},
      {"roll_parts",
       {2, 2, 0, [](S s, T t) { s->RollParts(s->LoopNamed(t.args[0]), s->LoopNamed(t.args[1])); }}},
      {"set_dtype",
       {2, 2, 0, [](S s, T t) { s->SetDtype(BufferRef(t.args[0]), TypeNamed(t.args[1])); }}},
      {"winograd",
       {2, 3, 5,
        [](S s, T t) {
          s->Winograd(s->BlockNamed(t.args[0]), Number(t.args[1]),
                      t.args.size() > 2 ? Number(t.args[2]) : 1, t.results);
        }}},
  };
  return primitives;
}

void CheckArguments(const Step& step, const Primitive& primitive) {
  size_t count = step.args.size();
  if (count < primitive.least || count > primitive.most)
    Refuse(step.name + " takes " + std::to_string(primitive.least) +
           (primitive.most == kAny              ? " or more"
            : primitive.least == primitive.most ? ""
                                                : " to " + std::to_string(primitive.most)) +
           " arguments, got " + std::to_string(count));
  if (step.results.size() > primitive.results)
    Refuse(step.name + " gives names to " +
           (primitive.results == 0 ? "nothing" : std::to_string(primitive.results)) +
           " that it makes, got " + std::to_string(step.results.size()));
}

std::vector<std::string> Texts(const ffi::Map& map, const char* key) {
  std::vector<std::string> texts;
  if (const ffi::Any* list = map->Find(key))
    for (const ffi::Any& text : *list->As<ffi::Array>()) texts.push_back(text.As<std::string>());
  return texts;
}

}  // namespace

std::string Step::str() const {
  std::string text = results.empty() ? "" : ffi::Join(results) + " = ";
  return text + name + "(" + (args.empty() ? "" : ffi::Join(args)) + ")";
}

Step Step::Parse(const std::string& text) {
  size_t open = text.find('('), equal = text.find('=');
  if (open == std::string::npos || text.back() != ')')
    Refuse("expected a step, as in io, ii = split(i, 8)");
  Step step;
  size_t begin = 0;
  if (equal < open) {
    step.results = SplitList(text.substr(0, equal));
    begin = equal + 1;
  }
  step.name = Trimmed(text.substr(begin, open - begin));
  step.args = SplitList(text.substr(open + 1, text.size() - open - 2));
  return step;
}

std::string Trace::str() const {
  std::string text;
  for (const Step& step : steps) text += step.str() + "\n";
  return text;
}

std::string Trace::ToJson() const {
  auto texts = [](const std::vector<std::string>& items) {
    return ffi::MakeArray(std::vector<ffi::Any>(items.begin(), items.end()));
  };
  std::vector<ffi::Any> list;
  for (const Step& step : steps) {
    std::map<std::string, ffi::Any, std::less<>> fields = {{"step", ffi::Any(step.name)},
                                                           {"args", texts(step.args)}};
    if (!step.results.empty()) fields["results"] = texts(step.results);
    list.emplace_back(ffi::MakeMap(std::move(fields)));
  }
  return ffi::WriteJson(ffi::Any(ffi::MakeArray(std::move(list))), true) + "\n";
}

Trace Trace::Parse(const std::string& text) {
  Trace trace;
  if (Trimmed(text).starts_with("[")) {
    ffi::Any list = ffi::ParseJson(text);
    for (const ffi::Any& item : *list.As<ffi::Array>()) {
      ffi::Map fields = item.As<ffi::Map>();
      const ffi::Any* name = fields->Find("step");
      if (!name) TERN_THROW(ValueError) << "a step of the trace has no name (\"step\")";
      trace.steps.push_back(
          {Texts(fields, "results"), name->As<std::string>(), Texts(fields, "args")});
    }
    return trace;
  }
  for (size_t begin = 0; begin < text.size();) {
    size_t end = std::min(text.find('\n', begin), text.size());
    std::string line = Trimmed(text.substr(begin, end - begin));
    if (!line.empty() && line[0] != '#') trace.steps.push_back(Step::Parse(line));
    begin = end + 1;
  }
  return trace;
}

void Schedule::Apply(const Step& step) {
  auto it = Primitives().find(step.name);
  std::vector<std::string> names;
  for (const auto& [name, primitive] : Primitives()) names.push_back(name);
  try {
    if (it == Primitives().end())
      Refuse("there is no step " + step.name + ffi::DidYouMean(step.name, names) +
             "; the steps are " + ffi::Join(names));
    CheckArguments(step, it->second);
    it->second.apply(this, step);
  } catch (const Error& error) {
    // What a step refuses says already which one it was.
    bool says = error.message().starts_with(step.name + "(");
    if (error.kind() != "ScheduleError" || says) throw;
    TERN_THROW(ScheduleError) << Step{{}, step.name, step.args}.str() << ": " << error.message();
  }
}

void Schedule::Apply(const std::string& text) {
  Step step;
  try {
    step = Step::Parse(text);
  } catch (const Error& error) {
    if (error.kind() == "InternalError") throw;
    TERN_THROW(ScheduleError) << text << ": " << error.message();
  }
  Apply(step);
}

}  // namespace tern::schedule
