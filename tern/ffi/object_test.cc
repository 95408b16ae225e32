// SPDX-License-Identifier: Apache-2.0
#include "tern/ffi/object.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>
#include <vector>

namespace tern::ffi {
namespace {

class Probe : public Object {
 public:
  explicit Probe(int* destroyed) : destroyed_(destroyed) {}
  ~Probe() { ++*destroyed_; }
  static int32_t TypeIndex() { return DynamicTypeIndex("test.Probe"); }

 private:
  int* destroyed_;
};

TEST(Object, StartsWithOneStrongAndOneWeakReference) {
  int destroyed = 0;
  auto probe = Make<Probe>(&destroyed);
  EXPECT_EQ(probe->header()->count, 0x100000001u);
  EXPECT_EQ(probe->header()->type_index, DynamicTypeIndex("test.Probe"));
  EXPECT_EQ(probe->header()->padding, 0u);
  EXPECT_TRUE(probe->unique());
}

TEST(Object, SixteenZeroBytesStandBeforeIt) {
  int destroyed = 0;
  auto probe = Make<Probe>(&destroyed);
  const char* memory = reinterpret_cast<const char*>(probe->header());
  for (int i = 1; i <= 16; ++i) EXPECT_EQ(memory[-i], 0) << "byte -" << i;
}

TEST(Object, LastReferenceDestroys) {
  int destroyed = 0;
  auto a = Make<Probe>(&destroyed);
  Ref<Probe> b = a;
  EXPECT_FALSE(a->unique());
  a = nullptr;
  EXPECT_EQ(destroyed, 0);
  b = nullptr;
  EXPECT_EQ(destroyed, 1);
}

TEST(Object, WeakReferenceKeepsTheMemoryOnly) {
  // A deleter of our own sees in which steps the object goes.
  static std::vector<int> steps;
  steps.clear();
  TernObject object{kStrongOne | kWeakOne, kTernObjectBegin, 0,
                    [](void*, int flags) { steps.push_back(flags); }};
  object.count += kWeakOne;  // as a client with a weak reference does
  DecRef(&object);
  EXPECT_EQ(steps, std::vector<int>{kTernDestroy});
  EXPECT_EQ(object.count, kWeakOne);
}

TEST(Object, WithoutWeakReferencesDestroyAndFreeAreOneStep) {
  static std::vector<int> steps;
  steps.clear();
  TernObject object{kStrongOne | kWeakOne, kTernObjectBegin, 0,
                    [](void*, int flags) { steps.push_back(flags); }};
  DecRef(&object);
  EXPECT_EQ(steps, std::vector<int>{kTernDestroy | kTernFree});
}

TEST(Object, NullDeleterIsAllowed) {
  TernObject object{kStrongOne | kWeakOne, kTernObjectBegin, 0, nullptr};
  DecRef(&object);
  EXPECT_EQ(object.count, kWeakOne);
}

TEST(Object, ConstructorThatThrowsLeaksNothing) {
  struct Thrower : Object {
    Thrower() { throw std::runtime_error("no"); }
  };
  EXPECT_THROW(Make<Thrower>(), std::runtime_error);
}

TEST(Object, CountsAcrossThreads) {
  int destroyed = 0;
  auto probe = Make<Probe>(&destroyed);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([probe] {
      for (int i = 0; i < 5000; ++i) std::vector<Ref<Probe>> copies(2, probe);
    });
  for (std::thread& thread : threads) thread.join();
  threads.clear();
  EXPECT_TRUE(probe->unique());
  probe = nullptr;
  EXPECT_EQ(destroyed, 1);
}

TEST(Object, CopyIsANewObject) {
  int destroyed = 0;
  {
    auto a = Make<Probe>(&destroyed);
    std::vector<Ref<Probe>> copies(2, a);
    auto b = Make<Probe>(*a);
    EXPECT_TRUE(b->unique());
  }
  EXPECT_EQ(destroyed, 2);
}

TEST(Object, DynamicTypesAreKnownByKey) {
  int32_t index = DynamicTypeIndex("test.Named");
  EXPECT_GE(index, kTernDynamicBegin);
  EXPECT_EQ(DynamicTypeIndex("test.Named"), index);
  EXPECT_NE(DynamicTypeIndex("test.Other"), index);
  EXPECT_EQ(TypeName(index), "test.Named");
  EXPECT_EQ(TypeName(kTernTensor), "Tensor");
  EXPECT_EQ(TypeName(99), "type 99");
}

struct Link : Object {
  static constexpr bool kFormsChains = true;
  static inline int64_t alive = 0;
  Link() { ++alive; }
  ~Link() { --alive; }
  Ref<Link> next;
};

TEST(Object, AChainOfAnyLengthIsDestroyed) {
  Ref<Link> chain, other = Make<Link>();
  for (int i = 0; i < 1'000'000; ++i) {
    Ref<Link> link = Make<Link>();
    link->next = chain;
    chain = link;
  }
  EXPECT_EQ(Link::alive, 1'000'001);
  chain = other;
  EXPECT_EQ(Link::alive, 1);
  chain = {};
  other = {};
  EXPECT_EQ(Link::alive, 0);
}

}  // namespace
}  // namespace tern::ffi
