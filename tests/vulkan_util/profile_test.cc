// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "vulkan_util/profile.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

using enum ComponentType;

constexpr MatrixOperation large = {16, 16, 16, f16, f16, f32, f32, false},
                          wide = {8, 16, 16, f16, f16, f32, f32, false},
                          small = {8, 8, 8, f16, f16, f32, f32, false};

using Operations = std::vector<MatrixOperation>;

TEST(AdvertisedOperations, SmallTilesComeFirstForSmallSubgroups)
{
   const Operations all = {large, wide, small};
   EXPECT_EQ(advertised_operations(all, nullptr, 16), all);
   EXPECT_EQ(advertised_operations(all, nullptr, 8), (Operations{wide, small, large}));
}

TEST(AdvertisedOperations, AreThoseOfTheProfileThatThereAre)
{
   EXPECT_EQ(advertised_operations({large, wide, small}, find_profile("intel"), 32),
             Operations{wide});
   EXPECT_TRUE(advertised_operations({large}, find_profile("apple"), 32).empty());
}

TEST(Profiles, AreFoundByName)
{
   EXPECT_EQ(find_profile("amd")->subgroup_size, 64u);
   EXPECT_EQ(find_profile("voodoo"), nullptr);
   EXPECT_EQ(profile_names(), "nvidia, amd, intel, apple, lavapipe");
}

} // namespace
} // namespace weft
