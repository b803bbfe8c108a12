// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Random statements about matrices.

#include "tests/fuzz/generator.h"

#include <algorithm>
#include <numeric>

namespace weft::fuzz {

using e2e::MatrixType;

Stmt Generator::synchronize() const
{
   return {
      scope == Level::workgroup ? Kind::barrier : Kind::subgroup_barrier, 0, 0, {}, {}, {}, {}};
}

Expr Generator::shared_region(uint32_t units)
{
   if (scope == Level::workgroup)
      return literal(Type::u32, 0);
   return arithmetic(Binary::mul, builtin(Builtin::subgroup), literal(Type::u32, units));
}

void Generator::matrix_statement(Block &out, const Flow &flow)
{
   if (budget <= 0)
      return scalar_statement(out, flow);
   // The first 24 statements exist for all matrices.
   switch (draw(p.without_use ? 24 : 34)) {
   case 32:
   case 33:
      return turn(out, flow);
   case 28:
   case 29:
      return load_tensor(out, flow);
   case 30:
      return flow.in_function ? load_tensor(out, flow) : store_tensor(out, flow);
   case 31:
      return flow.in_function ? load_tensor(out, flow) : tensor_through_shared(out, flow);
   case 24:
   case 25:
      return element_function(out, flow);
   case 26:
   case 27:
      return reduce_matrix(out, flow);
   case 0:
   case 1:
   case 2:
   case 3:
   case 4:
      return muladd(out, flow);
   case 5:
   case 6: {
      const MatrixType type = pick(types);
      return load_matrix(out, matrix_place(type, flow), type, flow);
   }
   case 7:
   case 8:
      return convert_matrix(out, flow);
   case 9:
   case 10:
   case 11:
      return matrix_arithmetic(out, flow);
   case 12:
      return divide(out, flow);
   case 13:
   case 14:
      return element_loop(out, flow);
   case 15:
      return p.without_use ? element_loop(out, flow) : element_reduce(out, flow);
   case 16:
      return flow.in_function ? muladd(out, flow) : through_own_memory(out, flow);
   case 17:
   case 18:
      if (flow.level == Level::workgroup && !flow.in_function)
         return one_in(3) ? staged_load(out, flow) : through_shared(out, flow);
      return element_loop(out, flow);
   case 19: {
      const MatrixType type = pick(types);
      if (flow.in_function)
         return matrix_arithmetic(out, flow);
      return store_matrix(out, matrix_source(type, flow), type, flow);
   }
   case 20:
      return copy_struct(out, flow);
   case 21:
   case 22:
      return keep(out, flow);
   default:
      return call(out, flow);
   }
}

Generator::Layout Generator::layout(const MatrixType &type, const Memory &memory, bool for_store,
                                    uint32_t most_units)
{
   const uint32_t unit = memory.unit_bytes;
   if (one_in(8)) {
      if (const auto blocked = blocked_layout(type, memory);
          blocked && blocked->units <= most_units)
         return *blocked;
   }
   while (true) {
      const bool column_major = one_in(2);
      const uint32_t line = e2e::line_bytes(type, column_major);
      const uint32_t step = std::lcm(e2e::required_alignment(type, column_major), unit);
      uint32_t stride = (line + step - 1) / step * step;
      if (one_in(2))
         stride += draw(4) * step;
      // Loads may see lines that overlap.
      if (!for_store && one_in(8))
         stride = draw(3) * step;
      const uint32_t lines = column_major ? type.cols : type.rows;
      const uint32_t bytes = (lines - 1) * stride + line;
      const Layout l = {column_major ? Order::columns : Order::rows, step / unit, stride / unit,
                        (bytes + unit - 1) / unit};
      if (l.units <= most_units)
         return l;
   }
}

/// Blocks of 4 rows of 16 bytes, if the matrix consists of whole blocks. They would split elements
/// of 64 bits.
std::optional<Generator::Layout> Generator::blocked_layout(const MatrixType &type,
                                                           const Memory &memory)
{
   const uint32_t bytes = type.component_bytes(), interleaved = 1u << draw(3);
   const auto order = one_in(2) ? Order::row_blocks : Order::column_blocks;
   const uint32_t rows = order == Order::column_blocks ? 4 * interleaved : 4,
                  cols = order == Order::row_blocks ? 16 / bytes * interleaved : 16 / bytes;
   if (p.without_use || bytes > 4 || type.rows % rows != 0 || type.cols % cols != 0)
      return std::nullopt;
   const uint32_t unit = memory.unit_bytes;
   return Layout{order, std::lcm(16u, unit) / unit, interleaved,
                 type.rows * type.cols * bytes / unit};
}

Stmt Generator::transfer(Kind kind, const Place &place, uint32_t memory, const Layout &l,
                         Expr offset)
{
   const MatrixType &type = *f->variables[place.variable].matrix;
   spend(type.rows * type.cols * 2);
   Expr stride = literal(Type::u32, l.stride);
   // The same numbers, from push constants, which the compiler does not know.
   if (!l.is_blocked() && one_in(3)) {
      const uint32_t word = draw(push_words);
      const uint32_t part = p.push[word] * l.step;
      if (part <= l.stride && part)
         stride = arithmetic(Binary::add,
                             arithmetic(Binary::mul, Expr{Op::push, Type::u32, 0, word, 0, {}},
                                        literal(Type::u32, l.step)),
                             literal(Type::u32, l.stride - part));
   }
   return {kind, uint8_t(l.order), memory, {std::move(offset), std::move(stride)}, {place}, {}, {}};
}

void Generator::load_matrix(Block &out, const Place &place, const MatrixType &type,
                            const Flow &flow)
{
   const uint32_t m = matrix_input(type_of(type.type));
   const Memory &memory = p.memories[m];
   const uint32_t units = memory.bytes() / memory.unit_bytes;
   const Layout l = layout(type, memory, false, units);
   const uint32_t room = (units - l.units) / l.step; // the number of possible offsets
   Expr offset = literal(Type::u32, draw(room + 1) * l.step);
   if (room > 8 && one_in(2)) {
      const uint32_t fixed = draw(room - 7);
      Expr moving =
         one_in(3) && !flow.counters.empty()
            ? arithmetic(Binary::bit_and, variable(flow.counters.back()), literal(Type::u32, 7))
            : below(8, {.level = scope,
                        .depth = 1,
                        .subgroup_operations = flow.level <= Level::subgroup});
      offset = arithmetic(Binary::mul, std::move(moving), literal(Type::u32, l.step));
      offset = arithmetic(Binary::add, std::move(offset), literal(Type::u32, fixed * l.step));
   }
   out.push_back(transfer(Kind::matrix_load, place, m, l, std::move(offset)));
}

Expr Generator::own_region(uint32_t number, uint32_t units, uint32_t shift)
{
   Expr own = arithmetic(Binary::mul, builtin(Builtin::workgroup), literal(Type::u32, p.subgroups));
   if (scope == Level::subgroup)
      own = arithmetic(Binary::add, std::move(own), builtin(Builtin::subgroup));
   own = arithmetic(Binary::mul, std::move(own), literal(Type::u32, units));
   return arithmetic(Binary::add, std::move(own),
                     literal(Type::u32, number * p.workgroups * p.subgroups * units + shift));
}

/// Stores to a region of the output that no other store uses.
void Generator::store_matrix(Block &out, const Place &place, const MatrixType &type,
                             const Flow &flow)
{
   const Type scalar = type_of(type.type);
   const uint32_t m = output_memory(scalar, false);
   const Memory memory = p.memories[m];
   const uint32_t per_unit = memory.unit_bytes / memory.component_bytes();
   const uint32_t units = region(scalar) / per_unit;
   const uint32_t number = outputs.at({scalar, false}).regions++;
   const Layout l = layout(type, memory, true, units);
   Expr own = own_region(number, units, draw((units - l.units) / l.step + 1) * l.step);
   if (flow.in_loop)
      out.push_back(synchronize());
   out.push_back(transfer(Kind::matrix_store, place, m, l, own));
   if (one_in(6)) {
      // Loads the matrix again, with another layout if it fits.
      out.push_back(synchronize());
      Layout again = l;
      if (one_in(2) && type.rows == type.cols)
         again.swap_rows_and_columns();
      out.push_back(
         transfer(Kind::matrix_load, matrix_place(type, flow), m, again, std::move(own)));
   }
}

void Generator::muladd(Block &out, const Flow &flow)
{
   const MatrixOperation op = pick(operations);
   // Small floats are widened one by one.
   spend(op.m * op.n * op.k *
         (e2e::is_small_float(op.a)         ? 4
          : op.result == ComponentType::f32 ? 1
                                            : 2));
   const Place d = matrix_place(c_type(op), flow);
   const Place c = percent(60) ? d : matrix_source(c_type(op), flow);
   out.push_back({Kind::matrix_muladd,
                  op.saturating,
                  0,
                  {},
                  {d, matrix_source(a_type(op), flow), matrix_source(b_type(op), flow), c},
                  {},
                  {}});
}

void Generator::convert_matrix(Block &out, const Flow &flow)
{
   struct Pair {
      Kind kind;
      MatrixType from, to;
   };
   std::vector<Pair> pairs;
   for (const MatrixType &from : types) {
      for (const MatrixType &to : types) {
         const auto is_real = [](const MatrixType &t) { return oracle::format(t.type).is_float; };
         const auto is_small = [](const MatrixType &t) { return e2e::is_small_float(t.type); };
         const bool exists = (!is_small(from) || is_real(to)) && (!is_small(to) || is_real(from));
         // glslang turns a conversion of sign and use into one bit cast.
         const Type from_type = type_of(from.type), to_type = type_of(to.type);
         const bool is_bit_cast = is_integer(from_type) && is_integer(to_type) &&
                                  bits(from_type) == bits(to_type) && from_type != to_type;
         const bool changes_use = from.use != to.use && !is_bit_cast &&
                                  (from.use == e2e::Use::accumulator ||
                                   (p.maintenance1 && to.use == e2e::Use::accumulator));
         // Many conversions change only the type, and few programs have matrices that can be
         // transposed.
         const size_t weight = p.maintenance1 && changes_use ? 4 : 1,
                      transposes = p.maintenance1 ? 20 : 1;
         if (from.rows == to.rows && from.cols == to.cols && exists &&
             (from.use == to.use || changes_use) && !(from == to))
            pairs.insert(pairs.end(), weight, {Kind::matrix_convert, from, to});
         // maintenance1's transposes change no type.
         if (from.rows == to.cols && from.cols == to.rows && exists && changes_use &&
             to.use == e2e::Use::b && (!p.maintenance1 || from.type == to.type))
            pairs.insert(pairs.end(), transposes, {Kind::matrix_transpose, from, to});
      }
   }
   if (pairs.empty())
      return muladd(out, flow);
   const Pair &pair = pick(pairs);
   const Place source = matrix_source(pair.from, flow);
   spend(pair.from.use == pair.to.use ? 0 : pair.from.rows * pair.from.cols);
   out.push_back({pair.kind, 0, 0, {}, {matrix_place(pair.to, flow), source}, {}, {}});
}

void Generator::matrix_arithmetic(Block &out, const Flow &flow)
{
   const MatrixType type = pick(types);
   compute(out, matrix_place(type, flow), type, flow);
}

/// A statement that computes a matrix.
void Generator::compute(Block &out, const Place &target, const MatrixType &type, const Flow &flow)
{
   const Type scalar = type_of(type.type);
   const auto source = [&] { return matrix_source(type, flow); };
   switch (is_small_float(scalar) ? 1 + draw(2) : draw(7)) {
   case 0:
      out.push_back({Kind::matrix_negate, 0, 0, {}, {target, source()}, {}, {}});
      return;
   case 1:
      out.push_back({Kind::matrix_copy, 0, 0, {}, {target, source()}, {}, {}});
      return;
   case 2: {
      Expr value = any(scalar, wanted(scope, flow));
      out.push_back({Kind::matrix_fill, 0, 0, {std::move(value)}, {target}, {}, {}});
      return;
   }
   case 3: {
      Expr factor = one_in(2) ? random_literal(scalar) : any(scalar, wanted(scope, flow));
      out.push_back({Kind::matrix_scale, 0, 0, {std::move(factor)}, {target, source()}, {}, {}});
      return;
   }
   default: {
      const Binary op =
         pick({Binary::add, Binary::sub, Binary::sub, p.without_use ? Binary::add : Binary::mul});
      out.push_back(
         {Kind::matrix_binary, uint8_t(op), 0, {}, {target, source(), source()}, {}, {}});
   }
   }
}

/// A matrix that is written once, and used after its operands have changed. The compiler must not
/// compute it from the new operands.
void Generator::keep(Block &out, const Flow &flow)
{
   const MatrixType type = pick(types);
   const Place original = matrix_place(type, flow), kept = unset_matrix(type);
   if (percent(70))
      out.push_back({Kind::matrix_copy, 0, 0, {}, {kept, original}, {}, {}});
   else
      compute(out, kept, type, flow);
   if (one_in(2))
      load_matrix(out, original, type, flow);
   else
      compute(out, original, type, flow);
   if (one_in(3))
      statement(out, flow);
   if (one_in(2) && !flow.in_function)
      return store_matrix(out, kept, type, flow);
   const Place result = matrix_place(type, flow);
   if (e2e::is_small_float(type.type)) {
      out.push_back({Kind::matrix_copy, 0, 0, {}, {result, kept}, {}, {}});
      return;
   }
   const Binary op = pick({Binary::add, Binary::sub});
   out.push_back({Kind::matrix_binary, uint8_t(op), 0, {}, {result, original, kept}, {}, {}});
}

/// Divides by a matrix whose elements are valid divisors.
void Generator::divide(Block &out, const Flow &flow)
{
   const std::optional<MatrixType> divided = arithmetic_type();
   if (!divided)
      return muladd(out, flow);
   const MatrixType type = *divided;
   const Type scalar = type_of(type.type);
   const Place divisor = {add_matrix(type), {}};
   Expr value = literal(scalar, is_float(scalar) ? pick({-2, 2, 4}) : 1 + int64_t(draw(9)));
   out.push_back({Kind::matrix_fill, 0, 0, {std::move(value)}, {divisor}, {}, {}});
   out.push_back({Kind::matrix_binary,
                  uint8_t(Binary::div),
                  0,
                  {},
                  {matrix_place(type, flow), matrix_source(type, flow), divisor},
                  {},
                  {}});
}

void Generator::element_loop(Block &out, const Flow &flow)
{
   const MatrixType type = pick(types);
   spend(type.rows * type.cols * 2);
   Stmt s{Kind::element_loop, 0, 0, {}, {}, {}, {}};
   const uint32_t operands = 1 + draw(3);
   for (uint32_t i = 0; i < operands; i++)
      s.places.push_back(i ? matrix_source(type, flow) : matrix_place(type, flow));
   Wanted w;
   w.level = scope;
   w.depth = 2;
   w.subgroup_operations = false;
   w.elements = operands;
   w.element = type_of(type.type);
   w.in_loop = true;
   w.coordinates = p.maintenance1 ? 2 : 0;
   Expr value = any(w.element, w);
   // Random expressions alone would rarely use an element's coordinates.
   if (p.maintenance1 && !is_small_float(w.element) && one_in(2)) {
      Expr place = {Op::coordinate, Type::u32, 0, draw(2), 0, {}};
      if (w.element != Type::u32)
         place = {Op::convert, w.element, 0, 0, 0, {std::move(place)}};
      value = arithmetic(Binary::add, std::move(place), std::move(value));
   }
   s.exprs.push_back(std::move(value));
   if (one_in(3))
      s.exprs.push_back(truth(w));
   out.push_back(std::move(s));
}

/// Turns the rows of a matrix whose type SPV_QCOM_cooperative_matrix_conversion supports.
void Generator::turn(Block &out, const Flow &flow)
{
   std::vector<MatrixType> list = types;
   std::erase_if(list, [&](const MatrixType &t) {
      const uint32_t bytes = t.component_bytes();
      return e2e::is_small_float(t.type) || bytes == 8 || lines(t) > p.subgroup_size ||
             (bytes == 2 && !is_float(type_of(t.type)));
   });
   if (list.empty() || scope == Level::workgroup)
      return element_function(out, flow);
   const MatrixType type = pick(list);
   spend(type.rows * type.cols * 4);
   const Place source = matrix_source(type, flow);
   Expr by = any(Type::u32, wanted(Level::invocation, flow));
   out.push_back(
      {Kind::matrix_turn, 0, 0, {std::move(by)}, {matrix_place(type, flow), source}, {}, {}});
}

/// A function of elements, with further operands: matrices of the same type, and scalars.
void Generator::element_function(Block &out, const Flow &flow)
{
   const MatrixType type = pick(types);
   spend(type.rows * type.cols * 2);
   Stmt s{Kind::element_function, 0, 0, {}, {matrix_place(type, flow)}, {}, {}};
   Wanted w;
   w.level = scope;
   w.depth = 2 + draw(2);
   w.subgroup_operations = false;
   w.elements = 1 + draw(2);
   w.element = type_of(type.type);
   w.coordinates = 2;
   for (uint32_t i = 0; i < w.elements; i++)
      s.places.push_back(matrix_source(type, flow));
   for (uint32_t i = draw(3); i > 0; i--)
      w.parameters.push_back(one_in(2) ? w.element : scalar_type());
   s.exprs.push_back(any(w.element, w));
   for (Type parameter : w.parameters)
      s.exprs.push_back(any(parameter, wanted(scope, flow)));
   out.push_back(std::move(s));
}

void Generator::reduce_matrix(Block &out, const Flow &flow)
{
   struct Choice {
      ReduceOver over;
      MatrixType from, to;
   };
   std::vector<Choice> choices;
   for (const MatrixType &from : types) {
      for (const MatrixType &to : types) {
         if (from.use != e2e::Use::accumulator || to.use != from.use || to.type != from.type)
            continue;
         choices.push_back({ReduceOver::both, from, to});
         if (to.rows == from.rows)
            choices.push_back({ReduceOver::row, from, to});
         if (to.cols == from.cols)
            choices.push_back({ReduceOver::column, from, to});
         if (2 * to.rows == from.rows && 2 * to.cols == from.cols)
            choices.insert(choices.end(), 4, {ReduceOver::quad, from, to});
      }
   }
   const Choice &choice = pick(choices);
   const Type scalar = type_of(choice.from.type);
   std::vector<Reduction> reductions = {Reduction::min, Reduction::max};
   if (!is_small_float(scalar))
      reductions.insert(reductions.end(), {Reduction::add, Reduction::add});
   if (is_integer(scalar))
      reductions.insert(reductions.end(), {Reduction::mul, Reduction::bit_and, Reduction::bit_or,
                                           Reduction::bit_xor});
   spend(choice.from.rows * choice.from.cols * 4);
   const Place source = matrix_source(choice.from, flow);
   out.push_back({Kind::matrix_reduce,
                  uint8_t(pick(reductions)),
                  uint32_t(choice.over),
                  {},
                  {matrix_place(choice.to, flow), source},
                  {},
                  {}});
}

void Generator::element_reduce(Block &out, const Flow &flow)
{
   const std::optional<MatrixType> reduced = arithmetic_type();
   if (!reduced || scope == Level::workgroup)
      return muladd(out, flow);
   const MatrixType type = *reduced;
   const Type scalar = type_of(type.type);
   std::vector<Reduction> reductions = {Reduction::min, Reduction::max};
   if (is_integer(scalar))
      reductions.insert(reductions.end(), {Reduction::bit_and, Reduction::bit_or});
   const uint32_t target = add_scalar(scalar, scope);
   out.push_back({Kind::element_reduce,
                  uint8_t(pick(reductions)),
                  0,
                  {variable(target)},
                  {matrix_source(type, flow)},
                  {},
                  {}});
}

/// Stores a matrix to the subgroup's own region of shared memory, and loads it in another layout.
void Generator::through_own_memory(Block &out, const Flow &flow)
{
   const MatrixType type = pick(types);
   const Type scalar = type_of(type.type);
   const uint32_t m = shared_memory(scalar, false, true);
   const Memory &memory = p.memories[m];
   const uint32_t units = region(scalar) * memory.component_bytes() / memory.unit_bytes;
   const Layout l = layout(type, memory, true, units);
   Layout back = l;
   if (type.rows == type.cols && one_in(2))
      back.swap_rows_and_columns();
   const Expr own = shared_region(units);
   out.push_back(synchronize());
   out.push_back(transfer(Kind::matrix_store, matrix_source(type, flow), m, l, own));
   out.push_back(synchronize());
   const bool changes = !is_small_float(scalar) && one_in(3);
   const Place loaded = changes ? unset_matrix(type) : matrix_place(type, flow);
   out.push_back(transfer(Kind::matrix_load, loaded, m, back, own));
   if (!changes)
      return;
   // The loaded value must stay when its place in memory is overwritten.
   out.push_back(synchronize());
   out.push_back(transfer(Kind::matrix_store, matrix_source(type, flow), m, l, own));
   const Place result = matrix_place(type, flow);
   out.push_back(
      {Kind::matrix_binary, uint8_t(Binary::sub), 0, {}, {result, loaded, result}, {}, {}});
}

/// Each subgroup stores a matrix, and loads the next subgroup's, perhaps as another type.
void Generator::through_shared(Block &out, const Flow &flow)
{
   if (scope == Level::workgroup)
      return through_own_memory(out, flow);
   const MatrixType type = pick(types);
   const Type scalar = type_of(type.type);
   const uint32_t m = shared_memory(scalar, false, false);
   const Memory memory = p.memories[m];
   const uint32_t units = region(scalar) * memory.component_bytes() / memory.unit_bytes;
   Layout l = layout(type, memory, true, units);
   const auto at = [&](Expr subgroup) {
      return arithmetic(Binary::mul, std::move(subgroup), literal(Type::u32, units));
   };
   out.push_back({Kind::barrier, 0, 0, {}, {}, {}, {}});
   out.push_back(transfer(Kind::matrix_store, matrix_source(type, flow), m, l,
                          at(builtin(Builtin::subgroup))));
   out.push_back({Kind::barrier, 0, 0, {}, {}, {}, {}});
   Expr next = p.subgroups == 1 ? literal(Type::u32, 0)
                                : arithmetic(Binary::mod,
                                             arithmetic(Binary::add, builtin(Builtin::subgroup),
                                                        literal(Type::u32, 1 + draw(3))),
                                             literal(Type::u32, p.subgroups));
   // A matrix with the same shape and another use has the same lines.
   MatrixType other = type;
   for (const MatrixType &t : types) {
      if (t.type == type.type && t.rows == type.rows && t.cols == type.cols && one_in(2))
         other = t;
   }
   if (type.rows == type.cols && one_in(2))
      l.swap_rows_and_columns();
   out.push_back(transfer(Kind::matrix_load, matrix_place(other, flow), m, l, at(std::move(next))));
}

/// The workgroup copies numbers to shared memory; its subgroups load matrices of them.
void Generator::staged_load(Block &out, const Flow &flow)
{
   const MatrixType type = pick(types);
   const Type scalar = type_of(type.type);
   const uint32_t m = shared_memory(scalar, false, false), from = matrix_input(scalar);
   if (p.memories[m].unit != glsl_name(scalar) || p.memories[from].unit != glsl_name(scalar))
      return through_shared(out, flow);
   const Memory memory = p.memories[m];
   const uint32_t elements = std::min(memory.elements, p.memories[from].elements);
   const uint32_t N = p.invocations(), turns = elements / N;
   if (turns * N < type.rows * type.cols)
      return through_shared(out, flow);
   const uint32_t counter = add_scalar(Type::u32, Level::workgroup);
   scalars.back().counter = true;
   const Expr element =
      arithmetic(Binary::add, arithmetic(Binary::mul, variable(counter), literal(Type::u32, N)),
                 builtin(Builtin::local_index));
   const Expr loaded{Op::load, scalar, 0, from, 0, {element}};
   Stmt copy{Kind::loop, uint8_t(draw(4)), counter, {literal(Type::u32, turns)}, {}, {}, {}};
   copy.body.push_back({Kind::store, 0, m, {element, loaded}, {}, {}, {}});
   out.push_back({Kind::barrier, 0, 0, {}, {}, {}, {}});
   out.push_back(std::move(copy));
   out.push_back({Kind::barrier, 0, 0, {}, {}, {}, {}});
   const Layout l = layout(type, memory, false, turns * N);
   const uint32_t room = (turns * N - l.units) / l.step;
   out.push_back(transfer(Kind::matrix_load, matrix_place(type, flow), m, l,
                          literal(Type::u32, draw(room + 1) * l.step)));
}

} // namespace weft::fuzz
