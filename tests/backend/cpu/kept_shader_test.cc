// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/cpu/specialize/kept_shader.h"

#include "backend/cpu/jit/program_file.h"

#include "tests/backend/cpu/branch_conditions.h"
#include "tests/backend/cpu/handwritten_program.h"

#include <gtest/gtest.h>

namespace weft::cpu {
namespace {

KeptShader shader()
{
   KeptShader shader = {program_info(2, true), &host_features(), true, three_branches(), {}};
   shader.conditions.branches[1].keeps_else = true;
   for (const int byte : {1, 2, 3, 4, 5})
      shader.nir.push_back(std::byte(byte));
   return shader;
}

Result<StoredShader> stored(const KeptShader &shader, const ShaderVariants::Programs &programs = {})
{
   const Result<ProgramFile> file = read_program_file(write_shader(shader, programs));
   EXPECT_TRUE(file);
   return read_shader_payload(file->info, file->payload, host_features());
}

TEST(KeptShader, ComesBackFromItsFile)
{
   const Result<StoredShader> read = stored(shader());
   ASSERT_TRUE(read) << read.error().message;
   const KeptShader &found = *read->shader;
   EXPECT_EQ(found.info.subgroups, 2u);
   EXPECT_TRUE(found.info.uses_barrier);
   EXPECT_TRUE(found.robust_buffer_access);
   EXPECT_EQ(found.nir, shader().nir);
   EXPECT_TRUE(read->programs.empty());

   ASSERT_EQ(found.conditions.expressions.size(), 5u);
   const DispatchExpression &less = found.conditions.expressions[4];
   EXPECT_EQ(less.kind, DispatchExpression::Kind::operation);
   EXPECT_EQ(less.bits, 1);
   EXPECT_EQ(less.op, nir_op_ult);
   EXPECT_EQ(less.sources[0], 3u);
   EXPECT_EQ(found.conditions.expressions[1].value, 5u);
   ASSERT_EQ(found.conditions.branches.size(), 3u);
   const BranchConditions::Branch &branch = found.conditions.branches[1];
   EXPECT_EQ(branch.number, 1u);
   EXPECT_EQ(branch.condition, 4u);
   EXPECT_EQ(branch.around, 0);
   EXPECT_TRUE(branch.in_then);
   EXPECT_FALSE(branch.keeps_then);
   EXPECT_TRUE(branch.keeps_else);
   EXPECT_EQ(found.conditions.branches[0].around, -1);
}

TEST(KeptShader, TruncatedFilesAreRefused)
{
   const Result<ProgramFile> file = read_program_file(write_shader(shader(), {}));
   ASSERT_TRUE(file);
   for (size_t size = 0; size < file->payload.size(); size++)
      EXPECT_FALSE(
         read_shader_payload(file->info, std::span(file->payload).first(size), host_features()))
         << size;
}

TEST(KeptShader, ConditionsOutOfRangeAreRefused)
{
   KeptShader damaged = shader();
   damaged.conditions.branches[1].condition = 5;
   const Result<StoredShader> read = stored(damaged);
   ASSERT_FALSE(read);
   EXPECT_EQ(read.error().message, "compiled shader: damaged");
}

/// The object file of no program: an error comes from the program, after its decisions are read.
TEST(KeptShader, ProgramsHaveADecisionForEachBranch)
{
   const auto message = [](const BranchDecisions &decisions) {
      const auto program = std::make_shared<HandwrittenProgram>(nullptr, program_info(1, false));
      const Result<StoredShader> read =
         stored(shader(), {{decisions, ready(std::shared_ptr<const Program>(program))}});
      return read ? "" : read.error().message;
   };
   EXPECT_EQ(message(decisions("te*")), "compiled program: truncated");
   EXPECT_EQ(message(decisions("te")), "compiled shader: damaged");
   EXPECT_EQ(message(decisions("te*-")), "compiled shader: damaged");
   EXPECT_EQ(message({}), "compiled shader: damaged");
   EXPECT_EQ(message({BranchDecision(9), BranchDecision(0), BranchDecision(0)}),
             "compiled shader: damaged");
}

TEST(KeptShader, ProgramsThatFailedAreLeftOut)
{
   const Result<StoredShader> read = stored(shader(), {{decisions("te*"), ready(Error{"failed"})}});
   ASSERT_TRUE(read) << read.error().message;
   EXPECT_TRUE(read->programs.empty());
}

} // namespace
} // namespace weft::cpu
