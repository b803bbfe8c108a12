// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The programs of one shader, by the decisions that they are compiled for. Compiles nothing: the
/// caller fulfils the promise of a new program.

#pragma once

#include "backend/cpu/specialize/branch_decisions.h"

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>

namespace weft::cpu {

using ProgramPromise = std::promise<ProgramResult>;

inline FutureProgram ready(ProgramResult program)
{
   ProgramPromise promise;
   promise.set_value(std::move(program));
   return FutureProgram(promise.get_future().share());
}

/// If a shader has this number of programs, one more, with all branches, serves all other
/// dispatches.
constexpr size_t max_programs = 8;

/// Thread-safe.
class ShaderVariants {
public:
   using Programs = std::map<BranchDecisions, FutureProgram>;

   /// The conditions must outlive this.
   explicit ShaderVariants(const BranchConditions &conditions, Programs programs = {})
       : conditions(conditions), programs(std::move(programs))
   {
   }

   struct Choice {
      const FutureProgram *program; ///< lives as long as the ShaderVariants
      /// If the program is new, its decisions and its promise, else null.
      std::shared_ptr<ProgramPromise> promise;
      BranchDecisions decisions;
   };
   /// The program for a dispatch.
   Choice choose(const DispatchFacts &);

   Programs all() const;

private:
   /// The decisions of the program, there or new, for a dispatch with these decisions.
   BranchDecisions decisions_for(BranchDecisions) const;

   const BranchConditions &conditions;
   mutable std::mutex mutex; ///< guards the members below
   Programs programs;
   /// The programs of earlier dispatches, by facts_text(): applications repeat their dispatches.
   std::unordered_map<std::string, const FutureProgram *> known;
};

} // namespace weft::cpu
