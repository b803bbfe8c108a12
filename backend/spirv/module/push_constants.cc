// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/spirv/module/push_constants.h"

#include "backend/spirv/module/translator.h"

#include "util/u_math.h"

#include <algorithm>
#include <climits>

namespace weft::spirv {

namespace {

/// The offset of a block's first member.
unsigned first_offset(const glsl_type *block)
{
   unsigned first = UINT_MAX;
   for (unsigned i = 0; glsl_type_is_struct_or_ifc(block) && i < glsl_get_length(block); ++i)
      first = std::min(first, unsigned(std::max(glsl_get_struct_field_offset(block, i), 0)));
   return first == UINT_MAX ? 0 : first;
}

} // namespace

PushConstants::PushConstants(Translator &translator) : t(translator), m(translator.m) {}

void PushConstants::emit_load(nir_intrinsic_instr *instr)
{
   const Id uint_type = m.type_uint(32);
   if (!variable) {
      unsigned begin = UINT_MAX, end = 0;
      const char *name = nullptr;
      nir_foreach_variable_with_modes(var, t.shader, nir_var_mem_push_const) {
         begin = std::min(begin, first_offset(var->type));
         end = std::max(end, glsl_get_explicit_size(var->type, false));
         name = var->name;
      }
      /* Ranges of push constants begin and end at multiples of four bytes. */
      first_word = std::min(begin, end) / 4;
      const unsigned words = DIV_ROUND_UP(end, 4) - first_word;
      const Id length = m.constant_uint(std::max(words, 1u));
      const Id array = m.distinct_type(SpvOpTypeArray, {uint_type, length});
      m.decorate(array, SpvDecorationArrayStride, {4});
      const Id block = m.distinct_type(SpvOpTypeStruct, {array});
      m.decorate(block, SpvDecorationBlock);
      m.decorate_member(block, 0, SpvDecorationOffset, {first_word * 4});
      variable = m.global_variable(m.type_pointer(SpvStorageClassPushConstant, block),
                                   SpvStorageClassPushConstant);
      m.name(variable, name);
   }
   Id word;
   if (nir_src_is_const(instr->src[0]))
      word = m.constant_uint(uint32_t(nir_src_as_uint(instr->src[0])) - first_word);
   else if (first_word)
      word = m.emit(SpvOpISub, uint_type,
                    {t.get(instr->src[0], Kind::integer), m.constant_uint(first_word)});
   else
      word = t.get(instr->src[0], Kind::integer);
   const Id pointer =
      m.emit(SpvOpAccessChain, m.type_pointer(SpvStorageClassPushConstant, uint_type),
             {variable, m.constant_uint(0), word});
   t.define(instr->def, 0, m.emit(SpvOpLoad, uint_type, {pointer}), Kind::integer);
}

} // namespace weft::spirv
