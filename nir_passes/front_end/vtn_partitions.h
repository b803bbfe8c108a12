/* SPDX-FileCopyrightText: The Weft authors
 * SPDX-License-Identifier: MIT
 */

/* SPV_NV_shader_subgroup_partitioned: operations among the invocations of a subgroup that have the
 * same key. A loop runs the usual operation once for each key:
 *
 *    loop {
 *       if (key == read_first_invocation(key)) {
 *          result = operation(...)
 *          break
 *       }
 *    }
 */

#pragma once

#include "compiler/spirv/vtn_private.h"

/* OpGroupNonUniformPartitionNV: the ballot of the invocations with the same value. Values are the
 * same if their bits are. */
void weft_partition(struct vtn_builder *b, const uint32_t *w, unsigned count);

/* Translates arithmetic with one of the group operations Partitioned*NV; false for other
 * instructions. The key is the ballot. */
bool weft_handle_partitioned_arithmetic(struct vtn_builder *b, uint32_t opcode, const uint32_t *w,
                                        unsigned count);
