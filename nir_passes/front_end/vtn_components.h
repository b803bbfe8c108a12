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

/* Neighbours in a row, or in a column where the layout is column-major, that are written at once. */
struct weft_runs {
   unsigned length;
   enum glsl_matrix_layout layout;
};

typedef void (*weft_component_body)(struct vtn_builder *b, const struct weft_component *component,
                                    void *data);

/* A loop over the components of a matrix, without those that lie outside of it. */
void weft_for_each_component(struct vtn_builder *b, const struct glsl_cmat_description *desc,
                             weft_component_body body, void *data);
/* The same over runs; each is its number and its first element. */
void weft_for_each_run(struct vtn_builder *b, const struct glsl_cmat_description *desc,
                       const struct weft_runs *runs, weft_component_body body, void *data);
/* How many the running invocation has: 0 if its components are not whole runs. */
nir_def *weft_count_runs(nir_builder *nb, const struct glsl_cmat_description *desc,
                         const struct weft_runs *runs);
