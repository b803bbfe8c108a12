/* SPDX-FileCopyrightText: The Weft authors
 * SPDX-License-Identifier: MIT
 */

/* Functions that intrinsics on matrices call (vtn_*.c only; cmat_callee.h). */

#pragma once

#include "compiler/spirv/vtn_private.h"

/* The place of a function in the list of functions, which is its name in an intrinsic. Also has the
 * function translated. */
static inline unsigned weft_callee(struct vtn_builder *b, struct vtn_function *function)
{
   function->referenced = true;
   unsigned number = 0;
   nir_foreach_function(other, b->shader)
   {
      if (other == function->nir_func)
         return number;
      number++;
   }
   vtn_fail("A function that the module does not have");
}
