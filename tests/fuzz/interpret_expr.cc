// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Expressions, and subgroup operations in them.

#include "tests/fuzz/interpreter.h"

#include <algorithm>
#include <cassert>

namespace weft::fuzz {

const Number &Interpreter::defined(const Number &n, const Expr &at) const
{
   if (n.undefined)
      fail("an undefined value is used", &at);
   return n;
}

Number Interpreter::checked(const std::optional<Number> &n, const Expr &at) const
{
   if (!n)
      fail("a value that is not defined, or not exact", &at);
   return *n;
}

Number Interpreter::uniform(const Expr &e, const Lanes &values, uint32_t owner) const
{
   const uint32_t count = N / owners;
   const Number &first = defined(values[owner * count], e);
   for (uint32_t i = 1; i < count; i++) {
      const Number &other = values[owner * count + i];
      if (other.i != first.i || other.f != first.f)
         fail("a value that is not uniform", &e);
   }
   return first;
}

Lanes Interpreter::evaluate(const Expr &e, const Mask &mask)
{
   switch (e.op) {
   case Op::literal:
   case Op::variable:
   case Op::builtin:
   case Op::push:
   case Op::load:
      return evaluate_leaf(e, mask);
   case Op::element:
   case Op::coordinate:
   case Op::parameter:
   case Op::block:
      fail("an element outside of what is done with elements", &e);
   case Op::convert:
   case Op::select:
   case Op::unary:
   case Op::binary:
   case Op::fma:
      return evaluate_arithmetic(e, mask);
   default:
      break;
   }
   std::vector<Lanes> args;
   for (const Expr &arg : e.args) {
      args.push_back(evaluate(arg, mask));
      for (uint32_t i = 0; i < N; i++) {
         if (mask[i])
            defined(args.back()[i], arg);
      }
   }
   Lanes result(N);
   for (uint32_t subgroup = 0; subgroup < program.subgroups; subgroup++) {
      if ((mask & subgroup_mask(subgroup)).none())
         continue;
      if (e.op == Op::reduction)
         evaluate_reduction(e, args[0], mask, subgroup, result);
      else if (e.op == Op::shuffle)
         evaluate_shuffle(e, args, mask, subgroup, result);
      else if (e.op == Op::vote)
         evaluate_vote(e, args.empty() ? Lanes() : args[0], mask, subgroup, result);
      else
         evaluate_ballot(e, args, mask, subgroup, result);
   }
   return result;
}

Lanes Interpreter::evaluate_leaf(const Expr &e, const Mask &mask)
{
   Lanes index, result(N);
   if (!e.args.empty())
      index = evaluate(e.args[0], mask);
   for (uint32_t i = 0; i < N; i++) {
      if (!mask[i])
         continue;
      const uint64_t element = index.empty() ? 0 : uint64_t(defined(index[i], e).i);
      switch (e.op) {
      case Op::literal:
         result[i] = {e.number, e.real};
         break;
      case Op::variable:
         if (element >= std::max(frames.back().function->variables[size_t(e.number)].array, 1u))
            fail("an index outside of an array", &e);
         result[i] = frames.back().scalars[size_t(e.number)][element * N + i];
         break;
      case Op::push:
         result[i] = {program.push[e.number]};
         break;
      case Op::load: {
         double bound = 0;
         if (const char *why = memories[size_t(e.number)].read(
                element, access(int32_t(i / W), int32_t(i % W)), result[i], bound))
            fail(why, &e);
         if (bound)
            fail("a rounded number as a scalar", &e);
         break;
      }
      default: {
         const uint32_t x = program.local_x(), y = program.local_y;
         const uint32_t values[] = {
            i % W, i / W,     i,          workgroup, program.workgroups, W, program.subgroups,
            i % x, i / x % y, i / (x * y)};
         result[i] = {values[e.number]};
      }
      }
   }
   return result;
}

Lanes Interpreter::evaluate_arithmetic(const Expr &e, const Mask &mask)
{
   std::vector<Lanes> args;
   for (const Expr &arg : e.args)
      args.push_back(evaluate(arg, mask));
   Lanes result(N);
   for (uint32_t i = 0; i < N; i++) {
      if (!mask[i])
         continue;
      if (e.op == Op::select) {
         result[i] = defined(args[0][i], e).i ? args[1][i] : args[2][i];
         continue;
      }
      for (const Lanes &arg : args)
         defined(arg[i], e);
      const Type from = e.args[0].type;
      switch (e.op) {
      case Op::convert:
         result[i] = checked(convert(e.type, from, args[0][i]), e);
         break;
      case Op::unary:
         result[i] = checked(unary(Unary(e.detail), from, args[0][i]), e);
         break;
      case Op::binary:
         result[i] = checked(binary(Binary(e.detail), from, args[0][i], args[1][i]), e);
         break;
      default:
         result[i] = checked(multiply_add(e.type, args[0][i], args[1][i], args[2][i]), e);
      }
   }
   return result;
}

void Interpreter::evaluate_reduction(const Expr &e, const Lanes &values, const Mask &mask,
                                     uint32_t subgroup, Lanes &result)
{
   const Extent extent = Extent(e.number);
   const uint32_t cluster = extent == Extent::cluster ? uint32_t(e.real) : W;
   for (uint32_t lane = 0; lane < W; lane++) {
      const uint32_t own = subgroup * W + lane;
      if (!mask[own])
         continue;
      const uint32_t start = lane / cluster * cluster;
      const uint32_t end = extent == Extent::inclusive   ? lane + 1
                           : extent == Extent::exclusive ? lane
                                                         : start + cluster;
      std::vector<Number> list;
      for (uint32_t i = start; i < end; i++) {
         if (mask[subgroup * W + i])
            list.push_back(values[subgroup * W + i]);
      }
      const std::optional<Number> sum = reduce(Reduction(e.detail), e.type, list);
      // The identity of floats' minimum is an infinity.
      if (!sum && list.empty())
         result[own].undefined = true;
      else
         result[own] = checked(sum, e);
   }
}

void Interpreter::evaluate_shuffle(const Expr &e, const std::vector<Lanes> &args, const Mask &mask,
                                   uint32_t subgroup, Lanes &result)
{
   const auto number = uint32_t(e.number);
   const Shuffle kind = Shuffle(e.detail);
   uint32_t first = 0;
   while (!mask[subgroup * W + first])
      first++;
   for (uint32_t lane = 0; lane < W; lane++) {
      const uint32_t own = subgroup * W + lane;
      if (!mask[own])
         continue;
      uint64_t from = 0;
      switch (kind) {
      case Shuffle::index:
         from = uint64_t(args[1][own].i);
         break;
      case Shuffle::exclusive_or:
         from = lane ^ number;
         break;
      case Shuffle::up:
         from = uint32_t(lane - number);
         break;
      case Shuffle::down:
         from = lane + number;
         break;
      case Shuffle::rotate:
         from = (lane + number) % W;
         break;
      case Shuffle::broadcast:
         from = number;
         break;
      case Shuffle::broadcast_first:
         from = first;
         break;
      case Shuffle::quad_broadcast:
         from = lane / 4 * 4 + number;
         break;
      case Shuffle::quad_horizontal:
      case Shuffle::quad_vertical:
      case Shuffle::quad_diagonal:
         from = lane ^ (1 + uint32_t(kind) - uint32_t(Shuffle::quad_horizontal));
         break;
      }
      if (from < W && mask[subgroup * W + from])
         result[own] = args[0][subgroup * W + from];
      else
         result[own].undefined = true;
   }
}

void Interpreter::evaluate_vote(const Expr &e, const Lanes &values, const Mask &mask,
                                uint32_t subgroup, Lanes &result)
{
   uint32_t first = max_invocations;
   bool all = true, any = false, equal = true;
   for (uint32_t i = subgroup * W; i < (subgroup + 1) * W; i++) {
      if (!mask[i])
         continue;
      if (first == max_invocations)
         first = i;
      if (values.empty())
         continue;
      all &= values[i].i != 0;
      any |= values[i].i != 0;
      equal &= values[i].i == values[first].i;
   }
   for (uint32_t i = subgroup * W; i < (subgroup + 1) * W; i++) {
      const bool votes[] = {all, any, equal, i == first};
      if (mask[i])
         result[i] = boolean(votes[e.detail]);
   }
}

void Interpreter::evaluate_ballot(const Expr &e, const std::vector<Lanes> &args, const Mask &mask,
                                  uint32_t subgroup, Lanes &result)
{
   uint64_t ballot = 0;
   for (uint32_t lane = 0; lane < W; lane++) {
      if (mask[subgroup * W + lane] && args[0][subgroup * W + lane].i)
         ballot |= uint64_t(1) << lane;
   }
   for (uint32_t lane = 0; lane < W; lane++) {
      const uint32_t own = subgroup * W + lane;
      if (!mask[own])
         continue;
      const uint64_t below = ballot & ((uint64_t(1) << lane) - 1), at = ballot >> lane & 1;
      Number &r = result[own];
      switch (Ballot(e.detail)) {
      case Ballot::word0:
         r.i = uint32_t(ballot);
         break;
      case Ballot::word1:
         r.i = int64_t(ballot >> 32);
         break;
      case Ballot::count:
         r.i = std::popcount(ballot);
         break;
      case Ballot::inclusive_count:
         r.i = std::popcount(below) + int64_t(at);
         break;
      case Ballot::exclusive_count:
         r.i = std::popcount(below);
         break;
      case Ballot::find_lsb:
         r.i = std::countr_zero(ballot);
         r.undefined = ballot == 0;
         break;
      case Ballot::find_msb:
         r.i = 63 - std::countl_zero(ballot);
         r.undefined = ballot == 0;
         break;
      case Ballot::inverse:
         r.i = int64_t(at);
         break;
      case Ballot::extract:
         if (args[1][own].i >= int64_t(W))
            fail("a bit outside of a ballot", &e);
         r.i = int64_t(ballot >> args[1][own].i & 1);
         break;
      }
   }
}

} // namespace weft::fuzz
