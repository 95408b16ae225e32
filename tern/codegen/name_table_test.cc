// SPDX-License-Identifier: Apache-2.0
#include "tern/codegen/name_table.h"

#include <gtest/gtest.h>

namespace tern::codegen {
namespace {

TEST(NameTable, KeepsLegalNamesAndMendsOthers) {
  NameTable names;
  EXPECT_EQ(names.Define("A"), "A");
  EXPECT_EQ(names.Define("A.data"), "A_data");
  EXPECT_EQ(names.Define("2nd"), "v_2nd");
  EXPECT_EQ(names.Define(""), "v_");
  EXPECT_EQ(names.Define("caf\xc3\xa9"), "caf__");
}

TEST(NameTable, LeavesReservedNamesAlone) {
  NameTable names;
  names.Reserve("double int");
  EXPECT_EQ(names.Define("double"), "double_1");
  EXPECT_EQ(names.Define("_x"), "v__x");
  EXPECT_EQ(names.Define("tern_min_i32"), "v_tern_min_i32");
  EXPECT_EQ(names.Define("TernAny"), "v_TernAny");
  EXPECT_FALSE(names.IsLegal("double"));
  EXPECT_FALSE(names.IsLegal("a.b"));
  EXPECT_TRUE(names.IsLegal("add_kernel"));
}

TEST(NameTable, ANameIsFreeAgainAfterItsScope) {
  NameTable names;
  names.Define("n");
  {
    NameTable::Scope scope(names);
    EXPECT_EQ(names.Define("i"), "i");
    EXPECT_EQ(names.Define("i"), "i_1");
    EXPECT_EQ(names.Define("n"), "n_1");
  }
  EXPECT_EQ(names.Define("i"), "i");
  EXPECT_EQ(names.Define("n"), "n_1");
}

TEST(NameTable, AnOutermostNameLastsUntilTheLastScopeEnds) {
  NameTable names;
  names.Define("n");
  {
    NameTable::Scope function(names);
    {
      NameTable::Scope loop(names);
      EXPECT_EQ(names.DefineOutermost("tile"), "tile");
    }
    EXPECT_EQ(names.Define("tile"), "tile_1");
    EXPECT_EQ(names.DefineOutermost("tile"), "tile_2");
  }
  EXPECT_EQ(names.Define("tile"), "tile");
}

TEST(NameTable, TheFirstFreeNumberIsTakenAgain) {
  NameTable names;
  names.Define("i");
  {
    NameTable::Scope scope(names);
    EXPECT_EQ(names.Define("i_1"), "i_1");
    EXPECT_EQ(names.Define("i"), "i_2");
  }
  EXPECT_EQ(names.Define("i"), "i_1");
  EXPECT_EQ(names.Define("i"), "i_2");
}

TEST(NameTable, ADerivedNameAvoidsOneThatWasAskedFor) {
  NameTable names;
  EXPECT_EQ(names.Define("i_1"), "i_1");
  EXPECT_EQ(names.Define("i"), "i");
  EXPECT_EQ(names.Define("i"), "i_2");
}

}  // namespace
}  // namespace tern::codegen
