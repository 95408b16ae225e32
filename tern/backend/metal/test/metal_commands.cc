// SPDX-License-Identifier: Apache-2.0
//
// Queues, command buffers and encoders. Work is done when somebody waits for it, so what is not
// waited for is not there.
#include <chrono>
#include <cstring>
#include <map>
#include <set>

#include "tern/backend/metal/test/metal_objects.h"

namespace tern::backend::metal::standin {
namespace {

constexpr size_t kMaxOutstanding = 64;
constexpr unsigned long kMaxInlineBytes = 4096, kMaxIndex = 31;

struct Size {
  unsigned long width, height, depth;
};

std::set<Queue*>& Queues() {
  static auto* queues = new std::set<Queue*>;
  return *queues;
}

// A place for a kernel's argument: a buffer from some byte on, or bytes.
struct Binding {
  std::shared_ptr<Held<Buffer>> buffer;
  size_t offset = 0;
  std::shared_ptr<std::vector<char>> bytes;

  char* begin() const { return buffer ? (*buffer)->memory + offset : bytes->data(); }
  size_t size() const { return buffer ? (*buffer)->length - offset : bytes->size(); }
};

struct Encoder : Object {
  explicit Encoder(CommandBuffer* commands)
      : Object(Runtime::Get().GetClass("MTLComputeCommandEncoder")), commands(commands) {}
  void Dealloc() override {
    if (!is_ended) Misuse("an encoder is released before endEncoding");
    bindings.clear();
    resources.clear();
    pipeline.reset();
  }
  CommandBuffer* commands;
  bool is_ended = false;
  std::shared_ptr<Held<Pipeline>> pipeline;
  std::map<unsigned long, Binding> bindings;
  std::vector<Binding> resources;
  unsigned long dynamic_bytes = 0;
};

Encoder* Open(Object* self, const char* method) {
  auto* encoder = static_cast<Encoder*>(self);
  if (encoder->is_ended) Misuse(std::string(method) + " after endEncoding");
  return encoder;
}

CommandBuffer* Uncommitted(Object* self, const char* method) {
  auto* commands = static_cast<CommandBuffer*>(self);
  if (commands->status != CommandBuffer::kNotEnqueued)
    Misuse(std::string(method) + " after commit");
  if (commands->encoder) Misuse(std::string(method) + " while an encoder is open");
  return commands;
}

// ---- Execution.

struct Dispatch {
  std::shared_ptr<Held<Pipeline>> pipeline;
  std::map<unsigned long, Binding> bindings;
  std::vector<Binding> resources;
  unsigned long dynamic_bytes;
  tern_standin::Index grid, block;

  std::string WhyNot(const void* address, size_t bytes) const {
    const auto* place = static_cast<const char*>(address);
    std::string why = "where no buffer of the kernel is";
    auto look = [&](const Binding& binding) {
      const char *begin = binding.begin(), *end = begin + binding.size();
      if (place >= begin && place + bytes <= end) return true;
      if (place >= begin && place <= end + 4096)
        why = "from byte " + std::to_string(place - begin) + " of " +
              std::to_string(binding.size()) + " that are bound";
      return false;
    };
    for (const auto& [index, binding] : bindings)
      if (look(binding)) return "";
    for (const Binding& binding : resources)
      if (look(binding)) return "";
    return why;
  }

  std::string Run() const {
    const MslProgram::Kernel& kernel = *(*pipeline)->kernel;
    std::vector<void*> args;
    for (const MslParam& param : kernel.source.params) {
      if (param.kind != MslParam::kBuffer) continue;
      auto binding = bindings.find(param.index);
      if (binding == bindings.end())
        return "kernel " + kernel.source.name + ": nothing is bound to buffer " +
               std::to_string(param.index) + ", " + param.text;
      args.push_back(binding->second.begin());
    }
    return tern::standin::RunGrid(
               {.image = (*pipeline)->program->image.get(),
                .kernel = &kernel.code,
                .grid = grid,
                .block = block,
                .dynamic_shared_bytes = dynamic_bytes,
                .args = args.data(),
                .check_global = [this](const void* address,
                                       size_t bytes) { return WhyNot(address, bytes); }})
        .text;
  }
};

// Others' work goes on until the event has the value.
std::string WaitForEvent(Event* event, uint64_t value) {
  for (bool moves = true; moves && event->value < value;) {
    moves = false;
    for (Queue* queue : std::set<Queue*>(Queues()))
      if (event->value < value && queue->RunOne()) moves = true;
  }
  return event->value >= value ? "" : "an event is waited for that nobody signals";
}

// ---- Encoders.

void SetPipeline(Object* self, const char* method, Object* pipeline) {
  TERN_METHOD;
  Encoder* encoder = Open(self, method);
  auto* given = Argument<Pipeline>(pipeline, method, "MTLComputePipelineState");
  if (given->device != encoder->commands->queue->device)
    Misuse(std::string(method) + ": the pipeline is of another device");
  encoder->pipeline = std::make_shared<Held<Pipeline>>(given);
}

Buffer* OwnBuffer(Encoder* encoder, const char* method, Object* buffer) {
  auto* given = Argument<Buffer>(buffer, method, "MTLBuffer");
  if (given->device != encoder->commands->queue->device)
    Misuse(std::string(method) + ": the buffer is of another device");
  return given;
}

void SetBuffer(Object* self, const char* method, Object* buffer, unsigned long offset,
               unsigned long index) {
  TERN_METHOD;
  Encoder* encoder = Open(self, method);
  Buffer* given = OwnBuffer(encoder, method, buffer);
  if (index >= kMaxIndex) Misuse(std::string(method) + ": the index is beyond 30");
  if (offset >= given->length) Misuse(std::string(method) + ": the offset is beyond the buffer");
  encoder->bindings[index] = {std::make_shared<Held<Buffer>>(given), offset, nullptr};
}

void SetBytes(Object* self, const char* method, const void* bytes, unsigned long length,
              unsigned long index) {
  TERN_METHOD;
  Encoder* encoder = Open(self, method);
  if (index >= kMaxIndex) Misuse(std::string(method) + ": the index is beyond 30");
  if (!bytes || length == 0 || length > kMaxInlineBytes)
    Misuse(std::string(method) + ": takes 1 to 4096 bytes");
  const auto* start = static_cast<const char*>(bytes);
  encoder->bindings[index] = {nullptr, 0,
                              std::make_shared<std::vector<char>>(start, start + length)};
}

void UseResource(Object* self, const char* method, Object* buffer, unsigned long usage) {
  TERN_METHOD;
  Encoder* encoder = Open(self, method);
  Buffer* given = OwnBuffer(encoder, method, buffer);
  if (usage == 0 || usage > 3) Misuse(std::string(method) + ": no such usage");
  encoder->resources.push_back({std::make_shared<Held<Buffer>>(given), 0, nullptr});
}

void SetThreadgroupMemory(Object* self, const char* method, unsigned long length,
                          unsigned long index) {
  TERN_METHOD;
  Encoder* encoder = Open(self, method);
  if (length % 16 || index != 0)
    Misuse(std::string(method) + ": takes a multiple of 16 bytes, at index 0 here");
  encoder->dynamic_bytes = length;
}

void DispatchThreadgroups(Object* self, const char* method, Size grid, Size block) {
  TERN_METHOD;
  Encoder* encoder = Open(self, method);
  if (!encoder->pipeline) Misuse(std::string(method) + " without a pipeline");
  Pipeline* pipeline = encoder->pipeline->get();
  for (unsigned long extent :
       {grid.width, grid.height, grid.depth, block.width, block.height, block.depth})
    if (extent == 0 || extent > ~0u) Misuse(std::string(method) + ": an extent is 0 or too large");
  unsigned long threads = block.width * block.height * block.depth;
  if (threads > pipeline->max_threads())
    Misuse(std::string(method) + ": " + std::to_string(threads) +
           " threads, more than maxTotalThreadsPerThreadgroup, " +
           std::to_string(pipeline->max_threads()));
  if (pipeline->shared_bytes() + encoder->dynamic_bytes > kMaxThreadgroupMemory)
    Misuse(std::string(method) + ": too much threadgroup memory");
  auto index = [](const Size& size) {
    return tern_standin::Index{static_cast<unsigned>(size.width),
                               static_cast<unsigned>(size.height),
                               static_cast<unsigned>(size.depth)};
  };
  Dispatch dispatch{encoder->pipeline,      encoder->bindings, encoder->resources,
                    encoder->dynamic_bytes, index(grid),       index(block)};
  encoder->commands->works.push_back([dispatch] { return dispatch.Run(); });
}

void EndEncoding(Object* self, const char* method) {
  TERN_METHOD;
  Encoder* encoder = Open(self, method);
  encoder->is_ended = true;
  encoder->commands->encoder = nullptr;
}

// ---- Command buffers and queues.

Object* NewEncoder(Object* self, const char* method) {
  TERN_METHOD;
  CommandBuffer* commands = Uncommitted(self, method);
  auto* encoder = new Encoder(commands);
  commands->encoder = encoder;
  return Runtime::Get().Autorelease(encoder);
}

void Commit(Object* self, const char* method) {
  TERN_METHOD;
  CommandBuffer* commands = Uncommitted(self, method);
  commands->status = CommandBuffer::kCommitted;
  commands->queue->committed.emplace_back(commands);
}

void WaitUntilCompleted(Object* self, const char* method) {
  TERN_METHOD;
  auto* commands = static_cast<CommandBuffer*>(self);
  if (commands->status == CommandBuffer::kNotEnqueued)
    Misuse(std::string(method) + " before commit");
  while (commands->status == CommandBuffer::kCommitted && commands->queue->RunOne()) {
  }
}

Event* OwnEvent(CommandBuffer* commands, const char* method, Object* event) {
  auto* given = Argument<Event>(event, method, "MTLEvent");
  if (given->device != commands->queue->device)
    Misuse(std::string(method) + ": the event is of another device");
  return given;
}

void SignalEvent(Object* self, const char* method, Object* event, uint64_t value) {
  TERN_METHOD;
  CommandBuffer* commands = Uncommitted(self, method);
  Held<Event> held(OwnEvent(commands, method, event));
  commands->works.push_back([held, value] {
    if (held->value >= value) return std::string("an event is signalled with no larger value");
    held->value = value;
    return std::string();
  });
}

void WaitEvent(Object* self, const char* method, Object* event, uint64_t value) {
  TERN_METHOD;
  CommandBuffer* commands = Uncommitted(self, method);
  Held<Event> held(OwnEvent(commands, method, event));
  commands->works.push_back([held, value] { return WaitForEvent(held.get(), value); });
}

Object* NewCommandBuffer(Object* self, const char*) {
  TERN_METHOD;
  auto* queue = static_cast<Queue*>(self);
  while (queue->committed.size() >= kMaxOutstanding) queue->RunOne();
  return Runtime::Get().Autorelease(new CommandBuffer(queue));
}

Object* ErrorOf(Object* self, const char*) {
  TERN_METHOD;
  auto* commands = static_cast<CommandBuffer*>(self);
  return commands->status == CommandBuffer::kError ? MakeError(commands->error) : nullptr;
}

}  // namespace

Queue::Queue(Device* device) : Object(Runtime::Get().GetClass("MTLCommandQueue")), device(device) {
  Queues().insert(this);
}
void Queue::Dealloc() { Queues().erase(this); }

bool Queue::RunOne() {
  if (committed.empty() || is_running) return false;
  is_running = true;
  Held<CommandBuffer> front = committed.front();
  front->Run();
  committed.pop_front();
  is_running = false;
  return true;
}

CommandBuffer::CommandBuffer(Queue* queue)
    : Object(Runtime::Get().GetClass("MTLCommandBuffer")), queue(queue) {}

void CommandBuffer::Run() {
  for (const Work& work : works)
    if (error.empty()) error = work();
  works.clear();
  status = error.empty() ? kCompleted : kError;
  auto now = std::chrono::steady_clock::now().time_since_epoch();
  end_time = std::chrono::duration<double>(now).count();
}

void CommandBuffer::Dealloc() {
  if (encoder) Misuse("a command buffer is released while an encoder is open");
  works.clear();
  queue.Reset();
}

Object* MakeQueue(Device* device) { return new Queue(device); }

void RegisterCommands(Runtime& runtime) {
  runtime.GetClass("MTLCommandQueue")->Add("commandBuffer", NewCommandBuffer);
  Class* commands = runtime.GetClass("MTLCommandBuffer");
  commands->Add("computeCommandEncoder", NewEncoder);
  commands->Add("commit", Commit);
  commands->Add("waitUntilCompleted", WaitUntilCompleted);
  commands->Add(
      "status", +[](Object* self, const char*) -> unsigned long {
        TERN_METHOD;
        return static_cast<CommandBuffer*>(self)->status;
      });
  commands->Add("error", ErrorOf);
  commands->Add(
      "GPUEndTime", +[](Object* self, const char* method) {
        TERN_METHOD;
        auto* done = static_cast<CommandBuffer*>(self);
        if (done->status < CommandBuffer::kCompleted)
          Misuse(std::string(method) + " before it is completed");
        return done->end_time;
      });
  commands->Add("encodeSignalEvent:value:", SignalEvent);
  commands->Add("encodeWaitForEvent:value:", WaitEvent);
  Class* encoder = runtime.GetClass("MTLComputeCommandEncoder");
  encoder->Add("setComputePipelineState:", SetPipeline);
  encoder->Add("setBuffer:offset:atIndex:", SetBuffer);
  encoder->Add("setBytes:length:atIndex:", SetBytes);
  encoder->Add("useResource:usage:", UseResource);
  encoder->Add("setThreadgroupMemoryLength:atIndex:", SetThreadgroupMemory);
  encoder->Add("dispatchThreadgroups:threadsPerThreadgroup:", DispatchThreadgroups);
  encoder->Add("endEncoding", EndEncoding);
}

}  // namespace tern::backend::metal::standin
