// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/cpu/cpu_features.h"
#include "backend/cpu/jit/jit.h"

#include <gtest/gtest.h>

#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/SourceMgr.h>

#include <cmath>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <thread>

namespace weft::cpu {
namespace {

/// Writes exp2f of eight push constant floats to where the first set points.
const std::string exp_kernel = R"(
declare <8 x float> @_ZGVdN8v_exp2f(<8 x float>)
define zeroext i1 @weft_kernel(ptr %dispatch, ptr %group, i32 %subgroup) {
   %set = load ptr, ptr %dispatch
   %push_at = getelementptr i8, ptr %dispatch, i64 )" +
                               std::to_string(offsetof(DispatchState, push_constants)) + R"(
   %push = load ptr, ptr %push_at
   %x = load <8 x float>, ptr %push, align 4
   %y = call <8 x float> @_ZGVdN8v_exp2f(<8 x float> %x)
   store <8 x float> %y, ptr %set, align 4
   ret i1 true
}
)";

Result<std::vector<std::byte>> compile_text(const std::string &text)
{
   llvm::LLVMContext context;
   llvm::SMDiagnostic diagnostic;
   std::unique_ptr<llvm::Module> module = llvm::parseAssemblyString(text, diagnostic, context);
   if (!module)
      return Error{diagnostic.getMessage().str()};
   prepare_module(*module);
   return compile_object(*module, nullptr);
}

Result<std::shared_ptr<const Program>> build(const std::string &text)
{
   Result<std::vector<std::byte>> object = compile_text(text);
   if (!object)
      return object.error();
   ProgramInfo info = {};
   info.workgroup_size = {8, 2, 1};
   info.subgroup_size = 8;
   info.subgroups = 2;
   info.shared_bytes = 12;
   info.uses_barrier = true;
   return link_program(info, {std::move(*object)});
}

void expect_exponentials(const Program &program)
{
   float in[8] = {0, 1, 2, 3, -1, -2, 0.5f, 10}, out[8];
   for (float &x : out)
      x = NAN;
   DispatchState state = {};
   state.sets[0] = reinterpret_cast<uint8_t *>(out);
   state.push_constants = reinterpret_cast<uint8_t *>(in);
   WorkgroupState group = {};
   EXPECT_TRUE(program.kernel()(&state, &group, 0));
   for (int i = 0; i < 8; i++)
      EXPECT_NEAR(out[i], std::exp2(in[i]), 1e-6 * std::exp2(in[i]));
}

TEST(Jit, RunsCode)
{
   Result<std::shared_ptr<const Program>> program = build(exp_kernel);
   ASSERT_TRUE(program) << program.error().message;
   expect_exponentials(**program);
}

TEST(Jit, SurvivesSerialization)
{
   Result<std::shared_ptr<const Program>> program = build(exp_kernel);
   ASSERT_TRUE(program) << program.error().message;
   const std::vector<std::byte> bytes = (*program)->serialize();
   Result<std::shared_ptr<const Program>> again = deserialize(bytes);
   ASSERT_TRUE(again) << again.error().message;
   expect_exponentials(**again);
   const ProgramInfo &info = (*again)->info();
   EXPECT_EQ(info.workgroup_size[0], 8u);
   EXPECT_EQ(info.workgroup_size[1], 2u);
   EXPECT_EQ(info.subgroups, 2u);
   EXPECT_EQ(info.shared_bytes, 12u);
   EXPECT_TRUE(info.uses_barrier);
   EXPECT_EQ(info.stack_bytes, (*program)->info().stack_bytes);
   EXPECT_EQ((*again)->serialize(), bytes);
}

TEST(Jit, RefusesDamagedFiles)
{
   Result<std::shared_ptr<const Program>> program = build(exp_kernel);
   ASSERT_TRUE(program) << program.error().message;
   const std::vector<std::byte> bytes = (*program)->serialize();
   for (size_t length = 0; length < bytes.size(); length += 7)
      EXPECT_FALSE(deserialize(std::span(bytes).first(length))) << length;
   for (size_t at = 0; at < bytes.size(); at += 5) {
      std::vector<std::byte> damaged = bytes;
      damaged[at] ^= std::byte(1u << at % 8);
      EXPECT_FALSE(deserialize(damaged)) << at;
   }
}

TEST(Jit, KnowsItsStack)
{
   Result<std::shared_ptr<const Program>> program = build(R"(
      declare void @memset(ptr, i32, i64)
      define void @weft_kernel(ptr %dispatch, ptr %group, i32 %subgroup) {
         %scratch = alloca [100000 x i8], align 64
         call void @memset(ptr %scratch, i32 1, i64 100000)
         ret void
      }
   )");
   ASSERT_TRUE(program) << program.error().message;
   EXPECT_GE((*program)->info().stack_bytes, 100000u);
   EXPECT_LE((*program)->info().stack_bytes, 101000u);
}

TEST(Jit, ReportsMissingFunctions)
{
   Result<std::shared_ptr<const Program>> program = build(R"(
      declare void @system()
      define void @weft_kernel(ptr %dispatch, ptr %group, i32 %subgroup) {
         call void @system()
         ret void
      }
   )");
   ASSERT_FALSE(program);
   EXPECT_NE(program.error().message.find("system"), std::string::npos) << program.error().message;
}

TEST(Jit, ReportsAModuleWithoutKernel)
{
   EXPECT_FALSE(build("define void @other() {\n ret void\n}\n"));
}

TEST(Jit, ReportsErrorsOfCodeGeneration)
{
   // Inline assembly with an impossible constraint: the instruction selector's diagnostic would end
   // the process.
   Result<std::shared_ptr<const Program>> program = build(R"(
      define void @weft_kernel(ptr %dispatch, ptr %group, i32 %subgroup) {
         %x = call <64 x i32> asm "", "={ax}"()
         store <64 x i32> %x, ptr %dispatch
         ret void
      }
   )");
   EXPECT_FALSE(program);
}

TEST(Jit, Dumps)
{
   llvm::LLVMContext context;
   llvm::SMDiagnostic diagnostic;
   std::unique_ptr<llvm::Module> module =
      llvm::parseAssemblyString(exp_kernel, diagnostic, context);
   ASSERT_TRUE(module);
   prepare_module(*module);
   std::string phases, assembly;
   ASSERT_TRUE(compile_object(*module, [&](const char *phase, const std::string &text) {
      phases += std::string(phase) + " ";
      if (std::string(phase) == "asm")
         assembly = text;
   }));
   EXPECT_EQ(phases, "llvm llvm-opt asm ");
   EXPECT_NE(assembly.find("_ZGVdN8v_exp2f"), std::string::npos);
}

TEST(Jit, DropsThePassesThatTheTargetNames)
{
   for (const IsaLevel &level : isa_levels()) {
      const CpuFeatures cpu = detect_features(level.limit);
      if (cpu.instruction_set != level.instruction_set)
         continue;
      llvm::LLVMContext context;
      llvm::SMDiagnostic diagnostic;
      const std::unique_ptr<llvm::Module> module =
         llvm::parseAssemblyString(exp_kernel, diagnostic, context);
      ASSERT_TRUE(module);
      prepare_module(*module);
      CompileStatistics statistics;
      ASSERT_TRUE(compile_object(*module, nullptr, cpu, &statistics));
      const std::span<const std::string_view> names = cpu.target.dropped_passes;
      EXPECT_EQ(
         std::set<std::string>(statistics.dropped_passes.begin(), statistics.dropped_passes.end()),
         std::set<std::string>(names.begin(), names.end()))
         << "LLVM has renamed or removed a pass";
   }
}

TEST(Jit, CompilesOnManyThreads)
{
   std::vector<std::thread> threads;
   for (int i = 0; i < 4; i++) {
      threads.emplace_back([] {
         for (int j = 0; j < 4; j++) {
            Result<std::shared_ptr<const Program>> program = build(exp_kernel);
            ASSERT_TRUE(program) << program.error().message;
            expect_exponentials(**program);
         }
      });
   }
   for (std::thread &thread : threads)
      thread.join();
}

} // namespace
} // namespace weft::cpu
