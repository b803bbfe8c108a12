// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// VK_KHR_maintenance9.

#include "tests/icd/pipeline_fixture.h"

#include "tests/backend/cpu/seed.h"
#include "tests/spirv/assemble.h"

#include <random>
#include <utility>

namespace weft::icd_test {

namespace {

constexpr unsigned lanes = 64, components = 4, operations = 5;
/// The words of an invocation: the base, the inserted field, the offset and the count; results.
constexpr unsigned operands = 2 * components + 2, results = operations * components;

/// Operations on bit fields of vectors of `bits`, with offsets and counts of `count_bits`, as
/// SPIR-V. The buffer has the operands of all invocations, then their results.
std::string bit_fields(unsigned bits, unsigned count_bits)
{
   std::string constants, code, capabilities;
   const auto constant = [&](unsigned value) {
      const std::string name = "%c" + std::to_string(value);
      const std::string line = name + " = OpConstant %uint " + std::to_string(value) + "\n";
      if (constants.find(line) == std::string::npos)
         constants += line;
      return name;
   };
   const auto pointer = [&](const std::string &base, unsigned number) {
      const std::string name = base.substr(1) + "_" + std::to_string(number);
      code += "%at_" + name + " = OpIAdd %uint " + base + " " + constant(number) + "\n%to_" + name +
              " = OpAccessChain %pointer %data " + constant(0) + " %at_" + name + "\n";
      return "%to_" + name;
   };
   const auto vector = [&](const std::string &name, unsigned first) {
      std::string parts;
      for (unsigned c = 0; c < components; ++c) {
         const std::string part = name + "_part" + std::to_string(c);
         const std::string from = pointer("%in", first + c);
         code += part + " = OpLoad %number " + from + "\n";
         parts += " " + part;
      }
      code += name + " = OpCompositeConstruct %vector" + parts + "\n";
   };
   const auto count = [&](const std::string &name, unsigned number) {
      const std::string from = pointer("%in", number);
      code += name + "_whole = OpLoad %number " + from + "\n" + name + " = " +
              (bits == count_bits ? "OpCopyObject %number " : "OpUConvert %count_type ") + name +
              "_whole\n";
   };
   code += "%in = OpIMul %uint %i " + constant(operands) + "\n%out_place = OpIMul %uint %i " +
           constant(results) + "\n%out = OpIAdd %uint %out_place " + constant(lanes * operands) +
           "\n";
   vector("%base", 0);
   vector("%field", components);
   count("%offset", 2 * components);
   count("%count", 2 * components + 1);
   unsigned number = 0;
   for (const char *operation : {"OpBitFieldInsert %vector %base %field %offset %count",
                                 "OpBitFieldUExtract %vector %base %offset %count",
                                 "OpBitFieldSExtract %vector %base %offset %count",
                                 "OpBitReverse %vector %base", "OpBitCount %vector %base"}) {
      const std::string name = "%result" + std::to_string(number);
      code += name + " = " + operation + "\n";
      for (unsigned c = 0; c < components; ++c) {
         const std::string part = name + "_" + std::to_string(c);
         code += part + " = OpCompositeExtract %number " + name + " " + std::to_string(c) + "\n";
         const std::string to = pointer("%out", components * number + c);
         code += "OpStore " + to + " " + part + "\n";
      }
      ++number;
   }
   for (const unsigned size : {bits, count_bits}) {
      const std::string capability = size == 32 ? "" : "Int" + std::to_string(size);
      if (!capability.empty() && capabilities.find(capability) == std::string::npos)
         capabilities += "OpCapability " + capability + "\n";
   }
   if (bits < 32)
      capabilities += "OpCapability StorageBuffer" + std::to_string(bits) + "BitAccess\n";
   const auto type = [](const char *name, unsigned size) {
      return std::string(name) + " = OpTypeInt " + std::to_string(size) + " 0\n";
   };
   std::string types = bits == 32 ? "" : type("%number", bits);
   if (count_bits != bits && count_bits != 32)
      types += type("%count_type", count_bits);
   std::string text = "OpCapability Shader\n" + capabilities + R"(
      OpMemoryModel Logical GLSL450
      OpEntryPoint GLCompute %main "main" %data %index
      OpExecutionMode %main LocalSize 64 1 1
      OpDecorate %index BuiltIn LocalInvocationIndex
      OpDecorate %data DescriptorSet 0
      OpDecorate %data Binding 0
      OpDecorate %block Block
      OpMemberDecorate %block 0 Offset 0
      OpDecorate %array ArrayStride )" +
                      std::to_string(bits / 8) + R"(
      %void = OpTypeVoid
      %function = OpTypeFunction %void
      %uint = OpTypeInt 32 0
      )" + types + constants +
                      R"(
      %vector = OpTypeVector %number 4
      %array = OpTypeRuntimeArray %number
      %block = OpTypeStruct %array
      %block_pointer = OpTypePointer StorageBuffer %block
      %pointer = OpTypePointer StorageBuffer %number
      %input_pointer = OpTypePointer Input %uint
      %data = OpVariable %block_pointer StorageBuffer
      %index = OpVariable %input_pointer Input
      %main = OpFunction %void None %function
      %entry = OpLabel
      %i = OpLoad %uint %index
      )" + code + "OpReturn\nOpFunctionEnd";
   const auto rename = [&](const std::string &from, const std::string &to) {
      for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
         text.replace(at, from.size(), to);
   };
   if (bits == 32)
      rename("%number", "%uint");
   if (count_bits == 32)
      rename("%count_type", "%uint");
   return text;
}

uint64_t ones(unsigned count)
{
   return count == 64 ? ~uint64_t(0) : (uint64_t(1) << count) - 1;
}

/// The result of an operation, in the order of bit_fields().
uint64_t expected(unsigned operation, unsigned bits, uint64_t base, uint64_t field, unsigned offset,
                  unsigned count)
{
   uint64_t result = 0;
   switch (operation) {
   case 0:
      for (unsigned b = 0; b < bits; ++b) {
         const bool inside = b >= offset && b < offset + count;
         result |= ((inside ? field >> (b - offset) : base >> b) & 1) << b;
      }
      return result;
   case 1:
   case 2:
      for (unsigned b = 0; b < count; ++b)
         result |= (base >> (offset + b) & 1) << b;
      if (operation == 2 && count > 0 && (result >> (count - 1) & 1))
         result |= ~ones(count) & ones(bits);
      return result;
   case 3:
      for (unsigned b = 0; b < bits; ++b)
         result |= (base >> b & 1) << (bits - 1 - b);
      return result;
   default:
      for (unsigned b = 0; b < bits; ++b)
         result += base >> b & 1;
      return result;
   }
}

using Maintenance9Test = PipelineTest;

} // namespace

TEST_F(Maintenance9Test, BitFieldsOfEachSize)
{
   std::mt19937_64 random(cpu::test::test_seed());
   const auto check = [&]<typename Number>(Number, unsigned count_bits) {
      constexpr unsigned bits = 8 * sizeof(Number);
      VkPipeline pipeline = VK_NULL_HANDLE;
      ASSERT_VK(
         try_pipeline(test::assemble(bit_fields(bits, count_bits)), recipe, layout, &pipeline))
         << messages;
      out = make_buffer(lanes * (operands + results) * sizeof(Number));
      const std::span<Number> data = out.as<Number>();
      for (unsigned i = 0; i < lanes; ++i) {
         Number *in = &data[i * operands];
         for (unsigned c = 0; c < 2 * components; ++c)
            in[c] = Number(random());
         const unsigned offset = unsigned(random() % (bits + 1));
         in[2 * components] = Number(offset);
         in[2 * components + 1] =
            Number(i % 8 == 0 ? bits - offset : random() % (bits - offset + 1));
      }
      const std::vector<Number> before(data.begin(), data.begin() + lanes * operands);
      write_buffer(set, 0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, out);
      dispatch(pipeline);
      for (unsigned i = 0; i < lanes; ++i) {
         const Number *in = &before[i * operands];
         const unsigned offset = unsigned(in[2 * components]),
                        count = unsigned(in[2 * components + 1]);
         for (unsigned r = 0; r < results; ++r) {
            const unsigned c = r % components;
            const uint64_t wanted =
               expected(r / components, bits, in[c], in[components + c], offset, count);
            ASSERT_EQ(uint64_t(data[lanes * operands + i * results + r]), wanted)
               << "operation " << r / components << ", " << bits << " bits, offset " << offset
               << ", count " << count;
         }
      }
   };
   for (const unsigned count_bits : {8, 16, 32, 64}) {
      check(uint8_t(), count_bits);
      check(uint16_t(), count_bits);
      check(uint32_t(), count_bits);
      check(uint64_t(), count_bits);
   }
}

TEST_F(Maintenance9Test, PropertiesOfTheDeviceAndItsFamily)
{
   VkPhysicalDeviceMaintenance9PropertiesKHR maintenance9 = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_9_PROPERTIES_KHR,
      .image2DViewOf3DSparse = VK_FALSE,
      .defaultVertexAttributeValue = VK_DEFAULT_VERTEX_ATTRIBUTE_VALUE_ZERO_ZERO_ZERO_ONE_KHR};
   VkPhysicalDeviceProperties2 properties = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &maintenance9};
   vkGetPhysicalDeviceProperties2(physical, &properties);
   EXPECT_TRUE(maintenance9.image2DViewOf3DSparse);
   EXPECT_EQ(maintenance9.defaultVertexAttributeValue,
             VK_DEFAULT_VERTEX_ATTRIBUTE_VALUE_ZERO_ZERO_ZERO_ZERO_KHR);
   VkQueueFamilyOwnershipTransferPropertiesKHR transfers = {
      .sType = VK_STRUCTURE_TYPE_QUEUE_FAMILY_OWNERSHIP_TRANSFER_PROPERTIES_KHR};
   VkQueueFamilyProperties2 family = {.sType = VK_STRUCTURE_TYPE_QUEUE_FAMILY_PROPERTIES_2,
                                      .pNext = &transfers};
   uint32_t count = 1;
   vkGetPhysicalDeviceQueueFamilyProperties2(physical, &count, &family);
   EXPECT_EQ(transfers.optimalImageTransferToQueueFamilies, 1u);
}

TEST_F(Maintenance9Test, QueriesStartWithoutAResult)
{
   const VkQueryPoolCreateInfo info = {.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
                                       .flags = VK_QUERY_POOL_CREATE_RESET_BIT_KHR,
                                       .queryType = VK_QUERY_TYPE_TIMESTAMP,
                                       .queryCount = 100};
   VkQueryPool queries = VK_NULL_HANDLE;
   ASSERT_VK(vkCreateQueryPool(device, &info, nullptr, &queries));
   clean_up.push_back([this, queries] { vkDestroyQueryPool(device, queries, nullptr); });
   uint64_t answers[100][2];
   const auto read = [&] {
      return vkGetQueryPoolResults(device, queries, 0, 100, sizeof(answers), answers,
                                   sizeof(answers[0]),
                                   VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WITH_AVAILABILITY_BIT);
   };
   EXPECT_EQ(read(), VK_NOT_READY);
   for (const auto &answer : answers)
      EXPECT_EQ(answer[1], 0u);
   VkCommandBuffer cmd = begin();
   vkCmdWriteTimestamp2(cmd, VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT, queries, 7);
   run(cmd);
   EXPECT_EQ(read(), VK_NOT_READY);
   EXPECT_EQ(answers[7][1], 1u);
   EXPECT_EQ(answers[8][1], 0u);
}

/// The command that waits has the dependency, the command that sets the stages alone.
TEST_F(Maintenance9Test, EventsWithoutADependency)
{
   const VkEventCreateInfo info = {.sType = VK_STRUCTURE_TYPE_EVENT_CREATE_INFO,
                                   .flags = VK_EVENT_CREATE_DEVICE_ONLY_BIT};
   VkEvent event = VK_NULL_HANDLE;
   ASSERT_VK(vkCreateEvent(device, &info, nullptr, &event));
   clean_up.push_back([this, event] { vkDestroyEvent(device, event, nullptr); });
   const VkMemoryBarrier2 set_barrier = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER_2,
                                         .srcStageMask = VK_PIPELINE_STAGE_2_CLEAR_BIT},
                          wait_barrier = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER_2,
                                          .srcStageMask = VK_PIPELINE_STAGE_2_CLEAR_BIT,
                                          .srcAccessMask = VK_ACCESS_2_TRANSFER_WRITE_BIT,
                                          .dstStageMask = VK_PIPELINE_STAGE_2_COPY_BIT,
                                          .dstAccessMask = VK_ACCESS_2_TRANSFER_READ_BIT};
   const auto dependency = [](const VkMemoryBarrier2 &barrier) {
      return VkDependencyInfo{.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
                              .dependencyFlags = VK_DEPENDENCY_ASYMMETRIC_EVENT_BIT_KHR,
                              .memoryBarrierCount = 1,
                              .pMemoryBarriers = &barrier};
   };
   const VkDependencyInfo set_info = dependency(set_barrier), wait_info = dependency(wait_barrier);
   const TestBuffer copy = make_buffer(256);
   const VkBufferCopy region = {0, 0, 256};
   VkCommandBuffer cmd = begin();
   vkCmdFillBuffer(cmd, out.handle, 0, VK_WHOLE_SIZE, 5);
   vkCmdSetEvent2(cmd, event, &set_info);
   vkCmdWaitEvents2(cmd, 1, &event, &wait_info);
   vkCmdCopyBuffer(cmd, out.handle, copy.handle, 1, &region);
   run(cmd);
   EXPECT_EQ(copy.as()[63], 5u);
}

/// A device without queues fills pipeline caches.
TEST_F(Maintenance9Test, DevicesWithoutQueuesCompile)
{
   const VkPhysicalDeviceMaintenance9FeaturesKHR feature = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_9_FEATURES_KHR,
      .maintenance9 = VK_TRUE};
   const char *extension = VK_KHR_MAINTENANCE_9_EXTENSION_NAME;
   const VkPhysicalDeviceFeatures robust = {.robustBufferAccess = VK_TRUE}; // as the other device
   const VkDeviceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                    .pNext = &feature,
                                    .enabledExtensionCount = 1,
                                    .ppEnabledExtensionNames = &extension,
                                    .pEnabledFeatures = &robust};
   VkDevice compiler = VK_NULL_HANDLE;
   ASSERT_VK(vkCreateDevice(physical, &info, nullptr, &compiler));
   VkDevice own = std::exchange(device, compiler);
   std::vector<std::function<void()>> own_clean_up;
   own_clean_up.swap(clean_up);
   PipelineRecipe other = recipe;
   other.sets = {make_set_layout({binding(0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER)})};
   other.cache = make_cache();
   VkPipeline pipeline = VK_NULL_HANDLE;
   ASSERT_VK(try_pipeline(spirv, other, make_layout(other), &pipeline));
   const std::vector<uint8_t> data = cache_data(other.cache);
   EXPECT_VK(vkDeviceWaitIdle(device));
   while (!clean_up.empty()) {
      clean_up.back()();
      clean_up.pop_back();
   }
   vkDestroyDevice(compiler, nullptr);
   device = own;
   clean_up.swap(own_clean_up);
   EXPECT_FALSE(is_cached(make_cache()));
   EXPECT_TRUE(is_cached(make_cache(data)));
}

} // namespace weft::icd_test
