// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// VK_EXT_device_generated_commands: sequences in memory of push constants, choices of a shader and
/// dispatches, against a model on the host.

#include "tests/icd/generated_commands_fixture.h"

#include "tests/backend/cpu/seed.h"

#include <algorithm>
#include <cstring>
#include <random>

namespace weft::icd_test {
namespace {

constexpr uint32_t groups_limit = 3;

/// Each invocation adds a hash of everything that a sequence decides to a bucket that the hash
/// chooses. The order of sums does not matter. Push constants decide branches that are large enough
/// for programs of their own.
const char *const add_hashes = R"(
layout(local_size_x = 2) in;
layout(constant_id = 0) const uint kind = 0;
layout(push_constant) uniform Push { uint words[12]; };
layout(set = 0, binding = 0) buffer Out { uint data[]; };
uint turn(uint x, uint n) { return (x ^ n) * (2 * n + 16777619) + (x >> (n % 31 + 1)); }
#define STEP(n) x = turn(x, n);
#define STEPS(n) STEP(n) STEP(n) STEP(n) STEP(n) STEP(n) STEP(n) STEP(n) STEP(n)
void main()
{
   const uvec3 i = gl_GlobalInvocationID, n = gl_NumWorkGroups;
   uint x = turn(turn(kind, i.x + 16 * (i.y + 16 * i.z)), n.x + 16 * (n.y + 16 * n.z));
   for (uint w = 0; w < 12; w++)
      x = turn(x ^ words[w], w);
   if ((words[2] & 1) == 0) { STEPS(3) STEPS(5) } else { STEPS(6) STEPS(2) }
   if ((words[9] & 1) == 0) { STEPS(4) STEPS(8) } else { STEPS(7) STEPS(1) }
   atomicAdd(data[x % 512], x | 1);
})";

uint32_t turn(uint32_t x, uint32_t n)
{
   return (x ^ n) * (2 * n + 16777619) + (x >> (n % 31 + 1));
}

uint32_t turns(uint32_t x, uint32_t n)
{
   for (int i = 0; i < 8; i++)
      x = turn(x, n);
   return x;
}

/// The sums that add_hashes() adds in one dispatch.
void model(uint32_t kind, const Words &push, const VkDispatchIndirectCommand &n,
           std::span<uint32_t> data)
{
   for (uint32_t i = 0; i < 2 * n.x * n.y * n.z; i++) {
      const uint32_t place =
         i % (2 * n.x) + 16 * (i / (2 * n.x) % n.y + 16 * (i / (2 * n.x) / n.y));
      uint32_t x = turn(turn(kind, place), n.x + 16 * (n.y + 16 * n.z));
      for (uint32_t w = 0; w < words; w++)
         x = turn(x ^ push[w], w);
      x = (push[2] & 1) == 0 ? turns(turns(x, 3), 5) : turns(turns(x, 6), 2);
      x = (push[9] & 1) == 0 ? turns(turns(x, 4), 8) : turns(turns(x, 7), 1);
      data[x % buckets] += x | 1;
   }
}

class GeneratedCommandsTest : public GeneratedCommandsFixture {
protected:
   void make_shaders(uint32_t count = kinds)
   {
      GeneratedCommandsFixture::make_shaders(add_hashes, count);
   }

   /// Random numbers in the buffer; the model begins with them.
   std::vector<uint32_t> poison()
   {
      std::ranges::generate(out.as(), std::ref(random));
      return {out.as().begin(), out.as().end()};
   }

   uint32_t below(uint32_t end) { return uint32_t(random() % end); }

   VkIndirectCommandsLayoutEXT random_layout(Tokens *, bool preprocesses);
   void random_case();
   void add_random_tokens(Tokens *);

   std::mt19937 random{uint32_t(cpu::test::test_seed())};
};

/// Tokens of some of the push constants in any order, with gaps between the tokens' data.
void GeneratedCommandsTest::add_random_tokens(Tokens *tokens)
{
   std::vector<std::pair<uint32_t, uint32_t>> ranges;
   for (uint32_t first = below(4); first < words;) {
      const uint32_t count = 1 + below(std::min(4u, words - first));
      ranges.emplace_back(first, count);
      first += count + below(3);
   }
   std::ranges::shuffle(ranges, random);
   bool has_number = below(2) == 0;
   for (const auto &[first, count] : ranges) {
      tokens->bytes += 4 * below(3);
      if (has_number && count == 1) {
         tokens->add_number(first);
         has_number = false;
      } else if (below(5) > 0) {
         tokens->add_push(first, count);
      }
   }
   tokens->bytes += 4 * below(3);
   tokens->add_dispatch();
}

/// With the pipeline layout, or only its description.
VkIndirectCommandsLayoutEXT GeneratedCommandsTest::random_layout(Tokens *tokens, bool preprocesses)
{
   VkIndirectCommandsLayoutCreateInfoEXT info = layout_info(*tokens, tokens->bytes + 4 * below(3));
   if (preprocesses)
      info.flags |= VK_INDIRECT_COMMANDS_LAYOUT_USAGE_EXPLICIT_PREPROCESS_BIT_EXT;
   if (below(3) == 0)
      info.flags |= VK_INDIRECT_COMMANDS_LAYOUT_USAGE_UNORDERED_SEQUENCES_BIT_EXT;
   const VkPushConstantRange push = {compute, 0, sizeof(Words)};
   const VkPipelineLayoutCreateInfo description = {
      .sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
      .setLayoutCount = 1,
      .pSetLayouts = recipe.sets.data(),
      .pushConstantRangeCount = 1,
      .pPushConstantRanges = &push,
   };
   if (below(2) == 0) {
      info.pipelineLayout = VK_NULL_HANDLE;
      info.pNext = &description;
   }
   tokens->bytes = info.indirectStride;
   return make_commands_layout(info);
}

/// All data that the commands read comes there when they are executed.
void GeneratedCommandsTest::random_case()
{
   const bool of_shaders = below(2) == 0, uses_set = below(3) > 0, preprocesses = below(2) == 0;
   const uint32_t bound_kind = below(kinds), elements = 1 + below(6);
   Tokens tokens;
   if (uses_set)
      tokens.add_set(of_shaders ? VK_INDIRECT_EXECUTION_SET_INFO_TYPE_SHADER_OBJECTS_EXT
                                : VK_INDIRECT_EXECUTION_SET_INFO_TYPE_PIPELINES_EXT);
   add_random_tokens(&tokens);
   const VkIndirectCommandsLayoutEXT commands_layout = random_layout(&tokens, preprocesses);
   const VkIndirectExecutionSetEXT set =
      uses_set ? make_execution_set(of_shaders, bound_kind, elements) : VK_NULL_HANDLE;
   std::vector<uint32_t> kind_of(elements, bound_kind);
   for (uint32_t i = 1; i < elements; i++) {
      kind_of[i] = below(kinds);
      if (uses_set && below(2) == 0)
         write_element(set, of_shaders, i, below(kinds));
   }

   const uint32_t sequences = 1 + below(8), size = sequences * tokens.bytes;
   std::vector<uint32_t> data(size / 4 + 1);
   std::ranges::generate(data, std::ref(random));
   for (uint32_t s = 0; s < sequences; s++) {
      uint32_t *sequence = &data[s * tokens.bytes / 4];
      if (uses_set)
         sequence[tokens.list[0].offset / 4] = below(elements);
      for (uint32_t d = 0; d < 3; d++)
         sequence[tokens.list.back().offset / 4 + d] = below(6) ? 1 + below(groups_limit) : 0;
   }
   const uint32_t max_count = 1 + below(sequences), stated = below(2 * sequences + 1);
   const bool has_count = below(2) == 0;
   data.back() = stated;
   const TestBuffer source = make_buffer(4 * data.size(), data.data());
   const TestBuffer indirect = make_buffer(source.size);
   std::ranges::fill(indirect.as(), 0xffffffff);

   Words push;
   std::ranges::generate(push, std::ref(random));
   std::vector<uint32_t> expected = poison();
   const bool has_condition = below(3) == 0, is_inverted = below(2) == 0;
   const uint32_t condition = below(2) << below(32);
   const bool is_off = has_condition && (condition != 0) == is_inverted;
   const uint32_t count = has_count ? std::min(stated, max_count) : max_count;
   for (uint32_t s = 0; s < (is_off ? 0 : count); s++) {
      const uint32_t *sequence = &data[s * tokens.bytes / 4];
      Words set_push = push;
      for (const auto &token : tokens.list) {
         const uint32_t *from = sequence + token.offset / 4;
         if (token.type == VK_INDIRECT_COMMANDS_TOKEN_TYPE_PUSH_CONSTANT_EXT)
            memcpy(&set_push[token.data.pPushConstant->updateRange.offset / 4], from,
                   token.data.pPushConstant->updateRange.size);
         else if (token.type == VK_INDIRECT_COMMANDS_TOKEN_TYPE_SEQUENCE_INDEX_EXT)
            set_push[token.data.pPushConstant->updateRange.offset / 4] = s;
      }
      const uint32_t *n = sequence + tokens.list.back().offset / 4;
      model(uses_set ? kind_of[sequence[tokens.list[0].offset / 4]] : bound_kind, set_push,
            {n[0], n[1], n[2]}, expected);
   }

   const VkGeneratedCommandsShaderInfoEXT shader = {
      .sType = VK_STRUCTURE_TYPE_GENERATED_COMMANDS_SHADER_INFO_EXT,
      .shaderCount = 1,
      .pShaders = &shaders[bound_kind],
   };
   VkGeneratedCommandsInfoEXT info = commands_info(commands_layout, indirect, size, max_count);
   first_pipeline.pipeline = pipelines[bound_kind];
   info.indirectExecutionSet = set;
   if (uses_set)
      info.pNext = nullptr;
   else if (of_shaders)
      info.pNext = &shader;
   if (has_count)
      info.sequenceCountAddress = info.indirectAddress + 4 * (data.size() - 1);

   VkCommandBuffer cmd = begin();
   const VkBufferCopy all = {0, 0, source.size};
   vkCmdCopyBuffer(cmd, source.handle, indirect.handle, 1, &all);
   const bool is_secondary = below(3) == 0;
   VkCommandBuffer inner = cmd;
   if (is_secondary)
      inner = begin(VK_COMMAND_BUFFER_LEVEL_SECONDARY);
   bind(inner, of_shaders, bound_kind, push);
   const VkMemoryBarrier barrier = {
      .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
      .srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT | VK_ACCESS_COMMAND_PREPROCESS_WRITE_BIT_EXT,
      .dstAccessMask =
         VK_ACCESS_INDIRECT_COMMAND_READ_BIT | VK_ACCESS_COMMAND_PREPROCESS_READ_BIT_EXT,
   };
   constexpr VkPipelineStageFlags stages =
      VK_PIPELINE_STAGE_DRAW_INDIRECT_BIT | VK_PIPELINE_STAGE_COMMAND_PREPROCESS_BIT_EXT;
   vkCmdPipelineBarrier(inner, VK_PIPELINE_STAGE_TRANSFER_BIT | stages, stages, 0, 1, &barrier, 0,
                        nullptr, 0, nullptr);
   const VkConditionalRenderingBeginInfoEXT condition_info = {
      .sType = VK_STRUCTURE_TYPE_CONDITIONAL_RENDERING_BEGIN_INFO_EXT,
      .buffer = make_buffer(4, &condition).handle,
      .flags = is_inverted
                  ? VkConditionalRenderingFlagsEXT(VK_CONDITIONAL_RENDERING_INVERTED_BIT_EXT)
                  : 0,
   };
   if (has_condition)
      begin_condition(inner, &condition_info);
   if (preprocesses)
      preprocess(inner, &info, inner);
   execute(inner, preprocesses, &info);
   if (has_condition)
      end_condition(inner);
   if (is_secondary) {
      EXPECT_VK(vkEndCommandBuffer(inner));
      vkCmdExecuteCommands(cmd, 1, &inner);
   }
   // The state behind the commands is undefined; a dispatch of new state is as any other.
   const uint32_t next_kind = below(kinds);
   std::ranges::generate(push, std::ref(random));
   bind(cmd, below(2) == 0, next_kind, push);
   vkCmdDispatch(cmd, 2, 1, 1);
   model(next_kind, push, {2, 1, 1}, expected);
   for (uint32_t i = 1; uses_set && i < elements; i++)
      write_element(set, of_shaders, i, kind_of[i]);
   run(cmd);
   EXPECT_TRUE(std::ranges::equal(out.as(), expected));
}

TEST_F(GeneratedCommandsTest, RandomSequences)
{
   make_shaders();
   for (int i = 0; i < 60 && !HasFailure(); i++) {
      SCOPED_TRACE(testing::Message() << "case " << i << ", WEFT_SEED=" << cpu::test::test_seed());
      random_case();
   }
}

/// A sequence runs from its own data only: none behind the size, and none whose last token is cut.
TEST_F(GeneratedCommandsTest, SequencesEndWithTheirMemory)
{
   make_shaders(1);
   Tokens tokens;
   tokens.add_push(0, 1);
   tokens.add_dispatch();
   for (const uint32_t stride : {16u, 24u}) {
      const VkIndirectCommandsLayoutEXT commands_layout =
         make_commands_layout(layout_info(tokens, stride));
      std::vector<uint32_t> data(8 * stride / 4, 1);
      const TestBuffer indirect = make_buffer(4 * data.size(), data.data());
      for (const uint32_t bytes : {4u, 15u, 16u, 3 * stride + 15, 3 * stride + 16}) {
         const Words push = {};
         std::vector<uint32_t> expected = poison();
         for (uint32_t s = 0; s * stride + 16 <= bytes; s++)
            model(0, {1}, {1, 1, 1}, expected);
         SCOPED_TRACE(testing::Message() << stride << " " << bytes);
         expect(commands_info(commands_layout, indirect, bytes, UINT32_MAX), push, expected);
      }
   }
}

/// Elements that were never written, and indices behind the last one, are errors of the program.
/// Their sequences do nothing.
TEST_F(GeneratedCommandsTest, SequencesWithoutAShaderDoNothing)
{
   make_shaders(2);
   Tokens tokens;
   tokens.add_set(VK_INDIRECT_EXECUTION_SET_INFO_TYPE_PIPELINES_EXT);
   tokens.add_dispatch();
   const VkIndirectCommandsLayoutEXT commands_layout =
      make_commands_layout(layout_info(tokens, 16));
   const VkIndirectExecutionSetEXT set = make_execution_set(false, 0, 4);
   write_element(set, false, 2, 1);
   write_element(set, false, 4, 1);
   const uint32_t data[][4] = {{1, 1, 1, 1}, {2, 1, 1, 1},          {3, 1, 1, 1},
                               {4, 1, 1, 1}, {UINT32_MAX, 1, 1, 1}, {0, 1, 1, 1}};
   const TestBuffer indirect = make_buffer(sizeof(data), data);
   VkGeneratedCommandsInfoEXT info = commands_info(commands_layout, indirect, sizeof(data), 6);
   info.pNext = nullptr;
   info.indirectExecutionSet = set;
   const Words push = {7, 8, 9};
   std::vector<uint32_t> expected = poison();
   model(1, push, {1, 1, 1}, expected);
   model(0, push, {1, 1, 1}, expected);
   expect(info, push, expected);
}

TEST_F(GeneratedCommandsTest, PushConstantsBehindTheLimitAreRefused)
{
   for (const VkPushConstantRange range : {VkPushConstantRange{compute, 256, 4},
                                           {compute, 252, 8},
                                           {compute, 4, UINT32_MAX},
                                           {compute, UINT32_MAX - 3, 4}}) {
      Tokens tokens;
      tokens.add_push(0, 1);
      tokens.pushes[0].updateRange = range;
      tokens.add_dispatch();
      const VkIndirectCommandsLayoutCreateInfoEXT info = layout_info(tokens, 64);
      VkIndirectCommandsLayoutEXT made = VK_NULL_HANDLE;
      EXPECT_EQ(create_layout(device, &info, nullptr, &made), VK_ERROR_UNKNOWN);
      EXPECT_EQ(made, VkIndirectCommandsLayoutEXT(VK_NULL_HANDLE));
      EXPECT_NE(messages.find("vkCreateIndirectCommandsLayoutEXT: a token"), std::string::npos);
      messages.clear();
   }
}

TEST_F(GeneratedCommandsTest, PreprocessingNeedsNoMemory)
{
   make_shaders(1);
   Tokens tokens;
   tokens.add_dispatch();
   first_pipeline.pipeline = pipelines[0];
   const VkGeneratedCommandsMemoryRequirementsInfoEXT info = {
      .sType = VK_STRUCTURE_TYPE_GENERATED_COMMANDS_MEMORY_REQUIREMENTS_INFO_EXT,
      .pNext = &first_pipeline,
      .indirectCommandsLayout = make_commands_layout(layout_info(tokens, 12)),
      .maxSequenceCount = 1 << 20,
   };
   VkMemoryRequirements2 requirements = {
      .sType = VK_STRUCTURE_TYPE_MEMORY_REQUIREMENTS_2,
      .memoryRequirements = {.size = 77},
   };
   get_requirements(device, &info, &requirements);
   EXPECT_EQ(requirements.memoryRequirements.size, 0u);
   EXPECT_EQ(requirements.memoryRequirements.alignment, 64u);
   EXPECT_NE(requirements.memoryRequirements.memoryTypeBits, 0u);
}

TEST_F(GeneratedCommandsTest, Limits)
{
   VkPhysicalDeviceDeviceGeneratedCommandsPropertiesEXT limits = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DEVICE_GENERATED_COMMANDS_PROPERTIES_EXT};
   VkPhysicalDeviceProperties2 all = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
                                      .pNext = &limits};
   vkGetPhysicalDeviceProperties2(physical, &all);
   EXPECT_GE(limits.maxIndirectPipelineCount, 1u << 12);
   EXPECT_GE(limits.maxIndirectShaderObjectCount, 1u << 12);
   EXPECT_GE(limits.maxIndirectSequenceCount, 1u << 20);
   EXPECT_GE(limits.maxIndirectCommandsTokenCount, 16u);
   EXPECT_GE(limits.maxIndirectCommandsTokenOffset, 2047u);
   EXPECT_GE(limits.maxIndirectCommandsIndirectStride, 2048u);
   EXPECT_EQ(limits.supportedIndirectCommandsShaderStages, compute);
   EXPECT_EQ(limits.supportedIndirectCommandsShaderStagesPipelineBinding, compute);
   EXPECT_EQ(limits.supportedIndirectCommandsShaderStagesShaderBinding, compute);
   EXPECT_FALSE(limits.deviceGeneratedCommandsTransformFeedback);
   EXPECT_FALSE(limits.deviceGeneratedCommandsMultiDrawIndirectCount);

   // The largest layout: a token for each push constant, and a set.
   Tokens tokens;
   tokens.pushes.reserve(64);
   tokens.add_set(VK_INDIRECT_EXECUTION_SET_INFO_TYPE_PIPELINES_EXT);
   for (uint32_t i = 0; i < 64; i++)
      tokens.add_push(i, 1);
   tokens.add_dispatch();
   EXPECT_EQ(tokens.list.size(), limits.maxIndirectCommandsTokenCount);
   recipe.push_bytes = 256;
   layout = make_layout(recipe);
   make_commands_layout(layout_info(tokens, tokens.bytes));
   make_shaders(1);
   make_execution_set(false, 0, limits.maxIndirectPipelineCount);
   make_execution_set(true, 0, limits.maxIndirectShaderObjectCount);
}

} // namespace
} // namespace weft::icd_test
