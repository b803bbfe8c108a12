// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "icd/settings.h"
#include "tests/parse_variables.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

Settings parse(std::map<std::string, std::string> variables, size_t problem_count = 0)
{
   return test::parse_variables(parse_settings, std::move(variables), problem_count);
}

TEST(Settings, HaveDefaults)
{
   const Settings settings = parse({});
   EXPECT_EQ(settings.subgroup_size, 0u);
   EXPECT_EQ(settings.default_subgroup_size(), 32u);
   EXPECT_EQ(settings.profile, nullptr);
   EXPECT_EQ(settings.spirv_folder, "");
   EXPECT_EQ(parse({{"WEFT_DUMP_SPIRV", "/tmp/shaders"}}).spirv_folder, "/tmp/shaders");
   // Empty is the same as not set.
   EXPECT_EQ(parse({{"WEFT_SUBGROUP_SIZE", ""}, {"WEFT_PROFILE", ""}}).subgroup_size, 0u);
}

TEST(Settings, TakeSubgroupSizes)
{
   for (const uint32_t size : {8u, 16u, 32u, 64u})
      EXPECT_EQ(parse({{"WEFT_SUBGROUP_SIZE", std::to_string(size)}}).subgroup_size, size);
   for (const char *wrong : {"0", "4", "24", "128", "-8", "16x", "x"})
      EXPECT_EQ(parse({{"WEFT_SUBGROUP_SIZE", wrong}}, 1).subgroup_size, 0u) << wrong;
}

TEST(Settings, TakeThePauseOfPolls)
{
   EXPECT_EQ(parse({}).poll_pause_us, 1000u);
   EXPECT_EQ(parse({{"WEFT_POLL_PAUSE", "0"}}).poll_pause_us, 0u);
   EXPECT_EQ(parse({{"WEFT_POLL_PAUSE", "70"}}).poll_pause_us, 70u);
   for (const char *wrong : {"-1", "10001", "5us", "x", "99999999999"})
      EXPECT_EQ(parse({{"WEFT_POLL_PAUSE", wrong}}, 1).poll_pause_us, 1000u) << wrong;
}

TEST(Settings, TakeTheSubgroupSizeOfTheProfile)
{
   EXPECT_EQ(parse({{"WEFT_PROFILE", "amd"}}).default_subgroup_size(), 64u);
   EXPECT_EQ(parse({{"WEFT_PROFILE", "amd"}, {"WEFT_SUBGROUP_SIZE", "16"}}).default_subgroup_size(),
             16u);
}

TEST(Settings, TakeTheDriversOwnProfileFirst)
{
   const Profile *nvidia = find_profile("nvidia"), *intel = find_profile("intel");
   ASSERT_NE(nvidia, nullptr);
   ASSERT_NE(intel, nullptr);
   EXPECT_EQ(parse({{"WEFT_PROFILE", "nvidia"}}).profile, nvidia);
   EXPECT_EQ(parse({{"WEFT_PROFILE", "nvidia"}, {"WEFT_ICD_PROFILE", "intel"}}).profile, intel);
   EXPECT_EQ(parse({{"WEFT_PROFILE", "nvidia"}, {"WEFT_ICD_PROFILE", "none"}}).profile, nullptr);
   EXPECT_EQ(parse({{"WEFT_PROFILE", "voodoo"}}, 1).profile, nullptr);
   EXPECT_EQ(parse({{"WEFT_PROFILE", "nvidia"}}).identity, nullptr);
   EXPECT_EQ(parse({{"WEFT_PROFILE", "nvidia+identity"}}).profile, nvidia);
   EXPECT_EQ(parse({{"WEFT_PROFILE", "nvidia+identity"}}).identity, nvidia->identity);
}

/// RADV's accumulators have the layout of tiles.
TEST(Settings, RefuseAnIdentityThatMatricesInRegistersDoNotFit)
{
   const Settings tiles = parse({{"WEFT_PROFILE", "amd+identity"}, {"WEFT_DEBUG", "log,nir"}});
   EXPECT_EQ(tiles.identity, find_profile("amd")->identity);
   const Settings registers =
      parse({{"WEFT_PROFILE", "amd+identity"}, {"WEFT_DEBUG", "log,registers"}}, 1);
   EXPECT_EQ(registers.identity, nullptr);
   EXPECT_EQ(registers.profile, nullptr);
   EXPECT_NE(parse({{"WEFT_PROFILE", "intel+identity"}, {"WEFT_DEBUG", "registers"}}).identity,
             nullptr);
}

TEST(Settings, TakeTheTypeOfDevice)
{
   EXPECT_FALSE(parse({}).integrated_gpu);
   EXPECT_FALSE(parse({{"WEFT_DEVICE_TYPE", "cpu"}}).integrated_gpu);
   EXPECT_TRUE(parse({{"WEFT_DEVICE_TYPE", "integrated-gpu"}}).integrated_gpu);
   EXPECT_FALSE(parse({{"WEFT_DEVICE_TYPE", "teapot"}}, 1).integrated_gpu);
   EXPECT_FALSE(parse({{"WEFT_QUEUE", "compute"}}).graphics_queue);
   EXPECT_TRUE(parse({{"WEFT_QUEUE", "graphics"}}).graphics_queue);
   EXPECT_FALSE(parse({{"WEFT_QUEUE", "cashier"}}, 1).graphics_queue);
}

TEST(Settings, TakeFeaturesToHide)
{
   EXPECT_FALSE(parse({}).hides_float16 || parse({}).hides_int16);
   const Settings both = parse({{"WEFT_ICD_HIDE", "float16,int16"}});
   EXPECT_TRUE(both.hides_float16 && both.hides_int16);
   const Settings one = parse({{"WEFT_ICD_HIDE", "int16,teapots"}}, 1);
   EXPECT_TRUE(!one.hides_float16 && one.hides_int16);
   const Settings storage = parse({{"WEFT_ICD_HIDE", "storage8,storage16,int8"}});
   EXPECT_TRUE(storage.hides_storage8 && storage.hides_storage16 && storage.hides_int8);
   EXPECT_FALSE(one.hides_storage8 || one.hides_storage16 || one.hides_int8);
   EXPECT_FALSE(one.hides_subgroup_sizes);
   EXPECT_TRUE(parse({{"WEFT_ICD_HIDE", "subgroup-sizes"}}).hides_subgroup_sizes);
}

} // namespace
} // namespace weft
