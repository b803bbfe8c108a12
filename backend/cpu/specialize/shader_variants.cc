// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/cpu/specialize/shader_variants.h"

#include <algorithm>

namespace weft::cpu {

namespace {

/// The facts that decide branches as one text.
std::string facts_text(const BranchConditions &conditions, const DispatchFacts &facts)
{
   std::string text(reinterpret_cast<const char *>(facts.push_constants.data()),
                    facts.push_constants.size());
   text.append(reinterpret_cast<const char *>(&facts.base_workgroup), sizeof(facts.base_workgroup));
   text.append(reinterpret_cast<const char *>(&facts.num_workgroups), sizeof(facts.num_workgroups));
   for (const DispatchExpression &e : conditions.expressions) {
      if (e.kind != DispatchExpression::Kind::descriptor)
         continue;
      const std::optional<uint64_t> word = descriptor_word(e, facts);
      text.append(1, word ? 1 : 0);
      if (word)
         text.append(reinterpret_cast<const char *>(&*word), sizeof(*word));
   }
   return text;
}

} // namespace

BranchDecisions ShaderVariants::decisions_for(BranchDecisions dispatch) const
{
   if (programs.contains(dispatch))
      return dispatch;
   if (programs.size() >= max_programs)
      dispatch.assign(dispatch.size(), BranchDecision::undecided);
   const auto covering = std::ranges::find_if(
      programs, [&](const auto &program) { return covers(program.first, dispatch); });
   return covering != programs.end() ? covering->first : with_small_sides(conditions, dispatch);
}

ShaderVariants::Choice ShaderVariants::choose(const DispatchFacts &facts)
{
   constexpr size_t max_known = 32;
   const std::lock_guard lock(mutex);
   if (known.size() == max_known)
      known.clear();
   const FutureProgram *&program = known[facts_text(conditions, facts)];
   if (program)
      return {program, nullptr, {}};
   const BranchDecisions decisions = decisions_for(decide_branches(conditions, facts));
   if (const auto found = programs.find(decisions); found != programs.end())
      return {program = &found->second, nullptr, {}};
   const auto promise = std::make_shared<ProgramPromise>();
   program = &programs.emplace(decisions, promise->get_future().share()).first->second;
   return {program, promise, decisions};
}

ShaderVariants::Programs ShaderVariants::all() const
{
   const std::lock_guard lock(mutex);
   return programs;
}

} // namespace weft::cpu
