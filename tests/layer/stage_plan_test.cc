// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Decisions about stages, from literals, and their application to both kinds of description.

#include "layer/stage_plan.h"
#include "layer/struct_chain.h"

#include <gtest/gtest.h>

namespace weft::layer_test {

namespace {

using namespace weft::layer;

constexpr auto compute = VK_SHADER_STAGE_COMPUTE_BIT;
constexpr StageSizes plain = {compute, false, 0}, varying = {compute, true, 0},
                     requires_16 = {compute, false, 16};
/// A driver's own sizes, and the sizes of a profile.
constexpr SizeRules free_sizes = {32, 0, false}, other_default = {32, compute, false},
                    fewer_sizes = {32, compute, true};

LoweredShader lowered(bool require_size, bool full_subgroups)
{
   LoweredShader shader;
   shader.form = Form::lowered;
   shader.words = {1, 2, 3};
   shader.require_size = require_size;
   shader.require_full_subgroups = full_subgroups;
   return shader;
}

TEST(StagePlan, OriginalsChangeOnlyTheirSize)
{
   EXPECT_EQ(plan_stage(free_sizes, plain, {}), StagePlan());
   EXPECT_EQ(plan_stage(free_sizes, varying, {}), StagePlan());
   const StagePlan sized = {.clears_varying = true, .add_required_size = 32};
   EXPECT_EQ(plan_stage(other_default, plain, {}), sized);
   EXPECT_EQ(plan_stage(other_default, varying, {}), StagePlan());
   EXPECT_EQ(plan_stage(fewer_sizes, varying, {}), sized);
   EXPECT_EQ(plan_stage(fewer_sizes, requires_16, {}), (StagePlan{.clears_varying = true}));
   EXPECT_EQ(plan_stage(fewer_sizes, {VK_SHADER_STAGE_VERTEX_BIT, true, 0}, {}), StagePlan());
}

TEST(StagePlan, ShadersWithoutMatricesOfAModuleWithThem)
{
   LoweredShader shader;
   shader.form = Form::without_matrices;
   EXPECT_EQ(plan_stage(free_sizes, varying, shader), (StagePlan{.replaces_module = true}));
   EXPECT_EQ(plan_stage(fewer_sizes, varying, shader),
             (StagePlan{.replaces_module = true, .clears_varying = true, .add_required_size = 32}));
}

TEST(StagePlan, LoweredShadersRunAtOneSize)
{
   const StagePlan all = {.replaces_module = true,
                          .drops_specialization = true,
                          .clears_varying = true,
                          .add_required_size = 32,
                          .requires_full_subgroups = true};
   for (const SizeRules &rules : {free_sizes, other_default, fewer_sizes}) {
      EXPECT_EQ(plan_stage(rules, plain, lowered(true, true)), all);
      EXPECT_EQ(plan_stage(rules, varying, lowered(true, true)), all);
      StagePlan without_size = all;
      without_size.add_required_size = 0;
      EXPECT_EQ(plan_stage(rules, requires_16, lowered(true, true)), without_size);
      // A driver with one size requires none.
      without_size.requires_full_subgroups = false;
      EXPECT_EQ(plan_stage(rules, plain, lowered(false, false)), without_size);
   }
   EXPECT_EQ(subgroup_size_of(free_sizes, plain), 32u);
   EXPECT_EQ(subgroup_size_of(free_sizes, requires_16), 16u);
}

TEST(StagePlan, IsTheSameForPipelinesAndShaderObjects)
{
   const VkPipelineShaderStageRequiredSubgroupSizeCreateInfo given = {
      .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO,
      .requiredSubgroupSize = 16};
   const VkSpecializationInfo constants = {};
   VkPipelineShaderStageCreateInfo stage = {
      .pNext = &given,
      .flags = VK_PIPELINE_SHADER_STAGE_CREATE_ALLOW_VARYING_SUBGROUP_SIZE_BIT,
      .stage = compute,
      .pSpecializationInfo = &constants};
   VkShaderCreateInfoEXT object = {.pNext = &given,
                                   .flags = VK_SHADER_CREATE_ALLOW_VARYING_SUBGROUP_SIZE_BIT_EXT,
                                   .stage = compute,
                                   .pSpecializationInfo = &constants};
   for (const StageSizes &sizes : {sizes_of(stage), sizes_of(object)}) {
      EXPECT_EQ(sizes.stage, compute);
      EXPECT_TRUE(sizes.may_vary);
      EXPECT_EQ(sizes.required_size, 16u);
   }

   const LoweredShader shader = lowered(true, true);
   const StagePlan plan = plan_stage(free_sizes, plain, shader);
   StructChain chain;
   stage.pNext = nullptr;
   apply(plan, stage, chain);
   stage.pNext = chain.head();
   EXPECT_EQ(sizes_of(stage).required_size, 32u);
   EXPECT_EQ(stage.flags, VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT);
   EXPECT_EQ(stage.pSpecializationInfo, nullptr);

   VkPipelineShaderStageRequiredSubgroupSizeCreateInfo size;
   object.pNext = nullptr;
   apply(plan, shader, object, size);
   EXPECT_EQ(sizes_of(object).required_size, 32u);
   EXPECT_EQ(object.flags, VK_SHADER_CREATE_REQUIRE_FULL_SUBGROUPS_BIT_EXT);
   EXPECT_EQ(object.pSpecializationInfo, nullptr);
   EXPECT_EQ(object.pCode, shader.words.data());
   EXPECT_EQ(object.codeSize, 12u);
}

} // namespace

} // namespace weft::layer_test
