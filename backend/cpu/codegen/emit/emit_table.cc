// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Look-ups in registers, by their plans (table_plan.h).

#include "backend/cpu/codegen/translator.h"
#include "backend/cpu/codegen/vectors/lane_arithmetic.h"
#include "backend/cpu/codegen/vectors/packed_values.h"
#include "backend/cpu/host/instructions.h"

namespace weft::cpu {

using llvm::Value;

Value *emit_table(Translator &t, const nir_def &def, unsigned component)
{
   const TablePlan *plan = t.tables->of(def, component);
   if (!plan)
      return nullptr;
   llvm::IRBuilder<> &b = t.b;
   const unsigned lanes = t.options.target.vector_bits / 32;
   const auto table = [&](size_t first) {
      return llvm::ConstantDataVector::get(t.context,
                                           llvm::ArrayRef(plan->entries).slice(first, lanes));
   };
   const auto look_up = [&](Value *index) {
      return plan->entries.size() == lanes
                ? permute_register(b, table(0), index)
                : permute_two_registers(b, table(0), table(lanes), index);
   };
   Value *index =
      b.CreateZExt(t.value(*plan->index.def, plan->index.comp), t.vector_of(b.getInt32Ty()));
   if (t.W < lanes)
      index = elements_of(t, index, 0, lanes);
   Value *found =
      in_parts(t, index, lanes, [&](llvm::ArrayRef<Value *> part) { return look_up(part[0]); });
   return b.CreateTrunc(elements_of(t, found, 0, t.W), t.vector_of(t.scalar_type(def)));
}

} // namespace weft::cpu
