// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Random atomics whose order does not matter: all atomics of a place are the same, or only one
/// invocation uses the place.

#include "tests/fuzz/generator.h"

#include <algorithm>

namespace weft::fuzz {

Type Generator::atomic_type()
{
   // If 16 bits replace 64 (glsl.h), GLSL cannot express atomics of 64 bits.
   if (std::ranges::any_of(operations, has_long_integers))
      return pick({Type::u32, Type::s32});
   return pick({Type::u32, Type::u32, Type::s32, Type::s32, Type::u64, Type::s64});
}

uint32_t Generator::atomic_memory(Type type)
{
   const auto [it, inserted] = atomics.try_emplace(type, 0);
   if (inserted) {
      const Storage plain = one_in(6) ? Storage::reference : Storage::buffer;
      it->second = add_memory(scalar_storage(type, plain, false), type, 0,
                              pick({Contents::small, Contents::bounds, Contents::any}));
      p.memories[it->second].atomic = true;
   }
   return it->second;
}

uint32_t Generator::atomic_cells(uint32_t memory, uint32_t count)
{
   const uint32_t first = p.memories[memory].elements;
   p.memories[memory].elements += count;
   return first;
}

/// A number that is the same for all invocations of all workgroups.
Expr Generator::constant_of_dispatch(Type type)
{
   if (one_in(2))
      return random_literal(type);
   Expr word{Op::push, Type::u32, 0, draw(push_words), 0, {}};
   return type == Type::u32 ? word : Expr{Op::convert, type, 0, 0, 0, {std::move(word)}};
}

Stmt Generator::atomic_statement(Atomic op, uint32_t memory, Expr element, Expr value)
{
   return {Kind::atomic, uint8_t(op), memory, {std::move(element), std::move(value)}, {}, {}, {}};
}

/// Comparisons and counters are the most frequent, because compilers transform them most.
Atomic Generator::atomic_operation(Atomic last)
{
   return one_in(4)   ? Atomic::compare_exchange
          : one_in(4) ? last
                      : Atomic(draw(uint32_t(last) + 1));
}

void Generator::atomic(Block &out, const Flow &flow)
{
   if (one_in(2))
      own_atomic(out, flow);
   else
      contended_atomic(out, flow);
}

/// Atomics that only some invocations of each subgroup execute.
void Generator::partial_atomics(Block &out, const Flow &flow)
{
   if (one_in(3))
      return shared_atomics(out, flow);
   Flow inner = flow;
   inner.level = Level::invocation;
   inner.depth++;
   Expr some =
      arithmetic(pick({Binary::less, Binary::greater_equal}), builtin(Builtin::subgroup_invocation),
                 literal(Type::u32, 1 + draw(p.subgroup_size - 1)));
   Stmt branch{Kind::branch, 0, 0, {std::move(some)}, {}, {}, {}};
   for (uint32_t i = draw(2); i < 2; i++)
      atomic(branch.body, inner);
   out.push_back(std::move(branch));
}

/// An atomic on a place that all workgroups share.
void Generator::contended_atomic(Block &out, const Flow &flow)
{
   const Type type = atomic_type();
   const uint32_t m = atomic_memory(type);
   const Atomic op = atomic_operation(Atomic::append);
   const Wanted w = wanted(Level(draw(3)), flow, 1);
   if (op == Atomic::append) {
      const uint32_t counter = atomic_cells(m, 1 + ring);
      out.push_back(
         atomic_statement(op, m, literal(Type::u32, counter), constant_of_dispatch(type)));
      return;
   }
   if (op < Atomic::exchange) {
      constexpr uint32_t most = 16;
      const auto [it, inserted] = places.try_emplace({m, op}, 0);
      if (inserted)
         it->second = atomic_cells(m, most);
      // Equal atomics share their places.
      Expr place = one_in(2) ? literal(Type::u32, draw(most)) : below(most, w);
      Expr element = arithmetic(Binary::add, std::move(place), literal(Type::u32, it->second));
      out.push_back(
         atomic_statement(op, m, std::move(element), any(type, wanted(Level::invocation, flow))));
      return;
   }
   // All invocations store the same number, so each statement has separate places.
   const uint32_t first = atomic_cells(m, 4);
   Expr element = arithmetic(Binary::add, below(4, w), literal(Type::u32, first));
   Stmt s = atomic_statement(op, m, std::move(element), constant_of_dispatch(type));
   if (op == Atomic::compare_exchange) {
      const Memory &memory = p.memories[m];
      const std::vector<std::byte> bytes = initial_bytes(memory);
      const uint32_t found = first + draw(4);
      if (one_in(2))
         s.exprs[0] = literal(Type::u32, found);
      s.exprs.push_back(
         one_in(4)
            ? constant_of_dispatch(type)
            : literal(type, decode(type, &bytes[size_t(found) * memory.component_bytes()]).i));
   }
   out.push_back(std::move(s));
}

/// An atomic on the invocation's own place, so that the program can use its result.
void Generator::own_atomic(Block &out, const Flow &flow)
{
   const Type type = atomic_type();
   const uint32_t m = atomic_memory(type), N = p.invocations();
   const Atomic op = atomic_operation(Atomic::compare_exchange);
   const uint32_t first = atomic_cells(m, N * p.workgroups);
   Expr own = arithmetic(
      Binary::add, arithmetic(Binary::mul, builtin(Builtin::workgroup), literal(Type::u32, N)),
      builtin(Builtin::local_index));
   own = arithmetic(Binary::add, std::move(own), literal(Type::u32, first));
   const Wanted w = wanted(Level::invocation, flow);
   Stmt s = atomic_statement(op, m, own, any(type, w));
   if (op == Atomic::compare_exchange) {
      // Some invocations compare with the current value, others do not.
      const auto bit = [&](Expr x) {
         return arithmetic(Binary::bit_and, std::move(x), literal(type, 1));
      };
      out.push_back(atomic_statement(Atomic::exchange, m, std::move(own), bit(any(type, w))));
      s.exprs.push_back(one_in(2) ? literal(type, draw(2)) : bit(any(type, w)));
   }
   s.exprs.push_back(variable(own_variable(type)));
   out.push_back(std::move(s));
}

/// Invocations write their places of shared memory, change any of these by atomics, and read them.
void Generator::shared_atomics(Block &out, const Flow &flow)
{
   const Type type = atomic_type();
   const uint32_t m = shared_memory(type, true, false), N = p.invocations();
   const Stmt barrier{Kind::barrier, 0, 0, {}, {}, {}, {}};
   out.push_back(barrier);
   // Few different numbers, so that comparisons succeed.
   Expr before = any(type, wanted(Level::invocation, flow));
   if (one_in(2))
      before = arithmetic(Binary::bit_and, std::move(before), literal(type, 1));
   Stmt store{Kind::store, 0, m, {builtin(Builtin::local_index), std::move(before)}, {}, {}, {}};
   out.push_back(std::move(store));
   out.push_back(barrier);
   if (one_in(2)) {
      Flow inner = flow;
      inner.level = Level(draw(3));
      Stmt branch{Kind::branch, 0, 0, {truth(wanted(inner.level, flow))}, {}, {}, {}};
      shared_cells(branch.body, m, type, inner);
      out.push_back(std::move(branch));
   } else {
      shared_cells(out, m, type, flow);
   }
   out.push_back(barrier);
   Expr place = builtin(Builtin::local_index);
   if (one_in(3))
      place = below(N, wanted(Level::invocation, flow));
   Expr loaded{Op::load, type, 0, m, 0, {std::move(place)}};
   out.push_back(
      {Kind::assign, 0, 0, {variable(own_variable(type)), std::move(loaded)}, {}, {}, {}});
}

void Generator::shared_cells(Block &out, uint32_t m, Type type, const Flow &flow)
{
   const Atomic op = atomic_operation(Atomic::compare_exchange);
   const Wanted w = wanted(Level::invocation, flow);
   if (one_in(3)) {
      Stmt s = atomic_statement(op, m, builtin(Builtin::local_index), any(type, w));
      if (op == Atomic::compare_exchange)
         s.exprs.push_back(one_in(2) ? any(type, w) : literal(type, draw(2)));
      s.exprs.push_back(variable(own_variable(type)));
      out.push_back(std::move(s));
      return;
   }
   Expr element = below(p.invocations(), wanted(Level(draw(3)), flow, 1));
   const bool stores = op >= Atomic::exchange;
   Stmt s = atomic_statement(op, m, std::move(element),
                             stores ? constant_of_dispatch(type) : any(type, w));
   if (op == Atomic::compare_exchange)
      s.exprs.push_back(one_in(3) ? constant_of_dispatch(type) : literal(type, draw(2)));
   out.push_back(std::move(s));
}

} // namespace weft::fuzz
