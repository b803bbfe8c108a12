// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tools/runner/element_owner.h"

#include "nir_passes/matrices/cmat_coordinates.h"
#include "nir_passes/matrices/cmat_uses.h"
#include "nir_passes/shader.h"
#include "tools/runner/isolated.h"

#include "compiler/nir/nir_builder.h"

#include <cstring>

namespace weft::runner {

namespace {

/// The number that replaces the stored elements.
enum class Tag { zero, one, store, row, col, subgroup, workgroup_x, workgroup_y, workgroup_z };

/// Every component type can represent numbers below this.
constexpr uint32_t tag_limit = 128;

bool is_float(glsl_base_type base)
{
   return base == GLSL_TYPE_FLOAT16 || base == GLSL_TYPE_FLOAT || base == GLSL_TYPE_DOUBLE;
}

struct Instrument {
   Tag tag;
   Matrices matrices; ///< the shader is compiled for this form's map
   uint32_t W;
   nir_builder b = {};

   cmat::Map map() const
   {
      return matrices == Matrices::tiles ? cmat::Map::dense : cmat::Map::registers;
   }

   uint32_t length(const glsl_cmat_description &desc) const { return cmat::length(map(), desc, W); }

   /// The row or column of a component.
   nir_def *coordinate(const glsl_cmat_description &desc, uint32_t component, bool row)
   {
      const cmat::Coordinates at =
         cmat::coordinates(&b, map(), desc, W, nir_imm_int(&b, int(component)));
      return row ? at.row : at.col;
   }

   nir_def *number(const glsl_cmat_description &desc, uint32_t store, uint32_t component)
   {
      switch (tag) {
      case Tag::zero:
         return nir_imm_int(&b, 0);
      case Tag::one:
         return nir_imm_int(&b, 1);
      case Tag::store:
         return nir_imm_int(&b, int(store % tag_limit));
      case Tag::row:
      case Tag::col:
         return coordinate(desc, component, tag == Tag::row);
      case Tag::subgroup:
         return nir_load_subgroup_id(&b);
      case Tag::workgroup_x:
      case Tag::workgroup_y:
      case Tag::workgroup_z:
         return nir_channel(&b, nir_load_workgroup_id(&b),
                            unsigned(tag) - unsigned(Tag::workgroup_x));
      }
      return nullptr;
   }

   void replace(nir_intrinsic_instr *store, uint32_t store_number)
   {
      const glsl_type *type = nir_src_as_deref(store->src[1])->type;
      const glsl_cmat_description desc = *glsl_get_cmat_description(type);
      const auto base = glsl_base_type(desc.element_type);
      const unsigned bits = component_bits(desc);
      b = nir_builder_at(nir_before_instr(&store->instr));
      nir_variable *variable = nir_local_variable_create(b.impl, type, "owner");
      nir_def *matrix = &nir_build_deref_var(&b, variable)->def;
      nir_cmat_construct(&b, matrix, nir_imm_intN_t(&b, 0, bits));
      for (uint32_t c = 0; c < length(desc); c++) {
         nir_def *value = nir_umod_imm(&b, number(desc, store_number, c), tag_limit);
         value = is_float(base) ? nir_u2fN(&b, value, bits) : nir_u2uN(&b, value, bits);
         nir_cmat_insert(&b, matrix, value, matrix, nir_imm_int(&b, int(c)));
      }
      nir_src_rewrite(&store->src[1], matrix);
   }
};

bool has_tags(const glsl_cmat_description &desc)
{
   switch (glsl_base_type(desc.element_type)) {
   case GLSL_TYPE_FLOAT16:
   case GLSL_TYPE_FLOAT:
   case GLSL_TYPE_DOUBLE:
   case GLSL_TYPE_INT8:
   case GLSL_TYPE_UINT8:
   case GLSL_TYPE_INT16:
   case GLSL_TYPE_UINT16:
   case GLSL_TYPE_INT:
   case GLSL_TYPE_UINT:
   case GLSL_TYPE_INT64:
   case GLSL_TYPE_UINT64:
      return true;
   default:
      return false;
   }
}

/// Calls body with each matrix store outside of shared memory, numbered from 1.
template <typename Body>
void for_each_store(nir_shader *shader, const Body &body)
{
   uint32_t number = 0;
   nir_foreach_function_impl(impl, shader) {
      nir_foreach_block(block, impl) {
         nir_foreach_instr_safe(instr, block) {
            if (instr->type != nir_instr_type_intrinsic)
               continue;
            nir_intrinsic_instr *store = nir_instr_as_intrinsic(instr);
            if (store->intrinsic != nir_intrinsic_cmat_store)
               continue;
            number++;
            if (!nir_deref_mode_may_be(nir_src_as_deref(store->src[0]), nir_var_mem_shared))
               body(store, number);
         }
      }
      nir_metadata_preserve(impl, nir_metadata_none);
   }
}

/// Calls a function on the shader before its first pass.
struct BeforePasses {
   PassControl control;
   bool done = false;

   explicit BeforePasses(const std::function<void(nir_shader *)> &body)
   {
      control.after = [this, body](const PassApplication &, bool, nir_shader *shader) {
         if (!done)
            body(shader);
         done = true;
      };
   }
};

/// Decodes a number of a component's type; nothing if the bytes are no tag.
uint64_t decode(const glsl_cmat_description &desc, const std::byte *at)
{
   switch (glsl_base_type(desc.element_type)) {
   case GLSL_TYPE_FLOAT16: {
      _Float16 value;
      std::memcpy(&value, at, sizeof(value));
      return value >= 0 && value < float(tag_limit) ? uint64_t(value) : UINT64_MAX;
   }
   case GLSL_TYPE_FLOAT: {
      float value;
      std::memcpy(&value, at, sizeof(value));
      return value >= 0 && value < float(tag_limit) ? uint64_t(value) : UINT64_MAX;
   }
   case GLSL_TYPE_DOUBLE: {
      double value;
      std::memcpy(&value, at, sizeof(value));
      return value >= 0 && value < double(tag_limit) ? uint64_t(value) : UINT64_MAX;
   }
   default: {
      uint64_t value = 0;
      std::memcpy(&value, at, component_bits(desc) / 8);
      return value;
   }
   }
}

class OwnerSearch {
public:
   OwnerSearch(const Dispatch &dispatch, Path path, size_t buffer, uint64_t offset)
       : dispatch(dispatch), path(path), buffer(buffer), offset(offset)
   {
      if (path.through_spirv)
         this->path = {Matrices::tiles, false, path.instruction_set, path.subgroup_size,
                       path.robust_access};
      W = path.subgroup_size ? path.subgroup_size : cpu::default_subgroup_size;
   }

   std::optional<ElementOwner> run()
   {
      gather_stores();
      if (stores.empty() || !run_tagged(Tag::zero) || !run_tagged(Tag::one) ||
          !run_tagged(Tag::store))
         return std::nullopt;
      const auto found = std::ranges::find_if(stores, [&](const auto &store) {
         const auto &[number, desc] = store;
         return value(Tag::zero, desc) == 0u && value(Tag::one, desc) == 1u &&
                value(Tag::store, desc) == number % tag_limit;
      });
      if (found == stores.end())
         return std::nullopt;
      const auto &[number, desc] = *found;
      ElementOwner owner = {};
      owner.store = number;
      owner.matrix = describe(desc);
      for (const auto &[tag, member] : {std::pair(Tag::row, &owner.row),
                                        {Tag::col, &owner.col},
                                        {Tag::subgroup, &owner.subgroup},
                                        {Tag::workgroup_x, &owner.workgroup[0]},
                                        {Tag::workgroup_y, &owner.workgroup[1]},
                                        {Tag::workgroup_z, &owner.workgroup[2]}}) {
         const std::optional<uint64_t> read = run_tagged(tag) ? value(tag, desc) : std::nullopt;
         if (!read || *read >= tag_limit)
            return std::nullopt;
         *member = uint32_t(*read);
      }
      if (owner.row >= desc.rows || owner.col >= desc.cols)
         return std::nullopt;
      find_places(desc, owner);
      return owner;
   }

private:
   void gather_stores()
   {
      BeforePasses gather([&](nir_shader *shader) {
         for_each_store(shader, [&](nir_intrinsic_instr *store, uint32_t number) {
            const glsl_cmat_description *desc =
               glsl_get_cmat_description(nir_src_as_deref(store->src[1])->type);
            if (has_tags(*desc))
               stores.emplace_back(number, *desc);
         });
      });
      std::vector<BufferPlace> places;
      for (const Buffer &b : dispatch.buffers)
         places.push_back(b.place);
      CompileOptions options;
      options.control = &gather.control;
      if (!compile(dispatch.source, places, path, options))
         stores.clear();
   }

   bool run_tagged(Tag tag)
   {
      BeforePasses instrument([&](nir_shader *shader) {
         for_each_store(shader, [&](nir_intrinsic_instr *store, uint32_t number) {
            if (has_tags(*glsl_get_cmat_description(nir_src_as_deref(store->src[1])->type)))
               Instrument{tag, path.matrices, W}.replace(store, number);
         });
      });
      CompileOptions options;
      options.control = &instrument.control;
      const IsolatedRun run = run_isolated(dispatch, path, options);
      if (!run.buffers)
         return false;
      results[tag] = (*run.buffers)[buffer].bytes;
      return true;
   }

   std::optional<uint64_t> value(Tag tag, const glsl_cmat_description &desc)
   {
      const std::vector<std::byte> &bytes = results[tag];
      const uint64_t size = component_bits(desc) / 8, begin = offset - offset % size;
      if (begin + size > bytes.size())
         return std::nullopt;
      return decode(desc, bytes.data() + begin);
   }

   void find_places(const glsl_cmat_description &desc, ElementOwner &owner) const
   {
      const ElementMap::Owner tile =
         ElementMap{desc.rows, desc.cols, W}.owner({owner.row, owner.col});
      owner.in_tiles = {tile.invocation, tile.component};
      const RegisterMap map = cmat::register_map(desc, W);
      for (uint32_t i = W; i-- > 0;) {
         for (uint32_t c = 0; c < map.length(); c++) {
            if (map.element(i, c) == RegisterMap::Element{owner.row, owner.col})
               owner.in_registers = {i, c};
         }
      }
   }

   const Dispatch &dispatch;
   Path path;
   const size_t buffer;
   const uint64_t offset;
   uint32_t W;
   std::vector<std::pair<uint32_t, glsl_cmat_description>> stores;
   std::map<Tag, std::vector<std::byte>> results;
};

} // namespace

std::optional<ElementOwner> find_owner(const Dispatch &dispatch, const Path &path, size_t buffer,
                                       uint64_t offset)
{
   return OwnerSearch(dispatch, path, buffer, offset).run();
}

} // namespace weft::runner
