// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tests/spirv_forms/forms.h"

#include "tests/e2e/glsl.h"
#include "tests/spirv_forms/evaluate.h"
#include "tests/spirv_forms/rewrite.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <numeric>

namespace weft::forms {
namespace {

using spv::Op;

std::vector<uint32_t> compile(const std::string &body, const std::string &functions = "")
{
   return e2e::compile_glsl(std::string(e2e::glsl_header) + R"(
#pragma use_vulkan_memory_model
layout(local_size_x = 32) in;
layout(set = 0, binding = 0, std430) buffer Data { uint data[]; };
#define Matrix coopmat<uint, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator>
struct Pair { uint number; Matrix matrices[2]; uvec2 v; };
struct Nest { Pair pairs[2]; bool flag; };
Matrix load(uint at)
{
   Matrix m;
   coopMatLoad(m, data, at, 16, gl_CooperativeMatrixLayoutRowMajor);
   return m;
}
void store(Matrix m, uint at) { coopMatStore(m, data, at, 16, gl_CooperativeMatrixLayoutRowMajor); }
)" + functions + "void main()\n{\n" +
                            body + "}\n");
}

std::vector<uint32_t> words_of_buffer()
{
   std::vector<uint32_t> words(64);
   std::iota(words.begin(), words.end(), 3);
   return words;
}

struct Shader {
   const char *name, *body, *functions = "";
};

/// Shaders with all ways in which variables hold values, and in which control flow joins them.
const Shader shaders[] = {
   {"straight", R"(
   Pair p;
   p.number = data[0];
   p.matrices[0] = load(4);
   p.matrices[1] = load(8);
   p.v = uvec2(data[1], p.number);
   Pair q = p;
   q.matrices[1] = p.matrices[0] + q.matrices[1];
   q.v.x = 17;
   store(q.matrices[1], 20);
   store(p.matrices[1], 24);
   data[2] = q.v.x + q.v.y + q.number;
)"},
   {"branches", R"(
   Matrix m = load(4);
   Nest n;
   n.pairs[0].matrices[0] = m;
   n.pairs[0].number = 5;
   n.flag = data[1] == 4;
   if (n.flag)
      m = load(8);
   if (data[2] < 7)
      n.pairs[0].matrices[0] = m + m;
   else
      n.pairs[0].number = data[3];
   uint x = 0;
   switch (data[n.pairs[0].number & 3]) {
   case 3: x = 4; m = m + m; break;
   case 4: x += 9;
   default: x += 2; n.pairs[0].matrices[0] = m; break;
   }
   store(m, 20);
   store(n.pairs[0].matrices[0], 24);
   data[1] = x;
)"},
   {"loops", R"(
   Matrix a = load(4), b = load(8);
   uint sum = 0;
   for (uint i = 0; i < 5; i++) {
      Matrix c = a;
      a = b;
      b = c + b;
      if (i == data[0])
         continue;
      sum += i;
      do {
         sum += data[i];
         a = a + b;
      } while (sum < 4);
      if (sum > 1000)
         break;
   }
   store(a, 20);
   store(b, 24);
   data[2] = sum;
)"},
   {"indices", R"(
   Matrix m[3];
   for (uint i = 0; i < 3; i++)
      m[i] = load(4 * i);
   uint words[4];
   for (uint i = 0; i < 4; i++)
      words[i] = data[i] * i;
   words[data[1] & 3] = 99;
   m[data[2] % 3] = m[(data[2] + 1) % 3];
   for (uint i = 0; i < m[0].length(); i++)
      m[0][i] = m[1][i] + i;
   m[1][0] = m[2][1];
   store(m[0], 20);
   store(m[1], 24);
   store(m[2], 28);
   data[0] = words[0] + words[1] * words[2] + words[3];
)"},
   {"functions", R"(
   Pair p;
   p.number = data[0];
   p.matrices[0] = load(4);
   p.matrices[1] = twice(p.matrices[0]);
   p.v = uvec2(3, 4);
   change(p);
   Pair r = other(p, data[3] == 6);
   store(p.matrices[0], 20);
   store(p.matrices[1], 24);
   store(r.matrices[0], 28);
   data[1] = p.number + p.v.x + r.number;
)",
    R"(
Matrix twice(Matrix m) { m = m + m; return m; }
void change(inout Pair p)
{
   Matrix first = p.matrices[0];
   p.matrices[0] = p.matrices[1];
   p.matrices[1] = first;
   p.v.x += p.number;
}
Pair other(const Pair p, bool which)
{
   Pair r = p;
   if (which)
      return r;
   r.number = 7;
   return r;
}
)"},
};

uint32_t count(const Module &module, Op opcode)
{
   uint32_t sum = 0;
   for (const Function &f : module.functions) {
      for (const Block &b : f.blocks)
         sum += uint32_t(std::ranges::count(b.body, opcode, &Instruction::opcode));
   }
   return sum;
}

uint32_t chains_into_variables(const Module &module)
{
   uint32_t sum = 0;
   for (const Function &f : module.functions) {
      for (const Block &b : f.blocks) {
         for (const Instruction &i : b.body)
            sum += i.opcode == Op::OpAccessChain &&
                   module.global(i.type)->operands[0] == uint32_t(spv::StorageClass::Function);
      }
   }
   return sum;
}

void expect_same(std::span<const uint32_t> spirv, const std::vector<uint32_t> &expected,
                 const std::string &what)
{
   SCOPED_TRACE(what);
   const auto fault = find_fault(spirv);
   ASSERT_FALSE(fault) << *fault;
   ASSERT_EQ(evaluate(spirv, words_of_buffer()), expected);
}

TEST(FormsTest, ModuleIsWrittenAsItWasRead)
{
   for (const Shader &s : shaders) {
      const std::vector<uint32_t> spirv = compile(s.body, s.functions);
      EXPECT_EQ(Module(spirv).words(), spirv) << s.name;
   }
}

TEST(FormsTest, FormsMeanTheSame)
{
   for (const Shader &s : shaders) {
      const std::vector<uint32_t> spirv = compile(s.body, s.functions);
      const std::vector<uint32_t> expected = evaluate(spirv, words_of_buffer());
      EXPECT_NE(expected, words_of_buffer());
      for (const NamedForm &named : all_forms) {
         const bool has_seed = named.form == Form::values || named.form == Form::variables;
         for (uint64_t seed = 0; seed < (has_seed ? 40 : 1); seed++)
            expect_same(in_form(spirv, named.form, seed), expected,
                        std::string(s.name) + " as " + std::string(named.name) + ", seed " +
                           std::to_string(seed));
      }
   }
}

TEST(FormsTest, EachStepMeansTheSame)
{
   const auto steps = {
      +[](Module &m, oracle::Random &r) { promote_variables(m, r, 100); },
      +[](Module &m, oracle::Random &r) { disguise_values(m, r, 60, 40); },
      +[](Module &m, oracle::Random &r) { demote_values(m, r, 100, 1000); },
   };
   for (const Shader &s : shaders) {
      const std::vector<uint32_t> spirv = compile(s.body, s.functions);
      const std::vector<uint32_t> expected = evaluate(spirv, words_of_buffer());
      for (uint64_t seed = 0; seed < 10; seed++) {
         // Each form of the results of the forms before.
         Module chain(spirv);
         oracle::Random random(seed);
         uint32_t number = 0;
         for (const auto step : steps) {
            Module module(spirv);
            step(module, random);
            step(chain, random);
            const std::string what = std::string(s.name) + ", step " + std::to_string(number++) +
                                     ", seed " + std::to_string(seed);
            expect_same(module.words(), expected, what);
            expect_same(chain.words(), expected, what + " after the others");
         }
      }
   }
}

TEST(FormsTest, VariablesBecomeValues)
{
   const Shader &straight = shaders[0], &loops = shaders[2];
   oracle::Random random(1);
   Module module(compile(straight.body));
   promote_variables(module, random, 100);
   // Other composites are passed to functions as a whole.
   EXPECT_GT(chains_into_variables(Module(compile(straight.body))), 4u);
   EXPECT_EQ(chains_into_variables(module), 0u);
   EXPECT_GT(count(module, Op::OpCompositeInsert), 4u);
   EXPECT_GT(count(module, Op::OpCompositeExtract), 4u);

   Module loop(compile(loops.body));
   EXPECT_EQ(count(loop, Op::OpPhi), 0u);
   promote_variables(loop, random, 100);
   EXPECT_GT(count(loop, Op::OpPhi), 4u);
}

TEST(FormsTest, ArraysAreIndexedBySelects)
{
   oracle::Random random(1);
   Module module(compile(shaders[3].body));
   promote_variables(module, random, 100);
   uint32_t of_matrices = 0;
   for (const Function &f : module.functions) {
      for (const Block &b : f.blocks) {
         for (const Instruction &i : b.body)
            of_matrices += i.opcode == Op::OpSelect && module.is_matrix(i.type);
      }
   }
   EXPECT_EQ(of_matrices, 0u) << "components have indices that are not constant";
   EXPECT_GT(count(module, Op::OpSelect), 3u);
}

TEST(FormsTest, ValuesBecomeVariables)
{
   oracle::Random random(1);
   Module module(compile(shaders[2].body));
   promote_variables(module, random, 100);
   const uint32_t phis = count(module, Op::OpPhi);
   demote_values(module, random, 100, 1000);
   EXPECT_LT(count(module, Op::OpPhi), phis);
   EXPECT_GT(count(module, Op::OpCopyMemory), 4u);
}

/// The rewriter's output contains all instructions that it can write, also for nested matrices.
TEST(FormsTest, AllInstructionsCome)
{
   std::map<Op, uint32_t> counts, with_matrices;
   for (const Shader &s : shaders) {
      const std::vector<uint32_t> spirv = compile(s.body, s.functions);
      for (uint64_t seed = 0; seed < 30; seed++) {
         for (const Form form : {Form::values, Form::variables}) {
            const Module module(in_form(spirv, form, seed));
            for (const Function &f : module.functions) {
               for (const Block &b : f.blocks) {
                  for (const Instruction &i : b.body) {
                     counts[i.opcode]++;
                     if (i.type && module.member_count(i.type) && module.holds_matrix(i.type))
                        with_matrices[i.opcode]++;
                  }
               }
            }
         }
      }
   }
   for (const Op opcode :
        {Op::OpCompositeConstruct, Op::OpCompositeExtract, Op::OpCompositeInsert, Op::OpCopyObject,
         Op::OpCopyLogical, Op::OpSelect, Op::OpPhi, Op::OpFunctionCall, Op::OpLoad})
      EXPECT_GT(with_matrices[opcode], 0u) << uint32_t(opcode);
   EXPECT_GT(counts[Op::OpCopyMemory], 0u);
}

/// Some decorations are a part of an instruction's semantics.
TEST(FormsTest, UnrolledLoopsKeepDecorations)
{
   const std::vector<uint32_t> spirv = compile(R"(
   precise float sum = uintBitsToFloat(data[0]);
   [[unroll]]
   for (uint i = 0; i < 3; i++)
      sum = sum * uintBitsToFloat(data[i + 1]) + 1.0;
   data[0] = floatBitsToUint(sum);
)");
   const Module module(in_form(spirv, Form::performance, 0));
   EXPECT_EQ(count(module, Op::OpFMul), 3u);
   for (const Function &f : module.functions) {
      for (const Block &b : f.blocks) {
         for (const Instruction &i : b.body) {
            if (i.opcode == Op::OpFMul) {
               EXPECT_TRUE(module.has_decoration(i.result, spv::Decoration::NoContraction));
            }
         }
      }
   }
}

/// An extended instruction that does not fold has a value nevertheless.
TEST(FormsTest, ExtendedInstructionsMeetConstants)
{
   const std::vector<uint32_t> spirv = compile(R"(
   uint64_t v = 0ul;
   v = int16_t(data[0]) == int16_t(4) ? 1ul : max(v, v);
   data[0] = uint(v);
)");
   for (const Form form : {Form::performance, Form::size}) {
      const Module module(in_form(spirv, form, 0));
      EXPECT_GT(count(module, Op::OpPhi) + count(module, Op::OpSelect), 0u) << name(form);
   }
}

/// The shader stores a byte without computing with bytes, which takes no capability of bytes.
TEST(FormsTest, FoldedConstantsHaveTheirCapability)
{
   const std::vector<uint32_t> words = e2e::compile_glsl(R"(#version 460
#extension GL_EXT_shader_8bit_storage : enable
#pragma use_vulkan_memory_model
layout(local_size_x = 32) in;
layout(set = 0, binding = 0, std430) buffer Data { uint8_t data[]; };
void main()
{
   uint zero = 0;
   data[gl_LocalInvocationIndex] = uint8_t(zero);
}
)");
   ASSERT_FALSE(Module(words).has_capability(spv::Capability::Int8));
   for (Form form : {Form::size, Form::performance}) {
      const Module folded(in_form(words, form, 1));
      EXPECT_TRUE(folded.has_capability(spv::Capability::Int8)) << name(form);
   }
}

TEST(FormsTest, NamesOfForms)
{
   for (const NamedForm &named : all_forms) {
      EXPECT_EQ(find_form(named.name), named.form);
      EXPECT_EQ(name(named.form), named.name);
   }
   EXPECT_FALSE(find_form("any"));
}

} // namespace
} // namespace weft::forms
