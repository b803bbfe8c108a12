// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/memory/opt_constant_arrays.h"

#include "compiler/nir/nir_builder.h"
#include "compiler/nir/nir_deref.h"

#include <optional>
#include <unordered_map>
#include <vector>

namespace weft {

namespace {

/// Each copy of a copy of a table takes one round.
constexpr unsigned max_array_rounds = 16;

bool has_array(const glsl_type *type)
{
   if (glsl_type_is_array(type))
      return true;
   if (glsl_type_is_struct_or_ifc(type)) {
      for (unsigned i = 0; i < glsl_get_length(type); ++i) {
         if (has_array(glsl_get_struct_field(type, i)))
            return true;
      }
   }
   return false;
}

/// Numbers the components of a type consecutively.
class Components {
public:
   uint32_t count(const glsl_type *type)
   {
      if (glsl_type_is_struct_or_ifc(type))
         return offsets(type).back();
      if (glsl_type_is_array_or_matrix(type))
         return glsl_get_length(type) * count(glsl_get_array_element(type));
      return glsl_type_is_cmat(type) ? 0 : glsl_get_vector_elements(type);
   }

   /// The number of a member's first component in its struct.
   uint32_t offset(const glsl_type *type, unsigned member) { return offsets(type)[member]; }

   /// The number of a vector's or scalar's first component in its variable; nothing if an index is
   /// not constant or out of range.
   std::optional<uint32_t> place(nir_deref_instr *deref)
   {
      uint32_t at = 0;
      for (; deref->deref_type != nir_deref_type_var; deref = nir_deref_instr_parent(deref)) {
         const glsl_type *parent = nir_deref_instr_parent(deref)->type;
         if (deref->deref_type == nir_deref_type_struct) {
            at += offset(parent, deref->strct.index);
         } else if (deref->deref_type == nir_deref_type_array &&
                    nir_src_is_const(deref->arr.index)) {
            const uint64_t index = nir_src_as_uint(deref->arr.index);
            const unsigned length = glsl_type_is_vector(parent) ? glsl_get_vector_elements(parent)
                                                                : glsl_get_length(parent);
            if (index >= length)
               return std::nullopt;
            at += uint32_t(index) * count(deref->type);
         } else {
            return std::nullopt;
         }
      }
      return at;
   }

private:
   const std::vector<uint32_t> &offsets(const glsl_type *type)
   {
      const auto [it, inserted] = structs.try_emplace(type);
      if (inserted) {
         std::vector<uint32_t> sums = {0};
         for (unsigned i = 0; i < glsl_get_length(type); ++i)
            sums.push_back(sums.back() + count(glsl_get_struct_field(type, i)));
         structs[type] = std::move(sums);
      }
      return structs[type];
   }

   std::unordered_map<const glsl_type *, std::vector<uint32_t>> structs;
};

/// A component of a variable.
struct Component {
   uint64_t value = 0;
   bool known = false;
};

struct Contents {
   bool constant = true;
   bool in_order = true; ///< stored as this pass would store it
   std::vector<Component> components;
   std::vector<nir_intrinsic_instr *> stores, loads;

   void set_variable()
   {
      constant = false;
      components = {};
      stores = loads = {};
   }
};

class ConstantArrays {
public:
   explicit ConstantArrays(nir_shader *nir) : b(nir_builder_create(nir_shader_get_entrypoint(nir)))
   {
   }

   bool run()
   {
      bool progress = false;
      for (unsigned round = 0; round < max_array_rounds && run_round(); ++round)
         progress = true;
      nir_metadata_preserve(b.impl, progress ? nir_metadata_control_flow : nir_metadata_all);
      return progress;
   }

private:
   bool run_round()
   {
      contents.clear();
      nir_foreach_block(block, b.impl) {
         nir_foreach_instr(instr, block) {
            if (instr->type == nir_instr_type_deref)
               visit(nir_instr_as_deref(instr));
            else if (instr->type == nir_instr_type_intrinsic)
               visit(nir_instr_as_intrinsic(instr));
         }
      }
      bool progress = false;
      nir_foreach_function_temp_variable(var, b.impl) {
         const auto it = contents.find(var);
         if (it == contents.end() || !it->second.constant || it->second.stores.empty())
            continue;
         progress |= read_constants(it->second);
         if (!it->second.in_order) {
            rewrite_stores(var, it->second);
            progress = true;
         }
      }
      return progress;
   }

   void visit(nir_deref_instr *deref)
   {
      if (deref->deref_type != nir_deref_type_var || !(deref->modes & nir_var_function_temp) ||
          !has_array(deref->var->type))
         return;
      Contents &c = contents[deref->var];
      if (deref->var->constant_initializer || deref->var->pointer_initializer ||
          nir_deref_instr_has_complex_use(deref, nir_deref_instr_has_complex_use_options(0)))
         c.set_variable();
   }

   /// The contents of a deref's variable; null if the variable is not analysed.
   Contents *find(const nir_src &src)
   {
      nir_variable *variable = nir_deref_instr_get_variable(nir_src_as_deref(src));
      const auto it = variable ? contents.find(variable) : contents.end();
      return it != contents.end() && it->second.constant ? &it->second : nullptr;
   }

   void visit(nir_intrinsic_instr *instr)
   {
      switch (instr->intrinsic) {
      case nir_intrinsic_load_deref:
         if (Contents *c = find(instr->src[0])) {
            if (nir_intrinsic_access(instr) & ACCESS_VOLATILE)
               c->set_variable();
            else
               c->loads.push_back(instr);
         }
         break;
      case nir_intrinsic_store_deref:
         if (Contents *c = find(instr->src[0]); c && !record(*c, instr))
            c->set_variable();
         break;
      case nir_intrinsic_copy_deref:
         if (Contents *c = find(instr->src[0]))
            c->set_variable();
         break;
      default:
         break;
      }
   }

   /// False if the store writes anything but the known constants.
   bool record(Contents &c, nir_intrinsic_instr *store)
   {
      nir_deref_instr *deref = nir_src_as_deref(store->src[0]);
      if (!nir_src_is_const(store->src[1]) || nir_intrinsic_access(store) & ACCESS_VOLATILE)
         return false;
      const std::optional<uint32_t> place = components.place(deref);
      if (!place)
         return false;
      if (c.components.empty())
         c.components.resize(components.count(nir_deref_instr_get_variable(deref)->type));
      c.in_order &= store->instr.block == nir_start_block(b.impl) && c.loads.empty();
      const unsigned mask = nir_intrinsic_write_mask(store);
      for (unsigned i = 0; i < nir_src_num_components(store->src[1]); ++i) {
         if (!(mask & 1u << i))
            continue;
         Component &component = c.components[*place + i];
         const uint64_t value = nir_src_comp_as_uint(store->src[1], i);
         if (component.known && component.value != value)
            return false;
         c.in_order &= !component.known;
         component = {value, true};
      }
      c.stores.push_back(store);
      return true;
   }

   /// Components that are never written may have any value.
   bool read_constants(const Contents &c)
   {
      bool progress = false;
      for (nir_intrinsic_instr *load : c.loads) {
         const std::optional<uint32_t> place = components.place(nir_src_as_deref(load->src[0]));
         if (!place)
            continue;
         nir_const_value values[NIR_MAX_VEC_COMPONENTS] = {};
         for (unsigned i = 0; i < load->def.num_components; ++i)
            values[i] =
               nir_const_value_for_raw_uint(c.components[*place + i].value, load->def.bit_size);
         b.cursor = nir_before_instr(&load->instr);
         nir_def_replace(&load->def,
                         nir_build_imm(&b, load->def.num_components, load->def.bit_size, values));
         progress = true;
      }
      return progress;
   }

   void rewrite_stores(nir_variable *var, const Contents &c)
   {
      for (nir_intrinsic_instr *store : c.stores) {
         nir_deref_instr *deref = nir_src_as_deref(store->src[0]);
         nir_instr_remove(&store->instr);
         nir_deref_instr_remove_if_unused(deref);
      }
      b.cursor = nir_before_impl(b.impl);
      store(nir_build_deref_var(&b, var), c.components.data());
   }

   void store(nir_deref_instr *deref, const Component *values)
   {
      const glsl_type *type = deref->type;
      if (glsl_type_is_struct_or_ifc(type)) {
         for (unsigned i = 0; i < glsl_get_length(type); ++i)
            store(nir_build_deref_struct(&b, deref, i), values + components.offset(type, i));
      } else if (glsl_type_is_array_or_matrix(type)) {
         const uint32_t step = components.count(glsl_get_array_element(type));
         for (unsigned i = 0; i < glsl_get_length(type); ++i)
            store(nir_build_deref_array_imm(&b, deref, i), values + i * step);
      } else if (!glsl_type_is_cmat(type)) {
         store_vector(deref, values);
      }
   }

   void store_vector(nir_deref_instr *deref, const Component *values)
   {
      const unsigned count = glsl_get_vector_elements(deref->type),
                     bits = glsl_get_bit_size(deref->type);
      nir_const_value constants[NIR_MAX_VEC_COMPONENTS] = {};
      unsigned mask = 0;
      for (unsigned i = 0; i < count; ++i) {
         constants[i] = nir_const_value_for_raw_uint(values[i].value, bits);
         mask |= values[i].known ? 1u << i : 0;
      }
      if (mask)
         nir_store_deref(&b, deref, nir_build_imm(&b, count, bits, constants), mask);
   }

   nir_builder b;
   Components components;
   std::unordered_map<const nir_variable *, Contents> contents;
};

} // namespace

bool opt_constant_arrays(nir_shader *nir)
{
   return ConstantArrays(nir).run();
}

} // namespace weft
