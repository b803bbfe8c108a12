// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tests/fuzz/generator.h"

#include <algorithm>
#include <array>
#include <cassert>

namespace weft::fuzz {

using e2e::MatrixType;

void Generator::choose_sizes()
{
   // Most programs are tiny: they compile several times as fast and find nearly as many faults.
   scale = percent(70) ? 0 : percent(85) ? 1 : 2;
   budget = main_budget() / 2; // of functions
   p.subgroup_size = pick({8u, 8u, 8u, 16u, 16u, 16u, 32u, 32u, 32u, scale ? 64u : 16u});
   p.subgroups = pick({1u, 1u, 2u, 2u, 3u, 4u});
   while (p.invocations() > 128)
      p.subgroups--;
   if (!advertised.empty() && one_in(10))
      p.without_use = true;
   else if (!advertised.empty() && one_in(12)) {
      scope = Level::workgroup;
      p.workgroup_matrices = true;
      // The sizes of workgroups that have these matrices.
      p.subgroups = pick({128u, 128u, 256u}) / p.subgroup_size;
   }
   p.workgroups = pick({1u, 1u, 2u, 2u, 2u, 3u, 4u, 6u});
   const auto divisor = [&](uint32_t number) {
      const uint32_t d = 1 + draw(number);
      return number % d == 0 ? d : 1;
   };
   p.local_y = divisor(p.subgroups);
   p.local_z = divisor(p.subgroups / p.local_y);
   p.groups_y = divisor(p.workgroups);
   p.groups_z = divisor(p.workgroups / p.groups_y);
   p.specialized = one_in(3) ? draw(1u << push_words) : 0;
   p.maintenance1 = !p.without_use && one_in(3);
   for (uint32_t &word : p.push)
      word = draw(4);
}

MatrixType Generator::a_type(const MatrixOperation &op) const
{
   MatrixType type = e2e::a_type(op);
   type.use = p.without_use ? e2e::Use::accumulator : type.use;
   return type;
}
MatrixType Generator::b_type(const MatrixOperation &op) const
{
   MatrixType type = e2e::b_type(op);
   type.use = p.without_use ? e2e::Use::accumulator : type.use;
   return type;
}
MatrixType Generator::c_type(const MatrixOperation &op) const
{
   return e2e::c_type(op);
}

/// The types of factors and result; all signs of bytes count as one type.
using OperationKind = std::array<ComponentType, 3>;

static OperationKind kind_of(const MatrixOperation &op)
{
   const oracle::Format &f = oracle::format(op.a);
   if (!f.is_float && f.bytes == 1)
      return {ComponentType::s8, ComponentType::s8, op.result};
   return {op.a, op.b, op.result};
}

bool has_long_integers(const MatrixOperation &op)
{
   return std::ranges::any_of(std::array{op.a, op.b, op.result}, [](ComponentType type) {
      return type == ComponentType::s64 || type == ComponentType::u64;
   });
}

/// Operations on small floats, and on integers except bytes that are summed in 32 bits.
static bool is_unusual(const MatrixOperation &op)
{
   const oracle::Format &factor = oracle::format(op.a), &sum = oracle::format(op.result);
   return e2e::is_small_float(op.a) || (!factor.is_float && (factor.bytes > 1 || sum.bytes != 4));
}

/// Whether GLSL has the operation for matrices without a use. It has integers of one sign and IEEE
/// 754's floats, but no types of 64 bits.
static bool is_for_matrices_without_use(const MatrixOperation &op)
{
   const oracle::Format &a = oracle::format(op.a);
   return op.scope == MatrixScope::subgroup && !op.saturating && op.c == op.result &&
          std::ranges::all_of(std::array{op.a, op.b, op.result}, [&](ComponentType type) {
             const oracle::Format &f = oracle::format(type);
             return f.bytes <= 4 && !e2e::is_small_float(type) && f.is_float == a.is_float &&
                    f.is_signed == a.is_signed;
          });
}

/// Whether GLSL has matrices of all these types in one shader: see e2e::inexpressible(), also for
/// the stand-ins of small floats.
static bool expressible_together(const std::vector<MatrixOperation> &operations)
{
   const auto has = [&](std::initializer_list<ComponentType> types) {
      return std::ranges::any_of(operations, [&](const MatrixOperation &op) {
         return std::ranges::any_of(
            types, [&](ComponentType t) { return op.a == t || op.b == t || op.result == t; });
      });
   };
   using enum ComponentType;
   // 16-bit integers replace 64-bit integers and bfloat16 in GLSL.
   if (has({s64, u64}) && has({s16, u16, bf16}))
      return false;
   if (has({f64}))
      return !has({f32, bf16, e4m3, e5m2});
   return !(has({bf16}) && (has({s16, u16}) || (has({e4m3}) && has({e5m2})))) &&
          !(has({e4m3, e5m2}) && has({s8, u8}));
}

bool Generator::expressible(Type type) const
{
   const auto is_taken = [&](const MatrixOperation &op) {
      return std::ranges::any_of(std::array{op.a, op.b, op.result}, [&](ComponentType t) {
         return e2e::is_small_float(t) && oracle::format(t).bytes * 8 == bits(type);
      });
   };
   if (is_integer(type) && bits(type) == 16 && std::ranges::any_of(operations, has_long_integers))
      return false;
   return !is_integer(type) || std::ranges::none_of(operations, is_taken);
}

/// Chooses one operation, and often a second one of the same shape, so that matrices can be
/// converted.
void Generator::choose_operations()
{
   // Chooses types first, because most operations are on integers.
   std::vector<OperationKind> usual_kinds, unusual_kinds;
   for (const MatrixOperation &op : advertised) {
      if (p.without_use && !is_for_matrices_without_use(op))
         continue;
      std::vector<OperationKind> &kinds = is_unusual(op) ? unusual_kinds : usual_kinds;
      if (std::ranges::find(kinds, kind_of(op)) == kinds.end())
         kinds.push_back(kind_of(op));
   }
   // A multiplication must nearly always be within the budget.
   const uint32_t most_products = scale == 0 ? 8 * 8 * 8 : scale == 1 ? 16 * 8 * 16 : 16 * 16 * 16;
   const uint32_t most_components = 8 << scale; // of an invocation
   bool any_size = one_in(60);
   const auto is_large = [&](const MatrixOperation &op) {
      const uint32_t elements = std::max({op.m * op.n, op.m * op.k, op.k * op.n});
      return op.m * op.n * op.k > most_products ||
             elements * (oracle::format(op.a).bytes == 8 ? 2 : 1) >
                most_components * p.subgroup_size;
   };
   const auto draw_operation = [&](const MatrixOperation *like) {
      const bool unusual = usual_kinds.empty() || (!unusual_kinds.empty() && percent(30));
      const OperationKind kind = pick(unusual ? unusual_kinds : usual_kinds);
      std::vector<MatrixOperation> list;
      for (const MatrixOperation &op : advertised) {
         if ((is_large(op) && !any_size) || (p.without_use && !is_for_matrices_without_use(op)))
            continue;
         if (kind_of(op) == kind &&
             (!like || (op.m == like->m && op.n == like->n && op.k == like->k)))
            list.push_back(op);
      }
      // Half of the choices saturate, if possible, because only sums near the bounds test
      // saturation.
      std::vector<MatrixOperation> saturating;
      std::ranges::copy_if(list, std::back_inserter(saturating), &MatrixOperation::saturating);
      if (!saturating.empty() && one_in(2))
         list = saturating;
      return list.empty() ? std::optional<MatrixOperation>() : pick(list);
   };
   std::optional<MatrixOperation> first_operation;
   for (uint32_t attempt = 0; !first_operation; attempt++) {
      // All operations may be large.
      any_size |= attempt == 20;
      first_operation = draw_operation(nullptr);
   }
   operations.push_back(*first_operation);
   if (percent(40)) {
      const MatrixOperation first = operations[0];
      if (const auto second = draw_operation(&first))
         operations.push_back(*second);
   }
   if (!expressible_together(operations))
      operations.resize(1);
   doubles = std::ranges::any_of(
      operations, [](const MatrixOperation &op) { return op.result == ComponentType::f64; });
   if (scope == Level::workgroup || (!p.without_use && one_in(6)))
      choose_flexible_sizes();
   const auto add = [&](const MatrixType &t) {
      if (std::ranges::find(types, t) == types.end())
         types.push_back(t);
   };
   for (const MatrixOperation &op : operations) {
      for (const MatrixType &t : {a_type(op), b_type(op), c_type(op)})
         add(t);
   }
   // The type of an accumulator that maintenance1 can transpose. Few operations have both types.
   if (p.maintenance1) {
      const MatrixType c = c_type(operations[0]);
      for (const MatrixOperation &op : advertised) {
         const MatrixType b = b_type(op);
         if (op.scope == operations[0].scope && b.type == c.type && b.rows == c.cols &&
             b.cols == c.rows)
            add(b);
      }
   }
}

/// Sizes that the device does not list, multiples of 8; and some of half the size, for reductions.
void Generator::choose_flexible_sizes()
{
   MatrixOperation sizes = {.m = 16, .n = 16, .k = 8};
   if (!one_in(3)) {
      do {
         sizes.m = 8 * (1 + draw(4));
         sizes.n = 8 * (1 + draw(4));
         sizes.k = 8 * (1 + draw(4));
      } while (sizes.m * sizes.n * sizes.k > 1024u << scale);
   }
   for (MatrixOperation &op : operations) {
      op.m = sizes.m;
      op.n = sizes.n;
      op.k = sizes.k;
   }
   if (sizes.m % 16 == 0 && sizes.n % 16 == 0) {
      operations.push_back(operations[0]);
      operations.back().m /= 2;
      operations.back().n /= 2;
   }
}

} // namespace weft::fuzz
