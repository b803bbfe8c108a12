// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Runs passes; every list of passes uses it.

#pragma once

#include "nir_passes/pass_control.h"
#include "nir_passes/result.h"
#include "nir_passes/shader.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

namespace weft {

/// Runs passes in order: validates the shader after each pass (in debug builds of NIR) and shows it
/// to the observer. After a pass has refused the shader, later passes do nothing, so a list of
/// passes checks for an error only at its end.
class PassRunner {
public:
   PassRunner(nir_shader *nir, const PassObserver &observe, PassControl *control = nullptr)
       : nir(nir), observe(observe), control(control)
   {
   }

   /// Returns whether the pass changed the shader. The pass itself returns that, a Result of it, or
   /// nothing if it always changes the shader.
   template <typename Function, typename... Arguments>
   bool operator()(const char *name, Function function, Arguments... arguments)
   {
      using Returned = std::invoke_result_t<Function, nir_shader *, Arguments...>;
      if (refusal)
         return false;
      const PassApplication application = next(name);
      if (!may_run(application))
         return false;
      bool changed = true;
      if constexpr (std::is_void_v<Returned>) {
         function(nir, arguments...);
      } else if constexpr (std::is_same_v<Returned, Result<bool>>) {
         const Returned result = function(nir, arguments...);
         if (!result) {
            refuse(result.error());
            return false;
         }
         changed = *result;
      } else {
         changed = function(nir, arguments...);
      }
      finish(application, changed);
      return changed;
   }

   /// Runs a pass of a loop of passes. Skips it if its last run with the same arguments changed
   /// nothing and no pass has changed the shader since. The arguments' text stands for their
   /// values, which stay the same in all rounds.
   template <typename Function, typename... Arguments>
   bool repeat(const char *name, const char *text, Function function, Arguments... arguments)
   {
      const std::pair<std::string_view, std::string_view> key = {name, text};
      const auto known = idle_after.find(key);
      if (known != idle_after.end() && known->second == changes)
         return false;
      const bool changed = (*this)(name, function, arguments...);
      if (!changed)
         idle_after[key] = changes;
      return changed;
   }

   /// A check of the shader, which may return an Error. It is no pass, so the observer is not
   /// called.
   template <typename Question, typename... Arguments>
   void check(Question question, Arguments... arguments)
   {
      if (refusal)
         return;
      if (const Result<bool> answer = question(nir, arguments...); !answer)
         refuse(answer.error());
   }

   /// Shows a plan that the next passes follow. Without an observer, describe() is not called.
   template <typename Describe>
   void show_plan(const char *planner, const Describe &describe) const
   {
      if (control && control->on_plan)
         control->on_plan(planner, describe());
   }

   void refuse(const Error &error) { refusal = error; }
   bool refused() const { return refusal.has_value(); }
   const Error &error() const { return *refusal; }

   nir_shader *nir;
   uint64_t changes = 0; ///< number of passes that changed the shader

private:
   PassApplication next(const char *name);
   bool may_run(const PassApplication &) const;
   void finish(const PassApplication &, bool changed);

   const PassObserver observe;
   PassControl *control;
   std::optional<Error> refusal; ///< the first refusal
   /// For passes in loops: `changes` at the last run that changed nothing.
   std::map<std::pair<std::string_view, std::string_view>, uint64_t> idle_after;
};

#define RUN(run, pass, ...) run(#pass, pass __VA_OPT__(, ) __VA_ARGS__)
#define REPEAT(run, pass, ...) run.repeat(#pass, #__VA_ARGS__, pass __VA_OPT__(, ) __VA_ARGS__)

} // namespace weft
