// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/cpu/codegen/facts/packed_sums.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <vector>

namespace weft::cpu {

namespace {

/// An operation on a component, with another operand that is the same for all components.
struct Step {
   nir_op op;
   bool is_constant;
   uint64_t constant;
   const nir_def *other;
   unsigned component;

   bool operator==(const Step &) const = default;
};

/// A component of a load, and the operations applied to it.
struct Factor {
   nir_intrinsic_instr *load;
   unsigned component;
   llvm::SmallVector<Step, 4> steps;

   bool is_like(const Factor &other) const { return load == other.load && steps == other.steps; }
};

bool is_dot(const nir_instr *instr)
{
   if (instr->type != nir_instr_type_alu)
      return false;
   switch (nir_instr_as_alu(instr)->op) {
   case nir_op_sdot_4x8_iadd:
   case nir_op_udot_4x8_uadd:
   case nir_op_sudot_4x8_iadd:
      return true;
   default:
      return false;
   }
}

/// The number of the operand that comes from memory, if the other operand is the same for all
/// components.
std::optional<unsigned> varied_operand(const nir_scalar &x)
{
   switch (nir_scalar_alu_op(x)) {
   case nir_op_ishl:
   case nir_op_ishr:
   case nir_op_ushr:
      return 0;
   case nir_op_iand:
   case nir_op_ior:
   case nir_op_ixor:
      for (unsigned i = 0; i < 2; i++) {
         if (nir_scalar_is_const(nir_scalar_chase_alu_src(x, i)))
            return 1 - i;
      }
      return std::nullopt;
   default:
      return std::nullopt;
   }
}

std::optional<Factor> factor_of(const nir_alu_instr *product, unsigned source)
{
   constexpr unsigned max_steps = 4;
   nir_scalar x = nir_get_scalar(product->src[source].src.ssa, product->src[source].swizzle[0]);
   Factor factor{};
   while (factor.steps.size() <= max_steps) {
      x = nir_scalar_chase_movs(x);
      if (nir_scalar_is_alu(x)) {
         const std::optional<unsigned> varied = varied_operand(x);
         if (!varied)
            return std::nullopt;
         const nir_scalar other = nir_scalar_chase_alu_src(x, 1 - *varied);
         const nir_op op = nir_scalar_alu_op(x);
         if (nir_scalar_is_const(other))
            factor.steps.push_back({op, true, nir_scalar_as_uint(other), nullptr, 0});
         else
            factor.steps.push_back({op, false, 0, other.def, other.comp});
         x = nir_scalar_chase_alu_src(x, *varied);
         continue;
      }
      if (!nir_scalar_is_intrinsic(x))
         return std::nullopt;
      factor.load = nir_instr_as_intrinsic(x.def->parent_instr);
      factor.component = x.comp;
      const bool is_load = factor.load->intrinsic == nir_intrinsic_load_ssbo ||
                           factor.load->intrinsic == nir_intrinsic_load_global;
      if (!is_load || !x.def->divergent || x.def->bit_size != 32)
         return std::nullopt;
      return factor;
   }
   return std::nullopt;
}

/// The previous product in a sum with no other uses.
nir_alu_instr *before(const nir_alu_instr *product)
{
   const nir_scalar sum =
      nir_scalar_chase_movs(nir_get_scalar(product->src[2].src.ssa, product->src[2].swizzle[0]));
   nir_instr *instr = sum.def->parent_instr;
   if (instr->block != product->instr.block || !is_dot(instr) ||
       nir_instr_as_alu(instr)->op != product->op || !list_is_singular(&sum.def->uses))
      return nullptr;
   return nir_instr_as_alu(instr);
}

} // namespace

PackedSums::PackedSums(nir_function_impl *impl)
{
   llvm::DenseSet<const nir_instr *> seen;
   nir_foreach_block(block, impl) {
      nir_foreach_instr_reverse(instr, block) {
         if (!is_dot(instr) || seen.contains(instr))
            continue;
         nir_alu_instr *last = nir_instr_as_alu(instr);
         for (nir_alu_instr *product = last; product; product = before(product))
            seen.insert(&product->instr);
         if (last->def.divergent)
            add_chain(last);
      }
   }
}

void PackedSums::add_chain(nir_alu_instr *last)
{
   struct Product {
      nir_alu_instr *instr;
      Factor x, y;

      bool is_like(const Product &other) const { return x.is_like(other.x) && y.is_like(other.y); }
   };
   DotChain chain{};
   std::vector<std::vector<Product>> alike; // products of the same pair of loads
   for (nir_alu_instr *instr = last; instr; instr = before(instr)) {
      chain.first = instr;
      const std::optional<Factor> x = factor_of(instr, 0), y = factor_of(instr, 1);
      if (!x || !y || x->component != y->component) {
         chain.others.push_back(instr);
         continue;
      }
      const Product product = {instr, *x, *y};
      const auto found = std::ranges::find_if(
         alike, [&](const auto &products) { return products[0].is_like(product); });
      if (found == alike.end())
         alike.push_back({product});
      else
         found->push_back(product);
   }
   for (std::vector<Product> &products : alike) {
      std::ranges::sort(products, {}, [](const Product &p) { return p.x.component; });
      const nir_intrinsic_instr *x = products[0].x.load, *y = products[0].y.load;
      const unsigned n = x->def.num_components;
      bool is_whole =
         n > 1 && std::has_single_bit(n) && n == y->def.num_components && n == products.size();
      PackedSum sum;
      for (unsigned c = 0; c < products.size(); c++) {
         is_whole &= products[c].x.component == c;
         sum.push_back(products[c].instr);
      }
      if (!is_whole) {
         chain.others.append(sum);
         continue;
      }
      chain.packed.push_back(sum);
      loads.insert(&x->instr);
      loads.insert(&y->instr);
   }
   if (!chain.packed.empty())
      chains[last] = std::move(chain);
}

} // namespace weft::cpu
