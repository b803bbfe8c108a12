// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/spirv/module/variables.h"

#include "backend/spirv/module/memory_model.h"
#include "backend/spirv/module/translator.h"

#include "compiler/nir/nir_deref.h"

#include <algorithm>

namespace weft::spirv {

Variables::Variables(Translator &translator) : t(translator), m(translator.m) {}

Id Variables::variable(nir_variable *var)
{
   Id &id = variables[var];
   if (id)
      return id;
   if (var->data.mode == nir_var_mem_shared) {
      const Id type = t.type(var->type);
      const Id pointer = m.type_pointer(SpvStorageClassWorkgroup, type);
      const bool clear = t.shader->info.zero_initialize_shared_memory;
      id = m.global_variable(pointer, SpvStorageClassWorkgroup,
                             clear ? std::optional(m.constant_null(type)) : std::nullopt);
   } else {
      if (var->data.mode != nir_var_function_temp)
         t.fail("a variable of an unknown kind of memory is not supported");
      id = m.local_variable(m.type_pointer(SpvStorageClassFunction, t.type(var->type)));
   }
   m.name(id, var->name);
   return id;
}

Pointer Variables::pointer_to(nir_deref_instr *deref)
{
   const glsl_type *pointee = deref->type;
   Words indices;
   while (deref && deref->deref_type != nir_deref_type_var) {
      switch (deref->deref_type) {
      case nir_deref_type_array:
         indices.push_back(t.get(deref->arr.index, Kind::integer));
         break;
      case nir_deref_type_struct:
         indices.push_back(m.constant_uint(deref->strct.index));
         break;
      default:
         t.fail("a pointer to a private variable under another type is not supported");
         return {0, SpvStorageClassFunction};
      }
      deref = nir_src_as_deref(deref->parent);
   }
   if (!deref) {
      t.fail("a pointer that may point to several private variables is not supported");
      return {0, SpvStorageClassFunction};
   }
   const SpvStorageClass storage = deref->var->data.mode == nir_var_mem_shared
                                      ? SpvStorageClassWorkgroup
                                      : SpvStorageClassFunction;
   const Id base = variable(deref->var);
   const unsigned access = storage == SpvStorageClassWorkgroup ? deref->var->data.access : 0;
   if (indices.empty())
      return {base, storage, access};
   std::ranges::reverse(indices);
   indices.insert(indices.begin(), base);
   return {m.emit(SpvOpAccessChain, m.type_pointer(storage, t.type(pointee)), indices), storage,
           access};
}

void Variables::emit_load(nir_intrinsic_instr *instr)
{
   nir_deref_instr *deref = nir_src_as_deref(instr->src[0]);
   const Pointer pointer = pointer_to(deref);
   Words operands = {pointer.id};
   for (uint32_t word :
        memory_operands(t, nir_intrinsic_access(instr) | pointer.access, false, pointer.storage))
      operands.push_back(word);
   t.define_vector(instr->def, m.emit(SpvOpLoad, t.type(deref->type), operands),
                   t.kind_of(deref->type));
}

void Variables::emit_store(nir_intrinsic_instr *instr)
{
   nir_deref_instr *deref = nir_src_as_deref(instr->src[0]);
   const Kind kind = t.kind_of(deref->type);
   const nir_def &value = *instr->src[1].ssa;
   const Pointer pointer = pointer_to(deref);
   const Words access =
      memory_operands(t, nir_intrinsic_access(instr) | pointer.access, true, pointer.storage);
   const auto store = [&](Id to, Id object) {
      Words operands = {to, object};
      operands.insert(operands.end(), access.begin(), access.end());
      m.emit(SpvOpStore, operands);
   };
   if (nir_intrinsic_write_mask(instr) == nir_component_mask(value.num_components))
      return store(pointer.id, t.get_vector(instr->src[1], kind));
   const Id component_pointer = m.type_pointer(pointer.storage, t.type(kind, value.bit_size));
   for (unsigned i = 0; i < value.num_components; ++i) {
      if (!(nir_intrinsic_write_mask(instr) & 1u << i))
         continue;
      const Id to = m.emit(SpvOpAccessChain, component_pointer, {pointer.id, m.constant_uint(i)});
      store(to, t.get(instr->src[1], i, kind));
   }
}

void Variables::emit_declare_register(nir_intrinsic_instr *instr)
{
   const unsigned bits = nir_intrinsic_bit_size(instr);
   const Kind kind = bits == 1 ? Kind::boolean : Kind::integer;
   if (nir_intrinsic_num_array_elems(instr))
      return t.fail("an array of registers is not supported");
   std::vector<Scalar> &variables = registers[&instr->def];
   for (unsigned i = 0; i < nir_intrinsic_num_components(instr); ++i)
      variables.push_back(
         {m.local_variable(m.type_pointer(SpvStorageClassFunction, t.type(kind, bits))), kind});
}

void Variables::emit_load_register(nir_intrinsic_instr *instr)
{
   const std::vector<Scalar> &variables = registers[instr->src[0].ssa];
   for (unsigned i = 0; i < instr->def.num_components && i < variables.size(); ++i) {
      const Scalar &v = variables[i];
      t.define(instr->def, i, m.emit(SpvOpLoad, t.type(v.kind, instr->def.bit_size), {v.id}),
               v.kind);
   }
}

void Variables::emit_store_register(nir_intrinsic_instr *instr)
{
   const std::vector<Scalar> &variables = registers[instr->src[1].ssa];
   for (unsigned i = 0; i < variables.size(); ++i) {
      if (nir_intrinsic_write_mask(instr) & 1u << i)
         m.emit(SpvOpStore, {variables[i].id, t.get(instr->src[0], i, variables[i].kind)});
   }
}

} // namespace weft::spirv
