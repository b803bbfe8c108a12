// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/memory/lower_access_units.h"

#include "nir_passes/matrices/cmat_description.h"
#include "nir_passes/memory/unit_index.h"

#include "util/u_math.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <vector>

namespace weft {

namespace {

nir_mem_access_size_align words(unsigned count)
{
   return {uint8_t(count), 32, uint16_t(count * 4), nir_mem_access_shift_method_scalar};
}

nir_mem_access_size_align choose_unit(nir_intrinsic_op intrinsic, uint8_t bytes, uint8_t bit_size,
                                      uint32_t align_mul, uint32_t align_offset, bool,
                                      gl_access_qualifier access, const void *data)
{
   const SmallUnits &small = *static_cast<const SmallUnits *>(data);
   const auto exists = [&](unsigned unit) {
      return unit == 1 ? small.bytes : unit == 2 ? small.halves : true;
   };
   const unsigned align = std::min(nir_combined_align(align_mul, align_offset), 16u);
   const unsigned unit = std::min(align, std::bit_floor(unsigned(bytes)));
   switch (intrinsic) {
   case nir_intrinsic_load_push_constant:
      return words(1);
   case nir_intrinsic_load_ubo:
      return words(std::max(unit / 4, 1u));
   default:
      /* NIR represents atomic loads and stores as coherent loads and stores. */
      if (access & (ACCESS_COHERENT | ACCESS_VOLATILE) && align >= bit_size / 8u &&
          exists(bit_size / 8))
         return {1, bit_size, uint16_t(bit_size / 8), nir_mem_access_shift_method_scalar};
      if (unit >= 4)
         return words(unit / 4);
      if (!exists(unit))
         return words(1);
      return {1, uint8_t(unit * 8), uint16_t(unit), nir_mem_access_shift_method_scalar};
   }
}

unsigned log2_unit(const nir_intrinsic_instr *instr)
{
   const nir_def *value =
      nir_intrinsic_infos[instr->intrinsic].has_dest ? &instr->def : instr->src[0].ssa;
   return util_logbase2(value->bit_size / 8 * util_next_power_of_two(value->num_components));
}

/// Numbers the units of a tile's address: components in a storage buffer. In global memory only the
/// stride counts components.
bool number_tile_units(nir_builder *b, nir_intrinsic_instr *instr)
{
   const auto modes = nir_variable_mode(nir_intrinsic_memory_modes(instr));
   if (!(modes & (nir_var_mem_ssbo | nir_var_mem_global)))
      return false;
   const glsl_cmat_description desc = nir_intrinsic_cmat_desc(instr);
   assert(nir_intrinsic_stride_unit(instr) == 1);
   const unsigned bytes = component_bits(desc) / 8, log2 = util_logbase2(bytes);
   nir_intrinsic_set_stride_unit(instr, bytes);
   b->cursor = nir_before_instr(&instr->instr);
   nir_src_rewrite(&instr->src[2], unit_index(b, instr->src[2].ssa, log2));
   if (modes & nir_var_mem_ssbo) {
      nir_src &source = instr->src[instr->intrinsic == nir_intrinsic_tile_load_weft ? 1 : 0];
      nir_def *unit = unit_index(b, nir_channel(b, source.ssa, 2), log2);
      nir_src_rewrite(&source, nir_vector_insert_imm(b, source.ssa, unit, 2));
   }
   return true;
}

bool number_units(nir_builder *b, nir_intrinsic_instr *instr, void *)
{
   unsigned log2;
   switch (instr->intrinsic) {
   case nir_intrinsic_load_ssbo:
   case nir_intrinsic_store_ssbo:
   case nir_intrinsic_ssbo_atomic:
   case nir_intrinsic_ssbo_atomic_swap:
      log2 = log2_unit(instr);
      break;
   case nir_intrinsic_load_ubo:
   case nir_intrinsic_load_push_constant:
      log2 = 2;
      break;
   case nir_intrinsic_tile_load_weft:
   case nir_intrinsic_tile_store_weft:
      return number_tile_units(b, instr);
   default:
      return false;
   }
   b->cursor = nir_before_instr(&instr->instr);
   nir_src *offset = nir_get_io_offset_src(instr);
   nir_def *bytes = offset->ssa;
   if (nir_intrinsic_has_base(instr)) {
      bytes = nir_iadd_imm(b, bytes, nir_intrinsic_base(instr));
      nir_intrinsic_set_base(instr, 0);
   }
   nir_src_rewrite(offset, unit_index(b, bytes, log2));
   return true;
}

using Atomics = std::vector<nir_intrinsic_instr *>;

bool is_atomic(const nir_intrinsic_instr *instr)
{
   return instr->intrinsic == nir_intrinsic_ssbo_atomic ||
          instr->intrinsic == nir_intrinsic_global_atomic;
}

Atomics find_atomics(nir_shader *nir)
{
   Atomics list;
   nir_foreach_block(block, nir_shader_get_entrypoint(nir)) {
      nir_foreach_instr(instr, block) {
         if (instr->type == nir_instr_type_intrinsic && is_atomic(nir_instr_as_intrinsic(instr)))
            list.push_back(nir_instr_as_intrinsic(instr));
      }
   }
   return list;
}

/// Stores a part of a word as an exchange. NIR emits an atomic `and` for the rest and an atomic
/// `or`; another invocation could store between the two.
void exchange_part(nir_builder *b, nir_intrinsic_instr *rest, nir_intrinsic_instr *part)
{
   const bool is_global = rest->intrinsic == nir_intrinsic_global_atomic;
   nir_def *const buffer = rest->src[0].ssa, *const offset = rest->src[1].ssa;
   const unsigned operand = is_global ? 1 : 2;
   nir_def *const keep = rest->src[operand].ssa, *const data = part->src[operand].ssa;
   b->cursor = nir_before_instr(&part->instr);
   nir_variable *const word = nir_local_variable_create(b->impl, glsl_uint_type(), "word");
   nir_def *const first =
      is_global
         ? nir_load_global(b, buffer, 4, 1, 32)
         : _nir_build_load_ssbo(
              b, 1, 32, buffer, offset,
              {._ = 0, .access = nir_intrinsic_access(rest), .align_mul = 4, .align_offset = 0});
   nir_store_var(b, word, first, 1);
   nir_loop *const loop = nir_push_loop(b);
   {
      nir_def *const before = nir_load_var(b, word);
      nir_def *const after = nir_ior(b, nir_iand(b, before, keep), data);
      nir_def *const there =
         is_global ? _nir_build_global_atomic_swap(b, 32, buffer, before, after,
                                                   {._ = 0, .atomic_op = nir_atomic_op_cmpxchg})
                   : _nir_build_ssbo_atomic_swap(b, 32, buffer, offset, before, after,
                                                 {._ = 0,
                                                  .access = nir_intrinsic_access(rest),
                                                  .atomic_op = nir_atomic_op_cmpxchg});
      nir_break_if(b, nir_ieq(b, there, before));
      nir_store_var(b, word, there, 1);
   }
   nir_pop_loop(b, loop);
   nir_instr_remove(&rest->instr);
   nir_instr_remove(&part->instr);
}

/// Whether these two atomics are NIR's expansion of one store.
bool are_one_store(const nir_intrinsic_instr *rest, const nir_intrinsic_instr *part)
{
   const unsigned address_sources = rest->intrinsic == nir_intrinsic_global_atomic ? 1 : 2;
   bool same = rest->intrinsic == part->intrinsic && rest->instr.block == part->instr.block &&
               nir_intrinsic_atomic_op(rest) == nir_atomic_op_iand &&
               nir_intrinsic_atomic_op(part) == nir_atomic_op_ior;
   for (unsigned i = 0; i < address_sources; ++i)
      same &= rest->src[i].ssa == part->src[i].ssa;
   return same;
}

/// Atomics that the shader does not contain come in pairs.
Result<bool> exchange_parts(nir_shader *nir, const Atomics &of_shader)
{
   nir_builder b = nir_builder_create(nir_shader_get_entrypoint(nir));
   Atomics list = find_atomics(nir);
   std::erase_if(list, [&](nir_intrinsic_instr *instr) {
      return std::ranges::find(of_shader, instr) != of_shader.end();
   });
   for (size_t i = 0; i < list.size(); i += 2) {
      if (i + 1 == list.size() || !are_one_store(list[i], list[i + 1]))
         return Error{"a store of a part of a word is of an unknown form"};
      exchange_part(&b, list[i], list[i + 1]);
   }
   if (!list.empty())
      nir_metadata_preserve(b.impl, nir_metadata_none);
   return !list.empty();
}

} // namespace

Result<bool> lower_access_units(nir_shader *nir, SmallUnits small)
{
   const Atomics of_shader = find_atomics(nir);
   nir_lower_mem_access_bit_sizes_options options = {};
   options.callback = choose_unit;
   options.cb_data = &small;
   options.may_lower_unaligned_stores_to_atomics = true;
   options.modes = nir_variable_mode(nir_var_mem_ubo | nir_var_mem_ssbo | nir_var_mem_push_const |
                                     nir_var_mem_global);
   bool progress = nir_lower_mem_access_bit_sizes(nir, &options);
   if (const Result<bool> exchanged = exchange_parts(nir, of_shader); !exchanged)
      return exchanged;
   progress |= nir_shader_intrinsics_pass(nir, number_units, nir_metadata_control_flow, nullptr);
   return progress;
}

} // namespace weft
