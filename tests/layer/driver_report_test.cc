// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Converts a driver's facts to JSON and back. The facts are literals, or come from the layer's
/// query.

#include "layer/plan/driver_report.h"
#include "layer/plan/matrix_plan.h"
#include "layer/plan/plan_text.h"
#include "tests/layer/fixture.h"

#include <nlohmann/json.hpp>

namespace weft::layer_test {

namespace {

using namespace weft::layer;
using Json = nlohmann::ordered_json;

/// A driver with matrices, whose members all differ from the defaults.
DriverFacts facts_of_driver()
{
   DriverFacts facts;
   facts.name = "A device \"of\" Wëft";
   facts.driver_name = "driver, 1.2";
   facts.driver_id = VK_DRIVER_ID_MESA_RADV;
   facts.driver_version = 0xffffffff;
   facts.device_type = VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU;
   facts.version = VK_MAKE_API_VERSION(0, 1, 3, 290);
   facts.has_queries = facts.has_compute_queue = true;
   facts.extensions = {{VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME, 2}, {"VK_EXT_other", 7}};
   facts.native_extensions.add(Extension::khr_cooperative_matrix);
   for (const Feature feature : {Feature::vulkan_memory_model, Feature::subgroup_size_control,
                                 Feature::robust_buffer_access_2})
      facts.features.set(feature, true);
   facts.subgroups = {.size = 32,
                      .min_size = 8,
                      .max_size = 64,
                      .operations = 0xff,
                      .stages = VK_SHADER_STAGE_COMPUTE_BIT,
                      .requirable_stages = VK_SHADER_STAGE_ALL,
                      .max_per_workgroup = UINT32_MAX};
   facts.preserves_nan_16 = facts.preserves_nan_64 = true;
   facts.max_workgroup_invocations = 1024;
   facts.max_shared_bytes = 65536;
   facts.listed_matrices = {{
      .sType = VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_KHR,
      .MSize = 16,
      .NSize = 8,
      .KSize = 4,
      .AType = VK_COMPONENT_TYPE_FLOAT16_KHR,
      .BType = VK_COMPONENT_TYPE_FLOAT8_E4M3_EXT,
      .CType = VK_COMPONENT_TYPE_FLOAT32_KHR,
      .ResultType = VK_COMPONENT_TYPE_SINT32_KHR,
      .saturatingAccumulation = VK_TRUE,
      .scope = VK_SCOPE_SUBGROUP_KHR,
   }};
   facts.listed_workgroups = {64, 128};
   return facts;
}

Json report_of_driver()
{
   return Json::parse(write_driver_report(facts_of_driver()));
}

/// The problem of a report; empty without one.
std::string problem_of(const std::string &text)
{
   const Result<DriverFacts> facts = read_driver_report(text);
   return facts ? "" : facts.error().message;
}
std::string problem_in(const Json &report)
{
   return problem_of(report.dump());
}

TEST(DriverReport, ReturnsEveryMember)
{
   const DriverFacts facts = facts_of_driver();
   const Result<DriverFacts> read = read_driver_report(write_driver_report(facts));
   ASSERT_TRUE(read) << read.error().message;
   EXPECT_EQ(write_driver_report(*read), write_driver_report(facts));
   EXPECT_EQ(read->name, facts.name);
   EXPECT_EQ(read->driver_id, facts.driver_id);
   EXPECT_EQ(read->driver_version, facts.driver_version);
   EXPECT_EQ(read->device_type, facts.device_type);
   EXPECT_EQ(read->version, facts.version);
   EXPECT_TRUE(read->has_queries && read->has_compute_queue);
   EXPECT_TRUE(read->has_extension("VK_EXT_other"));
   EXPECT_TRUE(read->native_extensions.has(Extension::khr_cooperative_matrix));
   EXPECT_EQ(read->features, facts.features);
   EXPECT_EQ(read->subgroups, facts.subgroups);
   EXPECT_TRUE(read->preserves_nan_16 && !read->preserves_nan_32 && read->preserves_nan_64);
   EXPECT_EQ(read->max_workgroup_invocations, 1024u);
   EXPECT_EQ(read->max_shared_bytes, 65536u);
   ASSERT_EQ(read->listed_matrices.size(), 1u);
   EXPECT_EQ(memcmp(&read->listed_matrices[0], &facts.listed_matrices[0],
                    sizeof(VkCooperativeMatrixPropertiesKHR)),
             0);
   EXPECT_EQ(read->listed_workgroups, facts.listed_workgroups);

   // A driver of Vulkan 1.0 has few facts.
   DriverFacts old;
   old.version = VK_API_VERSION_1_0;
   old.max_workgroup_invocations = 128;
   EXPECT_EQ(problem_of(write_driver_report(old)), "");
}

TEST(DriverReport, NamesWithBytesThatAreNoText)
{
   DriverFacts facts = facts_of_driver();
   facts.name = "\xff\xfe";
   EXPECT_EQ(problem_of(write_driver_report(facts)), "");
}

TEST(DriverReport, MissingAndUnknownMembers)
{
   const Json whole = report_of_driver();
   for (const auto &[name, value] : whole.items()) {
      Json report = whole;
      report.erase(name);
      EXPECT_EQ(problem_in(report), name + " is missing");
      // No member accepts this value.
      report = whole;
      report[name] = -1.5;
      EXPECT_EQ(problem_in(report).rfind(name, 0), 0u) << problem_in(report);
   }
   for (const auto &[name, value] : whole["matrices"][0].items()) {
      Json report = whole;
      report["matrices"][0].erase(name);
      EXPECT_EQ(problem_in(report), "matrices[0]: " + name + " is missing");
   }
   Json report = whole;
   report["subgroupsize"] = 32;
   EXPECT_EQ(problem_in(report), "unknown member 'subgroupsize'");
}

TEST(DriverReport, ImplausibleMembers)
{
   const auto problem_with = [](const char *name, const Json &value) {
      Json report = report_of_driver();
      report[name] = value;
      return problem_in(report);
   };
   EXPECT_EQ(problem_with("weftDriverReport", 3),
             "a report of format 3; this version reads format 2");
   EXPECT_EQ(problem_with("apiVersion", "1.3"),
             "apiVersion is no version of Vulkan, such as \"1.3.290\"");
   EXPECT_NE(problem_with("apiVersion", "9.3.1"), "");
   EXPECT_NE(problem_with("apiVersion", "1.3.290x"), "");
   EXPECT_EQ(problem_with("subgroupSize", 24), "subgroupSize is no power of two up to 128");
   EXPECT_EQ(problem_with("subgroupSize", 0),
             "subgroupSize is outside of minSubgroupSize to maxSubgroupSize");
   EXPECT_EQ(problem_with("maxSubgroupSize", 1024),
             "minSubgroupSize or maxSubgroupSize is no power of two up to 128");
   EXPECT_EQ(problem_with("minSubgroupSize", 64),
             "subgroupSize is outside of minSubgroupSize to maxSubgroupSize");
   EXPECT_EQ(problem_with("maxComputeWorkGroupInvocations", 0),
             "maxComputeWorkGroupInvocations is 0");
   EXPECT_EQ(problem_with("maxComputeSharedMemorySize", uint64_t(1) << 32),
             "maxComputeSharedMemorySize is not a whole number of 32 bits");
   EXPECT_EQ(problem_with("driverID", 0x80000000), "driverID is too large");
   EXPECT_EQ(problem_with("features", {"vulkanMemoryModel", "teapot"}),
             "features: unknown name \"teapot\"");
   EXPECT_EQ(problem_with("features", {1}), "features: unknown name 1");
   EXPECT_EQ(problem_with("matrixExtensions", {"VK_KHR_cooperative_matrix", "VK_KHR_swapchain"}),
             "matrixExtensions: unknown name \"VK_KHR_swapchain\"");
   EXPECT_EQ(problem_with("extensions", Json::object()),
             "matrixExtensions has VK_KHR_cooperative_matrix, extensions has not");
   EXPECT_EQ(problem_with("extensions", {{std::string(300, 'x'), 1}}),
             "extensions: a name of 300 letters");
   EXPECT_EQ(problem_with("matrixExtensions", Json::array()),
             "matrices without VK_KHR_cooperative_matrix");
   EXPECT_EQ(problem_with("matrices", {1}), "matrices[0]: not an object");
   EXPECT_EQ(problem_with("matrixWorkgroups", {-1}),
             "matrixWorkgroups is not a whole number of 32 bits");
   Json report = report_of_driver();
   report["matrices"][0]["KSize"] = 0;
   EXPECT_EQ(problem_in(report), "matrices[0]: a size of 0");
}

TEST(DriverReport, TextThatIsNoReport)
{
   EXPECT_NE(problem_of("{\n\"weftDriverReport\": 2,\n}").find("line 3"), std::string::npos);
   EXPECT_NE(problem_of(""), "");
   EXPECT_EQ(problem_of("[]"), "not an object");
   EXPECT_EQ(problem_of("{}"), "weftDriverReport is missing");
   const std::string whole = write_driver_report(facts_of_driver());
   for (size_t size = 0; size + 2 < whole.size(); size += 7)
      EXPECT_NE(problem_of(whole.substr(0, size)), "");
   EXPECT_NE(problem_of(std::string(100000, '[')), "");
}

class DriverReportQuery : public LayerTest {
protected:
   std::string report()
   {
      const auto query = instance_function<PFN_vkGetPhysicalDeviceDriverReportWEFT>(
         "vkGetPhysicalDeviceDriverReportWEFT");
      size_t size = 0;
      EXPECT_VK(query(physical, &size, nullptr));
      std::string text(size, 'x');
      size -= 1;
      EXPECT_EQ(query(physical, &size, text.data()), VK_INCOMPLETE);
      EXPECT_EQ(text.back(), 'x');
      size += 1;
      EXPECT_VK(query(physical, &size, text.data()));
      EXPECT_EQ(text.back(), '\0');
      text.pop_back();
      return text;
   }
};

TEST_F(DriverReportQuery, DescribesTheDriverAndNotTheLayer)
{
   driver.native_matrices = true;
   driver.extensions.push_back(VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME);
   const Environment environment("WEFT_LOWERING", "registers");
   ASSERT_VK(create_instance());
   const Result<DriverFacts> facts = read_driver_report(report());
   ASSERT_TRUE(facts) << facts.error().message;
   EXPECT_EQ(facts->driver_id, driver.id);
   EXPECT_EQ(facts->device_type, driver.type);
   EXPECT_EQ(facts->version, VK_API_VERSION_1_3);
   EXPECT_TRUE(facts->native_extensions.has(Extension::khr_cooperative_matrix));
   EXPECT_EQ(facts->listed_matrices.size(), driver.native_properties.size());
   EXPECT_EQ(facts->subgroups.size, driver.subgroup_size);
   EXPECT_EQ(facts->subgroups.min_size, driver.min_subgroup_size);
   EXPECT_EQ(facts->subgroups.max_size, driver.max_subgroup_size);
   EXPECT_EQ(facts->subgroups.operations, driver.subgroup_operations);
   EXPECT_EQ(facts->subgroups.stages, driver.subgroup_stages);
   EXPECT_EQ(facts->subgroups.requirable_stages, driver.required_size_stages);
   EXPECT_EQ(facts->subgroups.max_per_workgroup, driver.max_workgroup_subgroups);
   destroy_instance();
}

TEST_F(DriverReportQuery, ThePlanOfTheReportIsThePlanOfTheDevice)
{
   ASSERT_VK(create_instance());
   const Result<DriverFacts> facts = read_driver_report(report());
   ASSERT_TRUE(facts) << facts.error().message;
   const MatrixPlan plan = plan_matrices(*facts, {});
   for (const WeftMatrixExtension &extension : matrix_extensions()) {
      const ExtensionRow *row = find_extension(extension.extensionName);
      EXPECT_EQ(int(plan.support_of(row->extension)), int(extension.support)) << row->name;
   }
   EXPECT_EQ(plan.operations.size(), matrix_properties().size());
   destroy_instance();
}

TEST(PlanText, StatesSubgroupsAndOperations)
{
   FakeCompiler compiler;
   DriverFacts facts = facts_of_driver();
   const std::string text = plan_text(plan_matrices(facts, {}));
   const auto has = [&](const std::string &line) {
      return text.find(line + "\n") != std::string::npos;
   };
   EXPECT_TRUE(text.starts_with(facts.name + "\n"));
   EXPECT_TRUE(has("VK_KHR_cooperative_matrix                native, and the layer adds to it"))
      << text;
   EXPECT_TRUE(has("VK_NV_cooperative_matrix2                lowered by the layer")) << text;
   EXPECT_TRUE(has(
      "subgroups                                32 invocations; a pipeline may require 8 to 64"))
      << text;
   EXPECT_TRUE(has("  16x8x4 f16 e4m3 f32 s32 saturating (the driver's own)")) << text;
   const MatrixOperation &op = compiler.operations.front();
   EXPECT_TRUE(has("  " + std::to_string(op.m) + "x" + std::to_string(op.n) + "x" +
                   std::to_string(op.k) + " f16 f16 f32 f32"))
      << text;

   facts.features.set(Feature::vulkan_memory_model, false);
   const std::string refused = plan_text(plan_matrices(facts, {}));
   EXPECT_NE(
      refused.find("VK_NV_cooperative_matrix2                absent: no vulkanMemoryModel\n"),
      std::string::npos)
      << refused;
   EXPECT_EQ(refused.find("subgroups"), std::string::npos);
}

} // namespace

} // namespace weft::layer_test
