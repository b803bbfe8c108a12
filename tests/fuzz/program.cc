// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tests/fuzz/program.h"

#include <algorithm>
#include <cassert>

namespace weft::fuzz {

ComponentType component(Type type)
{
   switch (type) {
   case Type::boolean:
      assert(!"a boolean is no component");
      return ComponentType::u32;
   case Type::bf16:
      return ComponentType::bf16;
   case Type::e4m3:
      return ComponentType::e4m3;
   case Type::e5m2:
      return ComponentType::e5m2;
   default: // as Vulkan numbers them
      return ComponentType(type);
   }
}

Type type_of(ComponentType type)
{
   switch (type) {
   case ComponentType::bf16:
      return Type::bf16;
   case ComponentType::e4m3:
      return Type::e4m3;
   case ComponentType::e5m2:
      return Type::e5m2;
   default:
      return Type(type);
   }
}

bool is_float(Type type)
{
   return type != Type::boolean && oracle::format(component(type)).is_float;
}

bool is_small_float(Type type)
{
   return type != Type::boolean && e2e::is_small_float(component(type));
}

bool is_integer(Type type)
{
   return !is_float(type) && type != Type::boolean;
}

bool is_signed(Type type)
{
   return is_integer(type) && oracle::format(component(type)).is_signed;
}

uint32_t bits(Type type)
{
   return type == Type::boolean ? 1 : 8 * oracle::format(component(type)).bytes;
}

const char *glsl_name(Type type)
{
   return type == Type::boolean ? "bool" : oracle::format(component(type)).glsl;
}

bool is_comparison(Binary op)
{
   return op >= Binary::equal && op <= Binary::greater_equal;
}

uint32_t lines(const e2e::MatrixType &type)
{
   return type.use == e2e::Use::b ? type.cols : type.rows;
}

bool has_texels(Storage storage)
{
   return storage >= Storage::texels;
}

bool is_image(Storage storage)
{
   return storage == Storage::image || storage == Storage::sampled_image;
}

bool has_texels(Type type)
{
   return is_integer(type) || type == Type::f16 || type == Type::f32;
}

bool has_texel_buffers(Type type)
{
   return has_texels(type) && bits(type) < 64;
}

bool has_texels(const Program &program)
{
   return std::ranges::any_of(program.memories,
                              [](const Memory &m) { return has_texels(m.storage); });
}

TexelExtent texel_extent(const Memory &memory)
{
   const uint32_t elements = std::max(memory.elements, 1u), slice = lines_of_slice * memory.row;
   switch (memory.shape) {
   case Shape::line:
      return {elements};
   case Shape::plane:
      return {memory.row, (elements + memory.row - 1) / memory.row};
   case Shape::layers:
   case Shape::volume:
      break;
   }
   return {memory.row, lines_of_slice, (elements + slice - 1) / slice};
}

static double draw_float(oracle::Random &random, Contents contents)
{
   const auto whole = [&](int most) { return double(oracle::draw(random, 2 * most + 1)) - most; };
   switch (contents) {
   case Contents::tiny:
      return whole(2);
   case Contents::fine:
      return whole(16) / 4;
   case Contents::any:
      return std::uniform_real_distribution<double>(-1, 1)(random);
   default:
      return whole(8);
   }
}

static oracle::Integer draw_integer(oracle::Random &random, ComponentType type, Contents contents)
{
   const bool has_sign = oracle::format(type).is_signed;
   const auto whole = [&](int most) {
      return has_sign ? oracle::Integer(oracle::draw(random, 2 * most + 1)) - most
                      : oracle::Integer(oracle::draw(random, most + 1));
   };
   switch (contents) {
   case Contents::tiny:
      return whole(2);
   case Contents::bounds: {
      const uint32_t most = (1u << 17) >> oracle::draw(random, 14);
      const oracle::Integer distance = oracle::draw(random, most) % (oracle::int_max(type) / 2);
      return oracle::draw(random, 2) ? oracle::int_max(type) - distance
                                     : oracle::int_min(type) + distance;
   }
   case Contents::any:
      return oracle::Integer(random());
   default:
      return whole(8);
   }
}

std::vector<std::byte> initial_bytes(const Memory &memory)
{
   std::vector<std::byte> bytes(memory.bytes());
   if (memory.contents == Contents::none) {
      oracle::fill_poison(bytes);
      return bytes;
   }
   oracle::Random random(memory.seed);
   const ComponentType type = component(memory.type);
   for (uint32_t i = 0; i < memory.elements; i++) {
      std::byte *const at = &bytes[size_t(i) * memory.component_bytes()];
      if (is_float(memory.type))
         oracle::encode_float(type, draw_float(random, memory.contents), at);
      else
         oracle::encode_int(type, draw_integer(random, type, memory.contents), at);
   }
   return bytes;
}

const Expr *function_result(const Stmt &stmt)
{
   if (stmt.kind == Kind::element_function)
      return &stmt.exprs[0];
   return stmt.kind == Kind::tensor_load && stmt.exprs.size() > 1 ? &stmt.exprs[1] : nullptr;
}

const Expr *atomic_result(const Stmt &stmt)
{
   const size_t operands = Atomic(stmt.detail) == Atomic::compare_exchange ? 3 : 2;
   return stmt.kind == Kind::atomic && stmt.exprs.size() > operands ? &stmt.exprs[operands]
                                                                    : nullptr;
}

bool has_memory(const Stmt &stmt)
{
   return stmt.kind == Kind::store || stmt.kind == Kind::matrix_load ||
          stmt.kind == Kind::matrix_store || stmt.kind == Kind::atomic || stmt.tensor;
}

Size size(const Program &program)
{
   Size s;
   for (const Function &f : program.functions) {
      for_each_stmt(f.body, [&](const Stmt &stmt) {
         s.statements++;
         for_each_own_expr(stmt, [&](const Expr &) { s.expressions++; });
      });
   }
   return s;
}

namespace {

bool is_subgroup_operation(Op op)
{
   return op == Op::reduction || op == Op::shuffle || op == Op::vote || op == Op::ballot;
}

bool contains_subgroup_operation(const Expr &expr)
{
   bool found = false;
   for_each_expr(expr, [&](const Expr &e) { found |= is_subgroup_operation(e.op); });
   return found;
}

bool may_skip_arguments(const Expr &e)
{
   const bool logical = e.op == Op::binary && (Binary(e.detail) == Binary::logical_and ||
                                               Binary(e.detail) == Binary::logical_or);
   return e.op == Op::select || logical;
}

std::optional<std::string> fault(const Expr &e)
{
   const bool computes = e.op == Op::convert || e.op == Op::select || e.op == Op::unary ||
                         e.op == Op::binary || e.op == Op::fma;
   if (computes && std::ranges::all_of(e.args, [](const Expr &a) { return a.op == Op::literal; }))
      return "an operator of literals alone";
   if (may_skip_arguments(e) && std::ranges::any_of(e.args, contains_subgroup_operation))
      return "a subgroup operation that may be skipped";
   return std::nullopt;
}

/// A call may use the variable of an out argument in no other argument.
std::optional<std::string> call_fault(const Program &program, const Stmt &stmt)
{
   const Function &callee = program.functions[stmt.target];
   std::vector<uint32_t> outs, all;
   const auto add = [&](uint32_t variable, bool out) {
      all.push_back(variable);
      if (out)
         outs.push_back(variable);
   };
   size_t place = 0, expr = 0;
   for (const Parameter &p : callee.parameters) {
      if (callee.variables[p.variable].matrix) {
         add(stmt.places[place++].variable, p.out);
         continue;
      }
      if (p.out)
         add(uint32_t(stmt.exprs[expr].number), true);
      else
         for_each_expr(stmt.exprs[expr], [&](const Expr &e) {
            if (e.op == Op::variable)
               add(uint32_t(e.number), false);
         });
      expr++;
   }
   if (place < stmt.places.size())
      add(stmt.places[place].variable, true);
   if (expr < stmt.exprs.size())
      add(uint32_t(stmt.exprs[expr].number), true);
   for (const Place &p : stmt.places)
      for (const Expr &index : p.index)
         for_each_expr(index, [&](const Expr &e) {
            if (e.op == Op::variable)
               add(uint32_t(e.number), false);
         });
   for (uint32_t out : outs) {
      if (std::ranges::count(all, out) > 1)
         return "an aliased out parameter";
   }
   return std::nullopt;
}

} // namespace

std::optional<std::string> fault(const Program &program)
{
   std::optional<std::string> found;
   for (const Function &f : program.functions) {
      for_each_stmt(f.body, [&](const Stmt &stmt) {
         for_each_own_expr(stmt, [&](const Expr &e) {
            if (!found)
               found = fault(e);
            if (!found && stmt.kind == Kind::element_loop && is_subgroup_operation(e.op))
               found = "a subgroup operation in an element loop";
         });
         if (const Expr *result = function_result(stmt)) {
            for_each_expr(*result, [&](const Expr &e) {
               if (!found && (is_subgroup_operation(e.op) || e.op == Op::variable))
                  found = "a subgroup operation or a variable in a function of elements";
            });
         }
         if (!found && stmt.kind == Kind::call)
            found = call_fault(program, stmt);
         if (!found && stmt.tensor && stmt.tensor->vector &&
             stmt.tensor->layout.block_size.back() % stmt.tensor->vector != 0)
            found = "blocks that are no whole number of vectors";
         if (!found && stmt.kind == Kind::matrix_turn &&
             lines(*f.variables[stmt.places[0].variable].matrix) > program.subgroup_size)
            found = "more rows than invocations";
      });
   }
   return found;
}

} // namespace weft::fuzz
