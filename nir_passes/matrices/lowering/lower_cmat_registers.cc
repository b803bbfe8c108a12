// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Loads, stores and multiplications of matrices for a back end that has scalars only. The register
/// map defines the owner of each element.

#include "nir_passes/loops/build_loop.h"
#include "nir_passes/matrices/cmat_bounds.h"
#include "nir_passes/matrices/cmat_description.h"
#include "nir_passes/matrices/lowering/cmat_context.h"
#include "nir_passes/matrices/small_floats.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <vector>

namespace weft::cmat {

namespace {

/// A pointer to the matrix's components in memory, and the distance of its rows (or columns) in
/// components.
struct MatrixMemory {
   nir_deref_instr *base;
   nir_def *stride;
   bool row_major;
   gl_access_qualifier access;
   std::optional<Bounds> bounds; ///< set if elements may lie outside of the buffer

   nir_def *load(nir_builder *b, nir_deref_instr *from) const
   {
      return nir_load_deref_with_access(b, from, access);
   }
   void store(nir_builder *b, nir_deref_instr *to, nir_def *value) const
   {
      nir_store_deref_with_access(b, to, value, 1, access);
   }
};

MatrixMemory matrix_memory(Context &s, nir_intrinsic_instr *instr, unsigned pointer_source,
                           const glsl_cmat_description &desc)
{
   nir_builder *b = &s.b;
   nir_deref_instr *pointer = nir_src_as_deref(instr->src[pointer_source]);
   const uint32_t component = component_bits(desc) / 8;

   std::optional<Bounds> limits;
   if (s.target.robust_access && nir_deref_mode_is(pointer, nir_var_mem_ssbo))
      limits = bounds(b, pointer, instr->src[2].ssa, component);

   /* The stride counts elements of the type pointed to; rows begin at whole components. */
   nir_def *stride = nir_u2uN(b, instr->src[2].ssa, pointer->def.bit_size);
   stride = nir_udiv_imm(b, nir_imul_imm(b, stride, pointee_bytes(pointer)), component);

   nir_deref_instr *base =
      nir_build_deref_cast(b, &pointer->def, pointer->modes,
                           glsl_scalar_type(glsl_base_type(desc.element_type)), component);
   return {base, stride, nir_intrinsic_matrix_layout(instr) == GLSL_MATRIX_LAYOUT_ROW_MAJOR,
           nir_intrinsic_access(instr), limits};
}

/// The invocation's part of a matrix in the order of memory: lines are rows or columns.
struct HeldBlock {
   uint32_t lines, length;
   uint32_t unit; ///< elements of a line in one load
   bool row_major;
   nir_def *line,
      *place;      ///< the first line of the matrix in it, and the first element of that line
   uint32_t align; ///< bytes: the offset of each of its lines is a multiple of this
   RegisterMap map;

   uint32_t component(uint32_t in_line, uint32_t in_block) const
   {
      return row_major ? map.component(in_block, in_line) : map.component(in_line, in_block);
   }
};

/// The largest power of two, at most 16, that certainly divides a number of bytes.
uint32_t alignment(uint32_t bytes)
{
   return std::min(bytes & -bytes, 16u);
}

/// The specification requires pointer and stride to be multiples of 16 bytes, or of a whole row (or
/// column) if that is less (VUID-RuntimeSpirv-OpCooperativeMatrixLoadKHR-08986).
HeldBlock held_block(Context &s, const RegisterMap &map, const MatrixMemory &memory)
{
   const uint32_t bytes = glsl_get_bit_size(memory.base->type) / 8;
   const Coordinates first = origin(&s.b, map);
   const bool row_major = memory.row_major;
   const uint32_t length = row_major ? map.block_cols() : map.block_rows();
   const uint32_t line_bytes = bytes * (row_major ? map.cols : map.rows);
   const uint32_t align = std::min(alignment(line_bytes), alignment(length * bytes));
   return {
      .lines = row_major ? map.block_rows() : map.block_cols(),
      .length = length,
      .unit = bytes < 4 && align >= 4 ? 4 / bytes : 1,
      .row_major = row_major,
      .line = row_major ? first.row : first.col,
      .place = row_major ? first.col : first.row,
      .align = align,
      .map = map,
   };
}

nir_deref_instr *element(nir_builder *b, const MatrixMemory &memory, nir_def *line, nir_def *place)
{
   const unsigned bits = memory.base->def.bit_size;
   nir_def *index = nir_imul(b, nir_u2uN(b, line, bits), memory.stride);
   index = nir_iadd(b, index, nir_u2uN(b, place, bits));
   return nir_build_deref_ptr_as_array(b, memory.base, index);
}

/// Calls body with the first component of each unit of `count` elements, and a pointer to it. The
/// pointer is to 32 bits if the unit has several elements. All pointers of a line have the same
/// base, whose alignment is known.
template <typename Body>
void for_each_unit(Context &s, const HeldBlock &block, const MatrixMemory &memory, uint32_t count,
                   const Body &body)
{
   nir_builder *b = &s.b;
   const unsigned bits = memory.base->def.bit_size;
   const glsl_type *type = count > 1 ? glsl_uint_type() : memory.base->type;
   /* With a constant stride, lines have constant distances. */
   nir_deref_instr *begin = element(b, memory, block.line, block.place);
   for (uint32_t line = 0; line < block.lines; ++line) {
      nir_deref_instr *first = begin;
      if (line > 0)
         first = nir_build_deref_ptr_as_array(b, begin, nir_imul_imm(b, memory.stride, line));
      first = nir_build_deref_cast_with_alignment(b, &first->def, first->modes, type,
                                                  glsl_get_bit_size(type) / 8, block.align, 0);
      for (uint32_t i = 0; i < block.length; i += count)
         body(block.component(i, line),
              nir_build_deref_ptr_as_array(b, first, nir_imm_intN_t(b, i / count, bits)));
   }
}

/// Whether a block lies in the buffer: it does if its last element does.
nir_def *all_inside(nir_builder *b, const HeldBlock &block, const Bounds &bounds)
{
   return is_inside(b, bounds, nir_iadd_imm(b, block.line, block.lines - 1),
                    nir_iadd_imm(b, block.place, block.length - 1));
}

/// The components of a block that is not wholly in the buffer, in the order of memory. Such blocks
/// are rare, so their code is short rather than fast: a loop over an array.
struct Edge {
   Edge(Context &s, const HeldBlock &block, const MatrixMemory &memory)
       : s(s), block(block), memory(memory),
         array(nir_local_variable_create(
            s.b.impl, glsl_array_type(memory.base->type, block.lines * block.length, 0), "edge"))
   {
   }

   nir_deref_instr *component(nir_def *i)
   {
      return nir_build_deref_array(&s.b, nir_build_deref_var(&s.b, array), i);
   }

   /// Calls body with an index into the array, a pointer to the element, and whether the element
   /// lies in the buffer.
   template <typename Body>
   void for_each_element(const Body &body)
   {
      nir_builder *b = &s.b;
      build_loop(b, block.lines * block.length, [&](nir_def *i) {
         nir_def *line = nir_iadd(b, block.line, nir_udiv_imm(b, i, block.length)),
                 *place = nir_iadd(b, block.place, nir_umod_imm(b, i, block.length));
         body(component(i), element(b, memory, line, place),
              is_inside(b, *memory.bounds, line, place));
      });
   }

   Context &s;
   const HeldBlock &block;
   const MatrixMemory &memory;
   nir_variable *array;
};

/// A block in the order of memory, with narrow elements joined to 32 bits. No later pass joins
/// accesses to shared memory (lower_shared_memory.h), and bytes are multiplied four at a time.
std::vector<nir_def *> load_units(Context &s, const HeldBlock &block, const MatrixMemory &source)
{
   nir_builder *b = &s.b;
   std::vector<nir_def *> units;
   for_each_unit(s, block, source, block.unit, [&](uint32_t, nir_deref_instr *pointer) {
      units.push_back(source.load(b, pointer));
   });
   return units;
}

std::vector<nir_def *> load_edge(Context &s, const HeldBlock &block, const MatrixMemory &source)
{
   nir_builder *b = &s.b;
   const unsigned bits = glsl_get_bit_size(source.base->type);
   Edge edge(s, block, source);
   edge.for_each_element(
      [&](nir_deref_instr *component, nir_deref_instr *element, nir_def *inside) {
         nir_store_deref(b, component, nir_imm_intN_t(b, 0, bits), 1);
         nir_if *there = nir_push_if(b, inside);
         nir_store_deref(b, component, source.load(b, element), 1);
         nir_pop_if(b, there);
      });
   std::vector<nir_def *> units;
   for (uint32_t i = 0; i < block.lines * block.length; i += block.unit) {
      nir_def *parts[4];
      for (uint32_t part = 0; part < block.unit; ++part)
         parts[part] = nir_load_deref(b, edge.component(nir_imm_int(b, int(i + part))));
      units.push_back(nir_pack_bits(b, nir_vec(b, parts, block.unit), block.unit * bits));
   }
   return units;
}

std::vector<nir_def *> load_robust(Context &s, const HeldBlock &block, const MatrixMemory &source)
{
   nir_builder *b = &s.b;
   nir_if *whole = nir_push_if(b, all_inside(b, block, *source.bounds));
   std::vector<nir_def *> units = load_units(s, block, source);
   nir_push_else(b, whole);
   const std::vector<nir_def *> edge = load_edge(s, block, source);
   nir_pop_if(b, whole);
   for (size_t i = 0; i < units.size(); ++i)
      units[i] = nir_if_phi(b, units[i], edge[i]);
   return units;
}

void store_edge(Context &s, const HeldBlock &block, const MatrixMemory &destination,
                const Matrix &source)
{
   nir_builder *b = &s.b;
   Edge edge(s, block, destination);
   for (uint32_t i = 0; i < block.lines * block.length; ++i) {
      const uint32_t component = block.component(i % block.length, i / block.length);
      nir_store_deref(b, edge.component(nir_imm_int(b, int(i))),
                      s.load_component(source, nir_imm_int(b, int(component))), 1);
   }
   edge.for_each_element(
      [&](nir_deref_instr *component, nir_deref_instr *element, nir_def *inside) {
         nir_if *there = nir_push_if(b, inside);
         destination.store(b, element, nir_load_deref(b, component));
         nir_pop_if(b, there);
      });
}

/// Emits a loop that calls body with the number of each component of a block, in the order of
/// memory, and a pointer to its element. The loop skips elements outside of the buffer.
template <typename Body>
void for_each_element(Context &s, const HeldBlock &block, const MatrixMemory &memory,
                      const Body &body)
{
   nir_builder *b = &s.b;
   build_loop(b, block.lines * block.length, [&](nir_def *i) {
      nir_def *in_line = nir_umod_imm(b, i, block.length),
              *in_block = nir_udiv_imm(b, i, block.length);
      nir_def *line = nir_iadd(b, block.line, in_block), *place = nir_iadd(b, block.place, in_line);
      nir_def *component =
         block.row_major ? i : nir_iadd(b, nir_imul_imm(b, in_line, block.lines), in_block);
      nir_if *there =
         memory.bounds ? nir_push_if(b, is_inside(b, *memory.bounds, line, place)) : nullptr;
      body(component, element(b, memory, line, place));
      if (there)
         nir_pop_if(b, there);
   });
}

/// The arithmetic that sums the products of a muladd.
struct Arithmetic {
   bool is_float;
   bool dots;     ///< four products of 8-bit integers at once
   unsigned bits; ///< of the sum
   /// The products are summed first. In f16, a sum then has as few roundings of large numbers as a
   /// sum in f32 that is rounded once.
   bool adds_last;
   unsigned result_bits;
   bool a_signed, b_signed, result_signed, saturate;

   uint32_t products() const { return dots ? 4 : 1; }
};

nir_def *widen_float(nir_builder *b, nir_def *value, const glsl_cmat_description &desc,
                     unsigned bits)
{
   const auto type = glsl_base_type(desc.element_type);
   return nir_f2fN(b, weft_is_small_float(type) ? weft_small_float_to_f32(b, value, type) : value,
                   bits);
}

nir_def *round_float(nir_builder *b, nir_def *value, const glsl_cmat_description &desc)
{
   const auto type = glsl_base_type(desc.element_type);
   return weft_is_small_float(type) ? weft_f32_to_small_float(b, value, type, false)
                                    : nir_f2fN(b, value, component_bits(desc));
}

/// The operand of a product, or of several at once, in one line of A or B: components from `at` on.
nir_def *operand(nir_builder *b, const Arithmetic &arithmetic, const glsl_cmat_description &desc,
                 const std::vector<nir_def *> &values, uint32_t at, uint32_t step, bool is_signed)
{
   if (arithmetic.is_float)
      return widen_float(b, values[at], desc, arithmetic.bits);
   if (arithmetic.dots)
      return nir_pack_32_4x8(b, nir_vec4(b, values[at], values[at + step], values[at + 2 * step],
                                         values[at + 3 * step]));
   return is_signed ? nir_i2iN(b, values[at], arithmetic.bits)
                    : nir_u2uN(b, values[at], arithmetic.bits);
}

nir_def *add_product(nir_builder *b, const Arithmetic &arithmetic, nir_def *x, nir_def *y,
                     nir_def *sum)
{
   if (arithmetic.is_float)
      return sum ? nir_ffma(b, x, y, sum) : nir_fmul(b, x, y);
   if (!arithmetic.dots)
      return nir_iadd(b, nir_imul(b, x, y), sum);
   if (arithmetic.a_signed && arithmetic.b_signed)
      return nir_sdot_4x8_iadd(b, x, y, sum);
   if (arithmetic.a_signed)
      return nir_sudot_4x8_iadd(b, x, y, sum);
   if (arithmetic.b_signed)
      return nir_sudot_4x8_iadd(b, y, x, sum);
   return nir_udot_4x8_uadd(b, x, y, sum);
}

/// A sum begins with the addend, or with a number that does not change the first product. A
/// saturating sum begins with 0: the products alone cannot overflow.
nir_def *begin(nir_builder *b, const Arithmetic &arithmetic, const glsl_cmat_description &desc,
               nir_def *addend)
{
   if (arithmetic.is_float)
      return arithmetic.adds_last ? nir_imm_floatN_t(b, -0.0, arithmetic.bits)
                                  : widen_float(b, addend, desc, arithmetic.bits);
   return arithmetic.saturate ? nir_imm_intN_t(b, 0, arithmetic.bits)
                              : nir_u2uN(b, addend, arithmetic.bits);
}

/// The sum as the result's component.
nir_def *finish(nir_builder *b, const Arithmetic &arithmetic, const glsl_cmat_description &desc,
                nir_def *sum, nir_def *addend)
{
   if (arithmetic.is_float)
      return arithmetic.adds_last ? nir_fadd(b, sum, addend) : round_float(b, sum, desc);
   sum = nir_u2uN(b, sum, arithmetic.result_bits);
   if (!arithmetic.saturate)
      return sum;
   return arithmetic.result_signed ? nir_iadd_sat(b, sum, addend) : nir_uadd_sat(b, sum, addend);
}

} // namespace

void lower_load_to_registers(Context &s, nir_intrinsic_instr *instr)
{
   const Matrix result = s.operand(instr, 0);
   const RegisterMap map = s.register_map(result.desc);
   const MatrixMemory source = matrix_memory(s, instr, 1, result.desc);
   const HeldBlock part = held_block(s, map, source);
   if (!s.is_unrolled(result.desc)) {
      if (source.bounds) {
         nir_def *zero = nir_imm_intN_t(&s.b, 0, component_bits(result.desc));
         s.for_each_component(result.desc, [&](nir_def *i) { s.store_component(result, i, zero); });
      }
      for_each_element(s, part, source, [&](nir_def *component, nir_deref_instr *element) {
         s.store_component(result, component, source.load(&s.b, element));
      });
      return;
   }
   const std::vector<nir_def *> units =
      source.bounds ? load_robust(s, part, source) : load_units(s, part, source);
   const uint32_t units_per_line = part.length / part.unit;
   for (uint32_t i = 0; i < units.size(); ++i) {
      nir_def *parts = nir_unpack_bits(&s.b, units[i], component_bits(result.desc));
      const uint32_t line = i / units_per_line, first = i % units_per_line * part.unit;
      for (uint32_t n = 0; n < part.unit; ++n) {
         nir_def *component = nir_imm_int(&s.b, int(part.component(first + n, line)));
         s.store_component(result, component, nir_channel(&s.b, parts, n));
      }
   }
}

/// If several invocations have an element, one of them stores it.
void lower_store_to_registers(Context &s, nir_intrinsic_instr *instr)
{
   nir_builder *b = &s.b;
   const Matrix source = s.operand(instr, 1);
   const RegisterMap map = s.register_map(source.desc);
   const MatrixMemory destination = matrix_memory(s, instr, 0, source.desc);
   nir_if *chosen = nir_push_if(b, stores(b, map));
   const HeldBlock part = held_block(s, map, destination);
   if (!s.is_unrolled(source.desc)) {
      for_each_element(s, part, destination, [&](nir_def *component, nir_deref_instr *element) {
         destination.store(b, element, s.load_component(source, component));
      });
      nir_pop_if(b, chosen);
      return;
   }
   nir_if *whole =
      destination.bounds ? nir_push_if(b, all_inside(b, part, *destination.bounds)) : nullptr;
   for_each_unit(s, part, destination, 1, [&](uint32_t i, nir_deref_instr *element) {
      destination.store(b, element, s.load_component(source, nir_imm_int(b, int(i))));
   });
   if (whole) {
      nir_push_else(b, whole);
      store_edge(s, part, destination, source);
      nir_pop_if(b, whole);
   }
   nir_pop_if(b, chosen);
}

namespace {

/// The muladd component by component. The products of a component are summed in a loop.
void build_muladd_loops(Context &s, const Arithmetic &arithmetic, const Matrix &d, const Matrix &a,
                        const Matrix &bm, const Matrix &c)
{
   nir_builder *b = &s.b;
   const uint32_t cols = s.register_map(d.desc).block_cols(), n = arithmetic.products();
   const uint32_t K = a.desc.cols, step = std::gcd(K, 8 * n);
   nir_variable *sum_variable =
      nir_local_variable_create(b->impl, glsl_uintN_t_type(arithmetic.bits), "sum");
   build_loop(b, s.length(d.desc), [&](nir_def *i) {
      nir_def *a_first = nir_imul_imm(b, nir_udiv_imm(b, i, cols), K);
      nir_def *b_first = nir_umod_imm(b, i, cols);
      nir_def *addend = s.load_component(c, i);
      nir_store_var(b, sum_variable, begin(b, arithmetic, c.desc, addend), 1);
      build_loop(b, K / step, [&](nir_def *number) {
         nir_def *k = nir_imul_imm(b, number, step);
         const auto line = [&](const Matrix &m, nir_def *first, uint32_t along_k) {
            std::vector<nir_def *> values;
            for (uint32_t j = 0; j < step; ++j) {
               nir_def *place = nir_imul_imm(b, nir_iadd_imm(b, k, j), along_k);
               values.push_back(s.load_component(m, nir_iadd(b, first, place)));
            }
            return values;
         };
         const std::vector<nir_def *> a_line = line(a, a_first, 1),
                                      b_line = line(bm, b_first, cols);
         nir_def *sum = nir_load_var(b, sum_variable);
         for (uint32_t j = 0; j < step; j += n)
            sum = add_product(
               b, arithmetic, operand(b, arithmetic, a.desc, a_line, j, 1, arithmetic.a_signed),
               operand(b, arithmetic, bm.desc, b_line, j, 1, arithmetic.b_signed), sum);
         nir_store_var(b, sum_variable, sum, 1);
      });
      nir_def *sum = nir_load_var(b, sum_variable);
      s.store_component(d, i, finish(b, arithmetic, d.desc, sum, addend));
   });
}

} // namespace

uint32_t products_in_registers(const Context &s, const nir_intrinsic_instr *muladd)
{
   const glsl_cmat_description d = s.operand(muladd, 0).desc, a = s.operand(muladd, 1).desc,
                               b = s.operand(muladd, 2).desc;
   const bool unrolled = s.is_unrolled(a) && s.is_unrolled(b) && s.is_unrolled(d);
   return unrolled ? s.length(d) * a.cols : 0;
}

/// d(row, col) = c(row, col) + Σ_k a(row, k) · b(k, col), of values of the invocation alone.
void lower_muladd_to_registers(Context &s, nir_intrinsic_instr *instr)
{
   nir_builder *b = &s.b;
   const Matrix d = s.operand(instr, 0), a = s.operand(instr, 1), bm = s.operand(instr, 2),
                c = s.operand(instr, 3);
   const uint32_t K = a.desc.cols, rows = s.register_map(d.desc).block_rows(),
                  cols = s.register_map(d.desc).block_cols();
   const unsigned mask = nir_intrinsic_cmat_signed_mask(instr);
   const bool bytes = component_bits(a.desc) == 8 && component_bits(bm.desc) == 8;
   const bool halves =
      s.target.float16_sums && std::ranges::all_of(std::array{a, bm, c, d}, [](const Matrix &m) {
         return m.desc.element_type == GLSL_TYPE_FLOAT16;
      });
   const Arithmetic arithmetic = {
      .is_float = has_real_components(d.desc),
      .dots = s.target.dot_product_4x8 && bytes && !has_real_components(d.desc) &&
              component_bits(d.desc) == 32 && K % 4 == 0,
      .bits = halves ? 16 : std::max(component_bits(d.desc), 32u),
      .adds_last = halves,
      .result_bits = component_bits(d.desc),
      .a_signed = (mask & NIR_CMAT_A_SIGNED) != 0,
      .b_signed = (mask & NIR_CMAT_B_SIGNED) != 0,
      .result_signed = (mask & NIR_CMAT_RESULT_SIGNED) != 0,
      .saturate = nir_intrinsic_saturate(instr) != 0,
   };
   const uint32_t products = products_in_registers(s, instr);
   if (products == 0 || products > s.max_products)
      return build_muladd_loops(s, arithmetic, d, a, bm, c);
   /* Lines of A are rows, lines of B are columns; each runs along k. */
   const uint32_t length = K / arithmetic.products();
   const auto lines = [&](const Matrix &m, uint32_t count, uint32_t to_next, uint32_t along_k,
                          bool is_signed) {
      std::vector<nir_def *> values, operands;
      s.for_each_component_unrolled(m.desc, [&](uint32_t i) {
         values.push_back(s.load_component(m, nir_imm_int(b, int(i))));
      });
      for (uint32_t i = 0; i < count * length; ++i) {
         const uint32_t k = i % length * arithmetic.products();
         operands.push_back(operand(b, arithmetic, m.desc, values,
                                    i / length * to_next + k * along_k, along_k, is_signed));
      }
      return operands;
   };
   const std::vector<nir_def *> a_lines = lines(a, rows, K, 1, arithmetic.a_signed),
                                b_lines = lines(bm, cols, 1, cols, arithmetic.b_signed);

   /* d may be the same variable as c, so it is written after all is read. */
   std::vector<nir_def *> results;
   s.for_each_component_unrolled(d.desc, [&](uint32_t i) {
      nir_def *addend = s.load_component(c, nir_imm_int(b, int(i)));
      nir_def *sum = arithmetic.adds_last ? nullptr : begin(b, arithmetic, c.desc, addend);
      for (uint32_t k = 0; k < length; ++k)
         sum = add_product(b, arithmetic, a_lines[i / cols * length + k],
                           b_lines[i % cols * length + k], sum);
      results.push_back(finish(b, arithmetic, d.desc, sum, addend));
   });
   for (uint32_t i = 0; i < results.size(); ++i)
      s.store_component(d, nir_imm_int(b, int(i)), results[i]);
}

} // namespace weft::cmat
