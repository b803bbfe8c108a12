// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/cpu/codegen/access/guarded_block.h"

#include "backend/cpu/codegen/access/region.h"

#include <llvm/IR/MDBuilder.h>

namespace weft::cpu {

using llvm::Value;

namespace {

bool is_body(const nir_instr *instr)
{
   return instr->type != nir_instr_type_phi && instr->type != nir_instr_type_jump;
}

/// A value that both copies define, in a variable for each component.
struct CopiedResult {
   nir_def *def;
   llvm::SmallVector<llvm::AllocaInst *, 4> variables;
};

CopiedResult with_variables(Translator &t, nir_def *def)
{
   CopiedResult result = {def, {}};
   llvm::Type *scalar = t.scalar_type(*def),
              *type = t.is_uniform(*def) ? scalar : t.vector_of(scalar);
   for (unsigned c = 0; c < def->num_components; c++)
      result.variables.push_back(t.variable(type, "guarded"));
   return result;
}

/// Emits the block behind its guard, with vector code if the guard holds.
void emit_body(Translator &t, nir_block *block, const GuardPlan &guard, bool guard_holds)
{
   BlockEmission body(&guard, guard_holds);
   const auto scope = t.enter(body);
   nir_foreach_instr(instr, block) {
      if (is_body(instr) && !guard.once.contains(instr))
         t.emit_instruction(instr);
   }
}

/// Emits a copy of the block and branches to `join`.
void emit_copy(Translator &t, nir_block *block, const GuardPlan &guard, bool guard_holds,
               llvm::ArrayRef<CopiedResult> results, llvm::BasicBlock *join)
{
   emit_body(t, block, guard, guard_holds);
   for (const CopiedResult &result : results) {
      for (unsigned c = 0; c < result.variables.size(); c++)
         t.b.CreateStore(t.value(*result.def, c), result.variables[c]);
   }
   t.b.CreateBr(join);
}

} // namespace

void emit_guarded(Translator &t, nir_block *block, const GuardPlan &guard)
{
   llvm::IRBuilder<> &b = t.b;
   nir_foreach_instr(instr, block) {
      if (guard.before.contains(instr))
         t.emit_instruction(instr);
   }
   BranchCondition condition(t);
   for (nir_intrinsic_instr *load : guard.checked)
      require_conditions(t, load, condition);
   Value *holds = condition.all();
   if (!holds)
      return emit_body(t, block, guard, true);
   llvm::MDNode *most_often = llvm::MDBuilder(t.context).createBranchWeights(1000, 1);
   llvm::BasicBlock *fast = t.block("regular");
   if (guard.leaves) {
      b.CreateCondBr(holds, fast, t.leave_block(), most_often);
      b.SetInsertPoint(fast);
      return emit_body(t, block, guard, true);
   }
   llvm::SmallVector<CopiedResult, 16> results;
   for (nir_def *def : guard.results)
      results.push_back(with_variables(t, def));

   llvm::BasicBlock *slow = t.block("lanewise"), *join = t.block("joined");
   b.CreateCondBr(holds, fast, slow, most_often);
   b.SetInsertPoint(fast);
   emit_copy(t, block, guard, true, results, join);
   const AccessCounts counted = t.accesses;
   b.SetInsertPoint(slow);
   emit_copy(t, block, guard, false, results, join);
   t.accesses = counted;
   b.SetInsertPoint(join);
   for (const CopiedResult &result : results) {
      for (unsigned c = 0; c < result.variables.size(); c++) {
         llvm::AllocaInst *variable = result.variables[c];
         t.define(*result.def, c, b.CreateLoad(variable->getAllocatedType(), variable));
      }
   }
}

} // namespace weft::cpu
