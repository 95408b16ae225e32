// SPDX-License-Identifier: Apache-2.0
#include "tern/graph/dim_ranges.h"

#include <algorithm>

#include "tern/ffi/text.h"

namespace tern::graph {
namespace {

using Known = std::map<const ir::VarNode*, arith::ConstBounds>;

Known& Current() {
  thread_local Known known;
  return known;
}

// The extents of parameters that are names, each once.
std::vector<Var> DimsOf(const std::vector<Value>& params) {
  std::vector<Var> dims;
  for (const Value& param : params)
    for (const Expr& extent : param->type.shape)
      if (const auto* var = extent.As<ir::VarNode>();
          var &&
          std::none_of(dims.begin(), dims.end(), [&](const Var& dim) { return dim.node() == var; }))
        dims.emplace_back(var);
  return dims;
}

}  // namespace

DimRanges DimRangesOf(const std::vector<Value>& params, const ir::Attrs& attrs) {
  DimRanges ranges;
  auto found = attrs.find(attr::kDimRanges);
  if (found == attrs.end()) return ranges;
  std::vector<std::string> names;
  for (const Var& dim : DimsOf(params)) names.push_back(dim.name());
  auto fail = [&] {
    TERN_THROW(ValueError) << attr::kDimRanges
                           << " is a list of [name, least, most], with 0 <= least <= most";
  };
  auto items = found->second.TryAs<ffi::Array>();
  if (!items) fail();
  for (const ffi::Any& item : **items) {
    auto parts = item.TryAs<ffi::Array>();
    if (!parts || (*parts)->size() != 3) fail();
    auto name = (**parts)[0].TryAs<std::string>();
    auto least = (**parts)[1].TryAs<int64_t>(), most = (**parts)[2].TryAs<int64_t>();
    if (!name || !least || !most || *least < 0 || *least > *most) fail();
    if (std::find(names.begin(), names.end(), *name) == names.end())
      TERN_THROW(ValueError) << attr::kDimRanges << ": " << *name
                             << " is no extent of a parameter; these are: "
                             << (names.empty() ? "none" : ffi::Join(names));
    ranges[*name] = {*least, *most};
  }
  return ranges;
}

ffi::Any DimRangesAttr(const DimRanges& ranges) {
  std::vector<ffi::Any> items;
  for (const auto& [name, range] : ranges)
    items.emplace_back(ffi::MakeArray({ffi::Any(name), ffi::Any(range.lo), ffi::Any(range.hi)}));
  return ffi::Any(ffi::MakeArray(std::move(items)));
}

ScopedDimRanges::ScopedDimRanges() : outer_(Current()) {}

ScopedDimRanges::ScopedDimRanges(const std::vector<Value>& params, const ir::Attrs& attrs)
    : ScopedDimRanges() {
  DimRanges ranges = DimRangesOf(params, attrs);
  if (ranges.empty()) return;
  for (const Var& dim : DimsOf(params))
    if (auto it = ranges.find(dim.name()); it != ranges.end()) Add(dim, it->second);
}

ScopedDimRanges::~ScopedDimRanges() { Current() = std::move(outer_); }

void ScopedDimRanges::Add(const Var& dim, arith::ConstBounds range) {
  Current()[dim.node()] = range;
}

arith::ConstBounds RangeOf(const Var& dim) {
  const Known& known = Current();
  auto it = known.find(dim.node());
  return it == known.end() ? arith::ConstBounds{0, arith::ConstBounds::kPosInf} : it->second;
}

}  // namespace tern::graph
