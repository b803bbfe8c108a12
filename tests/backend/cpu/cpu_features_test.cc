// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/cpu/cpu_features.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace weft::cpu {
namespace {

TEST(CpuFeatures, DescriptionNamesWhatMatricesUse)
{
   CpuFeatures features;
   features.brand = "A CPU";
   EXPECT_EQ(describe(features), "A CPU (no AVX2)");
   features.instruction_set = InstructionSet::avx2;
   EXPECT_EQ(describe(features), "A CPU (AVX2)");
   features.instruction_set = InstructionSet::avx512;
   EXPECT_EQ(describe(features), "A CPU (AVX-512)");
   features.avx512_vnni = true;
   EXPECT_EQ(describe(features), "A CPU (AVX-512, VNNI)");
   features.avx512_bf16 = true;
   EXPECT_EQ(describe(features), "A CPU (AVX-512, VNNI, BF16)");
   features.amx = true;
   EXPECT_EQ(describe(features), "A CPU (AVX-512, VNNI, BF16, AMX)");
   features = {};
   features.brand = "A CPU";
   features.instruction_set = InstructionSet::avx2;
   features.avx_vnni = true;
   EXPECT_EQ(describe(features), "A CPU (AVX2, VNNI)");
}

/// This machine may have instructions without kernels (AVX512-FP16, VBMI).
TEST(CpuFeatures, HostIsDescribedByKernelsThatThereAre)
{
   for (const IsaLimit limit : {IsaLimit::avx2, IsaLimit::avx512, IsaLimit::amx}) {
      const std::string text = describe(detect_features(limit));
      for (const char *word : {"FP16", "VBMI"})
         EXPECT_EQ(text.find(word), std::string::npos) << text;
   }
}

TEST(CpuFeatures, NothingRunsWithShadowStacks)
{
   CpuFeatures features;
   features.instruction_set = InstructionSet::avx2;
   EXPECT_FALSE(missing_instructions(features));
   const std::optional<std::string> missing = missing_instructions(features, true);
   ASSERT_TRUE(missing);
   EXPECT_NE(missing->find("CET"), std::string::npos) << *missing;
   EXPECT_TRUE(missing_instructions(CpuFeatures()));
   // This process has no shadow stack; with one, the tests that switch fibers would fail.
   EXPECT_FALSE(has_shadow_stack());
}

TEST(CpuFeatures, AreNarrowedToALimit)
{
   EXPECT_EQ(detect_features(IsaLimit::none).instruction_set, InstructionSet::none);
   const CpuFeatures avx2 = detect_features(IsaLimit::avx2);
   EXPECT_LE(avx2.instruction_set, InstructionSet::avx2);
   EXPECT_FALSE(avx2.avx_vnni || avx2.avx512_vnni || avx2.avx512_bf16 || avx2.amx);
   EXPECT_FALSE(avx2.target.byte_dots || avx2.target.half_arithmetic ||
                avx2.target.fast_gathers_and_scatters);
   EXPECT_FALSE(avx2.target.shuffles_two_registers || avx2.target.masks_any_element);
   EXPECT_EQ(avx2.target.llvm_features, "");
   EXPECT_EQ(avx2.target.vector_bits, 256u);
   const CpuFeatures avx_vnni = detect_features(IsaLimit::avx_vnni);
   EXPECT_LE(avx_vnni.instruction_set, InstructionSet::avx2);
   EXPECT_EQ(avx_vnni.target.byte_dots, avx_vnni.avx_vnni);
   const CpuFeatures avx512f = detect_features(IsaLimit::avx512f);
   EXPECT_FALSE(avx512f.avx512_vnni || avx512f.avx512_bf16 || avx512f.amx);
   if (avx512f.instruction_set == InstructionSet::avx512) {
      // AVX-VNNI does not make 512 bits.
      EXPECT_FALSE(avx512f.target.byte_dots);
      EXPECT_TRUE(avx512f.target.shuffles_two_registers && avx512f.target.masks_any_element);
      EXPECT_EQ(avx512f.target.vector_bits, 512u);
   }
   const CpuFeatures vnni = detect_features(IsaLimit::avx512_vnni);
   EXPECT_FALSE(vnni.avx512_bf16 || vnni.amx);
   EXPECT_FALSE(detect_features(IsaLimit::avx512).amx);
}

TEST(CpuFeatures, LevelsAndWordsAscend)
{
   for (size_t i = 1; i < isa_words().size(); i++)
      EXPECT_LT(isa_words()[i - 1].limit, isa_words()[i].limit);
   EXPECT_EQ(isa_words().back().limit, highest_isa_limit);
   for (const IsaLevel &level : isa_levels()) {
      EXPECT_LE(detect_features(level.limit).instruction_set, level.instruction_set);
      EXPECT_TRUE(std::ranges::count(isa_words(), level.word, &IsaWord::word)) << level.word;
   }
}

} // namespace
} // namespace weft::cpu
