// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/matrices/lowering/lower_cmat_reduce.h"

#include "nir_passes/loops/build_loop.h"
#include "nir_passes/matrices/cmat_callee.h"
#include "nir_passes/matrices/cmat_components.h"
#include "nir_passes/matrices/cmat_description.h"
#include "nir_passes/matrices/lowering/cmat_context.h"

#include "compiler/nir/nir_deref.h"
#include "compiler/spirv/spirv.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>
#include <vector>

namespace weft {

namespace {

using cmat::for_each_component;

/// A reduction's parts.
struct ElementReduction {
   ElementReduction(nir_builder *b, nir_intrinsic_instr *instr)
       : result(matrix(instr, 0)), source(matrix(instr, 1)), mask(nir_intrinsic_reduction(instr)),
         combine{b, callee_of(b->shader, instr), glsl_base_type(source.desc.element_type)}
   {
   }

   bool of_rows() const { return mask & SpvCooperativeMatrixReduceRowMask; }
   bool of_columns() const { return mask & SpvCooperativeMatrixReduceColumnMask; }
   bool of_quads() const { return mask == SpvCooperativeMatrixReduce2x2Mask; }

   const Matrix result, source;
   const unsigned mask;
   const Combination combine;

private:
   static Matrix matrix(const nir_intrinsic_instr *instr, unsigned source)
   {
      nir_deref_instr *deref = nir_src_as_deref(instr->src[source]);
      return {deref, *glsl_get_cmat_description(deref->type)};
   }
};

/* ---- private tiles: elements of any invocation ---- */

class ByElements {
public:
   ByElements(nir_builder *b, const ElementReduction &r) : b(b), r(r) {}

   void lower()
   {
      if (r.of_quads())
         return lower_quads();
      if (r.of_rows() && r.of_columns())
         nir_cmat_construct(b, &r.result.deref->def, combine_rows(reduce_lines(true, nullptr)));
      else if (r.source.desc.rows == r.result.desc.rows && r.source.desc.cols == r.result.desc.cols)
         reduce_lines(r.of_rows(), r.result.deref);
      else
         spread(reduce_lines(r.of_rows(), nullptr), r.of_rows());
   }

   void lower_quads()
   {
      for_each_component(b, r.result.desc, [&](nir_def *number, nir_def *at) {
         insert(r.result, number, r.combine.square([&](unsigned i, unsigned j) {
            return element(r.source, twice_and(b, nir_channel(b, at, 0), i),
                           twice_and(b, nir_channel(b, at, 1), j));
         }));
      });
   }

private:
   nir_def *element(const Matrix &matrix, nir_def *row, nir_def *col)
   {
      return nir_cmat_element_weft(b, r.combine.bits(), &matrix.deref->def, row, col);
   }

   /// The element at a place in the row or column of a component.
   nir_def *line_element(const Matrix &matrix, bool along_row, nir_def *at, nir_def *place)
   {
      return along_row ? element(matrix, nir_channel(b, at, 0), place)
                       : element(matrix, place, nir_channel(b, at, 1));
   }

   void insert(const Matrix &matrix, nir_def *number, nir_def *value)
   {
      nir_cmat_insert(b, &matrix.deref->def, value, &matrix.deref->def, number);
   }

   Matrix temporary()
   {
      nir_variable *variable =
         nir_local_variable_create(b->impl, glsl_cmat_type(&r.source.desc), "reduced");
      return {nir_build_deref_var(b, variable), r.source.desc};
   }

   /// A step: each group of `factor` elements, `stride` apart, becomes the combination of the
   /// group.
   struct Step {
      uint32_t stride, factor;
   };

   static std::vector<Step> steps(uint32_t length)
   {
      std::vector<Step> list;
      for (uint32_t stride = 1; stride < length; stride *= list.back().factor)
         list.push_back({stride, smallest_factor(length / stride)});
      return list;
   }

   static uint32_t smallest_factor(uint32_t n)
   {
      for (uint32_t factor = 2; factor * factor <= n; factor += factor == 2 ? 1 : 2) {
         if (n % factor == 0)
            return factor;
      }
      return n;
   }

   /// A matrix in which every element is the combination of its row (or column) of the source:
   /// `into`, of the same size, or a temporary.
   Matrix reduce_lines(bool along_row, nir_deref_instr *into)
   {
      const std::vector<Step> all = steps(along_row ? r.source.desc.cols : r.source.desc.rows);
      Matrix from = r.source;
      std::array<Matrix, 2> temporaries = {};
      for (size_t i = 0; i < all.size(); ++i) {
         Matrix to = {into, r.source.desc};
         /* The source may be the result. */
         if (!into || i + 1 < all.size() || i == 0) {
            Matrix &unused = temporaries[i % 2];
            if (!unused.deref)
               unused = temporary();
            to = unused;
         }
         if (all[i].factor == 2)
            combine_pairs(from, to, along_row, all[i].stride);
         else
            combine_groups(from, to, along_row, all[i]);
         from = to;
      }
      if (into && from.deref != into)
         nir_cmat_copy(b, &into->def, &from.deref->def);
      return from;
   }

   /// A step whose groups are pairs. Strides are constant powers of two, so that back ends know the
   /// owner of the other element.
   void combine_pairs(const Matrix &from, const Matrix &to, bool along_row, uint32_t stride)
   {
      for_each_component(b, from.desc, [&](nir_def *number, nir_def *at) {
         nir_def *place = nir_channel(b, at, along_row ? 1 : 0);
         nir_def *distance = nir_imm_int(b, int(stride));
         nir_def *own = nir_cmat_extract(b, r.combine.bits(), &from.deref->def, number);
         nir_def *others = line_element(from, along_row, at, nir_ixor(b, place, distance));
         nir_def *is_second = nir_ine_imm(b, nir_iand(b, place, distance), 0);
         nir_def *first = nir_bcsel(b, is_second, others, own);
         insert(to, number, r.combine(first, nir_bcsel(b, is_second, own, others)));
      });
   }

   /// A step whose groups are larger.
   void combine_groups(const Matrix &from, const Matrix &to, bool along_row, const Step &step)
   {
      for_each_component(b, from.desc, [&](nir_def *number, nir_def *at) {
         nir_def *place = nir_channel(b, at, along_row ? 1 : 0);
         nir_def *in_group = nir_umod_imm(b, nir_udiv_imm(b, place, step.stride), step.factor);
         nir_def *begin = nir_isub(b, place, nir_imul_imm(b, in_group, step.stride));
         nir_variable *sum = local("combined");
         nir_store_var(b, sum, line_element(from, along_row, at, begin), 1);
         loop(1, step.factor, [&](nir_def *i) {
            nir_def *other = nir_iadd(b, begin, nir_imul_imm(b, i, step.stride));
            nir_def *next = line_element(from, along_row, at, other);
            nir_store_var(b, sum, r.combine(nir_load_var(b, sum), next), 1);
         });
         insert(to, number, nir_load_var(b, sum));
      });
   }

   /// The combination of a matrix whose rows have equal elements: every invocation combines one row
   /// after the other. The steps above would move every element in each step. Eight rows have a sum
   /// of their own, so that few roundings accumulate.
   nir_def *combine_rows(const Matrix &matrix)
   {
      constexpr uint32_t group = 8;
      const uint32_t rows = matrix.desc.rows;
      nir_variable *sum = local("combined"), *part = local("of_eight");
      loop(0, rows, [&](nir_def *row) {
         nir_def *next = nir_iadd_imm(b, row, 1);
         nir_def *begins = nir_ieq_imm(b, nir_umod_imm(b, row, group), 0);
         accumulate(part, begins, element(matrix, row, nir_imm_int(b, 0)));
         nir_def *ends =
            nir_ior(b, nir_ieq_imm(b, nir_umod_imm(b, next, group), 0), nir_ieq_imm(b, next, rows));
         nir_if *whole = nir_push_if(b, ends);
         accumulate(sum, nir_ult_imm(b, row, group), nir_load_var(b, part));
         nir_pop_if(b, whole);
      });
      return nir_load_var(b, sum);
   }

   /// Adds `value` to the sum, or makes it the sum.
   void accumulate(nir_variable *sum, nir_def *is_first, nir_def *value)
   {
      nir_if *first = nir_push_if(b, is_first);
      nir_store_var(b, sum, value, 1);
      nir_push_else(b, first);
      nir_store_var(b, sum, r.combine(nir_load_var(b, sum), value), 1);
      nir_pop_if(b, first);
   }

   /// Fills a result of another size. All elements of a line are equal, so the code takes any of
   /// them.
   void spread(const Matrix &lines, bool along_row)
   {
      for_each_component(b, r.result.desc, [&](nir_def *number, nir_def *at) {
         insert(r.result, number, line_element(lines, along_row, at, nir_imm_int(b, 0)));
      });
   }

   /// May be unrolled.
   template <typename Body>
   void loop(uint32_t begin, uint32_t end, const Body &body)
   {
      nir_variable *counter = nir_local_variable_create(b->impl, glsl_uint_type(), "element");
      nir_store_var(b, counter, nir_imm_int(b, int(begin)), 1);
      nir_loop *loop = nir_push_loop(b);
      {
         nir_def *number = nir_load_var(b, counter);
         nir_break_if(b, nir_uge_imm(b, number, end));
         body(number);
         nir_store_var(b, counter, nir_iadd_imm(b, number, 1), 1);
      }
      nir_pop_loop(b, loop);
   }

   nir_variable *local(const char *name)
   {
      return nir_local_variable_create(b->impl, glsl_uintN_t_type(r.combine.bits()), name);
   }

   nir_builder *b;
   const ElementReduction &r;
};

/* ---- registers: own blocks and butterflies ---- */

/// The most instructions of a combining function that is inlined for each component.
constexpr unsigned max_unrolled_size = 256;

unsigned size_of(nir_function_impl *impl)
{
   unsigned size = 0;
   nir_foreach_block(block, impl)
      size += exec_list_length(&block->instr_list);
   return size;
}

class InRegisters {
public:
   InRegisters(nir_builder *b, const ElementReduction &r, uint32_t subgroup_size)
       : b(b), r(r), from(cmat::register_map(r.source.desc, subgroup_size)),
         to(cmat::register_map(r.result.desc, subgroup_size)),
         unrolled(cmat::is_unrolled(r.source.desc, subgroup_size) &&
                  cmat::is_unrolled(r.result.desc, subgroup_size) &&
                  size_of(r.combine.function->impl) <= max_unrolled_size)
   {
   }

   void lower()
   {
      if (r.of_quads())
         lower_quads();
      else if (r.of_rows() && r.of_columns())
         nir_cmat_construct(b, &r.result.deref->def, combine_everything());
      else if (r.of_rows())
         lower_rows();
      else
         lower_columns();
   }

private:
   using Values = std::vector<nir_def *>;

   /// Result and source have equally many rows, and so have their blocks.
   void lower_rows()
   {
      const auto combine = [&](nir_def *row) { return combine_block_row(row); };
      const auto exchange = [&](Values values) { return exchange_along_row(std::move(values)); };
      for_each_line(from.block_rows(), combine, exchange, [&](nir_def *row, nir_def *value) {
         for_each(to.block_cols(), [&](nir_def *col) { insert(row, col, value); });
      });
   }

   /// The same for columns.
   void lower_columns()
   {
      const auto combine = [&](nir_def *col) {
         return combine_all(from.block_rows(), [&](nir_def *row) { return extract(row, col); });
      };
      const auto exchange = [&](Values values) { return exchange_along_column(std::move(values)); };
      for_each_line(from.block_cols(), combine, exchange, [&](nir_def *col, nir_def *value) {
         for_each(to.block_rows(), [&](nir_def *row) { insert(row, col, value); });
      });
   }

   nir_def *combine_everything()
   {
      nir_def *own =
         combine_all(from.block_rows(), [&](nir_def *row) { return combine_block_row(row); });
      return exchange_along_column(exchange_along_row({own}))[0];
   }

   /// An invocation has all elements of its squares, unless its block has an odd number of rows or
   /// columns.
   void lower_quads()
   {
      if (from.block_rows() != 2 * to.block_rows() || from.block_cols() != 2 * to.block_cols())
         return ByElements(b, r).lower_quads();
      for_each(to.block_rows(), [&](nir_def *row) {
         for_each(to.block_cols(), [&](nir_def *col) {
            insert(row, col, r.combine.square([&](unsigned i, unsigned j) {
               return extract(twice_and(b, row, i), twice_and(b, col, j));
            }));
         });
      });
   }

   /// use(i, value) for the combination of each line. Unrolled, all lines are exchanged at once.
   template <typename Combine, typename Exchange, typename Use>
   void for_each_line(uint32_t count, const Combine &combine, const Exchange &exchange,
                      const Use &use)
   {
      Values values;
      for_each(count, [&](nir_def *i) {
         values.push_back(combine(i));
         if (!unrolled)
            use(i, exchange({values.back()})[0]);
      });
      if (!unrolled)
         return;
      values = exchange(std::move(values));
      for (uint32_t i = 0; i < count; ++i)
         use(nir_imm_int(b, int(i)), values[i]);
   }

   nir_def *combine_block_row(nir_def *row)
   {
      return combine_all(from.block_cols(), [&](nir_def *col) { return extract(row, col); });
   }

   /* ---- an invocation's own components ---- */

   nir_def *component(const RegisterMap &map, nir_def *row, nir_def *col)
   {
      return nir_iadd(b, nir_imul_imm(b, row, map.block_cols()), col);
   }
   nir_def *extract(nir_def *row, nir_def *col)
   {
      return nir_cmat_extract(b, r.combine.bits(), &r.source.deref->def, component(from, row, col));
   }
   void insert(nir_def *row, nir_def *col, nir_def *value)
   {
      nir_def *result = &r.result.deref->def;
      nir_cmat_insert(b, result, value, result, component(to, row, col));
   }

   template <typename Body>
   void for_each(uint32_t count, const Body &body)
   {
      if (!unrolled)
         return build_loop(b, count, body);
      for (uint32_t i = 0; i < count; ++i)
         body(nir_imm_int(b, int(i)));
   }

   /// Combines neighbours first, so that few roundings accumulate. A loop takes several at a time,
   /// by a number that divides the count.
   template <typename Value>
   nir_def *combine_all(uint32_t count, const Value &value)
   {
      constexpr uint32_t max_at_a_time = 8;
      const uint32_t at_a_time = unrolled ? count : std::min(count & -count, max_at_a_time);
      nir_def *sum = combine_tree(nir_imm_int(b, 0), at_a_time, value);
      if (count == at_a_time)
         return sum;
      nir_variable *all =
         nir_local_variable_create(b->impl, glsl_uintN_t_type(r.combine.bits()), "combined");
      nir_store_var(b, all, sum, 1);
      build_loop(b, count / at_a_time - 1, [&](nir_def *i) {
         nir_def *first = nir_imul_imm(b, nir_iadd_imm(b, i, 1), at_a_time);
         nir_def *part = combine_tree(first, at_a_time, value);
         nir_store_var(b, all, r.combine(nir_load_var(b, all), part), 1);
      });
      return nir_load_var(b, all);
   }

   template <typename Value>
   nir_def *combine_tree(nir_def *first, uint32_t count, const Value &value)
   {
      std::vector<nir_def *> values;
      for (uint32_t i = 0; i < count; ++i)
         values.push_back(value(nir_iadd_imm(b, first, i)));
      while (values.size() > 1) {
         std::vector<nir_def *> sums;
         for (size_t i = 0; i + 1 < values.size(); i += 2)
            sums.push_back(r.combine(values[i], values[i + 1]));
         if (values.size() % 2)
            sums.push_back(values.back());
         values = sums;
      }
      return values[0];
   }

   /* ---- other invocations ---- */

   Values exchange_along_row(Values values)
   {
      return exchange(std::move(values), 1, from.blocks().cols);
   }
   Values exchange_along_column(Values values)
   {
      return exchange(std::move(values), from.grid().cols, from.blocks().rows);
   }

   /// The combinations of each value with the values of `count` invocations that are `step` apart.
   /// `count` is a power of two. As long as a shuffle moves whole words, each invocation of a pair
   /// goes on with one half of the values; at the end, it gets the other half back.
   Values exchange(Values values, uint32_t step, uint32_t count)
   {
      const uint32_t end = step * count;
      std::vector<uint32_t> halvings;
      for (uint32_t distance = step; distance < end; distance *= 2) {
         const bool has_next = distance * 2 < end;
         if (has_next && values.size() % (2 * values_per_word()) == 0) {
            values = combine_half(values, distance);
            halvings.push_back(distance);
         } else {
            values = combine_both(values, distance);
         }
      }
      for (; !halvings.empty(); halvings.pop_back())
         values = join_halves(values, halvings.back());
      return values;
   }

   /// Both invocations of a pair combine all values, in the same order.
   Values combine_both(const Values &own, uint32_t distance)
   {
      nir_def *second = is_second(distance);
      Values values = others_at(distance, own);
      for (size_t i = 0; i < own.size(); ++i) {
         nir_def *first = nir_bcsel(b, second, values[i], own[i]);
         values[i] = r.combine(first, nir_bcsel(b, second, own[i], values[i]));
      }
      return values;
   }

   /// The first invocation of a pair combines the first half of the values, the second one the
   /// other half.
   Values combine_half(const Values &own, uint32_t distance)
   {
      nir_def *second = is_second(distance);
      const size_t half = own.size() / 2;
      Values kept, sent;
      for (size_t i = 0; i < half; ++i) {
         kept.push_back(nir_bcsel(b, second, own[half + i], own[i]));
         sent.push_back(nir_bcsel(b, second, own[i], own[half + i]));
      }
      const Values others = others_at(distance, sent);
      for (size_t i = 0; i < half; ++i)
         kept[i] = r.combine(kept[i], others[i]);
      return kept;
   }

   Values join_halves(const Values &own, uint32_t distance)
   {
      nir_def *second = is_second(distance);
      const Values others = others_at(distance, own);
      Values values;
      for (size_t i = 0; i < own.size(); ++i)
         values.push_back(nir_bcsel(b, second, others[i], own[i]));
      for (size_t i = 0; i < own.size(); ++i)
         values.push_back(nir_bcsel(b, second, own[i], others[i]));
      return values;
   }

   /// Whether this is the second invocation of a pair.
   nir_def *is_second(uint32_t distance)
   {
      return nir_test_mask(b, nir_load_subgroup_invocation(b), distance);
   }

   unsigned values_per_word() const { return std::max(1u, 32 / r.combine.bits()); }

   /// The values of the invocation that is `distance` away. A shuffle moves a word, with as many
   /// values as it holds.
   Values others_at(uint32_t distance, const Values &values)
   {
      nir_def *other = nir_ixor(b, nir_load_subgroup_invocation(b), nir_imm_int(b, int(distance)));
      const unsigned bits = r.combine.bits(), per_word = values_per_word();
      Values others;
      for (size_t begin = 0; begin < values.size(); begin += per_word) {
         const size_t in_word = std::min<size_t>(per_word, values.size() - begin);
         if (in_word == 1) {
            others.push_back(cmat::shuffle(b, values[begin], other));
            continue;
         }
         std::array<nir_def *, 4> parts;
         for (size_t i = 0; i < per_word; ++i)
            parts[i] = i < in_word ? values[begin + i] : nir_imm_intN_t(b, 0, bits);
         nir_def *word = nir_pack_bits(b, nir_vec(b, parts.data(), per_word), 32);
         nir_def *unpacked = nir_unpack_bits(b, cmat::shuffle(b, word, other), bits);
         for (size_t i = 0; i < in_word; ++i)
            others.push_back(nir_channel(b, unpacked, i));
      }
      return others;
   }

   nir_builder *b;
   const ElementReduction &r;
   const RegisterMap from, to;
   const bool unrolled;
};

bool lower(nir_function_impl *impl, uint32_t subgroup_size, MatrixForm form)
{
   std::vector<nir_intrinsic_instr *> work;
   nir_foreach_block(block, impl) {
      nir_foreach_instr(instr, block) {
         if (instr->type == nir_instr_type_intrinsic &&
             nir_instr_as_intrinsic(instr)->intrinsic == nir_intrinsic_cmat_reduce_weft)
            work.push_back(nir_instr_as_intrinsic(instr));
      }
   }
   for (nir_intrinsic_instr *instr : work) {
      nir_builder b = nir_builder_at(nir_before_instr(&instr->instr));
      const ElementReduction reduction(&b, instr);
      if (form == MatrixForm::registers)
         InRegisters(&b, reduction, subgroup_size).lower();
      else
         ByElements(&b, reduction).lower();
      nir_instr_remove(&instr->instr);
   }
   nir_metadata_preserve(impl, work.empty() ? nir_metadata_all : nir_metadata_none);
   return !work.empty();
}

} // namespace

bool lower_cmat_reduce(nir_shader *nir, uint32_t subgroup_size, MatrixForm form)
{
   bool progress = false;
   nir_foreach_function_impl(impl, nir)
      progress |= lower(impl, subgroup_size, form);
   return progress;
}

} // namespace weft
