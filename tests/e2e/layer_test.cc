// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Whether Weft's layer is where a run of these tests wants it (WEFT_TEST_LAYER): without it, tests of matrices above a
/// driver that has none would have nothing to do and pass.

#include "tests/e2e/cases.h"

#include <cstdlib>
#include <string>

namespace weft::e2e {

TEST(layer, is_where_it_should_be)
{
   const char *wanted = getenv("WEFT_TEST_LAYER");
   if (!wanted)
      GTEST_SKIP() << "WEFT_TEST_LAYER is not set";
   const Device &device = plain_device();
   const bool lowers = wanted == std::string("lowers");
   ASSERT_TRUE(lowers || wanted == std::string("aside")) << wanted;
   EXPECT_EQ(device.has_weft_layer, lowers);
   EXPECT_FALSE(device.matrix_properties.empty());
   EXPECT_TRUE(device.matrix_features.cooperativeMatrix);
   count_case();
}

} // namespace weft::e2e
