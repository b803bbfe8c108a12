// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/matrices/shapes/plan_cmat_form.h"

#include <algorithm>

namespace weft {

namespace {

/// The layout of a driver's matrices is unspecified, and all of them have a use.
bool driver_may_have(const CmatUses &uses)
{
   return !uses.single_elements &&
          std::ranges::none_of(uses.matrices, [](const glsl_cmat_description &desc) {
             return desc.use == GLSL_CMAT_USE_NONE;
          });
}

} // namespace

std::string describe(const FormPlan &plan)
{
   constexpr const char *names[] = {"registers", "private tiles", "driver's tiles"};
   const std::string name = names[size_t(plan.form)];
   return plan.split ? name + ", cut to " + describe(*plan.split) : name;
}

Result<FormPlan> plan_cmat_form(const CmatUses &uses, const Target &target)
{
   const FormPlan registers = {MatrixForm::registers, {}};
   if (uses.matrices.empty() || target.form == MatrixForm::registers ||
       (target.form == MatrixForm::driver_tiles && !driver_may_have(uses)))
      return registers;
   const NativeTiles tiles = {target.native, target.form};
   if (are_native(uses, tiles))
      return FormPlan{target.form, {}};
   if (const std::optional<NativeShape> shape = choose_native_shape(uses, tiles))
      return FormPlan{target.form, shape};
   if (tiles.are_private())
      return Error{"the shader's cooperative matrices cannot be built from the target's tiles"};
   return registers;
}

} // namespace weft
