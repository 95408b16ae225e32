// SPDX-License-Identifier: Apache-2.0
#include "tern/target/target.h"

#include <gtest/gtest.h>

#include <thread>

namespace tern::target {
namespace {

// Kinds of this test: a host that is never the default where there is another, and a device.
class TargetTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    TargetKind host;
    host.name = "testhost";
    host.device = "cpu";
    host.host_rank = -1;
    host.attrs["cpu"] = {AttrSpec::Type::kString, "generic", "", {}};
    RegisterTargetKind(host);
    TargetKind device;
    device.name = "testdev";
    device.role = Role::kDevice;
    device.attrs["threads"] = {AttrSpec::Type::kInt, 64, "", [](const ffi::Any& value) {
                                 TERN_CHECK(value.As<int64_t>() > 0) << "threads must be positive";
                               }};
    device.attrs["fast"] = {AttrSpec::Type::kBool, {}, "", {}};
    device.tags["test/board"] = "testdev -threads=128 -fast=true";
    RegisterTargetKind(device);
  }

  static std::string ErrorOf(std::string_view text) {
    try {
      Target::Parse(text);
    } catch (const Error& error) {
      return error.message();
    }
    ADD_FAILURE() << "no error for " << text;
    return "";
  }
};

TEST_F(TargetTest, TakesAFlagByItsName) {
  EXPECT_TRUE(Target::Parse("testdev -fast")->attrs.at("fast").As<bool>());
  EXPECT_EQ(Target::Parse("testdev -fast")->str(), Target::Parse("testdev -fast=true")->str());
  EXPECT_EQ(ErrorOf("testdev -threads"),
            "target \"testdev -threads\": expected -name=value, got '-threads'");
  EXPECT_EQ(ErrorOf("testdev ''"), "target \"testdev ''\": expected -name=value, got ''");
}

TEST_F(TargetTest, FillsDefaultsIn) {
  Target target = Target::Parse("testdev");
  EXPECT_EQ(target->GetInt("threads"), 64);
  EXPECT_EQ(target->host->str(), Target::DefaultHost()->str());
  EXPECT_EQ(Target::Parse("testhost")->GetString("cpu"), "generic");
  EXPECT_EQ(target->GetString("fast", "absent"), "absent");
}

TEST_F(TargetTest, ReadsWordsTagsAndJson) {
  for (const char* text :
       {"testdev -threads=128 -fast=true", "test/board", "  testdev  -fast=1 -threads=128 ",
        R"({"kind": "testdev", "threads": 128, "fast": true})"}) {
    Target target = Target::Parse(text);
    EXPECT_EQ(target->GetInt("threads"), 128) << text;
    EXPECT_TRUE(target->attrs.at("fast").As<bool>()) << text;
  }
  // What follows a tag overrides it.
  EXPECT_EQ(Target::Parse("test/board -threads=32")->GetInt("threads"), 32);
}

TEST_F(TargetTest, PrintsWhatParsesBack) {
  for (const char* text : {"testdev", "testdev -threads=3", "testdev -fast=false -threads=1",
                           "testdev -host='testhost -cpu=big'", "testhost -cpu='a b'"}) {
    EXPECT_EQ(Target::Parse(text)->str(), text);
    EXPECT_EQ(Target::Parse(Target::Parse(text)->str())->str(), text);
  }
  EXPECT_EQ(Target::Parse("testdev -threads=64")->str(), "testdev");
}

TEST_F(TargetTest, HostIsGivenOnce) {
  EXPECT_EQ(Target::Parse("testdev", "testhost -cpu=x")->host->GetString("cpu"), "x");
  EXPECT_EQ(ErrorOf("testdev -host=testdev"),
            "target testdev: the host is testdev, which is a device");
  EXPECT_EQ(ErrorOf("testhost -host=testhost"), "target testhost is a host and takes none");
}

TEST_F(TargetTest, ErrorsTeach) {
  EXPECT_NE(ErrorOf("testdew").find("unknown target 'testdew' (did you mean testdev"),
            std::string::npos);
  // Tags are named where they are near, and only there: there are many.
  EXPECT_EQ(ErrorOf("testdew").find("test/board"), std::string::npos);
  EXPECT_NE(ErrorOf("testdew").find("`tern targets` lists the tags too"), std::string::npos);
  EXPECT_EQ(ErrorOf("testdev -threads=2 -threads=3"),
            "target \"testdev -threads=2 -threads=3\": -threads is given twice");
  EXPECT_NE(ErrorOf("test/bord").find("did you mean test/board"), std::string::npos);
  EXPECT_EQ(
      ErrorOf("testdev -thread=3"),
      "target testdev has no attribute -thread (did you mean threads?); it has -fast, -threads");
  EXPECT_EQ(ErrorOf("testdev -threads=many"), "target testdev: -threads=many: expected an integer");
  EXPECT_EQ(ErrorOf("testdev -threads=0"), "threads must be positive");
  EXPECT_EQ(ErrorOf("testdev threads"),
            "target \"testdev threads\": expected -name=value, got 'threads'");
  EXPECT_NE(ErrorOf("").find("the target is empty"), std::string::npos);
  EXPECT_NE(ErrorOf("testdev -host='x").find("not closed"), std::string::npos);
  EXPECT_EQ(ErrorOf(R"({"threads": 3})"), "a target in JSON needs \"kind\"");
  EXPECT_EQ(ErrorOf(R"({"kind": "testdev", "threads": "3"})"),
            "target testdev: attribute threads: expected an integer");
}

TEST_F(TargetTest, ScopeIsPerThreadAndNests) {
  EXPECT_FALSE(CurrentTarget());
  TargetScope outer(Target::Parse("testdev"));
  {
    TargetScope inner(Target::Parse("testhost"));
    EXPECT_EQ(CurrentTarget()->kind->name, "testhost");
  }
  EXPECT_EQ(CurrentTarget()->kind->name, "testdev");
  std::thread([] { EXPECT_FALSE(CurrentTarget()); }).join();
}

}  // namespace
}  // namespace tern::target
