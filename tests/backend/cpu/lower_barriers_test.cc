// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/cpu/cpu_features.h"
#include "backend/cpu/jit/jit.h"
#include "backend/cpu/jit/lower_barriers.h"
#include "backend/cpu/runtime/executor.h"

#include <gtest/gtest.h>

#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/SourceMgr.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace weft::cpu {
namespace {

constexpr uint32_t subgroups = 4, workgroups = 9, unwritten = 0xaaaaaaaa;

/// The begin of each kernel: %slot is the subgroup's word of shared memory, %results are its four
/// words of the first set.
const std::string head = R"(
declare void @weft_barrier(ptr)
define zeroext i1 @weft_kernel(ptr noalias %dispatch, ptr noalias %group, i32 %subgroup) {
entry:
   %variable = alloca i32
   %large = alloca [VARIABLES x i32], align 64
   %shared.at = getelementptr i8, ptr %group, i64 16
   %shared = load ptr, ptr %shared.at
   %slot = getelementptr i32, ptr %shared, i32 %subgroup
   %set = load ptr, ptr %dispatch
   %workgroup = load i32, ptr %group
   %first = mul i32 %workgroup, 4
   %number = add i32 %first, %subgroup
   %results = getelementptr [4 x i32], ptr %set, i32 %number
   %element = getelementptr i32, ptr %large, i32 %subgroup
)";

/// In each of three iterations, every subgroup writes a word, waits, and adds all words. Values of
/// each kind live across the barriers.
const std::string exchange = head + R"(
   store volatile i32 %number, ptr %variable
   store volatile i32 %number, ptr %element
   %some = insertelement <8 x i32> poison, i32 %subgroup, i32 0
   %all = shufflevector <8 x i32> %some, <8 x i32> poison, <8 x i32> zeroinitializer
   %mask = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %all
   br label %loop
loop:
   %k = phi i32 [0, %entry], [%k.next, %added]
   %sum = phi i32 [0, %entry], [%sum.next, %added]
   %ten = mul i32 %k, 10
   %word = add i32 %ten, %subgroup
   store i32 %word, ptr %slot
   call void @weft_barrier(ptr %group)
   br label %add
add:
   %i = phi i32 [0, %loop], [%i.next, %add]
   %total = phi i32 [0, %loop], [%total.next, %add]
   %word.at = getelementptr i32, ptr %shared, i32 %i
   %other = load i32, ptr %word.at
   %total.next = add i32 %total, %other
   %i.next = add i32 %i, 1
   %last = icmp eq i32 %i.next, 4
   br i1 %last, label %added, label %add
added:
   call void @weft_barrier(ptr %group)
   %sum.next = add i32 %sum, %total.next
   %k.next = add i32 %k, 1
   %done = icmp eq i32 %k.next, 3
   br i1 %done, label %end, label %loop
end:
   store i32 %sum.next, ptr %results
   %kept = load volatile i32, ptr %variable
   %result1 = getelementptr i32, ptr %results, i32 1
   store i32 %kept, ptr %result1
   %bits = bitcast <8 x i1> %mask to i8
   %wide = zext i8 %bits to i32
   %result2 = getelementptr i32, ptr %results, i32 2
   store i32 %wide, ptr %result2
   %kept.large = load volatile i32, ptr %element
   %result3 = getelementptr i32, ptr %results, i32 3
   store i32 %kept.large, ptr %result3
   ret i1 true
}
)";

/// Odd subgroups end before the second barrier. All count their runs.
const std::string early_end = head + R"(
   %runs.at = getelementptr i32, ptr %results, i32 1
   %runs = load i32, ptr %runs.at
   %runs.next = add i32 %runs, 1
   store i32 %runs.next, ptr %runs.at
   store volatile i32 0, ptr %element
   store i32 7, ptr %slot
   call void @weft_barrier(ptr %group)
   %other.at = getelementptr i32, ptr %shared, i32 3
   %other = load i32, ptr %other.at
   store i32 %other, ptr %results
   %bit = and i32 %subgroup, 1
   %odd = icmp eq i32 %bit, 1
   br i1 %odd, label %end, label %go.on
go.on:
   call void @weft_barrier(ptr %group)
   store i32 5, ptr %results
   br label %end
end:
   ret i1 true
}
)";

using Results = std::array<std::array<uint32_t, 4>, workgroups * subgroups>;

/// The kernel's program; `variables` is the size of its largest variable.
std::shared_ptr<const Program> compile(std::string text, uint32_t variables, const CpuFeatures &cpu)
{
   const std::string name = "VARIABLES";
   text.replace(text.find(name), name.size(), std::to_string(variables));
   llvm::LLVMContext context;
   llvm::SMDiagnostic diagnostic;
   const std::unique_ptr<llvm::Module> module =
      llvm::parseAssemblyString(text, diagnostic, context);
   EXPECT_TRUE(module) << diagnostic.getMessage().str();
   prepare_module(*module);
   Result<std::vector<std::byte>> object = compile_object(*module, nullptr, cpu);
   EXPECT_TRUE(object) << object.error().message;
   ProgramInfo info = {};
   info.workgroup_size = {8 * subgroups, 1, 1};
   info.subgroup_size = 8;
   info.subgroups = subgroups;
   info.shared_bytes = 4 * subgroups;
   info.uses_barrier = true;
   Result<std::shared_ptr<const Program>> program = link_program(info, {std::move(*object)}, cpu);
   EXPECT_TRUE(program) << program.error().message;
   return *program;
}

Results run(const Program &program, uint32_t order)
{
   Results results;
   for (auto &words : results)
      words.fill(unwritten);
   DispatchState state = {};
   state.sets[0] = reinterpret_cast<uint8_t *>(results.data());
   Executor executor(2, order);
   EXPECT_TRUE(executor.dispatch(program, state, {workgroups, 1, 1}));
   return results;
}

/// At each instruction set of the machine: masks are registers or vectors.
template <typename Check>
void at_all_levels(Check &&check)
{
   for (const IsaLevel &level : isa_levels()) {
      const CpuFeatures cpu = detect_features(level.limit);
      if (cpu.instruction_set == level.instruction_set)
         check(cpu);
   }
}

void expect_exchanged(const Program &program)
{
   for (const uint32_t order : {0, 12345, 777}) {
      const Results results = run(program, order);
      for (uint32_t i = 0; i < results.size(); i++) {
         const uint32_t subgroup = i % subgroups;
         const std::array<uint32_t, 4> expected = {3 * (0 + 1 + 2 + 3) + 4 * (10 + 20), i,
                                                   (1u << subgroup) - 1, i};
         EXPECT_EQ(results[i], expected) << i << " in order " << order;
      }
   }
}

TEST(LowerBarriers, ValuesLiveAcrossThem)
{
   at_all_levels([](const CpuFeatures &cpu) {
      const auto program = compile(exchange, 100, cpu);
      EXPECT_GT(program->info().frame_bytes, 400u);
      EXPECT_LE(program->info().frame_bytes, 640u);
      expect_exchanged(*program);
   });
}

TEST(LowerBarriers, LargeVariablesStayOnStacks)
{
   at_all_levels([](const CpuFeatures &cpu) {
      const auto program = compile(exchange, max_frame_bytes / 4, cpu);
      EXPECT_EQ(program->info().frame_bytes, 0u);
      EXPECT_GE(program->info().stack_bytes, max_frame_bytes);
      expect_exchanged(*program);
   });
}

TEST(LowerBarriers, FramesSurviveSerialization)
{
   const auto program = compile(exchange, 100, host_features());
   const Result<std::shared_ptr<const Program>> again = deserialize(program->serialize());
   ASSERT_TRUE(again) << again.error().message;
   EXPECT_EQ((*again)->info().frame_bytes, program->info().frame_bytes);
   expect_exchanged(**again);
}

TEST(LowerBarriers, SubgroupsMayEndBefore)
{
   for (const uint32_t variables : {4u, max_frame_bytes}) {
      const auto program = compile(early_end, variables, host_features());
      EXPECT_EQ(program->info().frame_bytes == 0, variables > 4);
      for (const uint32_t order : {0, 12345}) {
         const Results results = run(*program, order);
         for (uint32_t i = 0; i < results.size(); i++) {
            EXPECT_EQ(results[i][0], i % 2 ? 7u : 5u) << i;
            EXPECT_EQ(results[i][1], unwritten + 1) << i;
         }
      }
   }
}

} // namespace
} // namespace weft::cpu
