// SPDX-License-Identifier: Apache-2.0
#include "bench/cpu/worker.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <optional>

namespace tern::bench {
namespace {

// What the clock itself costs is less than a hundredth of this.
constexpr double kShortestTime = 10e-6;

double SecondsOf(const std::function<void()>& call, int64_t times) {
  auto start = std::chrono::steady_clock::now();
  for (int64_t i = 0; i < times; ++i) call();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / times;
}

std::string OneLine(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

void Say(const std::string& line) { std::cout << OneLine(line) << std::endl; }

// A case that is ready to be run.
struct Ready {
  explicit Ready(const std::string& line) : the_case(Case::Parse(line)), buffers(the_case) {}
  Case the_case;
  Buffers buffers;
  Variant variant;
};

Variant Fastest(std::vector<Variant> variants) {
  if (variants.size() == 1) return variants[0];
  std::vector<double> times;
  for (const Variant& variant : variants) times.push_back(Measure(variant.call, 0.02).best);
  return variants[std::min_element(times.begin(), times.end()) - times.begin()];
}

std::string Answer(const std::string& verb, const std::string& rest, const Prepare& prepare,
                   std::optional<Ready>* ready) {
  if (verb == "prepare") {
    ready->reset();
    Ready& made = ready->emplace(rest);
    try {
      made.variant = Fastest(prepare(made.the_case, made.buffers));
      made.variant.call();
    } catch (...) {
      ready->reset();
      throw;
    }
    return made.variant.name;
  }
  if (!*ready) throw std::runtime_error("nothing is prepared");
  if (verb == "run") {
    Times times = Measure((*ready)->variant.call, std::stod(rest));
    char text[128];
    std::snprintf(text, sizeof(text), "%.9g %.9g %lld", times.best, times.mean,
                  static_cast<long long>(times.calls));
    return text;
  }
  if (verb == "save") {
    if ((*ready)->variant.finish) (*ready)->variant.finish();
    (*ready)->buffers.Write((*ready)->the_case.output(), rest);
    return "";
  }
  throw std::runtime_error("unknown: " + verb);
}

}  // namespace

Times Measure(const std::function<void()>& call, double seconds) {
  double once = SecondsOf(call, 1);
  if (once < kShortestTime) once = SecondsOf(call, 1);
  int64_t batch =
      once >= kShortestTime ? 1 : std::llround(std::ceil(kShortestTime / std::max(once, 1e-8)));
  Times times{.best = INFINITY};
  double total = 0;
  for (int64_t repeats = 0; repeats < 3 || total < seconds; ++repeats) {
    double time = SecondsOf(call, batch);
    times.best = std::min(times.best, time);
    times.calls += batch;
    total += time * static_cast<double>(batch);
  }
  times.mean = total / static_cast<double>(times.calls);
  return times;
}

void AnswerLines(
    const std::function<std::string(const std::string& verb, const std::string& rest)>& answer) {
  for (std::string line; std::getline(std::cin, line);) {
    size_t space = line.find(' ');
    std::string rest = space == std::string::npos ? "" : line.substr(space + 1);
    try {
      Say("ok " + answer(line.substr(0, space), rest));
    } catch (const Unsupported& reason) {
      Say(std::string("no ") + reason.what());
    } catch (const std::exception& error) {
      Say(std::string("error ") + error.what());
    }
  }
}

int WorkerMain(const std::function<std::string()>& start, const Prepare& prepare) {
  try {
    Say("ok " + start());
  } catch (const std::exception& error) {
    Say(std::string("no ") + error.what());
    return 1;
  }
  std::optional<Ready> ready;
  AnswerLines([&](const std::string& verb, const std::string& rest) {
    return Answer(verb, rest, prepare, &ready);
  });
  return 0;
}

}  // namespace tern::bench
