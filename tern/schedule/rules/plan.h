// SPDX-License-Identifier: Apache-2.0
//
// The plans of a rule: every number that it could choose for a block, with what its cost model
// predicts. A rule enumerates plan structs; here they are names and values, to be compared,
// printed, parsed and asked for by plan(RULE, {tile_m = 8}).
#ifndef TERN_SCHEDULE_RULES_PLAN_H_
#define TERN_SCHEDULE_RULES_PLAN_H_

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

namespace tern::schedule {

struct PlanCost {
  double cycles = 0;  // predicted, of one core or of the device
  double limit = 0;   // arithmetic at its peak, or memory, take at least; 0: not known
};

struct Plan : PlanCost {
  struct Field {
    std::string name;
    int64_t value = 0;
  };
  std::vector<Field> fields;

  const int64_t* Find(const std::string& name) const;
  // "{tile_m = 8, tile_n = 32}"
  std::string str() const;
  // Refuses text that is no plan.
  static Plan Parse(const std::string& text);
};

// As "1.32e+06".
std::string CyclesText(double cycles);

// Plans of hosts. How many loops threads share is chosen last, of the nest that the other numbers
// make (ParallelizeOuter, loops.h).
struct HostPlan : PlanCost {
  static constexpr int64_t kOpen = std::numeric_limits<int64_t>::min();  // not chosen yet

  // So many loops, from the outermost on, are one loop of threads; 0: one thread runs all.
  int64_t parallel = kOpen;
  bool is_parallelized = false;  // by the rule

  void SetParallel(int64_t loops) {
    parallel = loops;
    is_parallelized = true;
  }
  // The rule is done. Refuses what is asked for where it has no loops for threads.
  void CheckParallel();
};
template <class P>
inline constexpr bool kIsHostPlan = std::is_base_of_v<HostPlan, P>;

// A number of a plan struct. Each struct, which has a PlanCost, lists them: P::Fields().
template <class P>
struct PlanField {
  const char* name;
  int64_t P::* value;
};

template <class P>
Plan ToPlan(const P& from) {
  Plan plan{static_cast<const PlanCost&>(from), {}};
  for (const PlanField<P>& field : P::Fields())
    if (from.*field.value != HostPlan::kOpen)
      plan.fields.push_back({field.name, from.*field.value});
  return plan;
}

template <class P>
P FromPlan(const Plan& plan) {
  P to;
  static_cast<PlanCost&>(to) = plan;
  for (const PlanField<P>& field : P::Fields())
    if (const int64_t* value = plan.Find(field.name)) to.*field.value = *value;
  return to;
}

// What is asked for of the plans of one rule: some fields, or none; null: the rule itself is not
// asked for either.
template <class P>
class Wanted {
 public:
  explicit Wanted(const Plan* plan) : plan_(plan) {}

  bool is_asked() const { return plan_ != nullptr; }

  // The value that is asked for, or else another.
  int64_t Or(int64_t P::* field, int64_t otherwise) const {
    std::optional<int64_t> value = Get(field);
    return value ? *value : otherwise;
  }
  // Whether a plan has all that is asked for, or may have.
  bool Allows(const P& plan) const {
    for (const PlanField<P>& field : P::Fields())
      if (plan.*field.value != HostPlan::kOpen &&
          plan.*field.value != Or(field.value, plan.*field.value))
        return false;
    return true;
  }

 private:
  std::optional<int64_t> Get(int64_t P::* member) const {
    for (const PlanField<P>& field : P::Fields())
      if (plan_ && field.value == member)
        if (const int64_t* value = plan_->Find(field.name)) return *value;
    return {};
  }

  const Plan* plan_;
};

}  // namespace tern::schedule

#endif  // TERN_SCHEDULE_RULES_PLAN_H_
