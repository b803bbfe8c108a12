/* SPDX-FileCopyrightText: The Weft authors
 * SPDX-License-Identifier: MIT
 */

/* The loop over components that handlers share (vtn_*.c only). */

#pragma once

#include "compiler/spirv/vtn_private.h"

/* A component of the invocation: its number, and the row and column of its element. */
struct weft_component {
   nir_def *number, *row, *col;
};

typedef void (*weft_component_body)(struct vtn_builder *b, const struct weft_component *component,
                                    void *data);

/* A loop over the components that the invocation has in the matrix. */
void weft_for_each_component(struct vtn_builder *b, const struct glsl_cmat_description *desc,
                             weft_component_body body, void *data);
