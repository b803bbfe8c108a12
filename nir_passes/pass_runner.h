// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// How every pass is run, wherever the order of passes is written down.

#pragma once

#include "nir_passes/pass_control.h"
#include "nir_passes/result.h"
#include "nir_passes/shader.h"

#include <type_traits>

namespace weft {

/// Runs passes in order: validates the shader after each one (in debug builds of NIR) and shows it
/// to the observer.  A pass returns whether it changed the shader, a Result of that, or nothing.
class PassRunner {
public:
   PassRunner(nir_shader *nir, const PassObserver &observe, PassControl *control = nullptr)
       : nir(nir), observe(observe), control(control)
   {
   }

   /// What the pass returns; true if it returns nothing.
   template <typename Function, typename... Arguments>
   auto operator()(const char *name, Function function, Arguments... arguments)
   {
      using Returned = std::invoke_result_t<Function, nir_shader *, Arguments...>;
      if constexpr (std::is_void_v<Returned>) {
         const PassApplication application = next(name);
         function(nir, arguments...);
         finish(application, true);
         return true;
      } else if constexpr (std::is_same_v<Returned, Result<bool>>) {
         const PassApplication application = next(name);
         Returned changed = function(nir, arguments...);
         if (changed)
            finish(application, *changed);
         return changed;
      } else {
         const PassApplication application = next(name);
         if (!may_run(application))
            return false;
         const bool changed = function(nir, arguments...);
         finish(application, changed);
         return changed;
      }
   }

   nir_shader *nir;
   bool progress = false;

private:
   PassApplication next(const char *name);
   bool may_run(const PassApplication &) const;
   void finish(const PassApplication &, bool changed);

   const PassObserver &observe;
   PassControl *control;
};

#define RUN(run, pass, ...) run(#pass, pass __VA_OPT__(, ) __VA_ARGS__)

} // namespace weft
