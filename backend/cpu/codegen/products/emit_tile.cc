// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Matrix tiles become calls of the kernels in tile_kernels.h. A tile lies in private memory, whose
/// layout makes it the dense array that kernels expect. All operands of a tile operation are
/// uniform by definition.

#include "backend/cpu/codegen/access/memory_access.h"
#include "backend/cpu/codegen/products/product_blocks.h"
#include "backend/cpu/kernels/tile_kernels.h"
#include "backend/cpu/llvm_versions.h"

#include "nir_passes/matrices/cmat_uses.h"

#include <algorithm>
#include <optional>
#include <vector>

namespace weft::cpu {

using llvm::Value;

namespace {

uint32_t bytes_of_invocation(Translator &t, uint32_t bytes)
{
   return (bytes + t.W - 1) / t.W;
}

/// Tiles lie in private memory. Factors may also lie in shared memory (opt_product_order.h), where
/// offsets have 64 bits.
bool is_shared(const nir_src &offset)
{
   return offset.ssa->bit_size == 64;
}

Value *shared_pointer(Translator &t, Value *offset)
{
   Access access{};
   access.space = Space::shared;
   return t.b.CreateGEP(t.b.getInt8Ty(), region_of(t, access).base, offset);
}

/// The address `beyond` bytes behind an offset, for an access of `bytes` bytes.
///
/// Scratch is [component][lane] (emit_memory.cc): component k of the lanes is the run of elements k
/// * W … k * W + W - 1, as element_map.h defines for a dense matrix.
Value *place_pointer(Translator &t, const nir_src &offset, uint32_t bytes, int32_t beyond = 0)
{
   if (is_shared(offset))
      return shared_pointer(t,
                            t.b.CreateAdd(t.first_active(offset), t.b.getInt64(uint64_t(beyond))));
   assert(beyond % int32_t(t.W) == 0);
   return scratch_pointer(t, offset, beyond / int32_t(t.W), bytes_of_invocation(t, bytes));
}

uint32_t tile_bytes(const glsl_cmat_description &desc)
{
   return uint32_t(desc.rows) * desc.cols * component_bits(desc) / 8;
}

Value *tile_pointer(Translator &t, const nir_src &offset, const glsl_cmat_description &desc)
{
   return place_pointer(t, offset, tile_bytes(desc));
}

/// Kernels access only the memory that their arguments point to.
void call_kernel(Translator &t, const std::string &symbol, llvm::ArrayRef<Value *> arguments)
{
   if (symbol.empty()) {
      t.fail("no kernel for a matrix operation that the target lists");
      return;
   }
   llvm::CallInst *call = t.call(symbol.c_str(), t.b.getVoidTy(), arguments);
   call->setMemoryEffects(llvm::MemoryEffects::argMemOnly());
   for (unsigned i = 0; i < arguments.size(); i++) {
      if (arguments[i]->getType()->isPointerTy())
         call->addParamAttr(i, no_capture(t.context));
   }
}

/// A tile's offset in a form that can be compared: a base plus a constant.
struct Offset {
   nir_scalar base;   ///< no def: zero
   uint32_t constant; ///< bytes of the whole subgroup

   Offset(const Translator &t, const nir_src &src)
       : base(nir_scalar_resolved(src.ssa, 0)), constant(0)
   {
      if (nir_scalar_is_alu(base) && nir_scalar_alu_op(base) == nir_op_iadd) {
         for (const unsigned i : {0u, 1u}) {
            const nir_scalar term = nir_scalar_chase_alu_src(base, i);
            if (nir_scalar_is_const(term)) {
               constant = uint32_t(nir_scalar_as_uint(term));
               base = nir_scalar_chase_alu_src(base, 1 - i);
               break;
            }
         }
      }
      if (nir_scalar_is_const(base)) {
         constant += uint32_t(nir_scalar_as_uint(base));
         base = {};
      }
      if (!is_shared(src))
         constant *= t.W;
   }

   bool has_base_of(const Offset &other) const
   {
      return base.def == other.base.def && (!base.def || base.comp == other.base.comp);
   }
   /// The distance between offsets with the same base.
   uint32_t distance(const Offset &other) const { return distance(other.constant); }
   uint32_t distance(uint32_t other) const { return std::min(constant - other, other - constant); }
   bool operator==(const Offset &other) const
   {
      return has_base_of(other) && constant == other.constant;
   }
};

/// The largest distance from a tile of `bytes` bytes at which another tile may lie in the same
/// memory, if the program's indices are in range.
uint32_t reach_from(Translator &t, const nir_src &tile, uint32_t bytes)
{
   if (is_shared(tile))
      return t.info.shared_bytes - bytes;
   return (t.shader->scratch_size - bytes_of_invocation(t, bytes)) * t.W;
}

/// The next multiplication, if only arithmetic lies between the two.
nir_intrinsic_instr *next_product(nir_intrinsic_instr *product)
{
   for (nir_instr *next = nir_instr_next(&product->instr); next; next = nir_instr_next(next)) {
      if (next->type == nir_instr_type_alu || next->type == nir_instr_type_load_const)
         continue;
      if (next->type != nir_instr_type_intrinsic)
         return nullptr;
      nir_intrinsic_instr *intr = nir_instr_as_intrinsic(next);
      return intr->intrinsic == nir_intrinsic_tile_muladd_weft ? intr : nullptr;
   }
   return nullptr;
}

/// A C that one kernel call computes: one product, or several in order. In the latter case all
/// products but the last leave a sum that is wider than C and D and has no other uses
/// (split_cmat_shapes.h).
struct Sum {
   std::vector<nir_intrinsic_instr *> products;

   const nir_src &a() const { return products.front()->src[1]; }
   const nir_src &b() const { return products.front()->src[2]; }
   const nir_src &c() const { return products.front()->src[3]; }
   const nir_src &d() const { return products.back()->src[0]; }
   glsl_cmat_description a_desc() const { return nir_intrinsic_a_cmat_desc(products.front()); }
   glsl_cmat_description b_desc() const { return nir_intrinsic_b_cmat_desc(products.front()); }
   glsl_cmat_description c_desc() const { return nir_intrinsic_c_cmat_desc(products.front()); }
   glsl_cmat_description d_desc() const { return nir_intrinsic_cmat_desc(products.back()); }

   /// Nothing if no such multiplication exists.
   std::optional<MatrixOperation> operation() const
   {
      const nir_intrinsic_instr *first = products.front();
      return matrix_operation(d_desc(), a_desc(), b_desc(), c_desc(),
                              nir_intrinsic_cmat_signed_mask(first),
                              nir_intrinsic_saturate(first) != 0);
   }
   uint32_t a_bytes() const { return factor_bytes(a_desc(), TileFactor::a); }
   uint32_t b_bytes() const { return factor_bytes(b_desc(), TileFactor::b); }
   uint32_t d_bytes() const { return tile_bytes(d_desc()); }

   PlacedProduct reach(Translator &t) const
   {
      return {reach_from(t, d(), d_bytes()), reach_from(t, a(), a_bytes()),
              reach_from(t, b(), b_bytes())};
   }

private:
   uint32_t factor_bytes(const glsl_cmat_description &desc, TileFactor factor) const
   {
      const auto op = operation();
      return op && is_packed(*op, factor) ? packed_bytes(*op, factor) : tile_bytes(desc);
   }
};

/// A sum's products by the places of their tiles. Empty if the distances from the tiles of `first`
/// are unknown or exceed a block.
std::vector<PlacedProduct> place_products(Translator &t, const Sum &sum, const Sum &first)
{
   const PlacedProduct reach = first.reach(t);
   const auto is_near = [&](const nir_src &tile, const nir_src &first_tile, uint32_t most) {
      const Offset at(t, tile), from(t, first_tile);
      return is_shared(tile) == is_shared(first_tile) && at.has_base_of(from) &&
             at.distance(from) <= most;
   };
   std::vector<PlacedProduct> placed;
   for (const nir_intrinsic_instr *product : sum.products) {
      const nir_src &a = product->src[1], &b = product->src[2];
      if (!is_near(sum.d(), first.d(), reach.d) || !is_near(a, first.a(), reach.a) ||
          !is_near(b, first.b(), reach.b))
         return {};
      placed.push_back({Offset(t, sum.d()).constant, Offset(t, a).constant, Offset(t, b).constant});
   }
   return find_blocks(placed, reach).size() == 1 ? placed : std::vector<PlacedProduct>();
}

Sum find_sum(Translator &t, nir_intrinsic_instr *first)
{
   const auto bits_of_c = [](const nir_intrinsic_instr *product) {
      return component_bits(nir_intrinsic_c_cmat_desc(product));
   };
   const auto bits_of_d = [](const nir_intrinsic_instr *product) {
      return component_bits(nir_intrinsic_cmat_desc(product));
   };
   const Sum product = {{first}};
   if (bits_of_d(first) <= bits_of_c(first))
      return product;
   Sum sum = product;
   const Offset wide(t, first->src[0]);
   for (nir_intrinsic_instr *next = next_product(first); next; next = next_product(next)) {
      if (Offset(t, next->src[3]) != wide)
         break;
      sum.products.push_back(next);
      if (bits_of_d(next) < bits_of_c(next))
         return place_products(t, sum, sum).empty() ? product : sum;
      if (Offset(t, next->src[0]) != wide)
         break;
   }
   return product;
}

/// The products from a sum on that have only arithmetic between them, and whose tiles lie at known
/// distances: they may be computed in blocks. Marks them as emitted.
std::vector<PlacedProduct> gather_products(Translator &t, const Sum &first,
                                           const MatrixOperation &op)
{
   std::vector<PlacedProduct> products;
   const auto add = [&](const Sum &sum, const std::vector<PlacedProduct> &placed) {
      products.insert(products.end(), placed.begin(), placed.end());
      for (nir_intrinsic_instr *product : sum.products)
         t.emitted_tiles.insert(&product->instr);
   };
   add(first, place_products(t, first, first));
   const bool in_place = Offset(t, first.c()) == Offset(t, first.d());
   nir_intrinsic_instr *next = next_product(first.products.back());
   while (next) {
      const Sum sum = find_sum(t, next);
      const Offset d(t, sum.d());
      // A separate sum, or the continuation of one. The latter must not be rounded in between.
      const auto is_apart = [&](const PlacedProduct &p) {
         const uint32_t distance = d.distance(p.d);
         return distance >= first.d_bytes() || (distance == 0 && !rounds_sums(op));
      };
      const std::vector<PlacedProduct> placed = place_products(t, sum, first);
      if (sum.operation() != op || Offset(t, sum.c()) != d || placed.empty() ||
          (!in_place && d != Offset(t, first.d())) || !std::ranges::all_of(products, is_apart))
         break;
      add(sum, placed);
      next = next_product(sum.products.back());
   }
   return products;
}

/// A TileBlock, as a constant of the module.
Value *tile_block(Translator &t, const ProductBlock &block)
{
   const auto distance = [&](uint32_t bytes) { return t.b.getInt64(bytes); };
   static_assert(offsetof(TileBlock, a_row) == 16);
   llvm::Constant *value = llvm::ConstantStruct::getAnon(
      {t.b.getInt32(block.rows), t.b.getInt32(block.cols), t.b.getInt32(block.depth),
       t.b.getInt32(0), distance(block.a_row), distance(block.a_step), distance(block.b_col),
       distance(block.b_step), distance(block.d_row), distance(block.d_col)});
   auto *constant = new llvm::GlobalVariable(*t.module, value->getType(), true,
                                             llvm::GlobalValue::PrivateLinkage, value, "block");
   constant->setUnnamedAddr(llvm::GlobalValue::UnnamedAddr::Global);
   constant->setAlignment(llvm::Align(alignof(TileBlock)));
   return constant;
}

void emit_muladd(Translator &t, nir_intrinsic_instr *intr)
{
   if (t.emitted_tiles.contains(&intr->instr))
      return;
   const Sum sum = find_sum(t, intr);
   const auto operation = sum.operation();
   if (!operation)
      return call_kernel(t, "", {});
   const std::vector<PlacedProduct> products = gather_products(t, sum, *operation);
   const PlacedProduct &first = products.front();
   for (const ProductBlock &block : find_blocks(products, sum.reach(t))) {
      const PlacedProduct &origin = products[block.first];
      const uint32_t rows = block.rows - 1, cols = block.cols - 1, depth = block.depth - 1;
      const uint32_t d_more = rows * block.d_row + cols * block.d_col,
                     a_more = rows * block.a_row + depth * block.a_step,
                     b_more = cols * block.b_col + depth * block.b_step;
      Value *to = place_pointer(t, sum.d(), sum.d_bytes() + d_more, int32_t(origin.d - first.d));
      const bool in_place = block.first != 0 || Offset(t, sum.d()) == Offset(t, sum.c());
      call_kernel(t, tile_muladd_symbol(*operation),
                  {to,
                   place_pointer(t, sum.a(), sum.a_bytes() + a_more, int32_t(origin.a - first.a)),
                   place_pointer(t, sum.b(), sum.b_bytes() + b_more, int32_t(origin.b - first.b)),
                   in_place ? to : tile_pointer(t, sum.c(), sum.c_desc()), tile_block(t, block)});
   }
}

/// The only operation whose tile may differ from lane to lane.
void emit_element(Translator &t, nir_intrinsic_instr *intr)
{
   llvm::IRBuilder<> &b = t.b;
   const glsl_cmat_description desc = nir_intrinsic_cmat_desc(intr);
   const uint32_t bytes = component_bits(desc) / 8;
   const bool uniform = t.is_uniform(intr->def);
   const auto operand = [&](unsigned source) {
      return uniform ? t.first_active(intr->src[source]) : t.varying(intr->src[source]);
   };
   Value *tile = operand(0), *row = operand(1), *col = operand(2);
   const auto constant = [&](uint64_t v) { return llvm::ConstantInt::get(tile->getType(), v); };
   Value *element = b.CreateAdd(b.CreateMul(row, constant(desc.cols)), col);
   Value *place =
      b.CreateAdd(b.CreateMul(tile, constant(t.W)), b.CreateMul(element, constant(bytes)));
   const LaneOffsets fixed =
      weighted_sum({{&t.fixed_offsets->offsets(intr->src[0]), t.W},
                    {&t.fixed_offsets->offsets(intr->src[1]), desc.cols * bytes},
                    {&t.fixed_offsets->offsets(intr->src[2]), bytes}});
   t.define(intr->def, 0, load_from_scratch(t, place, fixed, bytes));
}

/// Stores each lane's run of elements at their places, which may be other lanes' components.
void emit_insert(Translator &t, nir_intrinsic_instr *intr)
{
   llvm::IRBuilder<> &b = t.b;
   const glsl_cmat_description desc = nir_intrinsic_cmat_desc(intr);
   const uint32_t bytes = component_bits(desc) / 8;
   Value *first = b.CreateMul(t.varying(intr->src[2]), t.splat(b.getInt32(bytes)));
   LanePattern pattern = t.patterns->pattern(intr->src[2]);
   pattern.step *= bytes;
   llvm::SmallVector<Value *, 16> elements;
   for (unsigned c = 0; c < intr->num_components; c++)
      elements.push_back(t.varying(intr->src[1], c));
   store_elements(t, tile_pointer(t, intr->src[0], desc), first, pattern, elements);
}

TileOrder order_of(nir_intrinsic_instr *intr)
{
   return nir_intrinsic_matrix_layout(intr) == GLSL_MATRIX_LAYOUT_COLUMN_MAJOR
             ? TileOrder::column_major
             : TileOrder::row_major;
}

/// The memory that a tile is loaded from or stored to.
struct TileMemory {
   Region region;
   Value *offset;
   bool robust; ///< accesses must stay within the region
};

TileMemory tile_memory(Translator &t, nir_intrinsic_instr *intr, const nir_src &address)
{
   const nir_variable_mode modes = nir_intrinsic_memory_modes(intr);
   if (modes & nir_var_function_temp) {
      Value *tile = tile_pointer(t, address, nir_intrinsic_cmat_desc(intr));
      return {{tile, nullptr}, t.b.getInt32(0), false};
   }
   Region region{};
   Value *offset;
   if (modes & (nir_var_mem_ssbo | nir_var_mem_ubo)) {
      region = buffer_region(t, t.first_active(address, 0), t.first_active(address, 1));
      offset = t.first_active(address, 2);
   } else {
      Access access{};
      access.space = modes & nir_var_mem_shared ? Space::shared : Space::global;
      region = region_of(t, access);
      region.size = nullptr;
      offset = t.first_active(address);
   }
   return {region, offset, region.size && t.options.robust_buffer_access};
}

Value *stride_of(Translator &t, nir_intrinsic_instr *intr)
{
   return t.b.CreateSExtOrTrunc(t.first_active(intr->src[2]), t.b.getInt64Ty());
}

std::string transfer_symbol(nir_intrinsic_instr *intr, TileAccess access, bool robust)
{
   assert(nir_intrinsic_stride_unit(intr) == 1);
   const glsl_cmat_description desc = nir_intrinsic_cmat_desc(intr);
   return tile_transfer_symbol(
      {access, order_of(intr), robust, desc.rows, desc.cols, component_bits(desc) / 8});
}

void call_load(Translator &t, const std::string &symbol, Value *tile, const TileMemory &from,
               Value *stride)
{
   if (!from.robust)
      return call_kernel(t, symbol, {tile, pointer_to(t, from.region, from.offset), stride});
   Value *offset = t.b.CreateZExt(from.offset, t.b.getInt64Ty());
   call_kernel(t, symbol, {tile, from.region.base, offset, from.region.size, stride});
}

void emit_load(Translator &t, nir_intrinsic_instr *intr)
{
   Value *stride = stride_of(t, intr);
   Value *tile = tile_pointer(t, intr->src[0], nir_intrinsic_cmat_desc(intr));
   const TileMemory from = tile_memory(t, intr, intr->src[1]);
   const std::string symbol = transfer_symbol(intr, TileAccess::load, from.robust);
   call_load(t, symbol, tile, from, stride);
}

void emit_store(Translator &t, nir_intrinsic_instr *intr)
{
   Value *stride = stride_of(t, intr);
   Value *tile = tile_pointer(t, intr->src[1], nir_intrinsic_cmat_desc(intr));
   const TileMemory to = tile_memory(t, intr, intr->src[0]);
   const std::string symbol = transfer_symbol(intr, TileAccess::store, to.robust);
   if (!to.robust)
      return call_kernel(t, symbol, {pointer_to(t, to.region, to.offset), tile, stride});
   Value *offset = t.b.CreateZExt(to.offset, t.b.getInt64Ty());
   call_kernel(t, symbol, {to.region.base, offset, to.region.size, tile, stride});
}

void emit_pack(Translator &t, nir_intrinsic_instr *intr)
{
   const glsl_cmat_description c = nir_intrinsic_c_cmat_desc(intr);
   const auto operation =
      matrix_operation(c, nir_intrinsic_a_cmat_desc(intr), nir_intrinsic_b_cmat_desc(intr), c,
                       nir_intrinsic_cmat_signed_mask(intr), false);
   if (!operation)
      return call_kernel(t, "", {});
   const TileFactor factor =
      nir_intrinsic_cmat_desc(intr).use == GLSL_CMAT_USE_A ? TileFactor::a : TileFactor::b;
   Value *stride = stride_of(t, intr);
   Value *packed = place_pointer(t, intr->src[0], packed_bytes(*operation, factor));
   const TileMemory from = tile_memory(t, intr, intr->src[1]);
   call_load(t, tile_pack_symbol({*operation, factor, order_of(intr), from.robust}), packed, from,
             stride);
}

} // namespace

bool emit_tile(Translator &t, nir_intrinsic_instr *intr)
{
   switch (intr->intrinsic) {
   case nir_intrinsic_tile_load_weft:
      emit_load(t, intr);
      return true;
   case nir_intrinsic_tile_store_weft:
      emit_store(t, intr);
      return true;
   case nir_intrinsic_tile_muladd_weft:
      emit_muladd(t, intr);
      return true;
   case nir_intrinsic_tile_pack_weft:
      emit_pack(t, intr);
      return true;
   case nir_intrinsic_tile_element_weft:
      emit_element(t, intr);
      return true;
   case nir_intrinsic_tile_insert_weft:
      emit_insert(t, intr);
      return true;
   default:
      return false;
   }
}

} // namespace weft::cpu
