// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Random statements on scalars, control flow and shared memory.

#include "tests/fuzz/generator.h"

#include <algorithm>

namespace weft::fuzz {

Wanted Generator::wanted(Level level, const Flow &flow, uint32_t depth)
{
   Wanted w;
   w.level = level;
   w.depth = depth;
   w.whole = flow.level <= Level::subgroup;
   return w;
}

void Generator::block(Block &out, uint32_t statements, const Flow &flow)
{
   for (uint32_t i = 0; i < statements; i++)
      statement(out, flow);
}

void Generator::statement(Block &out, const Flow &flow)
{
   const bool matrices = !types.empty() && flow.level <= scope;
   const uint32_t choice = draw(20);
   if (choice < 3 && flow.depth < 3)
      return branch(out, flow);
   if (choice < 5 && flow.depth < 3)
      return loop(out, flow);
   if (choice == 5 && flow.level == Level::workgroup && !flow.in_function)
      return one_in(3) ? shared_atomics(out, flow) : exchange(out, flow);
   if (matrices && choice < 17)
      return matrix_statement(out, flow);
   scalar_statement(out, flow);
}

void Generator::scalar_statement(Block &out, const Flow &flow)
{
   if (!flow.in_function && one_in(8))
      return store_scalar(out, any(scalar_type(), wanted(Level::invocation, flow)), flow);
   if (!flow.in_function && one_in(flow.level == Level::invocation ? 3 : 8))
      return atomic(out, flow);
   if (flow.level <= Level::subgroup && one_in(8))
      return guarded_shuffle(out, flow);
   assign(out, flow);
}

void Generator::assign(Block &out, const Flow &flow)
{
   const bool array = one_in(4);
   std::optional<uint32_t> target = find_target(flow.level, array);
   if (!target)
      target = add_scalar(scalar_type(), Level::invocation);
   Level level = Level::invocation;
   for (const Scalar &s : scalars) {
      if (s.variable == *target)
         level = s.level;
   }
   Stmt s{Kind::assign, 0, 0, {variable(*target)}, {}, {}, {}};
   if (f->variables[*target].array)
      s.exprs[0].args.push_back(below(f->variables[*target].array, wanted(level, flow, 1)));
   s.exprs.push_back(any(f->variables[*target].type, wanted(level, flow, 3)));
   out.push_back(std::move(s));
}

/// A shuffle that reads outside of the subgroup in some invocations, which do not use the result.
void Generator::guarded_shuffle(Block &out, const Flow &flow)
{
   const Type drawn = scalar_type(), type = is_small_float(drawn) ? Type::f32 : drawn;
   const uint32_t distance = 1 + draw(p.subgroup_size / 2);
   const bool up = one_in(2);
   const uint32_t fetched = add_scalar(type, Level::invocation);
   const uint32_t target = add_scalar(type, Level::invocation);
   Expr shuffle{Op::shuffle, type, uint8_t(up ? Shuffle::up : Shuffle::down), distance, 0, {}};
   shuffle.args.push_back(any(type, wanted(Level::invocation, flow)));
   Expr guard =
      arithmetic(up ? Binary::greater_equal : Binary::less, builtin(Builtin::subgroup_invocation),
                 literal(Type::u32, up ? distance : p.subgroup_size - distance));
   Expr chosen{Op::select, type, 0, 0, 0, {std::move(guard), variable(fetched), literal(type, 1)}};
   out.push_back({Kind::assign, 0, 0, {variable(fetched), std::move(shuffle)}, {}, {}, {}});
   out.push_back({Kind::assign, 0, 0, {variable(target), std::move(chosen)}, {}, {}, {}});
   // No other expression may read this variable.
   std::erase_if(scalars, [&](const Scalar &s) { return s.variable == fetched; });
}

void Generator::store_scalar(Block &out, const Expr &value, const Flow &)
{
   Type type = value.type;
   Expr stored = value;
   if (type == Type::boolean) {
      type = Type::u32;
      if (value.op == Op::literal)
         return;
      stored = {Op::convert, type, 0, 0, 0, {value}};
   }
   const uint32_t m = output_memory(type, true);
   Output &output = outputs.at({type, true});
   const uint32_t all = p.invocations() * p.workgroups;
   Expr own = arithmetic(
      Binary::add,
      arithmetic(Binary::mul, builtin(Builtin::workgroup), literal(Type::u32, p.invocations())),
      builtin(Builtin::local_index));
   Expr element =
      arithmetic(Binary::add, std::move(own), literal(Type::u32, output.regions++ * all));
   out.push_back({Kind::store, 0, m, {std::move(element), std::move(stored)}, {}, {}, {}});
}

void Generator::branch(Block &out, const Flow &flow)
{
   const Level level = std::max(flow.level, Level(draw(3)));
   Flow inner = flow;
   inner.level = level;
   inner.depth++;
   Stmt s{Kind::branch, 0, 0, {truth(wanted(level, flow))}, {}, {}, {}};
   block(s.body, 1 + draw(3), inner);
   if (one_in(2))
      block(s.otherwise, 1 + draw(2), inner);
   out.push_back(std::move(s));
}

void Generator::loop(Block &out, const Flow &flow)
{
   // Some invocations may leave early and others continue, so the level applies to the whole loop.
   const Level level = std::max(flow.level, Level(draw(3)));
   const uint32_t counter = add_scalar(Type::u32, level);
   scalars.back().counter = true;
   Flow inner = flow;
   inner.level = level;
   inner.depth++;
   inner.in_loop = true;
   inner.counters.push_back(counter);

   Stmt s{Kind::loop, uint8_t(draw(4)), counter, {}, {}, {}, {}};
   if (one_in(3))
      s.exprs.push_back(literal(Type::u32, 1 + draw(4)));
   else
      s.exprs.push_back(
         arithmetic(Binary::add, below(4, wanted(level, flow)), literal(Type::u32, draw(2))));
   block(s.body, 1 + draw(3), inner);
   if (one_in(3)) {
      Stmt way_out{Kind::branch, 0, 0, {truth(wanted(level, inner))}, {}, {}, {}};
      Flow conditional = inner;
      conditional.depth++;
      if (one_in(3))
         scalar_statement(way_out.body, conditional);
      way_out.body.push_back({one_in(3) ? Kind::next : Kind::leave, 0, 0, {}, {}, {}, {}});
      s.body.push_back(std::move(way_out));
      block(s.body, 1 + draw(2), inner);
   }
   // Afterwards the counter is the number of iterations, in the loops that define it.
   if (flow.level < level && level == Level::invocation && !flow.in_function && one_in(3))
      out.push_back(std::move(s)), store_scalar(out, variable(counter), flow);
   else
      out.push_back(std::move(s));
}

uint32_t Generator::own_variable(Type type)
{
   const std::optional<uint32_t> found = find_scalar(type, Level::invocation, false);
   const auto is_own = [&](const Scalar &s) {
      return s.variable == found && s.level == Level::invocation && !s.counter;
   };
   return std::ranges::any_of(scalars, is_own) ? *found : add_scalar(type, Level::invocation);
}

uint32_t Generator::exchange_memory(Type type)
{
   if (!texels || !has_texels(type) || one_in(2))
      return shared_memory(type, true, false);
   const auto [it, inserted] = exchanged_texels.try_emplace(type, 0);
   if (inserted) {
      const Storage storage =
         has_texel_buffers(type) && one_in(2) ? Storage::texels : Storage::image;
      it->second = add_memory(storage, type, p.invocations() * p.workgroups, Contents::none);
      p.memories[it->second].coherent = true;
   }
   return it->second;
}

/// Each invocation writes its place in a memory and reads another invocation's of its workgroup.
void Generator::exchange(Block &out, const Flow &flow)
{
   Type type = scalar_type();
   if (type == Type::boolean)
      type = Type::s32;
   const uint32_t m = exchange_memory(type), N = p.invocations();
   const auto element = [&](Expr place) {
      if (p.memories[m].storage == Storage::shared)
         return place;
      return arithmetic(Binary::add,
                        arithmetic(Binary::mul, builtin(Builtin::workgroup), literal(Type::u32, N)),
                        std::move(place));
   };
   const uint32_t variable_number = own_variable(type);
   out.push_back({Kind::barrier, 0, 0, {}, {}, {}, {}});
   out.push_back(
      {Kind::store,
       0,
       m,
       {element(builtin(Builtin::local_index)), any(type, wanted(Level::invocation, flow))},
       {},
       {},
       {}});
   out.push_back({Kind::barrier, 0, 0, {}, {}, {}, {}});
   Expr place = one_in(2) ? arithmetic(Binary::mod,
                                       arithmetic(Binary::add, builtin(Builtin::local_index),
                                                  literal(Type::u32, 1 + draw(N))),
                                       literal(Type::u32, N))
                          : below(N, wanted(Level::invocation, flow));
   out.push_back(
      {Kind::assign,
       0,
       0,
       {variable(variable_number), {Op::load, type, 0, m, 0, {element(std::move(place))}}},
       {},
       {},
       {}});
}

void Generator::call(Block &out, const Flow &flow)
{
   const auto self = uint32_t(f - p.functions.data());
   if (self + 1 >= p.functions.size())
      return;
   Stmt s{Kind::call, 0, self + 1 + draw(uint32_t(p.functions.size()) - self - 1), {}, {}, {}, {}};
   const Function &callee = p.functions[s.target];
   for (const Parameter &parameter : callee.parameters) {
      const Variable &v = callee.variables[parameter.variable];
      if (v.matrix) {
         // A new variable, if another argument uses the same one.
         Place place = matrix_place(*v.matrix, flow);
         place.index.clear();
         const bool taken = f->variables[place.variable].array ||
                            std::ranges::any_of(s.places, [&](const Place &other) {
                               return other.variable == place.variable;
                            });
         if (taken) {
            place.variable = add_matrix(*v.matrix);
            load_matrix(out, place, *v.matrix, flow);
         }
         s.places.push_back(std::move(place));
      } else {
         s.exprs.push_back(any(v.type, wanted(scope, flow)));
      }
   }
   if (callee.result)
      s.places.push_back({add_matrix(*callee.variables[*callee.result].matrix), {}});
   out.push_back(std::move(s));
}

void Generator::copy_struct(Block &out, const Flow &)
{
   const uint32_t to = 1 + draw(2);
   if (f->structs == 2)
      out.push_back({Kind::struct_copy, uint8_t(3 - to), to, {}, {}, {}, {}});
}

} // namespace weft::fuzz
