// SPDX-License-Identifier: Apache-2.0
#include "tern/runtime/runner.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <numeric>

#include "tern/ffi/registry.h"
#include "tern/ffi/text.h"
#include "tern/runtime/artifact/npy.h"
#include "tern/runtime/device.h"
#include "tern/runtime/extent.h"
#include "tern/runtime/host/thread_pool.h"
#include "tern/runtime/stream.h"
#include "tern/runtime/typed_elements.h"

namespace tern::runtime {
namespace {

using Dims = std::map<std::string, int64_t>;

bool TakesInteger(const ParamInfo& param) {
  return !param.is_tensor && (param.dtype.is_integer() || param.dtype.is_bool());
}

void CheckName(const std::string& function, const char* what, const std::string& name,
               const std::vector<std::string>& legal) {
  TERN_CHECK(std::find(legal.begin(), legal.end(), name) != legal.end())
      << function << " has no " << what << " " << name << ffi::DidYouMean(name, legal)
      << "; it has " << ffi::Join(legal);
}

// What memory that holds no element is filled with.
constexpr int kUnused = 0x5a;

// SplitMix64: 64 good bits per step from a counter, the same everywhere.
class Random {
 public:
  // Behind so many steps.
  Random(uint64_t seed, int64_t steps) : state_(seed + kStep * static_cast<uint64_t>(steps)) {}
  uint64_t Next() {
    uint64_t z = state_ += kStep;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
  }
  double Element(DataType dtype) {
    uint64_t bits = Next();
    if (dtype.is_bool()) return static_cast<double>(bits >> 63);
    if (dtype.is_uint()) return static_cast<double>(bits >> 60);
    if (dtype.is_int()) return static_cast<double>(bits >> 60) - 8;
    // 24 bits: exact in float32, so float32 and float64 see the same values.
    return static_cast<double>(bits >> 40) * 0x1p-23 - 1;
  }

 private:
  static constexpr uint64_t kStep = 0x9e3779b97f4a7c15u;
  uint64_t state_;
};

// One call being made ready: names checked, files read, dims solved, arguments built, in this
// order.
class ArgumentMaker {
 public:
  ArgumentMaker(const FunctionInfo& function, const RunOptions& options)
      : function_(function), options_(options), files_(function.params.size()) {}

  std::vector<ffi::Any> Make(Dims* dims) {
    CheckNames();
    for (const auto& [name, value] : options_.dims) Bind(name, value, "the option");
    for (const ParamInfo& param : function_.params)
      if (auto it = options_.inputs.find(param.name);
          it != options_.inputs.end() && TakesInteger(param))
        Bind(param.name, IntegerInput(param, it->second), "the option");
    for (size_t i = 0; i < files_.size(); ++i) ReadInput(i);
    for (const std::string& name : dim_names_) dims_.try_emplace(name, DefaultOf(name));
    std::vector<ffi::Any> args;
    for (size_t i = 0; i < function_.params.size(); ++i)
      args.push_back(function_.params[i].is_tensor ? ffi::Any(TensorArgument(i))
                                                   : ScalarArgument(i));
    if (dims) *dims = dims_;
    return args;
  }

 private:
  void CheckNames() {
    std::vector<std::string> inputs;
    for (const ParamInfo& param : function_.params) {
      inputs.push_back(param.name);
      if (TakesInteger(param)) AddDimName(param.name);
      for (const std::vector<std::string>* texts : {&param.shape, &param.strides})
        for (const std::string& text : *texts)
          for (const std::string& symbol : SymbolsOf(text)) AddDimName(symbol);
    }
    for (const auto& [name, source] : options_.inputs) {
      CheckName(function_.name, "input", name, inputs);
      TERN_CHECK(!options_.tensors.count(name))
          << "input " << name << ": its elements are given already";
    }
    for (const auto& [name, value] : options_.dims) {
      for (const ParamInfo& param : function_.params)
        TERN_CHECK(param.name != name || TakesInteger(param))
            << name << " is no dimension of " << function_.name << " but an input: a "
            << (param.is_tensor ? "tensor" : param.dtype.str());
      CheckName(function_.name, "dimension", name, dim_names_);
    }
  }

  void AddDimName(const std::string& name) {
    if (std::find(dim_names_.begin(), dim_names_.end(), name) == dim_names_.end())
      dim_names_.push_back(name);
  }

  int64_t DefaultOf(const std::string& name) const {
    for (const ParamInfo& param : function_.params)
      if (param.name == name && param.dtype.is_bool()) return 1;
    auto own = options_.default_dims.find(name);
    return own == options_.default_dims.end() ? options_.default_dim : own->second;
  }

  void Bind(const std::string& name, int64_t value, const std::string& source) {
    auto [it, is_new] = dims_.try_emplace(name, value);
    if (is_new)
      dim_sources_[name] = source;
    else
      TERN_CHECK(it->second == value)
          << "dimension " << name << " is " << it->second << " by " << dim_sources_[name]
          << ", but " << value << " by " << source;
  }

  static int64_t IntegerInput(const ParamInfo& param, const std::string& text) {
    if (text == "zeros" || text == "false") return 0;
    if (text == "ones" || text == "true") return 1;
    int64_t value = 0;
    uint64_t bits = 0;  // of a uint64 that exceeds int64
    const char* last = text.data() + text.size();
    auto [end, error] = std::from_chars(text.data(), last, value);
    bool is_number = error == std::errc() && end == last;
    if (!is_number && param.dtype == DataType::UInt(64)) {
      auto [end, error] = std::from_chars(text.data(), last, bits);
      is_number = error == std::errc() && end == last;
      value = static_cast<int64_t>(bits);
    }
    int shift = 64 - param.dtype.bits();
    int64_t kept = param.dtype.is_uint() || param.dtype.is_bool()
                       ? static_cast<int64_t>(static_cast<uint64_t>(value) << shift >> shift)
                       : static_cast<int64_t>(static_cast<uint64_t>(value) << shift) >> shift;
    TERN_CHECK(is_number && kept == value) << "input " << param.name << ": expected a number of "
                                           << param.dtype.str() << ", got " << text;
    return value;
  }

  std::string SourceOf(const ParamInfo& param) const {
    if (options_.tensors.count(param.name)) return "the given tensor";
    auto it = options_.inputs.find(param.name);
    if (it != options_.inputs.end()) return it->second;
    return param.is_output ? "zeros" : "random";
  }

  static bool IsFill(const std::string& source) {
    return source == "random" || source == "ones" || source == "zeros";
  }

  void ReadInput(size_t i) {
    const ParamInfo& param = function_.params[i];
    std::string source = SourceOf(param);
    if (!param.is_tensor || IsFill(source)) return;
    auto given = options_.tensors.find(param.name);
    TERN_CHECK(given != options_.tensors.end() || source.ends_with(".npy"))
        << "input " << param.name << ": expected a .npy file, random, ones or zeros, got "
        << source;
    Tensor tensor = given != options_.tensors.end() ? given->second : ReadNpy(source);
    if (tensor->dtype() == TypeInNpy(param.dtype) && tensor->dtype() != param.dtype)
      tensor = Converted(tensor, param.dtype);
    TERN_CHECK(tensor->dtype() == param.dtype)
        << "input " << param.name << ": expected " << param.dtype.str() << ", " << source << " has "
        << tensor->dtype().str();
    TERN_CHECK(tensor->shape().size() == param.shape.size())
        << "input " << param.name << ": expected " << param.shape.size() << " axes ("
        << ffi::Join(param.shape) << "), " << source << " has shape "
        << ffi::ShapeText(tensor->shape());
    for (size_t axis = 0; axis < param.shape.size(); ++axis)
      if (IsSymbol(param.shape[axis]))
        Bind(param.shape[axis], tensor->shape()[axis],
             "axis " + std::to_string(axis) + " of " + source);
    files_[i] = tensor;
  }

  static Tensor Converted(const Tensor& tensor, DataType dtype) {
    Tensor result = Tensor::Empty(tensor->shape(), dtype);
    ConvertElements(tensor, result);
    return result;
  }

  std::vector<int64_t> Evaluate(const ParamInfo& param,
                                const std::vector<std::string>& texts) const {
    std::vector<int64_t> values;
    for (const std::string& text : texts)
      values.push_back(WithContext("making parameter " + param.name,
                                   [&] { return EvaluateExtent(text, dims_); }));
    return values;
  }

  Tensor TensorArgument(size_t i) const {
    const ParamInfo& param = function_.params[i];
    std::vector<int64_t> shape = Evaluate(param, param.shape);
    Tensor tensor = Tensor::Empty(shape, param.dtype, {kTernDeviceCpu, 0},
                                  {Evaluate(param, param.strides), options_.offset});
    std::memset(tensor->data(), kUnused, tensor->storage_bytes());
    if (files_[i]) {
      TERN_CHECK(files_[i]->shape() == shape)
          << "input " << param.name << ": expected shape " << ffi::ShapeText(shape) << ", "
          << SourceOf(param) << " has " << ffi::ShapeText(files_[i]->shape());
      CopyElements(files_[i], tensor);
      return tensor;
    }
    std::string source = SourceOf(param);
    bool is_random = source == "random";
    double constant = source == "ones" ? 1 : 0;
    auto fill = [&](int64_t begin, int64_t end) {
      // Every parameter has a sequence of its own, whatever the shapes of the others.
      Random random(options_.seed * 0x100000001b3u + i, begin);
      bool typed = WithTypedElements(tensor, [&]<class T>(T* data) {
        for (int64_t k = begin; k < end; ++k)
          data[k] = static_cast<T>(is_random ? random.Element(param.dtype) : constant);
      });
      for (int64_t k = begin; !typed && k < end; ++k)
        SetElement(tensor, k, is_random ? random.Element(param.dtype) : constant);
    };
    // Elements of packed types share bytes, those of a broadcast tensor even places.
    bool is_apart = tensor->is_row_major() && !param.dtype.is_packed();
    constexpr int64_t kWorthThreads = 1 << 16;
    if (is_apart && tensor->num_elements() >= kWorthThreads)
      ParallelFor(tensor->num_elements(), fill);
    else
      fill(0, tensor->num_elements());
    return tensor;
  }

  ffi::Any ScalarArgument(size_t i) const {
    const ParamInfo& param = function_.params[i];
    if (TakesInteger(param)) return dims_.at(param.name);
    TERN_CHECK(param.dtype.is_float()) << "parameter " << param.name << " is a "
                                       << param.dtype.str() << ": no value can be made for it";
    auto it = options_.inputs.find(param.name);
    if (it == options_.inputs.end() || it->second == "ones") return 1.0;
    double value = 0;
    const char* last = it->second.data() + it->second.size();
    auto [end, error] = std::from_chars(it->second.data(), last, value);
    TERN_CHECK(it->second == "zeros" || (error == std::errc() && end == last))
        << "input " << param.name << ": expected a number, got " << it->second;
    return value;
  }

  const FunctionInfo& function_;
  const RunOptions& options_;
  std::vector<Tensor> files_;  // by parameter; null: not from a file
  std::vector<std::string> dim_names_;
  Dims dims_;
  std::map<std::string, std::string> dim_sources_;
};

double MedianOf(std::vector<double> values) {
  auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// From event to event, while the device always has calls to do: what a call costs on the device,
// without the way there.
double DeviceSeconds(const std::function<void()>& call, const DeviceKind& kind, int repeat) {
  constexpr int kMost = 1000;  // events at a time
  TernDevice device{kind.device_type(), 0};
  std::vector<double> times;
  while (repeat > 0) {
    int calls = std::min(repeat, kMost);
    repeat -= calls;
    std::vector<std::unique_ptr<Event>> events;
    for (int i = 0; i <= calls; ++i) events.push_back(std::make_unique<Event>(device));
    events[0]->Record();
    for (int i = 1; i <= calls; ++i) {
      call();
      events[static_cast<size_t>(i)]->Record();
    }
    kind.Synchronize(0);
    for (size_t i = 1; i < events.size(); ++i)
      times.push_back(Event::SecondsBetween(*events[i - 1], *events[i]));
  }
  return MedianOf(std::move(times));
}

void TakeTimes(const std::function<void()>& call, const DeviceKind& kind, int repeat,
               RunResult* result) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> times;
  for (int i = 0; i < repeat; ++i) {
    Clock::time_point start = Clock::now();
    call();
    kind.Synchronize(0);
    times.push_back(std::chrono::duration<double>(Clock::now() - start).count());
  }
  result->best_seconds = *std::min_element(times.begin(), times.end());
  result->mean_seconds = std::accumulate(times.begin(), times.end(), 0.0) / repeat;
  result->median_seconds = MedianOf(std::move(times));
  if (repeat > 1 && kind.HasEvents()) result->device_seconds = DeviceSeconds(call, kind, repeat);
}

double ErrorOf(double actual, double expected) {
  if (actual == expected || (std::isnan(actual) && std::isnan(expected))) return 0;
  double error = std::abs(actual - expected);
  return std::isnan(error) ? std::numeric_limits<double>::infinity() : error;
}

}  // namespace

bool KeptUnused(const Tensor& tensor) {
  if (tensor->is_compact()) return true;
  std::vector<bool> used(tensor->storage_bytes());
  auto bytes = static_cast<int64_t>(tensor->dtype().bytes());
  for (int64_t i = 0; i < tensor->num_elements(); ++i)
    for (int64_t k = 0; k < bytes; ++k)
      used[static_cast<size_t>(tensor->PlaceOf(i) * bytes + k)] = true;
  for (size_t i = 0; i < used.size(); ++i)
    if (!used[i] && tensor.as<unsigned char>()[i] != kUnused) return false;
  return true;
}

std::vector<ffi::Any> MakeArguments(const FunctionInfo& function, const RunOptions& options,
                                    std::map<std::string, int64_t>* dims) {
  return ArgumentMaker(function, options).Make(dims);
}

RunResult RunFunction(const ffi::Function& function, const FunctionInfo& info,
                      const std::string& device, const RunOptions& options) {
  TERN_CHECK(options.repeat >= 1) << "repeat must be 1 or more, got " << options.repeat;
  const DeviceKind& kind = GetDeviceKind(device);
  kind.CheckPresent();
  RunResult result;
  std::vector<ffi::Any> args = MakeArguments(info, options, &result.dims);
  for (ffi::Any& arg : args)
    if (auto tensor = arg.TryAs<Tensor>(); tensor && kind.device_type() != kTernDeviceCpu)
      arg = tensor->CopyTo({kind.device_type(), 0});
  std::vector<ffi::AnyView> views(args.begin(), args.end());

  auto call = [&] { function.CallPacked(views); };
  call();
  kind.Synchronize(0);
  // Taken now: a function that reads what it wrote gives something else when it is called again.
  for (size_t i = 0; i < args.size(); ++i) {
    std::optional<Tensor> tensor = args[i].TryAs<Tensor>();
    result.args.push_back(tensor ? tensor->CopyTo({kTernDeviceCpu, 0}) : Tensor());
    if (tensor && !KeptUnused(result.args.back()))
      TERN_THROW(RuntimeError) << info.name << " wrote to memory of " << info.params[i].name
                               << " that holds none of its elements";
  }
  TakeTimes(call, kind, options.repeat, &result);
  return result;
}

MaxError CompareTensors(const Tensor& actual, const Tensor& expected) {
  TERN_CHECK(actual->shape() == expected->shape())
      << "shapes differ: " << ffi::ShapeText(actual->shape()) << " and "
      << ffi::ShapeText(expected->shape());
  MaxError max;
  for (int64_t i = 0; i < actual->num_elements(); ++i) {
    double reference = GetElement(expected, i);
    double error = ErrorOf(GetElement(actual, i), reference);
    if (error == 0) continue;
    double magnitude = std::abs(reference);
    max.absolute = std::max(max.absolute, error);
    if (magnitude > 0 && std::isfinite(magnitude))
      max.relative = std::max(max.relative, error / magnitude);
    max.scaled = std::max(max.scaled, std::isinf(error) ? error : error / std::max(1.0, magnitude));
  }
  return max;
}

}  // namespace tern::runtime
