// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Variable pointers to multiple buffers or shared variables: results of shaders that use them, run
/// on this machine's CPU directly and from the compiler's module.

#include "tests/backend/spirv/compiled.h"
#include "tools/runner/runner.h"

#include <cstring>
#include <functional>
#include <gtest/gtest.h>

namespace weft {
namespace {

constexpr uint32_t workgroups = 2, invocations = 16, words = 1024;

/// Buffers of words: a, b and one of two descriptors are read, x and y are written; s and t are
/// shared.  %i is the invocation's index, %w the workgroup's, %n counts invocations over both, %odd
/// is whether %i is odd, %second whether the workgroup is the second.
const std::string declarations = R"(
   OpCapability Shader
   OpCapability VariablePointers
   OpCapability CooperativeMatrixKHR
   OpCapability VulkanMemoryModel
   OpExtension "SPV_KHR_cooperative_matrix"
   OpMemoryModel Logical Vulkan
   OpEntryPoint GLCompute %main "main" %index %group %a %b %x %y %many %s %t
   OpExecutionMode %main LocalSize 16 1 1
   OpDecorate %index BuiltIn LocalInvocationIndex
   OpDecorate %group BuiltIn WorkgroupId
   OpDecorate %words ArrayStride 4
   OpDecorate %ptr ArrayStride 4
   OpDecorate %block Block
   OpMemberDecorate %block 0 Offset 0
   OpDecorate %a DescriptorSet 0
   OpDecorate %a Binding 0
   OpDecorate %b DescriptorSet 0
   OpDecorate %b Binding 1
   OpDecorate %x DescriptorSet 0
   OpDecorate %x Binding 2
   OpDecorate %y DescriptorSet 0
   OpDecorate %y Binding 3
   OpDecorate %many DescriptorSet 0
   OpDecorate %many Binding 4
   %void = OpTypeVoid
   %bool = OpTypeBool
   %uint = OpTypeInt 32 0
   %uint3 = OpTypeVector %uint 3
   %function = OpTypeFunction %void
   %0 = OpConstant %uint 0
   %1 = OpConstant %uint 1
   %2 = OpConstant %uint 2
   %3 = OpConstant %uint 3
   %5 = OpConstant %uint 5
   %15 = OpConstant %uint 15
   %16 = OpConstant %uint 16
   %256 = OpConstant %uint 256
   %100 = OpConstant %uint 100
   %200 = OpConstant %uint 200
   %words = OpTypeRuntimeArray %uint
   %block = OpTypeStruct %words
   %blocks = OpTypeArray %block %2
   %ptr = OpTypePointer StorageBuffer %uint
   %ptr_block = OpTypePointer StorageBuffer %block
   %ptr_blocks = OpTypePointer StorageBuffer %blocks
   %a = OpVariable %ptr_block StorageBuffer
   %b = OpVariable %ptr_block StorageBuffer
   %x = OpVariable %ptr_block StorageBuffer
   %y = OpVariable %ptr_block StorageBuffer
   %many = OpVariable %ptr_blocks StorageBuffer
   %shared_words = OpTypeArray %uint %256
   %ptr_shared = OpTypePointer Workgroup %shared_words
   %sptr = OpTypePointer Workgroup %uint
   %s = OpVariable %ptr_shared Workgroup
   %t = OpVariable %ptr_shared Workgroup
   %input = OpTypePointer Input %uint
   %input3 = OpTypePointer Input %uint3
   %index = OpVariable %input Input
   %group = OpVariable %input3 Input
   %matrix = OpTypeCooperativeMatrixKHR %uint %3 %16 %16 %2
   %relaxed = OpConstant %uint 0
   %acquire_release = OpConstant %uint 264
   %pointers = OpTypeArray %ptr %2
   %ptr_pointers = OpTypePointer Function %pointers
   %ptr_ptr = OpTypePointer Function %ptr
   %null = OpConstantNull %ptr
   %takes_pointers = OpTypeFunction %uint %ptr %ptr %bool
)";

const std::string begin = R"(
   %main = OpFunction %void None %function
   %entry = OpLabel
   %held = OpVariable %ptr_pointers Function
   %i = OpLoad %uint %index
   %group_id = OpLoad %uint3 %group
   %w = OpCompositeExtract %uint %group_id 0
   %before = OpIMul %uint %w %16
   %n = OpIAdd %uint %before %i
   %bit = OpBitwiseAnd %uint %i %1
   %odd = OpINotEqual %bool %bit %0
   %second = OpINotEqual %bool %w %0
   %to = OpAccessChain %ptr %x %0 %n
   %at_a = OpAccessChain %ptr %a %0 %n
   %at_b = OpAccessChain %ptr %b %0 %n
)";

const std::string end = R"(
   OpReturn
   OpFunctionEnd)";

uint32_t in_a(uint32_t n)
{
   return 10000 + n;
}
uint32_t in_b(uint32_t n)
{
   return 20000 + 3 * n;
}
uint32_t in_many(uint32_t element, uint32_t n)
{
   return 30000 + 1000 * element + n;
}

runner::Buffer buffer(uint32_t binding, uint32_t element, uint32_t count,
                      const std::function<uint32_t(uint32_t)> &value)
{
   std::vector<uint32_t> contents(count);
   for (uint32_t i = 0; i < count; ++i)
      contents[i] = value(i);
   const auto bytes = std::as_bytes(std::span(contents));
   return {{0, binding, element}, {bytes.begin(), bytes.end()}};
}

std::vector<uint32_t> words_of(const runner::Buffer &buffer)
{
   std::vector<uint32_t> contents(buffer.bytes.size() / 4);
   memcpy(contents.data(), buffer.bytes.data(), buffer.bytes.size());
   return contents;
}

/// The buffers x and y.
struct Written {
   std::vector<uint32_t> x = std::vector<uint32_t>(words), y = x;
   bool operator==(const Written &) const = default;
};

/// Runs it by every path; `expect` fills in the expected words. `functions` is the text before the
/// entry point.
void expect(const std::string &body, const std::function<void(Written &)> &fill,
            const std::string &functions = "")
{
   const std::vector<uint32_t> spirv =
      test::assemble(declarations + functions + begin + body + end, 0x00010500);
   ASSERT_FALSE(spirv.empty());
   const auto zero = [](uint32_t) { return 0u; };
   const runner::Dispatch dispatch = {
      .source = ShaderSource{spirv, "main", {}},
      .buffers = {buffer(0, 0, words, in_a), buffer(1, 0, words / 2, in_b),
                  buffer(2, 0, words, zero), buffer(3, 0, words, zero),
                  buffer(4, 0, words, [](uint32_t n) { return in_many(0, n); }),
                  buffer(4, 1, words, [](uint32_t n) { return in_many(1, n); })},
      .workgroups = {workgroups, 1, 1}};
   Written expected;
   fill(expected);
   for (const bool through_spirv : {false, true}) {
      for (const auto matrices : {runner::Matrices::tiles, runner::Matrices::registers}) {
         runner::Path path;
         path.matrices = matrices;
         path.through_spirv = through_spirv;
         path.subgroup_size = invocations;
         SCOPED_TRACE(name(path));
         const auto found = runner::run(dispatch, path);
         ASSERT_TRUE(found) << found.error().message;
         EXPECT_EQ(words_of((*found)[2]), expected.x);
         EXPECT_EQ(words_of((*found)[3]), expected.y);
      }
   }
}

/// For each invocation.
void for_all(const std::function<void(uint32_t n, uint32_t i, bool second)> &body)
{
   for (uint32_t w = 0; w < workgroups; ++w) {
      for (uint32_t i = 0; i < invocations; ++i)
         body(w * invocations + i, i, w == 1);
   }
}

/* ---- buffers ---- */

TEST(VariablePointers, ALoadFromOneOfTwoBuffers)
{
   expect(R"(
      %p = OpSelect %ptr %odd %at_a %at_b
      %v = OpLoad %uint %p
      OpStore %to %v)",
          [](Written &out) {
             for_all([&](uint32_t n, uint32_t i, bool) { out.x[n] = i % 2 ? in_a(n) : in_b(n); });
          });
}

TEST(VariablePointers, AStoreToOneOfTwoBuffers)
{
   expect(R"(
      %to_y = OpAccessChain %ptr %y %0 %n
      %p = OpSelect %ptr %odd %to %to_y
      %next = OpPtrAccessChain %ptr %p %200
      OpStore %p %n
      OpStore %next %i)",
          [](Written &out) {
             for_all([&](uint32_t n, uint32_t i, bool) {
                (i % 2 ? out.x : out.y)[n] = n;
                (i % 2 ? out.x : out.y)[n + 200] = i;
             });
          });
}

TEST(VariablePointers, AnAtomicOperationOnOneOfTwoBuffers)
{
   expect(R"(
      %first = OpAccessChain %ptr %x %0 %100
      %first_y = OpAccessChain %ptr %y %0 %0
      %p = OpSelect %ptr %odd %first %first_y
      %was = OpAtomicIAdd %uint %p %5 %relaxed %i
      %most = OpAtomicUMax %uint %p %5 %relaxed %0)",
          [](Written &out) {
             for_all([&](uint32_t, uint32_t i, bool) { (i % 2 ? out.x[100] : out.y[0]) += i; });
          });
}

TEST(VariablePointers, PointersThatALoopExchanges)
{
   expect(R"(
      OpBranch %head
      %head = OpLabel
      %k = OpPhi %uint %0 %entry %next_k %next
      %p = OpPhi %ptr %at_a %entry %far %next
      %q = OpPhi %ptr %at_b %entry %p %next
      %sum = OpPhi %uint %0 %entry %next_sum %next
      %goes_on = OpULessThan %bool %k %i
      OpLoopMerge %after %next None
      OpBranchConditional %goes_on %inside %after
      %inside = OpLabel
      %v = OpLoad %uint %p
      %weighed = OpIMul %uint %v %k
      %next_sum = OpIAdd %uint %sum %weighed
      %far = OpPtrAccessChain %ptr %q %1
      OpBranch %next
      %next = OpLabel
      %next_k = OpIAdd %uint %k %1
      OpBranch %head
      %after = OpLabel
      OpStore %to %sum)",
          [](Written &out) {
             for_all([&](uint32_t n, uint32_t i, bool) {
                const auto at = [&](bool b, uint32_t place) {
                   return b ? in_b(place) : in_a(place);
                };
                bool p_is_b = false, q_is_b = true;
                uint32_t p = n, q = n;
                for (uint32_t k = 0; k < i; ++k) {
                   out.x[n] += at(p_is_b, p) * k;
                   const uint32_t far = q + 1;
                   const bool far_is_b = q_is_b;
                   q = p, q_is_b = p_is_b;
                   p = far, p_is_b = far_is_b;
                }
             });
          });
}

TEST(VariablePointers, PointersInPrivateMemory)
{
   expect(R"(
      %held_0 = OpAccessChain %ptr_ptr %held %0
      %held_1 = OpAccessChain %ptr_ptr %held %1
      %held_bit = OpAccessChain %ptr_ptr %held %bit
      OpStore %held_0 %at_a
      OpStore %held_1 %at_b
      %p = OpLoad %ptr %held_bit
      %v = OpLoad %uint %p
      OpStore %to %v)",
          [](Written &out) {
             for_all([&](uint32_t n, uint32_t i, bool) { out.x[n] = i % 2 ? in_b(n) : in_a(n); });
          });
}

TEST(VariablePointers, PointersAsParameters)
{
   expect(
      R"(
      %u = OpFunctionCall %uint %choose %at_a %at_b %odd
      %v = OpFunctionCall %uint %choose %at_b %at_a %second
      %sum = OpIAdd %uint %u %v
      OpStore %to %sum)",
      [](Written &out) {
         for_all([&](uint32_t n, uint32_t i, bool second) {
            out.x[n] = (i % 2 ? in_a(n) : in_b(n)) + (second ? in_b(n) : in_a(n));
         });
      },
      R"(
      %choose = OpFunction %uint None %takes_pointers
      %yes = OpFunctionParameter %ptr
      %no = OpFunctionParameter %ptr
      %which = OpFunctionParameter %bool
      %choose_entry = OpLabel
      %chosen = OpSelect %ptr %which %yes %no
      %value = OpLoad %uint %chosen
      OpReturnValue %value
      OpFunctionEnd)");
}

TEST(VariablePointers, NullPointersAndComparisons)
{
   expect(R"(
      %p = OpSelect %ptr %odd %at_a %null
      %q = OpSelect %ptr %second %at_a %at_b
      %there = OpPtrNotEqual %bool %p %null
      %same = OpPtrEqual %bool %p %q
      %far = OpPtrAccessChain %ptr %q %5
      %distance = OpPtrDiff %uint %far %q
      %same_word = OpSelect %uint %same %100 %200
      %code = OpIAdd %uint %same_word %distance
      %to_y = OpAccessChain %ptr %y %0 %n
      OpStore %to_y %code
      OpSelectionMerge %after None
      OpBranchConditional %there %load %after
      %load = OpLabel
      %v = OpLoad %uint %p
      OpStore %to %v
      OpBranch %after
      %after = OpLabel)",
          [](Written &out) {
             for_all([&](uint32_t n, uint32_t i, bool second) {
                out.x[n] = i % 2 ? in_a(n) : 0;
                out.y[n] = (i % 2 && second ? 100 : 200) + 5;
             });
          });
}

TEST(VariablePointers, TheLengthOfOneOfTwoBuffers)
{
   expect(R"(
      %p = OpSelect %ptr_block %second %a %b
      %length = OpArrayLength %uint %p 0
      OpStore %to %length)",
          [](Written &out) {
             for_all(
                [&](uint32_t n, uint32_t, bool second) { out.x[n] = second ? words : words / 2; });
          });
}

TEST(VariablePointers, DescriptorsOfAnArrayAndOthers)
{
   expect(R"(
      %of_0 = OpAccessChain %ptr %many %0 %0 %n
      %of_1 = OpAccessChain %ptr %many %1 %0 %n
      %p = OpSelect %ptr %odd %of_0 %of_1
      %q = OpSelect %ptr %second %p %at_b
      %v = OpLoad %uint %q
      OpStore %to %v
      %of_w = OpAccessChain %ptr %many %w %0 %n
      %r = OpSelect %ptr %odd %of_w %at_a
      %u = OpLoad %uint %r
      %to_y = OpAccessChain %ptr %y %0 %n
      OpStore %to_y %u)",
          [](Written &out) {
             for_all([&](uint32_t n, uint32_t i, bool second) {
                out.x[n] = !second ? in_b(n) : in_many(i % 2 ? 0 : 1, n);
                out.y[n] = i % 2 ? in_many(second, n) : in_a(n);
             });
          });
}

TEST(VariablePointers, MatricesInOneOfTwoBuffers)
{
   expect(R"(
      %begin_a = OpAccessChain %ptr %a %0 %16
      %begin_b = OpAccessChain %ptr %b %0 %0
      %begin_x = OpAccessChain %ptr %x %0 %256
      %begin_y = OpAccessChain %ptr %y %0 %0
      %p = OpSelect %ptr %second %begin_a %begin_b
      %q = OpSelect %ptr %second %begin_x %begin_y
      %m = OpCooperativeMatrixLoadKHR %matrix %p %0 %16
      %sum = OpIAdd %matrix %m %m
      OpCooperativeMatrixStoreKHR %q %sum %1 %16)",
          [](Written &out) {
             for (uint32_t e = 0; e < 256; ++e) {
                const uint32_t transposed = e % 16 * 16 + e / 16;
                out.x[256 + e] = 2 * in_a(16 + transposed);
                out.y[e] = 2 * in_b(transposed);
             }
          });
}

/* ---- shared memory ---- */

/// Each invocation fills its places of s and t.
const std::string fill_shared = R"(
   %s_i = OpAccessChain %sptr %s %i
   %t_i = OpAccessChain %sptr %t %i
   %hundred_i = OpIAdd %uint %i %100
   %hundreds_i = OpIAdd %uint %i %200
   OpStore %s_i %hundred_i NonPrivatePointer
   OpStore %t_i %hundreds_i NonPrivatePointer
   OpControlBarrier %2 %2 %acquire_release
   %other = OpISub %uint %15 %i
)";

TEST(VariablePointers, OneOfTwoSharedVariables)
{
   expect(fill_shared + R"(
      %s_other = OpAccessChain %sptr %s %other
      %t_other = OpAccessChain %sptr %t %other
      %p = OpSelect %sptr %odd %s_other %t_other
      %v = OpLoad %uint %p NonPrivatePointer
      OpStore %to %v)",
          [](Written &out) {
             for_all([&](uint32_t n, uint32_t i, bool) { out.x[n] = (i % 2 ? 115 : 215) - i; });
          });
}

TEST(VariablePointers, StoresAndAtomicsInOneOfTwoSharedVariables)
{
   expect(fill_shared + R"(
      %p = OpSelect %sptr %odd %s_i %t_i
      %far = OpPtrAccessChain %sptr %p %16
      OpStore %far %n NonPrivatePointer
      %was = OpAtomicIAdd %uint %p %2 %relaxed %5
      OpControlBarrier %2 %2 %acquire_release
      %s_now = OpLoad %uint %s_i NonPrivatePointer
      %t_now = OpLoad %uint %t_i NonPrivatePointer
      %sum = OpIAdd %uint %s_now %t_now
      %far_now = OpLoad %uint %far NonPrivatePointer
      %all = OpIAdd %uint %sum %far_now
      OpStore %to %all
      %difference = OpISub %uint %s_now %t_now
      %to_y = OpAccessChain %ptr %y %0 %n
      OpStore %to_y %difference)",
          [](Written &out) {
             for_all([&](uint32_t n, uint32_t i, bool) {
                out.x[n] = 305 + 2 * i + n;
                out.y[n] = uint32_t(-100 + (i % 2 ? 5 : -5));
             });
          });
}

TEST(VariablePointers, APointerThatWalksThroughSharedMemory)
{
   expect(fill_shared + R"(
      %first_s = OpAccessChain %sptr %s %0
      %first_t = OpAccessChain %sptr %t %0
      OpBranch %head
      %head = OpLabel
      %k = OpPhi %uint %0 %entry %next_k %next
      %p = OpPhi %sptr %first_s %entry %far %next
      %q = OpPhi %sptr %first_t %entry %p %next
      %sum = OpPhi %uint %0 %entry %next_sum %next
      %goes_on = OpULessThan %bool %k %i
      OpLoopMerge %after %next None
      OpBranchConditional %goes_on %inside %after
      %inside = OpLabel
      %v = OpLoad %uint %p NonPrivatePointer
      %weighed = OpIMul %uint %v %k
      %next_sum = OpIAdd %uint %sum %weighed
      %far = OpPtrAccessChain %sptr %q %1
      OpBranch %next
      %next = OpLabel
      %next_k = OpIAdd %uint %k %1
      OpBranch %head
      %after = OpLabel
      OpStore %to %sum)",
          [](Written &out) {
             for_all([&](uint32_t n, uint32_t i, bool) {
                uint32_t p = 0, q = 0, base_p = 100, base_q = 200;
                for (uint32_t k = 0; k < i; ++k) {
                   out.x[n] += (base_p + p) * k;
                   const uint32_t far = q + 1;
                   q = p;
                   p = far;
                   std::swap(base_p, base_q);
                }
             });
          });
}

TEST(VariablePointers, SharedPointersAreCompared)
{
   expect(fill_shared + R"(
      %p = OpSelect %sptr %odd %s_i %t_i
      %is_s = OpPtrEqual %bool %p %s_i
      %begins_alike = OpPtrEqual %bool %s_i %t_i
      %s_word = OpSelect %uint %is_s %1 %2
      %alike_word = OpSelect %uint %begins_alike %100 %0
      %sum = OpIAdd %uint %s_word %alike_word
      OpStore %to %sum)",
          [](Written &out) {
             for_all([&](uint32_t n, uint32_t i, bool) { out.x[n] = i % 2 ? 1 : 2; });
          });
}

TEST(VariablePointers, MatricesInOneOfTwoSharedVariables)
{
   std::string fill;
   for (unsigned row = 0; row < 16; ++row) {
      const std::string r = std::to_string(row);
      fill += "%row" + r + " = OpIMul %uint %16 %r" + r + "\n%at" + r + " = OpIAdd %uint %i %row" +
              r + "\n%s" + r + " = OpAccessChain %sptr %s %at" + r + "\n%t" + r +
              " = OpAccessChain %sptr %t %at" + r + "\n%more" + r + " = OpIAdd %uint %at" + r +
              " %100\nOpStore %s" + r + " %at" + r + " NonPrivatePointer\nOpStore %t" + r +
              " %more" + r + " NonPrivatePointer\n";
   }
   std::string constants;
   for (unsigned row = 0; row < 16; ++row)
      constants += "%r" + std::to_string(row) + " = OpConstant %uint " + std::to_string(row) + "\n";
   expect(
      fill + R"(
      OpControlBarrier %2 %2 %acquire_release
      %first_s = OpAccessChain %sptr %s %0
      %first_t = OpAccessChain %sptr %t %0
      %p = OpSelect %sptr %second %first_s %first_t
      %q = OpSelect %sptr %second %first_t %first_s
      %m = OpCooperativeMatrixLoadKHR %matrix %p %0 %16 NonPrivatePointer
      OpCooperativeMatrixStoreKHR %q %m %1 %16 NonPrivatePointer
      OpControlBarrier %2 %2 %acquire_release
      %v_row = OpPtrAccessChain %sptr %q %i
      %v = OpLoad %uint %v_row NonPrivatePointer
      OpStore %to %v)",
      [](Written &out) {
         for_all(
            [&](uint32_t n, uint32_t i, bool second) { out.x[n] = i * 16 + (second ? 0 : 100); });
      },
      constants);
}

} // namespace
} // namespace weft
