// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// ALU instructions: splits NIR's vectors and emits each component by the file of its group.

#include "backend/cpu/codegen/emit/emit_alu.h"

namespace weft::cpu {

using llvm::Value;

namespace {

Value *operand(Translator &t, nir_alu_instr *alu, unsigned i, unsigned component)
{
   const unsigned channel = alu->src[i].swizzle[component];
   return t.is_uniform(alu->def) ? t.uniform(alu->src[i].src, channel)
                                 : t.varying(alu->src[i].src, channel);
}

Value *emit_select(Alu &a)
{
   switch (a.op()) {
   case nir_op_mov:
      return a.src[0];
   case nir_op_bcsel:
      return a.b.CreateSelect(a.src[0], a.src[1], a.src[2]);
   default:
      return nullptr;
   }
}

Value *emit_component(Alu &a)
{
   for (auto emit :
        {emit_select, emit_byte, emit_integer, emit_float, emit_convert, emit_math, emit_dot_4x8}) {
      if (Value *v = emit(a))
         return v;
   }
   a.t.fail(std::string("the CPU back end does not support the NIR operation ") +
            nir_op_infos[a.op()].name);
   return nullptr;
}

} // namespace

void emit_alu(Translator &t, nir_alu_instr *alu)
{
   if (nir_op_is_vec(alu->op)) {
      for (unsigned c = 0; c < alu->def.num_components; c++)
         t.define(alu->def, c, operand(t, alu, c, 0));
      return;
   }
   const nir_op_info &info = nir_op_infos[alu->op];
   for (unsigned c = 0; c < alu->def.num_components; c++) {
      if (Value *constants = t.assumed_value(alu->def, c)) {
         t.define(alu->def, c, constants);
         continue;
      }
      if (Value *found = emit_table(t, alu->def, c)) {
         t.define(alu->def, c, found);
         continue;
      }
      Alu a{t, t.b, alu, {}};
      a.component = c;
      for (unsigned i = 0; i < info.num_inputs; i++)
         a.src.push_back(operand(t, alu, i, c));
      Value *v = emit_component(a);
      if (!v)
         return;
      t.define(alu->def, c, v);
   }
}

} // namespace weft::cpu
