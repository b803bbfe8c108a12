// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/cpu/cpu_features.h"

#include <gtest/gtest.h>

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
}

/// This machine's may have more than there are kernels for (AVX512-BF16, AVX512-FP16, AMX).
TEST(CpuFeatures, HostIsDescribedByKernelsThatThereAre)
{
   for (const InstructionSet set : {InstructionSet::avx2, InstructionSet::avx512}) {
      const CpuFeatures features = detect_features(set);
      const std::string text = describe(features);
      for (const char *word : {"BF16", "FP16", "AMX", "VBMI"})
         EXPECT_EQ(text.find(word), std::string::npos) << text;
   }
}

TEST(CpuFeatures, AreNarrowedToALevel)
{
   EXPECT_EQ(detect_features(InstructionSet::none).instruction_set, InstructionSet::none);
   const CpuFeatures avx2 = detect_features(InstructionSet::avx2);
   EXPECT_LE(avx2.instruction_set, InstructionSet::avx2);
   EXPECT_FALSE(avx2.avx512_vnni);
   EXPECT_EQ(avx2.llvm_features, "");
   EXPECT_EQ(avx2.vector_bits(), 256u);
}

} // namespace
} // namespace weft::cpu
