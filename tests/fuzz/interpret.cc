// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tests/fuzz/interpret.h"

#include "tests/fuzz/interpreter.h"

#include <algorithm>
#include <cassert>

namespace weft::fuzz {

/// The limit of statements that a workgroup executes, so that programs stay small.
constexpr uint64_t max_steps = 4000;

std::variant<Expected, Invalid> interpret(const Program &program)
{
   if (std::optional<std::string> why = fault(program))
      return Invalid{nullptr, nullptr, *why};
   try {
      return Interpreter(program).run();
   } catch (Invalid &invalid) {
      return invalid;
   }
}

Interpreter::Interpreter(const Program &program)
    : program(program), W(program.subgroup_size), N(program.invocations()),
      owners(program.workgroup_matrices ? 1 : program.subgroups)
{
   assert(N <= max_invocations);
   for (const Memory &m : program.memories)
      memories.emplace_back(m);
}

Expected Interpreter::run()
{
   for (workgroup = 0; workgroup < program.workgroups; workgroup++) {
      for (size_t m = 0; m < memories.size(); m++) {
         if (program.memories[m].storage == Storage::shared)
            memories[m].clear();
      }
      left = skipped = finished = {};
      workgroup_barriers = 0;
      subgroup_barriers.assign(program.subgroups, 0);
      frames.assign(1, make_frame(program.functions[0]));
      Mask all;
      for (uint32_t i = 0; i < N; i++)
         all.set(i);
      execute(program.functions[0].body, all);
   }
   Expected expected;
   for (size_t m = 0; m < memories.size(); m++)
      expected.push_back(program.memories[m].storage == Storage::shared ? std::vector<Cell>()
                                                                        : memories[m].all());
   return expected;
}

void Interpreter::fail(const char *why, const Expr *at) const
{
   throw Invalid{at, current, why};
}

Mask Interpreter::subgroup_mask(uint32_t subgroup) const
{
   Mask mask;
   for (uint32_t i = 0; i < W; i++)
      mask.set(subgroup * W + i);
   return mask;
}

Mask Interpreter::owner_mask(uint32_t owner) const
{
   return program.workgroup_matrices ? ~Mask() >> (max_invocations - N) : subgroup_mask(owner);
}

/// An access by any invocation of the subgroup or workgroup.
Access Interpreter::matrix_access(uint32_t owner) const
{
   if (program.workgroup_matrices)
      return {int32_t(workgroup), -1, -1, workgroup_barriers, 0};
   return access(int32_t(owner), -1);
}

Access Interpreter::access(int32_t subgroup, int32_t invocation) const
{
   return {int32_t(workgroup), subgroup, invocation, workgroup_barriers,
           subgroup_barriers[size_t(subgroup)]};
}

Frame Interpreter::make_frame(const Function &f) const
{
   Frame frame = {&f, {}, {}};
   for (const Variable &v : f.variables) {
      const size_t count = std::max(v.array, 1u);
      frame.scalars.emplace_back(v.matrix ? 0 : count * N);
      frame.matrices.emplace_back();
      const Number first = {.i = 0, .f = 0, .undefined = v.unset};
      if (v.matrix)
         frame.matrices.back().assign(count * owners, make_matrix(*v.matrix, first));
   }
   return frame;
}

void Interpreter::execute(const std::vector<Stmt> &block, const Mask &mask)
{
   for (const Stmt &stmt : block) {
      const Mask active = mask & ~(left | skipped | finished);
      if (active.none())
         return;
      current = &stmt;
      if (++steps > max_steps * program.workgroups)
         fail("the program runs for too long");
      execute(stmt, active);
   }
}

void Interpreter::execute(const Stmt &stmt, const Mask &mask)
{
   switch (stmt.kind) {
   case Kind::assign:
      return assign(stmt.exprs[0], evaluate(stmt.exprs[1], mask), mask);
   case Kind::store:
      return store(stmt, mask);
   case Kind::atomic:
      return atomic(stmt, mask);
   case Kind::branch:
      return branch(stmt, mask);
   case Kind::loop:
      return loop(stmt, mask);
   case Kind::leave:
      left |= mask;
      return;
   case Kind::next:
      skipped |= mask;
      return;
   case Kind::finish:
      finished |= mask;
      return;
   case Kind::barrier:
      return barrier(mask);
   case Kind::call:
      return call(stmt, mask);
   case Kind::struct_copy:
      return copy_struct(stmt, mask);
   case Kind::subgroup_barrier:
      for (uint32_t subgroup = 0; subgroup < program.subgroups; subgroup++) {
         if (is_whole(mask, subgroup_mask(subgroup)))
            subgroup_barriers[subgroup]++;
      }
      return;
   default:
      for (uint32_t owner = 0; owner < owners; owner++) {
         if (is_whole(mask, owner_mask(owner)))
            execute_matrix(stmt, owner);
      }
   }
}

/// True if all of these invocations are active, false if none is. Any other case is invalid.
bool Interpreter::is_whole(const Mask &mask, const Mask &whole) const
{
   if ((mask & whole).none())
      return false;
   if ((mask & whole) != whole)
      fail("a part of a subgroup or workgroup, where all of it is needed");
   return true;
}

void Interpreter::assign(const Expr &target, const Lanes &values, const Mask &mask)
{
   Lanes index;
   if (!target.args.empty())
      index = evaluate(target.args[0], mask);
   const Variable &v = frames.back().function->variables[size_t(target.number)];
   Lanes &variable = frames.back().scalars[size_t(target.number)];
   for (uint32_t i = 0; i < N; i++) {
      if (!mask[i])
         continue;
      const uint64_t element = index.empty() ? 0 : uint64_t(defined(index[i], target).i);
      if (element >= std::max(v.array, 1u))
         fail("an index outside of an array", &target);
      variable[element * N + i] = values[i];
   }
}

void Interpreter::store(const Stmt &stmt, const Mask &mask)
{
   const Lanes elements = evaluate(stmt.exprs[0], mask);
   const Lanes values = evaluate(stmt.exprs[1], mask);
   for (uint32_t i = 0; i < N; i++) {
      if (!mask[i])
         continue;
      const Number &value = defined(values[i], stmt.exprs[1]);
      const uint64_t element = uint64_t(defined(elements[i], stmt.exprs[0]).i);
      if (const char *why =
             memories[stmt.target].write(element, access(int32_t(i / W), int32_t(i % W)), value, 0))
         fail(why);
   }
}

/// The value that an atomic stores in place of `old`.
static Number updated(Atomic op, Type type, const Number &old, const Number &value,
                      const Number &comparand)
{
   switch (op) {
   case Atomic::exchange:
      return value;
   case Atomic::compare_exchange:
      return old.i == comparand.i ? value : old;
   case Atomic::append:
      return *binary(Binary::add, type, old, value);
   default: {
      static constexpr Binary binaries[] = {Binary::add,     Binary::min,    Binary::max,
                                            Binary::bit_and, Binary::bit_or, Binary::bit_xor};
      return *binary(binaries[size_t(op)], type, old, value);
   }
   }
}

void Interpreter::atomic(const Stmt &stmt, const Mask &mask)
{
   const Atomic op = Atomic(stmt.detail);
   const Type type = program.memories[stmt.target].type;
   const Expr *const result = atomic_result(stmt);
   std::vector<Lanes> args;
   for (size_t i = 0; i < stmt.exprs.size() - (result ? 1 : 0); i++)
      args.push_back(evaluate(stmt.exprs[i], mask));
   Lanes results(N);
   for (uint32_t i = 0; i < N; i++) {
      if (!mask[i])
         continue;
      for (size_t a = 0; a < args.size(); a++)
         defined(args[a][i], stmt.exprs[a]);
      const Number value = args[1][i], comparand = args.size() > 2 ? args[2][i] : Number();
      uint64_t element = uint64_t(args[0][i].i);
      const auto update = [&](const Atomicity &how, const Number &operand, Number &old) {
         const char *const why = memories[stmt.target].update(
            element, access(int32_t(i / W), int32_t(i % W)), how,
            [&](const Number &n) { return updated(how.op, type, n, operand, comparand); }, old);
         if (why)
            fail(why);
      };
      Atomicity how = {op, result != nullptr};
      if (op >= Atomic::exchange)
         how.value = value.i, how.comparand = comparand.i;
      if (op != Atomic::append) {
         update(how, value, results[i]);
         continue;
      }
      Number number;
      update(how, {1}, number);
      element += 1 + uint32_t(number.i) % ring;
      update({Atomic::add}, value, results[i]);
   }
   if (result)
      assign(*result, results, mask);
}

void Interpreter::branch(const Stmt &stmt, const Mask &mask)
{
   const Lanes condition = evaluate(stmt.exprs[0], mask);
   Mask yes, no;
   for (uint32_t i = 0; i < N; i++) {
      if (mask[i])
         (defined(condition[i], stmt.exprs[0]).i ? yes : no).set(i);
   }
   execute(stmt.body, yes);
   execute(stmt.otherwise, no);
}

void Interpreter::loop(const Stmt &stmt, const Mask &mask)
{
   const Lanes counts = evaluate(stmt.exprs[0], mask);
   Lanes &counter = frames.back().scalars[stmt.target];
   const Mask left_outside = left, skipped_outside = skipped;
   left = skipped = {};
   for (uint32_t i = 0; i < N; i++) {
      if (mask[i]) {
         defined(counts[i], stmt.exprs[0]);
         counter[i] = {0};
      }
   }
   while (true) {
      Mask active = mask & ~(left | finished);
      for (uint32_t i = 0; i < N; i++) {
         if (active[i] && counter[i].i >= counts[i].i)
            active.reset(i);
      }
      if (active.none())
         break;
      current = &stmt;
      if (++steps > max_steps * program.workgroups)
         fail("the program runs for too long");
      execute(stmt.body, active);
      skipped = {};
      for (uint32_t i = 0; i < N; i++) {
         if (active[i] && !left[i] && !finished[i])
            counter[i].i++;
      }
   }
   left = left_outside;
   skipped = skipped_outside;
}

void Interpreter::barrier(const Mask &mask)
{
   if (mask.count() != N)
      fail("a barrier that a part of the workgroup reaches");
   workgroup_barriers++;
}

/// Calls with matrices run subgroup by subgroup, calls with scalars only run for all at once.
void Interpreter::call(const Stmt &stmt, const Mask &mask)
{
   const Function &callee = program.functions[stmt.target];
   Frame frame = make_frame(callee);
   const auto copy_matrix = [&](const MatrixValue &from, MatrixValue &to, uint32_t owner) {
      if (is_whole(mask, owner_mask(owner)))
         to = from;
   };
   size_t place = 0, expr = 0;
   for (const Parameter &p : callee.parameters) {
      if (callee.variables[p.variable].matrix) {
         const Place &argument = stmt.places[place++];
         for (uint32_t s = 0; s < owners; s++) {
            if (p.in && (mask & owner_mask(s)).any())
               copy_matrix(operand(argument, s), frame.matrices[p.variable][s], s);
         }
      } else {
         const Expr &argument = stmt.exprs[expr++];
         if (p.in) {
            const Lanes values = evaluate(argument, mask);
            for (uint32_t i = 0; i < N; i++) {
               if (mask[i])
                  frame.scalars[p.variable][i] = values[i];
            }
         }
      }
   }
   const Mask left_outside = left, skipped_outside = skipped;
   left = skipped = {};
   frames.push_back(std::move(frame));
   execute(callee.body, mask);
   frame = std::move(frames.back());
   frames.pop_back();
   left = left_outside;
   skipped = skipped_outside;
   current = &stmt;

   place = expr = 0;
   const auto give_back = [&](uint32_t variable, bool out) {
      if (callee.variables[variable].matrix) {
         const Place &target = stmt.places[place++];
         for (uint32_t s = 0; out && s < owners; s++) {
            if ((mask & owner_mask(s)).any())
               copy_matrix(frame.matrices[variable][s], matrix(target, s), s);
         }
      } else {
         const Expr &target = stmt.exprs[expr++];
         if (out)
            assign(target, frame.scalars[variable], mask);
      }
   };
   for (const Parameter &p : callee.parameters)
      give_back(p.variable, p.out);
   if (callee.result)
      give_back(*callee.result, true);
}

void Interpreter::copy_struct(const Stmt &stmt, const Mask &mask)
{
   Frame &frame = frames.back();
   std::vector<uint32_t> from, to;
   for (uint32_t v = 0; v < frame.function->variables.size(); v++) {
      const uint32_t structure = frame.function->variables[v].structure;
      if (structure == stmt.target)
         to.push_back(v);
      if (structure == stmt.detail)
         from.push_back(v);
   }
   assert(from.size() == to.size());
   for (size_t field = 0; field < from.size(); field++) {
      for (size_t i = 0; i < frame.scalars[to[field]].size(); i++) {
         if (mask[i % N])
            frame.scalars[to[field]][i] = frame.scalars[from[field]][i];
      }
      for (size_t i = 0; i < frame.matrices[to[field]].size(); i++) {
         if (is_whole(mask, owner_mask(uint32_t(i % owners))))
            frame.matrices[to[field]][i] = frame.matrices[from[field]][i];
      }
   }
}

} // namespace weft::fuzz
