/* SPDX-FileCopyrightText: The Weft authors
 * SPDX-License-Identifier: MIT
 */

#include "nir_passes/front_end/vtn_layouts.h"

#include "compiler/spirv/vtn_private.h"

static bool is_row_blocked(uint32_t layout)
{
   return layout == SpvCooperativeMatrixLayoutRowBlockedInterleavedARM;
}
static bool is_column_blocked(uint32_t layout)
{
   return layout == SpvCooperativeMatrixLayoutColumnBlockedInterleavedARM;
}

/* The operands of a load or store from the layout on. */
struct operands {
   enum glsl_matrix_layout layout; /* the direction in which blocks are numbered */
   uint32_t stride;                /* the number of blocks that are interleaved */
   SpvMemoryAccessMask access;
   SpvScope scope;
};

/* The validator does not know dimensions that are specialization constants. */
static void check_shape(struct vtn_builder *b, const struct vtn_type *matrix,
                        enum glsl_matrix_layout layout, uint32_t stride)
{
   vtn_fail_if(stride != 1 && stride != 2 && stride != 4,
               "A blocked layout with a Stride of %u: it has to be 1, 2 or 4", stride);
   const bool rows_first = layout == GLSL_MATRIX_LAYOUT_ROW_MAJOR;
   const unsigned row_unit = rows_first ? 4 : 4 * stride;
   const unsigned col_unit =
      128 / glsl_get_bit_size(matrix->component_type->type) * (rows_first ? stride : 1);
   vtn_fail_if(matrix->desc.rows % row_unit != 0 || matrix->desc.cols % col_unit != 0,
               "A matrix of %u x %u with a blocked layout: its rows have to be a multiple of %u, "
               "its columns one of %u",
               matrix->desc.rows, matrix->desc.cols, row_unit, col_unit);
}

static struct operands read_operands(struct vtn_builder *b, const struct vtn_type *matrix,
                                     const uint32_t *w, unsigned count, unsigned at, bool is_store)
{
   vtn_fail_if(matrix->base_type != vtn_base_type_cooperative_matrix,
               "A load or store of a value that is no cooperative matrix");
   vtn_fail_if(count <= at + 1, "A blocked layout without a Stride");
   const uint32_t stride = vtn_constant_uint(b, w[at + 1]);
   struct operands operands = {
      .layout = is_row_blocked(vtn_constant_uint(b, w[at])) ? GLSL_MATRIX_LAYOUT_ROW_MAJOR
                                                            : GLSL_MATRIX_LAYOUT_COLUMN_MAJOR,
      .stride = stride,
      .scope = SpvScopeInvocation,
   };
   check_shape(b, matrix, operands.layout, stride);
   if (count > at + 2) {
      unsigned next = at + 2, alignment;
      vtn_get_mem_operands(b, w, count, &next, &operands.access, &alignment,
                           is_store ? &operands.scope : NULL, is_store ? NULL : &operands.scope);
   }
   return operands;
}

static struct vtn_pointer *get_pointer(struct vtn_builder *b, uint32_t id)
{
   return vtn_value_to_pointer(b, vtn_value(b, id, vtn_value_type_pointer));
}

static void load(struct vtn_builder *b, const uint32_t *w, unsigned count)
{
   const struct vtn_type *type = vtn_get_type(b, w[1]);
   struct vtn_pointer *source = get_pointer(b, w[3]);
   const struct operands operands = read_operands(b, type, w, count, 4, false);
   vtn_emit_make_visible_barrier(b, operands.access, operands.scope, source->mode);
   nir_deref_instr *result = vtn_create_cmat_temporary(b, type->type, "cmat_load");
   nir_def *memory = vtn_pointer_to_ssa(b, source);
   nir_cmat_load_blocked_weft(&b->nb, &result->def, memory, nir_imm_ivec2(&b->nb, 0, 0),
                              .cmat_desc = type->desc, .matrix_layout = operands.layout,
                              .interleaved_blocks = operands.stride,
                              .access = vtn_cmat_access(source, operands.access));
   vtn_push_var_ssa(b, w[2], result->var);
}

static void store(struct vtn_builder *b, const uint32_t *w, unsigned count)
{
   const struct vtn_type *type = vtn_get_value_type(b, w[2]);
   struct vtn_pointer *target = get_pointer(b, w[1]);
   const struct operands operands = read_operands(b, type, w, count, 3, true);
   nir_def *memory = vtn_pointer_to_ssa(b, target);
   nir_deref_instr *matrix = vtn_get_cmat_deref(b, w[2]);
   nir_cmat_store_blocked_weft(&b->nb, memory, &matrix->def, nir_imm_ivec2(&b->nb, 0, 0),
                               .cmat_desc = type->desc, .matrix_layout = operands.layout,
                               .interleaved_blocks = operands.stride,
                               .access = vtn_cmat_access(target, operands.access));
   vtn_emit_make_available_barrier(b, operands.access, operands.scope, target->mode);
}

bool weft_handle_blocked_layout(struct vtn_builder *b, uint32_t opcode, const uint32_t *w,
                                unsigned count)
{
   const bool is_load = opcode == SpvOpCooperativeMatrixLoadKHR;
   if (!is_load && opcode != SpvOpCooperativeMatrixStoreKHR)
      return false;
   const unsigned at = is_load ? 4 : 3;
   if (count <= at)
      return false;
   const uint32_t layout = vtn_constant_uint(b, w[at]);
   if (!is_row_blocked(layout) && !is_column_blocked(layout))
      return false;
   (is_load ? load : store)(b, w, count);
   return true;
}
