// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Matrices of one subgroup, or of the workgroup.

#include "tests/fuzz/interpreter.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstring>
#include <stdexcept>

namespace weft::fuzz {

bool MatrixValue::exact() const
{
   return std::ranges::all_of(bounds, [](double b) { return b == 0; });
}

MatrixValue Interpreter::make_matrix(const e2e::MatrixType &type, const Number &n) const
{
   const size_t count = size_t(type.rows) * type.cols;
   return {std::vector<Number>(count, n), std::vector<double>(count)};
}

const e2e::MatrixType &Interpreter::type(const Place &place) const
{
   return *frames.back().function->variables[place.variable].matrix;
}

MatrixValue &Interpreter::matrix(const Place &place, uint32_t owner)
{
   const Variable &v = frames.back().function->variables[place.variable];
   uint64_t element = 0;
   if (!place.index.empty())
      element = uint64_t(uniform(place.index[0], owner).i);
   if (element >= std::max(v.array, 1u))
      fail("an index outside of an array of matrices",
           place.index.empty() ? nullptr : &place.index[0]);
   return frames.back().matrices[place.variable][element * owners + owner];
}

const MatrixValue &Interpreter::operand(const Place &place, uint32_t owner)
{
   const MatrixValue &m = matrix(place, owner);
   if (m.elements[0].undefined)
      fail("a matrix that has no value yet");
   return m;
}

Number Interpreter::uniform(const Expr &e, uint32_t owner)
{
   return uniform(e, evaluate(e, owner_mask(owner)), owner);
}

void Interpreter::execute_matrix(const Stmt &stmt, uint32_t owner)
{
   switch (stmt.kind) {
   case Kind::matrix_load:
   case Kind::matrix_store:
      return transfer(stmt, owner);
   case Kind::tensor_load:
   case Kind::tensor_store:
      return tensor_transfer(stmt, owner);
   case Kind::matrix_fill: {
      const MatrixValue value = make_matrix(type(stmt.places[0]), uniform(stmt.exprs[0], owner));
      matrix(stmt.places[0], owner) = value;
      return;
   }
   case Kind::matrix_copy: {
      const MatrixValue value = operand(stmt.places[1], owner);
      matrix(stmt.places[0], owner) = value;
      return;
   }
   case Kind::matrix_convert:
   case Kind::matrix_transpose:
      return convert_matrix(stmt, owner);
   case Kind::matrix_negate:
   case Kind::matrix_binary:
   case Kind::matrix_scale:
      return matrix_arithmetic(stmt, owner);
   case Kind::matrix_muladd:
      return muladd(stmt, owner);
   case Kind::matrix_turn:
      return turn(stmt, owner);
   case Kind::element_loop:
      return element_loop(stmt, owner);
   case Kind::element_function:
      return element_function(stmt, owner);
   case Kind::matrix_reduce:
      return reduce_matrix(stmt, owner);
   case Kind::element_reduce:
      return element_reduce(stmt, owner);
   default:
      assert(!"not a statement about matrices");
   }
}

/// The byte where an element lies by SPV_ARM_cooperative_matrix_layouts: blocks of 4 rows of 16
/// bytes, of which some are interleaved by 4 bytes.
static uint64_t blocked_address(const e2e::MatrixType &t, Order order, uint64_t interleaved,
                                uint32_t row, uint32_t col)
{
   const uint32_t bytes = t.component_bytes(), cols = 16 / bytes;
   const uint64_t block = order == Order::row_blocks ? row / 4 * (t.cols / cols) + col / cols
                                                     : col / cols * (t.rows / 4) + row / 4;
   const uint32_t in_block = row % 4 * 16 + col % cols * bytes;
   return block / interleaved * 64 * interleaved + in_block / 4 * 4 * interleaved +
          block % interleaved * 4 + in_block % 4;
}

void Interpreter::transfer(const Stmt &stmt, uint32_t owner)
{
   const Memory &memory = program.memories[stmt.target];
   const e2e::MatrixType &t = type(stmt.places[0]);
   const auto order = Order(stmt.detail);
   const bool blocked = order >= Order::row_blocks;
   const uint64_t offset = uint64_t(uniform(stmt.exprs[0], owner).i) * memory.unit_bytes;
   const uint64_t interleaved = uint64_t(uniform(stmt.exprs[1], owner).i);
   const uint64_t stride = interleaved * memory.unit_bytes;
   const uint32_t alignment = blocked ? 16 : e2e::required_alignment(t, order == Order::columns);
   if (offset % alignment || (!blocked && stride % alignment))
      fail("a matrix access that is not aligned");
   if (offset + stride * 64 > UINT32_MAX)
      fail("a matrix access outside of a memory");
   MatrixValue &m = matrix(stmt.places[0], owner);
   if (stmt.kind == Kind::matrix_store)
      operand(stmt.places[0], owner);
   const e2e::Placement placement = {order == Order::columns, uint32_t(offset), uint32_t(stride)};
   for (uint32_t row = 0; row < t.rows; row++) {
      for (uint32_t col = 0; col < t.cols; col++) {
         const uint64_t address = blocked
                                     ? offset + blocked_address(t, order, interleaved, row, col)
                                     : placement.address(t, row, col);
         const uint64_t at = address / memory.component_bytes();
         const size_t e = size_t(row) * t.cols + col;
         const char *why =
            stmt.kind == Kind::matrix_load
               ? memories[stmt.target].read(at, matrix_access(owner), m.elements[e], m.bounds[e])
               : memories[stmt.target].write(at, matrix_access(owner), m.elements[e], m.bounds[e]);
         if (why)
            fail(why);
      }
   }
}

void Interpreter::tensor_transfer(const Stmt &stmt, uint32_t owner)
{
   steps += 4;
   const Tensor &tensor = *stmt.tensor;
   const Memory &memory = program.memories[stmt.target];
   const e2e::MatrixType &t = type(stmt.places[0]);
   const uint64_t offset = uint64_t(uniform(stmt.exprs[0], owner).i) * memory.unit_bytes;
   if (offset % 16)
      fail("a tensor that is not aligned");
   const bool loads = stmt.kind == Kind::tensor_load;
   const uint64_t first = offset / memory.component_bytes();
   const Access by = matrix_access(owner);
   // Clipped elements keep their values.
   operand(stmt.places[0], owner);
   MatrixValue &m = matrix(stmt.places[0], owner);
   CellArray &cells = memories[stmt.target];
   const auto check = [&](const char *why) {
      if (why)
         fail(why);
   };
   for (uint32_t e = 0; e < t.rows * t.cols; e++) {
      oracle::TensorPlace place;
      try {
         place = oracle::tensor_place(tensor.layout, tensor.view ? &*tensor.view : nullptr,
                                      loads ? oracle::Access::load : oracle::Access::store,
                                      e / t.cols, e % t.cols, t.cols);
      } catch (const std::logic_error &error) {
         fail("a tensor that may not be left");
      }
      const auto *const there = std::get_if<oracle::InMemory>(&place);
      if (std::holds_alternative<oracle::Constant>(place) && loads) {
         std::byte bits[8] = {};
         memcpy(bits, &tensor.layout.clamp_value, sizeof(uint32_t));
         m.elements[e] = decode(type_of(t.type), bits);
         m.bounds[e] = 0;
      } else if (there && function_result(stmt)) {
         Element element = {std::vector<Number>(tensor.block)};
         for (uint32_t i = 0; i < tensor.block; i++) {
            double bound = 0;
            check(cells.read(first + uint64_t(there->index) * tensor.block + i, by,
                             element.values[i], bound));
         }
         for (const oracle::Numbers &numbers : {there->block, there->in_block})
            for (uint32_t n : numbers)
               element.coordinates.push_back({n});
         m.elements[e] = element_value(stmt.exprs[1], element, owner);
         m.bounds[e] = 0;
      } else if (there && loads) {
         check(cells.read(first + there->index, by, m.elements[e], m.bounds[e]));
      } else if (there) {
         check(cells.write(first + there->index, by, m.elements[e], m.bounds[e]));
      }
   }
}

static oracle::Matrix to_oracle(const e2e::MatrixType &type, const MatrixValue &value)
{
   oracle::Matrix m(type.type, type.rows, type.cols);
   for (uint32_t row = 0; row < type.rows; row++) {
      for (uint32_t col = 0; col < type.cols; col++)
         encode(type_of(type.type), value.elements[size_t(row) * type.cols + col], m.at(row, col));
   }
   return m;
}

/// Whether each element of A·B + C is exact in any order of summation.
static bool is_exact_product(const e2e::MatrixType &d, uint32_t depth, const MatrixValue &a,
                             const MatrixValue &b, const MatrixValue &c)
{
   for (uint32_t row = 0; row < d.rows; row++) {
      for (uint32_t col = 0; col < d.cols; col++) {
         const Number &start = c.elements[size_t(row) * d.cols + col];
         double unit = unit_of(start), magnitude = magnitude_of(start);
         for (uint32_t k = 0; k < depth; k++) {
            const Number &x = a.elements[size_t(row) * depth + k],
                         &y = b.elements[size_t(k) * d.cols + col];
            unit = std::min(unit, unit_of(x) * unit_of(y));
            magnitude += magnitude_of(x) * magnitude_of(y);
         }
         if (!exact_in_any_order(type_of(d.type), unit, magnitude))
            return false;
      }
   }
   return true;
}

void Interpreter::muladd(const Stmt &stmt, uint32_t owner)
{
   steps += 4;
   const e2e::MatrixType &at = type(stmt.places[1]), &bt = type(stmt.places[2]),
                         &dt = type(stmt.places[0]);
   const MatrixValue a = operand(stmt.places[1], owner), b = operand(stmt.places[2], owner),
                     c = operand(stmt.places[3], owner);
   if (!a.exact() || !b.exact())
      fail("factors that are rounded");
   oracle::Expectation sum(to_oracle(dt, c));
   for (size_t e = 0; e < sum.value.size(); e++) {
      sum.value[e] = c.elements[e].f;
      sum.bound[e] = c.bounds[e];
   }
   sum = oracle::muladd(
      to_oracle(at, a), to_oracle(bt, b), sum, stmt.detail != 0,
      oracle::MuladdRules{.internal_roundoff = oracle::internal_roundoff(dt.type, true),
                          .may_truncate = false,
                          .may_flush = at.type == ComponentType::bf16});
   MatrixValue &d = matrix(stmt.places[0], owner);
   d = make_matrix(dt, {});
   const bool exact = c.exact() && is_exact_product(dt, at.cols, a, b, c);
   for (size_t e = 0; e < d.elements.size(); e++) {
      if (!is_float(type_of(dt.type))) {
         if (std::isinf(sum.bound[e]))
            fail("products whose sum does not fit before it saturates");
         d.elements[e] = {wrap(type_of(dt.type), int64_t(sum.exact[e]))};
         continue;
      }
      d.elements[e] = {0, sum.value[e]};
      d.bounds[e] = exact ? 0 : sum.bound[e];
      if (std::fabs(sum.value[e]) + sum.bound[e] > oracle::largest_finite(dt.type) / 4)
         fail("a sum may become infinite");
   }
}

/// Rounds a value with the error `bound` to a float type: to nearest, as every path does, and with
/// subnormal numbers.
static double rounded_bound(ComponentType type, double value, double bound)
{
   return bound + oracle::unit_roundoff(type) * (std::fabs(value) + bound) +
          oracle::smallest_positive(type);
}

void Interpreter::convert_matrix(const Stmt &stmt, uint32_t owner)
{
   const e2e::MatrixType &to = type(stmt.places[0]), &from = type(stmt.places[1]);
   const MatrixValue source = operand(stmt.places[1], owner);
   MatrixValue &target = matrix(stmt.places[0], owner);
   const Type to_type = type_of(to.type), from_type = type_of(from.type);
   for (size_t e = 0; e < source.elements.size(); e++) {
      const size_t row = e / from.cols, col = e % from.cols;
      const size_t t = stmt.kind == Kind::matrix_transpose ? col * to.cols + row : e;
      const double value = source.elements[e].f, bound = source.bounds[e];
      target.bounds[t] = to_type == from_type ? bound : 0;
      if (to_type == from_type) {
         target.elements[t] = source.elements[e];
         continue;
      }
      const std::optional<Number> exact =
         bound ? std::nullopt : convert(to_type, from_type, source.elements[e]);
      if (exact) {
         target.elements[t] = *exact;
         continue;
      }
      if (!is_float(to_type) || !is_float(from_type) ||
          std::fabs(value) + bound > oracle::largest_finite(to.type) / 4)
         fail("a conversion that is not defined, or not exact");
      target.elements[t] = {0, value};
      target.bounds[t] = rounded_bound(to.type, value, bound);
   }
}

void Interpreter::matrix_arithmetic(const Stmt &stmt, uint32_t owner)
{
   const e2e::MatrixType &t = type(stmt.places[0]);
   const Type scalar = type_of(t.type);
   const MatrixValue x = operand(stmt.places[1], owner);
   MatrixValue y;
   Binary op = Binary::mul;
   if (stmt.kind == Kind::matrix_binary) {
      y = operand(stmt.places[2], owner);
      op = Binary(stmt.detail);
   } else if (stmt.kind == Kind::matrix_scale) {
      y = make_matrix(t, uniform(stmt.exprs[0], owner));
   }
   MatrixValue &target = matrix(stmt.places[0], owner);
   for (size_t e = 0; e < x.elements.size(); e++) {
      const double v1 = x.elements[e].f, b1 = x.bounds[e];
      if (stmt.kind == Kind::matrix_negate) {
         target.elements[e] = *unary(Unary::negate, scalar, x.elements[e]);
         target.bounds[e] = b1;
         continue;
      }
      const double v2 = y.elements[e].f, b2 = y.bounds[e];
      const std::optional<Number> exact =
         b1 || b2 ? std::nullopt : binary(op, scalar, x.elements[e], y.elements[e]);
      target.bounds[e] = 0;
      if (exact) {
         target.elements[e] = *exact;
         continue;
      }
      if (!is_float(scalar) || op == Binary::div)
         fail("an element that is not defined, or not exact");
      const double value = op == Binary::add ? v1 + v2 : op == Binary::sub ? v1 - v2 : v1 * v2;
      const double bound =
         op == Binary::mul ? std::fabs(v1) * b2 + std::fabs(v2) * b1 + b1 * b2 : b1 + b2;
      target.elements[e] = {0, value};
      target.bounds[e] = rounded_bound(t.type, value, bound);
      // A compiler may write a·b + a·c as a·(b + c), which rounds twice, each time a number of at
      // most |a·b| + |a·c|.
      if (op != Binary::mul)
         target.bounds[e] += 2 * oracle::unit_roundoff(t.type) * (std::fabs(v1) + std::fabs(v2));
      if (std::fabs(value) + target.bounds[e] > oracle::largest_finite(t.type) / 4)
         fail("an element may become infinite");
   }
}

Number Interpreter::element_value(const Expr &e, const Element &element, uint32_t owner)
{
   const auto arg = [&](size_t i) { return defined(element_value(e.args[i], element, owner), e); };
   switch (e.op) {
   case Op::element:
      return element.values[size_t(e.number)];
   case Op::coordinate:
      return element.coordinates[size_t(e.number)];
   case Op::parameter:
      return element.parameters[size_t(e.number)];
   case Op::block: {
      const auto i = uint64_t(arg(0).i);
      if (i >= element.values.size())
         fail("a place outside of a block", &e);
      return element.values[i];
   }
   case Op::load: {
      Number result;
      double bound = 0;
      if (const char *why = memories[size_t(e.number)].read(uint64_t(arg(0).i),
                                                            matrix_access(owner), result, bound))
         fail(why, &e);
      if (bound)
         fail("a rounded number as a scalar", &e);
      return result;
   }
   case Op::select:
      return arg(0).i ? arg(1) : arg(2);
   case Op::convert:
      return checked(convert(e.type, e.args[0].type, arg(0)), e);
   case Op::unary:
      return checked(unary(Unary(e.detail), e.args[0].type, arg(0)), e);
   case Op::binary:
      return checked(binary(Binary(e.detail), e.args[0].type, arg(0), arg(1)), e);
   case Op::fma:
      return checked(multiply_add(e.type, arg(0), arg(1), arg(2)), e);
   default:
      // The invocation that holds the element is unknown, so the result must not depend on it.
      return uniform(e, owner);
   }
}

void Interpreter::turn(const Stmt &stmt, uint32_t owner)
{
   steps += 2;
   const e2e::MatrixType &t = type(stmt.places[0]);
   const MatrixValue source = operand(stmt.places[1], owner);
   const Lanes by = evaluate(stmt.exprs[0], owner_mask(owner));
   MatrixValue &target = matrix(stmt.places[0], owner);
   const uint32_t count = lines(t), length = t.rows * t.cols / count;
   for (uint32_t line = 0; line < count; line++) {
      const auto element = [&](uint32_t place) {
         return t.use == e2e::Use::b ? size_t(place) * t.cols + line
                                     : size_t(line) * t.cols + place;
      };
      const auto shift = uint32_t(defined(by[owner * W + line], stmt.exprs[0]).i);
      for (uint32_t i = 0; i < length; i++) {
         const size_t from = element((i + shift) % length);
         target.elements[element(i)] = source.elements[from];
         target.bounds[element(i)] = source.bounds[from];
      }
   }
}

void Interpreter::element_loop(const Stmt &stmt, uint32_t owner)
{
   steps += 2;
   std::vector<MatrixValue> operands;
   for (const Place &place : stmt.places) {
      operands.push_back(operand(place, owner));
      if (!operands.back().exact())
         fail("rounded numbers as scalars");
   }
   const e2e::MatrixType &t = type(stmt.places[0]);
   MatrixValue &target = matrix(stmt.places[0], owner);
   for (size_t e = 0; e < target.elements.size(); e++) {
      Element element = {};
      for (const MatrixValue &m : operands)
         element.values.push_back(m.elements[e]);
      element.coordinates = {{int64_t(e / t.cols)}, {int64_t(e % t.cols)}};
      if (stmt.exprs.size() > 1 && !element_value(stmt.exprs[1], element, owner).i)
         continue;
      target.elements[e] = element_value(stmt.exprs[0], element, owner);
   }
}

void Interpreter::element_function(const Stmt &stmt, uint32_t owner)
{
   steps += 2;
   std::vector<MatrixValue> operands;
   for (size_t i = 1; i < stmt.places.size(); i++) {
      operands.push_back(operand(stmt.places[i], owner));
      if (!operands.back().exact())
         fail("rounded numbers as scalars");
   }
   Element element = {};
   for (size_t i = 1; i < stmt.exprs.size(); i++)
      element.parameters.push_back(uniform(stmt.exprs[i], owner));
   const e2e::MatrixType &t = type(stmt.places[0]);
   MatrixValue &target = matrix(stmt.places[0], owner);
   for (size_t e = 0; e < target.elements.size(); e++) {
      element.values.clear();
      for (const MatrixValue &m : operands)
         element.values.push_back(m.elements[e]);
      element.coordinates = {{int64_t(e / t.cols)}, {int64_t(e % t.cols)}};
      target.elements[e] = element_value(stmt.exprs[0], element, owner);
      target.bounds[e] = 0;
   }
}

/// Reduces many elements to one, in any order. A sum may round each term n - 1 times.
static bool reduce_elements(Reduction op, Type type, const std::vector<Number> &list, double bounds,
                            Number &result, double &bound)
{
   bound = 0;
   const std::optional<Number> exact = reduce(op, type, list);
   if (exact && bounds == 0) {
      result = *exact;
      return true;
   }
   if (!is_float(type))
      return false;
   bound = bounds;
   if (op == Reduction::min || op == Reduction::max) {
      result = *exact;
      return true;
   }
   const ComponentType component_type = component(type);
   const double rounding = 2 * oracle::unit_roundoff(component_type) * double(list.size() - 1);
   double magnitude = bounds;
   result = {};
   for (const Number &n : list) {
      result.f += n.f;
      magnitude += std::fabs(n.f);
   }
   if (op != Reduction::add || rounding > 0.5 ||
       magnitude > oracle::largest_finite(component_type) / 4)
      return false;
   bound += rounding / (1 - rounding) * magnitude +
            double(list.size()) * oracle::smallest_normal(component_type);
   return true;
}

void Interpreter::reduce_matrix(const Stmt &stmt, uint32_t owner)
{
   const MatrixValue source = operand(stmt.places[1], owner);
   const e2e::MatrixType &to = type(stmt.places[0]), &from = type(stmt.places[1]);
   MatrixValue &target = matrix(stmt.places[0], owner);
   const auto over = ReduceOver(stmt.target);
   for (uint32_t row = 0; row < to.rows; row++) {
      for (uint32_t col = 0; col < to.cols; col++) {
         uint32_t top = 0, height = from.rows, left = 0, width = from.cols;
         if (over == ReduceOver::row)
            top = row, height = 1;
         else if (over == ReduceOver::column)
            left = col, width = 1;
         else if (over == ReduceOver::quad)
            top = 2 * row, left = 2 * col, height = width = 2;
         std::vector<Number> list;
         double bounds = 0;
         for (uint32_t r = top; r < top + height; r++) {
            for (uint32_t c = left; c < left + width; c++) {
               list.push_back(source.elements[size_t(r) * from.cols + c]);
               bounds += source.bounds[size_t(r) * from.cols + c];
            }
         }
         const size_t e = size_t(row) * to.cols + col;
         if (!reduce_elements(Reduction(stmt.detail), type_of(from.type), list, bounds,
                              target.elements[e], target.bounds[e]))
            fail("a reduction that is not exact");
      }
   }
}

void Interpreter::element_reduce(const Stmt &stmt, uint32_t owner)
{
   const MatrixValue &m = operand(stmt.places[0], owner);
   if (!m.exact())
      fail("rounded numbers as scalars");
   const std::optional<Number> result =
      reduce(Reduction(stmt.detail), type_of(type(stmt.places[0]).type), m.elements);
   if (!result)
      fail("a reduction that is not exact");
   assign(stmt.exprs[0], Lanes(N, *result), owner_mask(owner));
}

} // namespace weft::fuzz
