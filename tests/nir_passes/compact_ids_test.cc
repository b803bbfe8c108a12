// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/front_end/compact_ids.h"

#include "nir_passes/front_end/spirv_to_nir.h"
#include "nir_passes/front_end/validate_spirv.h"
#include "tests/nir_passes/shaders.h"
#include "tests/spirv/assemble.h"

#include <spirv-tools/libspirv.h>

#include <gtest/gtest.h>

#include <functional>
#include <sys/resource.h>

namespace weft::test {
namespace {

constexpr uint32_t largest_bound = 4194303;

/// The module with other numbers for its ids.
std::vector<uint32_t> renumber(const std::vector<uint32_t> &words,
                               const std::function<uint32_t(uint32_t)> &number)
{
   const spv_context context = spvContextCreate(SPV_ENV_VULKAN_1_3);
   spv_text text = nullptr;
   EXPECT_EQ(spvBinaryToText(context, words.data(), words.size(),
                             SPV_BINARY_TO_TEXT_OPTION_NO_HEADER, &text, nullptr),
             SPV_SUCCESS);
   const std::string before(text->str, text->length);
   std::string after;
   for (size_t at = 0; at < before.size();) {
      after += before[at++];
      if (after.back() != '%')
         continue;
      size_t digits = 0;
      after += std::to_string(number(uint32_t(std::stoul(before.substr(at, 12), &digits))));
      at += digits;
   }
   spvTextDestroy(text);
   spvContextDestroy(context);
   return assemble(after, 0x00010600, NumericIds::kept);
}

const char *const shader = R"(
   layout(constant_id = 3) const uint factor = 7;
   layout(set = 0, binding = 0) buffer Data { uint words[]; };
   shared uint scratch[64];
   uint twice(uint x) { return x + x; }
   void main()
   {
      uint i = gl_LocalInvocationIndex;
      scratch[i] = words[i];
      barrier();
      for (uint k = 0; k < factor; k++) {
         if (scratch[(i + k) % 64] > 5)
            words[i] = twice(words[i]) + subgroupAdd(k);
      }
      atomicAdd(words[0], 1);
   })";

/// Numbers that occur once in a while up to the largest: 4194301 is a prime.
uint32_t scatter(uint32_t id)
{
   return uint32_t(uint64_t(id) * 1234577 % 4194301);
}

TEST(CompactIds, NumbersDoNotMatter)
{
   const Source source = compile(shader);
   const std::vector<uint32_t> sparse = renumber(source.spirv, scatter);
   EXPECT_FALSE(has_sparse_ids(source.spirv));
   EXPECT_TRUE(has_sparse_ids(sparse));
   Result<std::vector<uint32_t>> dense = compact_ids(source.spirv), compacted = compact_ids(sparse);
   ASSERT_TRUE(dense);
   ASSERT_TRUE(compacted) << compacted.error().message;
   std::vector<uint32_t> expected = renumber(*dense, [](uint32_t id) { return id; });
   EXPECT_EQ(renumber(*compacted, [](uint32_t id) { return id; }), expected);
   EXPECT_LE((*compacted)[3], source.spirv[3]);
   const Result<bool> valid = validate_spirv(*compacted);
   EXPECT_TRUE(valid) << valid.error().message;
}

TEST(CompactIds, FrontEndTakesTheLargestBoundInLittleMemory)
{
   Source source = compile(shader);
   source.spirv = renumber(source.spirv, scatter);
   source.spirv[3] = largest_bound;
   rusage before, after;
   getrusage(RUSAGE_SELF, &before);
   const Result<Shader> nir = read_shader(source.shader_source(), Consumer::cpu, 32);
   getrusage(RUSAGE_SELF, &after);
   ASSERT_TRUE(nir) << nir.error().message;
   EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 64 << 10); // KiB

   source.spirv[3] = largest_bound + 1;
   const Result<Shader> refused = read_shader(source.shader_source(), Consumer::cpu, 32);
   EXPECT_FALSE(refused);
}

TEST(CompactIds, RefusesWhatIsNoModule)
{
   EXPECT_FALSE(compact_ids({}));
   const std::vector<uint32_t> broken = {0x07230203, 0x00010600, 0, 100, 0, 0x00ff0011};
   EXPECT_FALSE(compact_ids(broken));
}

} // namespace
} // namespace weft::test
