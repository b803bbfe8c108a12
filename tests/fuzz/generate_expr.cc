// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Random expressions.

#include "tests/fuzz/generator.h"

#include <algorithm>
#include <bit>

namespace weft::fuzz {

static Expr make(Op op, Type type, uint8_t detail, std::vector<Expr> args, int64_t number = 0)
{
   return {op, type, detail, number, 0, std::move(args)};
}

static Expr make(Unary op, Type type, Expr x)
{
   return make(Op::unary, type, uint8_t(op), {std::move(x)});
}

Expr Generator::literal(Type type, int64_t value)
{
   Expr e;
   e.type = type;
   if (is_float(type))
      e.real = double(value);
   else
      e.number = wrap(type, value);
   return e;
}

Expr Generator::random_literal(Type type)
{
   if (type == Type::boolean)
      return literal(type, draw(2));
   // GLSL has no other expressions of small floats.
   if (is_small_float(type))
      return literal(type, draw(5));
   if (is_float(type)) {
      Expr e = literal(type, int64_t(draw(9)) - 4);
      if (one_in(3))
         e.real /= 2;
      return e;
   }
   if (one_in(5))
      return literal(type, int64_t(random()));
   return literal(type, int64_t(draw(is_signed(type) ? 17 : 9)) - (is_signed(type) ? 8 : 0));
}

Expr Generator::variable(uint32_t number)
{
   return make(Op::variable, f->variables[number].type, 0, {}, number);
}

Expr Generator::builtin(Builtin b)
{
   return make(Op::builtin, Type::u32, 0, {}, int64_t(b));
}

/// Folds an operation on two literals, or with a neutral operand.
Expr Generator::arithmetic(Binary op, Expr x, Expr y)
{
   const bool literals = x.op == Op::literal && y.op == Op::literal;
   if (literals && is_integer(x.type)) {
      if (const auto folded = binary(op, x.type, {x.number}, {y.number}))
         return literal(is_comparison(op) ? Type::boolean : x.type, folded->i);
   }
   if (op == Binary::add && y.op == Op::literal && y.number == 0 && is_integer(y.type))
      return x;
   if (op == Binary::add && x.op == Op::literal && x.number == 0 && is_integer(x.type))
      return y;
   const Type type = is_comparison(op) ? Type::boolean : x.type;
   return make(Op::binary, type, uint8_t(op), {std::move(x), std::move(y)});
}

/// A number below a bound, which is a literal or computed.
Expr Generator::below(uint32_t bound, const Wanted &wanted)
{
   if (bound <= 1 || one_in(3))
      return literal(Type::u32, draw(std::max(bound, 1u)));
   Expr x = any(Type::u32, wanted);
   if (x.op == Op::literal)
      return literal(Type::u32, uint32_t(x.number) % bound);
   if (std::has_single_bit(bound))
      return arithmetic(Binary::bit_and, std::move(x), literal(Type::u32, bound - 1));
   return arithmetic(Binary::mod, std::move(x), literal(Type::u32, bound));
}

Expr Generator::any(Type type, const Wanted &wanted)
{
   if (wanted.depth == 0 || one_in(5))
      return leaf(type, wanted);
   Wanted inner = wanted;
   inner.depth--;
   if (is_small_float(type))
      return small_float(type, inner);
   if (wanted.subgroup_operations && one_in(4))
      return subgroup_operation(type, inner);
   if (wanted.coordinates ? one_in(6) : one_in(12) && wanted.elements == 0) {
      Wanted plain = inner;
      plain.subgroup_operations = false;
      return make(Op::select, type, 0, {truth(plain), any(type, plain), any(type, plain)});
   }
   if (type == Type::boolean)
      return truth(inner);
   return is_float(type) ? real(type, inner) : integer(type, inner);
}

Expr Generator::leaf(Type type, const Wanted &wanted)
{
   if (wanted.in_block && type == wanted.element && wanted.depth && !one_in(4)) {
      Wanted inner = wanted;
      inner.depth--;
      return make(Op::block, type, 0, {below(wanted.elements, inner)});
   }
   if (wanted.elements && !wanted.in_block && type == wanted.element && !one_in(3))
      return make(Op::element, type, 0, {}, draw(wanted.elements));
   for (size_t i = 0; i < wanted.parameters.size(); i++) {
      if (wanted.parameters[i] == type && one_in(2))
         return make(Op::parameter, type, 0, {}, int64_t(i));
   }
   if (wanted.coordinates && type == Type::u32 && one_in(2))
      return make(Op::coordinate, type, 0, {}, draw(wanted.coordinates));
   for (int attempt = 0; attempt < 4; attempt++) {
      switch (wanted.coordinates && !wanted.in_loop ? 2 + draw(3) : draw(5)) {
      case 0:
         if (const auto v = find_scalar(type, wanted.level, false))
            return variable(*v);
         break;
      case 1:
         if (const auto v = find_scalar(type, wanted.level, true); v && wanted.depth) {
            Wanted inner = wanted;
            inner.depth--;
            Expr e = variable(*v);
            e.args.push_back(below(f->variables[*v].array, inner));
            return e;
         }
         break;
      case 2:
         if (type != Type::u32)
            break;
         switch (wanted.level) {
         case Level::invocation:
            return builtin(
               pick({Builtin::subgroup_invocation, Builtin::local_index, Builtin::subgroup,
                     Builtin::workgroup, Builtin(uint8_t(Builtin::local_x) + draw(3))}));
         case Level::subgroup:
            return builtin(pick({Builtin::subgroup, Builtin::workgroup, Builtin::subgroup_size}));
         case Level::workgroup:
            return builtin(pick({Builtin::workgroup, Builtin::workgroups, Builtin::subgroups}));
         }
         break;
      case 3:
         if (type == Type::u32)
            return make(Op::push, type, 0, {}, draw(push_words));
         break;
      case 4:
         if (const auto it = inputs.find(type); it != inputs.end() && wanted.depth) {
            const uint32_t m = pick(it->second);
            const Memory &memory = p.memories[m];
            if (memory.unit_bytes == memory.component_bytes() && memory.contents != Contents::any)
               return load(m, wanted);
            if (is_integer(type) && memory.unit == glsl_name(type))
               return load(m, wanted);
         }
         break;
      }
   }
   return random_literal(type);
}

Expr Generator::load(uint32_t memory, const Wanted &wanted)
{
   Wanted inner = wanted;
   inner.depth = wanted.depth ? wanted.depth - 1 : 0;
   const Memory &m = p.memories[memory];
   // An access by another scalar type would reinterpret the bits.
   if (m.unit != glsl_name(m.type))
      return random_literal(m.type);
   return make(Op::load, m.type, 0, {below(m.elements, inner)}, memory);
}

Expr Generator::given(Type type, const Wanted &wanted)
{
   const Type source = is_float(type) ? (doubles ? Type::f64 : Type::f32) : Type::u32;
   const uint32_t memory = inputs.at(source).back();
   Expr index = wanted.level == Level::invocation
                   ? builtin(Builtin::local_index)
                   : arithmetic(Binary::bit_and, any(Type::u32, wanted), literal(Type::u32, 63));
   Expr x = make(Op::load, source, 0, {std::move(index)}, memory);
   return type == source ? x : make(Op::convert, type, 0, {std::move(x)});
}

Expr Generator::integer(Type type, const Wanted &wanted)
{
   const auto arg = [&] { return any(type, wanted); };
   const auto constant = [&](int64_t value) { return literal(type, value); };
   switch (draw(14)) {
   case 0:
   case 1:
      return arithmetic(pick({Binary::add, Binary::sub}), arg(), arg());
   case 2:
      return arithmetic(Binary::mul, arg(), arg());
   case 3:
      return arithmetic(pick({Binary::bit_and, Binary::bit_or, Binary::bit_xor}), arg(), arg());
   case 4:
      return arithmetic(pick({Binary::min, Binary::max}), arg(), arg());
   case 5:
      return arithmetic(pick({Binary::shift_left, Binary::shift_right}), arg(),
                        arithmetic(Binary::bit_and, arg(), constant(bits(type) - 1)));
   case 6:
      return arithmetic(pick({Binary::shift_left, Binary::shift_right}), arg(),
                        constant(draw(bits(type))));
   case 7:
      return arithmetic(Binary::div, arg(), arithmetic(Binary::bit_or, arg(), constant(1)));
   case 8:
      if (is_signed(type))
         return make(pick({Unary::sign, Unary::negate}), type, arg());
      return arithmetic(Binary::mod, arg(),
                        one_in(2) ? constant(1 + draw(100))
                                  : arithmetic(Binary::bit_or, arg(), constant(1)));
   case 9:
      return make(Unary::bit_not, type, arg());
   case 10:
      if (type == Type::u32)
         return make(pick({Unary::bit_count, Unary::bit_reverse, Unary::find_lsb, Unary::find_msb}),
                     type, arg());
      return make(Unary::negate, type, arg());
   default:
      return converted(type, wanted);
   }
}

/// A conversion to a small float, in one rounding, from any float type.
Expr Generator::small_float(Type type, const Wanted &wanted)
{
   return make(Op::convert, type, 0, {any(one_in(4) ? Type::f16 : Type::f32, wanted)});
}

Expr Generator::real(Type type, const Wanted &wanted)
{
   const auto arg = [&] { return any(type, wanted); };
   switch (draw(11)) {
   case 0:
   case 1:
   case 2:
      return make(Op::binary, type, uint8_t(pick({Binary::add, Binary::sub})), {arg(), arg()});
   case 3:
      return make(Op::binary, type, uint8_t(Binary::mul), {arg(), random_literal(type)});
   case 4:
      return make(Op::binary, type, uint8_t(Binary::mul), {arg(), arg()});
   case 5:
      return make(Op::binary, type, uint8_t(pick({Binary::min, Binary::max})), {arg(), arg()});
   case 6:
      return make(pick({Unary::negate, Unary::absolute, Unary::floor, Unary::trunc, Unary::sign}),
                  type, arg());
   case 7:
      return make(Op::fma, type, 0, {arg(), arg(), arg()});
   case 8: {
      Expr power = literal(type, 1 << (1 + draw(2)));
      return make(Op::binary, type, uint8_t(Binary::div), {arg(), std::move(power)});
   }
   default:
      return converted(type, wanted);
   }
}

Expr Generator::truth(const Wanted &wanted)
{
   switch (draw(6)) {
   case 0:
      return make(Unary::logical_not, Type::boolean, any(Type::boolean, wanted));
   case 1: {
      Wanted plain = wanted;
      plain.subgroup_operations = false;
      return make(Op::binary, Type::boolean,
                  uint8_t(pick({Binary::logical_and, Binary::logical_or})),
                  {any(Type::boolean, plain), any(Type::boolean, plain)});
   }
   case 2:
      return make(Op::binary, Type::boolean,
                  uint8_t(pick({Binary::logical_xor, Binary::equal, Binary::not_equal})),
                  {any(Type::boolean, wanted), any(Type::boolean, wanted)});
   default: {
      Type type = wanted.elements && one_in(2) ? wanted.element : scalar_type();
      if (type == Type::boolean || is_small_float(type))
         type = Type::u32;
      const auto op = Binary(uint8_t(Binary::equal) + draw(6));
      Expr x = any(type, wanted), y = any(type, wanted);
      if (x.op == Op::literal && y.op == Op::literal) {
         x = make(Op::push, Type::u32, 0, {}, draw(push_words));
         if (type != Type::u32)
            x = make(Op::convert, type, 0, {std::move(x)});
      }
      return make(Op::binary, Type::boolean, uint8_t(op), {std::move(x), std::move(y)});
   }
   }
}

Expr Generator::converted(Type to, const Wanted &wanted)
{
   const Type from = wanted.elements && one_in(2) ? wanted.element : scalar_type();
   if (from == to)
      return any(to, wanted);
   if (is_small_float(from)) {
      // The conversion goes through a float.
      const Type wide = one_in(4) ? Type::f16 : Type::f32;
      const Expr x = make(Op::convert, wide, 0, {any(from, wanted)});
      if (wide == to)
         return x;
      return make(Op::convert, to, 0,
                  {is_integer(to) && !is_signed(to) ? make(Unary::absolute, wide, x) : x});
   }
   Expr x = any(from, wanted);
   // Few floats are exact, and few integers hold negative ones.
   if (is_float(to) && is_integer(from))
      x = arithmetic(Binary::bit_and, std::move(x), literal(from, one_in(2) ? 7 : 15));
   if (is_float(from) && is_integer(to) && !is_signed(to))
      x = make(Unary::absolute, from, std::move(x));
   return make(Op::convert, to, 0, {std::move(x)});
}

Expr Generator::subgroup_operation(Type type, const Wanted &wanted)
{
   const bool for_one = wanted.level == Level::invocation, whole = wanted.whole;
   if (wanted.level == Level::workgroup)
      return leaf(type, wanted);
   // The argument may differ between invocations, even if the result does not.
   Wanted inner = wanted;
   inner.level = Level::invocation;
   inner.depth = std::min(wanted.depth, 1u);
   const uint32_t W = p.subgroup_size;
   const auto shuffle = [&](Shuffle s, uint32_t number) {
      return make(Op::shuffle, type, uint8_t(s), {any(type, inner)}, number);
   };
   switch (draw(for_one ? 9 : 4)) {
   case 0:
      if (whole && one_in(2))
         return shuffle(Shuffle::broadcast, draw(W));
      return shuffle(Shuffle::broadcast_first, 0);
   case 1:
      if (type == Type::boolean) {
         const Vote vote = pick({Vote::all, Vote::any, Vote::all_equal});
         if (vote != Vote::all_equal)
            return make(Op::vote, type, uint8_t(vote), {truth(inner)});
         return make(
            Op::vote, type, uint8_t(vote),
            {any(pick({Type::boolean, Type::u32, expressible(Type::s16) ? Type::s16 : Type::s32}),
                 inner)});
      }
      [[fallthrough]];
   case 2:
      if (type == Type::u32 && one_in(2)) {
         const Ballot b = for_one ? pick({Ballot::inclusive_count, Ballot::exclusive_count})
                                  : pick({Ballot::word0, Ballot::word1, Ballot::count,
                                          Ballot::find_lsb, Ballot::find_msb});
         return make(Op::ballot, type, uint8_t(b), {truth(inner)});
      }
      if (type == Type::boolean && for_one && one_in(2)) {
         if (one_in(3))
            return make(Op::vote, type, uint8_t(Vote::elect), {});
         if (one_in(2))
            return make(Op::ballot, type, uint8_t(Ballot::inverse), {truth(inner)});
         return make(Op::ballot, type, uint8_t(Ballot::extract), {truth(inner), below(W, inner)});
      }
      [[fallthrough]];
   case 3: {
      Reduction r =
         pick({Reduction::add, Reduction::add, Reduction::mul, Reduction::min, Reduction::max,
               Reduction::bit_and, Reduction::bit_or, Reduction::bit_xor});
      if (is_float(type) && r >= Reduction::bit_and)
         r = Reduction::max;
      // For booleans, GLSL has only its own operators.
      if (type == Type::boolean && r < Reduction::bit_and)
         r = pick({Reduction::bit_and, Reduction::bit_or, Reduction::bit_xor});
      Extent extent =
         for_one ? pick({Extent::inclusive, Extent::exclusive, Extent::cluster, Extent::all})
                 : Extent::all;
      const bool infinite = is_float(type) && (r == Reduction::min || r == Reduction::max);
      if (extent == Extent::exclusive && infinite)
         extent = Extent::inclusive;
      Expr e = make(Op::reduction, type, uint8_t(r), {any(type, inner)}, int64_t(extent));
      if (extent == Extent::cluster)
         e.real = 1u << (1 + draw(uint32_t(std::countr_zero(W)) - 1));
      return e;
   }
   default:
      break;
   }
   if (!whole)
      return shuffle(Shuffle::broadcast_first, 0);
   switch (draw(5)) {
   case 0:
      return shuffle(Shuffle::exclusive_or, 1 + draw(W - 1));
   case 1:
      return shuffle(Shuffle::rotate, 1 + draw(W - 1));
   case 2:
      return shuffle(Shuffle::quad_broadcast, draw(4));
   case 3:
      return shuffle(
         pick({Shuffle::quad_horizontal, Shuffle::quad_vertical, Shuffle::quad_diagonal}), 0);
   default: {
      Expr e = shuffle(Shuffle::index, 0);
      e.args.push_back(below(W, inner));
      return e;
   }
   }
}

} // namespace weft::fuzz
