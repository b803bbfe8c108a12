// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/pass_runner.h"

#include <algorithm>
#include <iterator>

namespace weft {

std::string name(const PassApplication &application)
{
   return std::string(application.pass) + "#" + std::to_string(application.occurrence);
}

bool is_optional(std::string_view pass)
{
   constexpr std::string_view required[] = {
      /* These also lower operations that nir_shader_compiler_options exclude. */
      "nir_opt_algebraic",
      "nir_opt_algebraic_late",
      /* Earlier passes leave constant operations, such as logarithms of bytes, that no later code
       * handles. */
      "nir_opt_constant_folding",
      /* Removes pointer casts that inlined functions leave and that SPIR-V cannot express. */
      "nir_opt_deref",
   };
   return (pass.starts_with("opt_") || pass.starts_with("nir_opt_")) &&
          std::ranges::find(required, pass) == std::end(required);
}

PassApplication PassRunner::next(const char *name)
{
   if (!control)
      return {name, 0, false, 0};
   PassApplication application = {name, ++control->occurrences[name], is_optional(name), 0};
   if (application.optional)
      application.number = ++control->optional_applications;
   return application;
}

bool PassRunner::may_run(const PassApplication &application) const
{
   return !control || !control->may_run || !application.optional || control->may_run(application);
}

void PassRunner::finish(const PassApplication &application, bool changed)
{
   nir_validate_shader(nir, application.pass);
   if (control && control->after)
      control->after(application, changed, nir);
   if (changed && observe)
      observe(application.pass, nir);
   changes += changed;
}

} // namespace weft
