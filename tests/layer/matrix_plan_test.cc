// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Plans of drivers that are described in full here, without an instance or a fake driver.

#include "layer/plan/matrix_plan.h"
#include "layer/plan/plan_settings.h"
#include "tests/layer/fake_compiler.h"

#include <gtest/gtest.h>

namespace weft::layer_test {

namespace {

using namespace weft::layer;

class MatrixPlanTest : public testing::Test {
protected:
   /// A driver of Vulkan 1.3 without matrices, with subgroups of 8 to 32.
   MatrixPlanTest()
   {
      facts.version = VK_API_VERSION_1_3;
      facts.has_queries = true;
      facts.has_compute_queue = true;
      facts.features.set(Feature::vulkan_memory_model, true);
      facts.features.set(Feature::subgroup_size_control, true);
      facts.subgroups.size = 32;
      facts.subgroups.stages = VK_SHADER_STAGE_COMPUTE_BIT;
      facts.subgroups.operations = VK_SUBGROUP_FEATURE_BASIC_BIT | VK_SUBGROUP_FEATURE_SHUFFLE_BIT;
      facts.subgroups.min_size = 8;
      facts.subgroups.max_size = 32;
      facts.subgroups.requirable_stages = VK_SHADER_STAGE_COMPUTE_BIT;
      facts.subgroups.max_per_workgroup = 32;
      facts.max_workgroup_invocations = 1024;
      facts.max_shared_bytes = 32768;
   }

   /// Adds the driver's own VK_KHR_cooperative_matrix, with one operation that the compiler lacks.
   void add_native_matrices()
   {
      facts.native_extensions.add(Extension::khr_cooperative_matrix);
      facts.listed_matrices = {{
         .MSize = 7,
         .NSize = 7,
         .KSize = 7,
         .AType = VK_COMPONENT_TYPE_FLOAT16_KHR,
         .BType = VK_COMPONENT_TYPE_FLOAT16_KHR,
         .CType = VK_COMPONENT_TYPE_FLOAT32_KHR,
         .ResultType = VK_COMPONENT_TYPE_FLOAT32_KHR,
         .scope = VK_SCOPE_SUBGROUP_KHR,
      }};
   }

   MatrixPlan plan() const { return plan_matrices(facts, settings); }
   Support support_of_matrices() const
   {
      return plan().support_of(Extension::khr_cooperative_matrix);
   }

   FakeCompiler compiler;
   DriverFacts facts;
   PlanSettings settings;
};

TEST_F(MatrixPlanTest, DriverWithoutMatrices)
{
   const MatrixPlan made = plan();
   EXPECT_EQ(made.reason, "");
   EXPECT_EQ(support_of_matrices(), Support::lowered);
   EXPECT_EQ(made.operations, compiler.operations);
   EXPECT_EQ(made.subgroup_size, 32u);
   EXPECT_FALSE(made.subgroups_are_blocks);
   EXPECT_EQ(made.staging_bytes, 8192u);
   EXPECT_FALSE(made.flexible.empty());
}

TEST_F(MatrixPlanTest, ReasonsAgainstLowering)
{
   const auto reason_after = [&](auto change) {
      const DriverFacts before = facts;
      change();
      const MatrixPlan made = plan();
      facts = before;
      EXPECT_FALSE(made.lowers_any());
      return made.reason;
   };
   EXPECT_EQ(reason_after([&] { facts.has_queries = false; }),
             "neither Vulkan 1.1 nor VK_KHR_get_physical_device_properties2 is on");
   EXPECT_EQ(reason_after([&] { facts.version = VK_API_VERSION_1_0; }),
             "the application or the driver is below Vulkan 1.1");
   EXPECT_EQ(reason_after([&] { facts.has_compute_queue = false; }), "no compute queue");
   EXPECT_EQ(reason_after([&] { facts.subgroups.stages = VK_SHADER_STAGE_VERTEX_BIT; }),
             "no subgroup operations in compute shaders");
   EXPECT_EQ(reason_after([&] { facts.features.set(Feature::vulkan_memory_model, false); }),
             "no vulkanMemoryModel");
   EXPECT_EQ(reason_after([&] { facts.subgroups.size = 2; }), "subgroups of 2 invocations");
   settings.refused = "a setting";
   EXPECT_EQ(reason_after([] {}), "a setting");
}

TEST_F(MatrixPlanTest, DriverWithMatrices)
{
   add_native_matrices();
   const MatrixPlan made = plan();
   EXPECT_EQ(made.support_of(Extension::khr_cooperative_matrix), Support::extended);
   EXPECT_EQ(made.native_properties.size(), 1u);
   ASSERT_EQ(made.operations.size(), compiler.operations.size() + 1);
   EXPECT_EQ(made.operations.back().k, 7u);

   compiler.operations.clear();
   EXPECT_EQ(support_of_matrices(), Support::native);
}

TEST_F(MatrixPlanTest, RegistersHideTheDriversMatrices)
{
   add_native_matrices();
   settings.lowering = Lowering::registers;
   const MatrixPlan made = plan();
   EXPECT_TRUE(made.native_hidden);
   EXPECT_EQ(made.support_of(Extension::khr_cooperative_matrix), Support::lowered);
   EXPECT_TRUE(made.native_properties.empty());
   EXPECT_TRUE(made.native_operations.empty());
   EXPECT_EQ(made.operations, compiler.operations);
}

TEST_F(MatrixPlanTest, CpusLoseByMatrices)
{
   facts.device_type = VK_PHYSICAL_DEVICE_TYPE_CPU;
   EXPECT_EQ(support_of_matrices(), Support::lowered);
   settings.lowering = Lowering::gain;
   const MatrixPlan made = plan();
   EXPECT_FALSE(made.lowers_any());
   for (const Extension extension :
        {Extension::khr_cooperative_matrix, Extension::nv_cooperative_matrix2})
      EXPECT_NE(made.why_absent(extension).find("WEFT_LOWERING=gain"), std::string::npos);
   // The driver keeps its own.
   add_native_matrices();
   EXPECT_EQ(support_of_matrices(), Support::native);
   settings.lowering = Lowering::automatic;
   EXPECT_EQ(support_of_matrices(), Support::extended);
   settings.lowering = Lowering::tiles;
   EXPECT_EQ(support_of_matrices(), Support::extended);
   settings.lowering = Lowering::registers;
   EXPECT_EQ(support_of_matrices(), Support::lowered);
   // A profile requests the vendor's matrices.
   settings.lowering = Lowering::gain;
   settings.profile = find_profile("nvidia");
   EXPECT_EQ(support_of_matrices(), Support::lowered);
}

TEST_F(MatrixPlanTest, FirstMatricesOfNvidiaInSubgroupsOf32)
{
   const auto support = [&](uint32_t size) {
      facts.subgroups.size = size;
      facts.subgroups.max_size = 64;
      EXPECT_EQ(support_of_matrices(), Support::lowered);
      return plan().support_of(Extension::nv_cooperative_matrix);
   };
   EXPECT_EQ(support(64), Support::lowered);
   settings.lowering = Lowering::gain;
   EXPECT_EQ(support(32), Support::lowered);
   EXPECT_EQ(support(16), Support::absent);
   EXPECT_EQ(support(64), Support::absent);
}

TEST_F(MatrixPlanTest, WorkgroupsThatTheDriverLists)
{
   add_native_matrices();
   facts.native_extensions.add(Extension::nv_cooperative_matrix2);
   facts.listed_workgroups = {64, 2048};
   for (const FlexibleOperation &operation : plan().flexible)
      EXPECT_TRUE(operation.workgroup_invocations == 0 || operation.workgroup_invocations == 64);
   EXPECT_TRUE(std::ranges::any_of(plan().flexible, [](const FlexibleOperation &operation) {
      return operation.workgroup_invocations == 64;
   }));
}

TEST_F(MatrixPlanTest, NoSizeCanBeRequired)
{
   facts.subgroups.requirable_stages = 0;
   const MatrixPlan made = plan();
   EXPECT_TRUE(made.subgroups_are_blocks);
   EXPECT_EQ(made.support_of(Extension::khr_cooperative_matrix), Support::lowered);
   EXPECT_EQ(made.support_of(Extension::nv_cooperative_matrix2), Support::absent);
   EXPECT_NE(made.why_absent(Extension::nv_cooperative_matrix2), "");
}

} // namespace

} // namespace weft::layer_test
