// SPDX-License-Identifier: Apache-2.0
//
// The steps of a schedule as data: text, one step a line, or JSON.
#ifndef TERN_SCHEDULE_TRACE_H_
#define TERN_SCHEDULE_TRACE_H_

#include <string>
#include <vector>

namespace tern::schedule {

// io, ii = split(i, 8)
struct Step {
  std::vector<std::string> results;
  std::string name;
  std::vector<std::string> args;

  std::string str() const;
  // Throws ScheduleError where the text is no step.
  static Step Parse(const std::string& text);
};

struct Trace {
  std::vector<Step> steps;

  // A line each.
  std::string str() const;
  // [{"step": "split", "args": ["i", "8"], "results": ["io", "ii"]}, ...]
  std::string ToJson() const;
  // Either form. Throws where the text is neither.
  static Trace Parse(const std::string& text);
};

}  // namespace tern::schedule

#endif  // TERN_SCHEDULE_TRACE_H_
