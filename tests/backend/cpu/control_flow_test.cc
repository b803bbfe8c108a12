// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Random structured programs, run by the translator with all lanes at once and by an interpreter
/// lane by lane.

#include "tests/backend/cpu/nir_harness.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <random>

namespace weft::cpu::test {

namespace {

constexpr unsigned variables = 4;
constexpr uint32_t iterations = 6; ///< of any loop, at most

/// An operand: a variable, the invocation's number, the workgroup's number or a constant.
struct Operand {
   enum Kind { variable, invocation, workgroup, constant } kind;
   uint32_t number;
};

struct Condition {
   Operand a, b;
   bool less; ///< a % 8 < b % 8, else the equality of their lowest bits
};

struct Statement {
   enum Kind { assign, store, branch, loop, jump_break, jump_continue } kind;
   unsigned target; ///< assign: the variable
   unsigned op;     ///< assign: add, multiply, exclusive or
   Operand a, b;
   Condition condition;
   std::vector<Statement> first, second; ///< then, else; a loop's body
};
using Block = std::vector<Statement>;

class Generator {
public:
   explicit Generator(uint64_t seed) : random(seed) {}

   Block block(unsigned depth, bool in_loop)
   {
      Block list;
      const unsigned n = 1 + unsigned(random() % 4);
      for (unsigned i = 0; i < n; i++) {
         Statement s = statement(depth, in_loop);
         const bool jump = s.kind == Statement::jump_break || s.kind == Statement::jump_continue;
         list.push_back(std::move(s));
         if (jump)
            break;
      }
      return list;
   }

private:
   Operand operand()
   {
      switch (random() % 8) {
      case 0:
         return {Operand::invocation, 0};
      case 1:
         return {Operand::workgroup, 0};
      case 2:
         return {Operand::constant, uint32_t(random() % 8)};
      default:
         return {Operand::variable, uint32_t(random() % variables)};
      }
   }
   Condition condition()
   {
      // Often of uniform values, so that there are uniform branches among the divergent ones.
      if (random() % 3 == 0)
         return {{Operand::workgroup, 0},
                 {Operand::constant, uint32_t(random() % 4)},
                 bool(random() % 2)};
      return {operand(), operand(), bool(random() % 2)};
   }
   Statement statement(unsigned depth, bool in_loop)
   {
      Statement s{};
      const unsigned choice = unsigned(random() % 16);
      if (in_loop && choice < 2) {
         s.kind = choice == 0 ? Statement::jump_break : Statement::jump_continue;
      } else if (depth > 0 && choice < 7) {
         s.kind = Statement::branch;
         s.condition = condition();
         s.first = block(depth - 1, in_loop);
         if (random() % 2)
            s.second = block(depth - 1, in_loop);
      } else if (depth > 0 && choice < 10) {
         s.kind = Statement::loop;
         s.condition = condition();
         s.first = block(depth - 1, true);
      } else if (choice < 12) {
         s.kind = Statement::store;
         s.target = unsigned(random() % variables);
      } else {
         s.kind = Statement::assign;
         s.target = unsigned(random() % variables);
         s.op = unsigned(random() % 3);
         s.a = operand();
         s.b = operand();
      }
      return s;
   }

   std::mt19937_64 random;
};

/// Interprets statements for one invocation. As in the emitted code, every loop has its own counter
/// and ends after `iterations` rounds.
class Interpreter {
public:
   Interpreter(uint32_t invocation, uint32_t workgroup)
       : invocation(invocation), workgroup(workgroup)
   {
      for (unsigned i = 0; i < variables; i++)
         values[i] = i * 3 + 1;
   }
   uint32_t run(const Block &program)
   {
      block(program);
      uint32_t result = trace;
      for (uint32_t v : values)
         result = result * 31 + v;
      return result;
   }

private:
   enum Flow { next, broken, continued };
   uint32_t value(Operand o) const
   {
      switch (o.kind) {
      case Operand::variable:
         return values[o.number];
      case Operand::invocation:
         return invocation;
      case Operand::workgroup:
         return workgroup;
      default:
         return o.number;
      }
   }
   bool holds(const Condition &c) const
   {
      const uint32_t a = value(c.a), b = value(c.b);
      return c.less ? (a & 7) < (b & 7) : (a & 1) == (b & 1);
   }
   Flow block(const Block &list)
   {
      for (const Statement &s : list) {
         if (const Flow flow = statement(s); flow != next)
            return flow;
      }
      return next;
   }
   Flow statement(const Statement &s)
   {
      switch (s.kind) {
      case Statement::assign: {
         const uint32_t a = value(s.a), b = value(s.b);
         values[s.target] = s.op == 0 ? a + b : s.op == 1 ? a * b + 1 : a ^ b;
         return next;
      }
      case Statement::store:
         trace = trace * 17 + values[s.target];
         return next;
      case Statement::branch:
         return block(holds(s.condition) ? s.first : s.second);
      case Statement::loop:
         for (uint32_t i = 0; i < iterations; i++) {
            if (i > 0 && holds(s.condition))
               break;
            if (block(s.first) == broken)
               break;
         }
         return next;
      case Statement::jump_break:
         return broken;
      case Statement::jump_continue:
         return continued;
      }
      return next;
   }

   const uint32_t invocation, workgroup;
   uint32_t values[variables];
   uint32_t trace = 0;
};

class Emitter {
public:
   /// `trace` is memory: a store under a wrong mask shows.
   Emitter(NirShader &shader, nir_def *invocation, nir_def *workgroup, nir_def *trace_offset)
       : shader(shader), b(&shader.b), invocation(invocation), workgroup(workgroup),
         trace_offset(trace_offset)
   {
      for (unsigned i = 0; i < variables; i++) {
         values[i] = nir_local_variable_create(b->impl, glsl_uint_type(), "v");
         nir_store_var(b, values[i], nir_imm_int(b, int(i * 3 + 1)), 1);
      }
   }
   void run(const Block &program)
   {
      block(program);
      nir_def *result = shader.load(0, trace_offset, 1, 32);
      for (nir_variable *v : values)
         result = nir_iadd(b, nir_imul_imm(b, result, 31), nir_load_var(b, v));
      shader.store(0, trace_offset, result);
   }

private:
   nir_def *value(Operand o)
   {
      switch (o.kind) {
      case Operand::variable:
         return nir_load_var(b, values[o.number]);
      case Operand::invocation:
         return invocation;
      case Operand::workgroup:
         return workgroup;
      default:
         return nir_imm_int(b, int(o.number));
      }
   }
   nir_def *holds(const Condition &c)
   {
      nir_def *x = value(c.a), *y = value(c.b);
      return c.less ? nir_ult(b, nir_iand_imm(b, x, 7), nir_iand_imm(b, y, 7))
                    : nir_ieq(b, nir_iand_imm(b, x, 1), nir_iand_imm(b, y, 1));
   }
   void block(const Block &list)
   {
      for (const Statement &s : list)
         statement(s);
   }
   void statement(const Statement &s)
   {
      switch (s.kind) {
      case Statement::assign: {
         nir_def *x = value(s.a), *y = value(s.b);
         nir_def *v = s.op == 0   ? nir_iadd(b, x, y)
                      : s.op == 1 ? nir_iadd_imm(b, nir_imul(b, x, y), 1)
                                  : nir_ixor(b, x, y);
         nir_store_var(b, values[s.target], v, 1);
         return;
      }
      case Statement::store: {
         nir_def *old = shader.load(0, trace_offset, 1, 32);
         shader.store(0, trace_offset,
                      nir_iadd(b, nir_imul_imm(b, old, 17), nir_load_var(b, values[s.target])));
         return;
      }
      case Statement::branch:
         nir_push_if(b, holds(s.condition));
         block(s.first);
         nir_push_else(b, nullptr);
         block(s.second);
         nir_pop_if(b, nullptr);
         return;
      case Statement::loop: {
         nir_variable *counter = nir_local_variable_create(b->impl, glsl_uint_type(), "i");
         nir_store_var(b, counter, nir_imm_int(b, 0), 1);
         nir_push_loop(b);
         nir_def *i = nir_load_var(b, counter);
         nir_def *done = nir_iand(b, nir_ine_imm(b, i, 0), holds(s.condition));
         nir_break_if(b, nir_ior(b, done, nir_uge_imm(b, i, iterations)));
         nir_store_var(b, counter, nir_iadd_imm(b, i, 1), 1);
         block(s.first);
         nir_pop_loop(b, nullptr);
         return;
      }
      case Statement::jump_break:
         nir_jump(b, nir_jump_break);
         return;
      case Statement::jump_continue:
         nir_jump(b, nir_jump_continue);
         return;
      }
   }

   NirShader &shader;
   nir_builder *b;
   nir_def *invocation, *workgroup, *trace_offset;
   nir_variable *values[variables];
};

class ControlFlow : public testing::TestWithParam<uint32_t> {};

void check_program(uint32_t W, uint64_t seed)
{
   constexpr uint32_t groups = 3;
   const Block program = Generator(seed).block(4, false);
   // Not a multiple of W: the last subgroup has inactive lanes.
   const uint32_t size = W + 5;
   NirShader shader(W, size);
   nir_builder *b = &shader.b;
   nir_def *group = shader.workgroup();
   nir_def *invocation = shader.local_index();
   nir_def *offset = nir_imul_imm(b, nir_iadd(b, nir_imul_imm(b, group, size), invocation), 4);
   Emitter(shader, invocation, group, offset).run(program);
   nir_lower_vars_to_ssa(b->shader);
   nir_opt_dce(b->shader);
   nir_opt_dead_cf(b->shader);
   // These passes run in the back end too. They remove phis, but keep all forms of jumps.
   if (seed % 2) {
      nir_opt_cse(b->shader);
      nir_opt_if(b->shader, nir_opt_if_optimize_phi_true_false);
      nir_opt_remove_phis(b->shader);
   }
   auto compiled = shader.compile();
   ASSERT_TRUE(compiled) << compiled.error().message;
   std::vector<Bytes> buffers{Bytes(groups * size * 4)};
   run(**compiled, buffers, groups);
   for (uint32_t g = 0; g < groups; g++) {
      for (uint32_t i = 0; i < size; i++) {
         uint32_t got;
         std::memcpy(&got, &buffers[0][(g * size + i) * 4], 4);
         ASSERT_EQ(got, Interpreter(i, g).run(program))
            << "program " << seed << ", W=" << W << ", workgroup " << g << ", invocation " << i;
      }
   }
}

TEST_P(ControlFlow, RandomPrograms)
{
   const uint64_t seed = test_seed();
   // Wide subgroups take longer to compile for.
   const uint64_t programs = std::max(10u, 160 / GetParam());
   for (uint64_t i = 0; i < programs && !HasFailure(); i++)
      check_program(GetParam(), seed + i);
}

INSTANTIATE_TEST_SUITE_P(, ControlFlow, testing::Values(8u, 16u, 32u, 64u));

} // namespace

} // namespace weft::cpu::test
