/* SPDX-FileCopyrightText: The Weft authors
 * SPDX-License-Identifier: MIT
 */

/* What handlers of instructions on matrices share (vtn_*.c only). */

#pragma once

#include "compiler/spirv/vtn_private.h"

/* One component of the running invocation's: its number, and which element it is. */
struct weft_component {
   nir_def *number, *row, *col;
};

typedef void (*weft_component_body)(struct vtn_builder *b, const struct weft_component *component,
                                    void *data);

/* A loop over the components of a matrix, without those that lie outside of it. */
void weft_for_each_component(struct vtn_builder *b, const struct glsl_cmat_description *desc,
                             weft_component_body body, void *data);
