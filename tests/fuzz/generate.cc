// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tests/fuzz/generate.h"

#include "tests/fuzz/generator.h"
#include "tests/fuzz/simplify.h"

#include <algorithm>
#include <array>
#include <cassert>

namespace weft::fuzz {

using e2e::MatrixType;

Generator::Generator(uint64_t seed, const std::vector<MatrixOperation> &operations,
                     bool with_texels)
    : random(seed), advertised(operations)
{
   p.seed = seed;
   texels = with_texels && one_in(3);
}

Program Generator::run()
{
   choose_sizes();
   if (!advertised.empty() && (scope == Level::workgroup || percent(80)))
      choose_operations();
   // The stand-ins of 64-bit integers and of f64 in GLSL would also change the images.
   texels &= !doubles && std::ranges::none_of(operations, has_long_integers);
   p.without_use &= !types.empty();
   p.maintenance1 &= !types.empty();
   using enum Type;
   scalar_types = {u32, u32, u32, s32, s32, boolean, boolean, f16, s8, u8, s16, u16, s64, u64, f64};
   scalar_types.insert(scalar_types.end(), 2, doubles ? f64 : f32);
   for (const MatrixType &t : types)
      scalar_types.insert(scalar_types.end(), 2, type_of(t.type));
   std::erase_if(scalar_types, [&](Type t) { return !expressible(t); });
   make_inputs();

   p.functions.resize(types.empty() || percent(60) ? 1 : 1 + draw(3));
   make_functions();
   f = &p.functions[0];
   scalars.clear();
   for (uint32_t i = 0; i < 1 + scale; i++)
      add_scalar(u32, Level(draw(3)));
   for (uint32_t i = 0; i < 2 + scale / 2; i++)
      add_scalar(scalar_type(), Level(draw(3)));
   if (percent(30))
      add_scalar(scalar_type(), Level::invocation, 4 << draw(2));
   for (const MatrixType &t : types)
      add_matrix(t, one_in(5) ? 2 + draw(3) : 0);
   if (!types.empty() && one_in(4))
      add_structs();

   Block &body = f->body;
   const Flow flow;
   for (size_t v = 0; v < f->variables.size(); v++) {
      if (f->variables[v].matrix && percent(80))
         load_matrix(body, place_of(uint32_t(v), flow), *f->variables[v].matrix, flow);
   }
   budget = main_budget();
   // Variables begin with a value that the compiler does not know.
   for (uint32_t v = 0; v < f->variables.size(); v++) {
      const Variable variable_copy = f->variables[v];
      if (variable_copy.matrix || variable_copy.array || !percent(80))
         continue;
      Level level = Level::invocation;
      for (const Scalar &s : scalars) {
         if (s.variable == v)
            level = s.level;
      }
      Wanted w = wanted(level, flow);
      body.push_back({Kind::assign, 0, 0, {variable(v), given(variable_copy.type, w)}, {}, {}, {}});
   }
   block(body, 2 + scale + draw((types.empty() ? 4 : 3) * (scale + 1)), flow);
   // Random statements alone would have too few structs, functions, atomics and multiplications.
   if (one_in(2))
      copy_struct(body, flow);
   if (one_in(2))
      call(body, flow);
   if (one_in(2))
      partial_atomics(body, flow);
   if (!types.empty() && one_in(2))
      muladd(body, flow);
   if (!types.empty() && one_in(4))
      keep(body, flow);
   if (!types.empty() && !p.without_use && one_in(6))
      load_tensor(body, flow);
   write_results(body);
   finish_memories();
   return p;
}

/// A GLSL type for the elements of a memory.
std::string Generator::choose_unit(Type type, uint32_t &bytes)
{
   struct Unit {
      const char *glsl;
      uint32_t bytes;
      bool single; ///< a float of 32 bits
      Type scalar = Type::u32;
      bool is_for_all = true; ///< GLSL takes matrices without a use through it, too
   };
   static constexpr Unit units[] = {{"int8_t", 1, false, Type::s8},
                                    {"uint8_t", 1, false, Type::u8},
                                    {"int16_t", 2, false, Type::s16},
                                    {"uint16_t", 2, false, Type::u16},
                                    {"float16_t", 2, false, Type::u32, false},
                                    {"int", 4, false},
                                    {"uint", 4, false},
                                    {"float", 4, true, Type::u32, false},
                                    {"int64_t", 8, false},
                                    {"uint64_t", 8, false},
                                    {"u8vec2", 2, false, Type::u8, false},
                                    {"u8vec4", 4, false, Type::u8, false},
                                    {"f16vec2", 4, false, Type::u32, false},
                                    {"f16vec4", 8, false, Type::u32, false},
                                    {"uvec2", 8, false},
                                    {"uvec4", 16, false},
                                    {"vec2", 8, true, Type::u32, false},
                                    {"vec4", 16, true, Type::u32, false},
                                    {"u64vec2", 16, false, Type::u32, false}};
   while (true) {
      const Unit &u = units[draw(uint32_t(std::size(units)))];
      if (u.bytes < bits(type) / 8 || (u.single && doubles) || !expressible(u.scalar))
         continue;
      const bool has_sign = u.glsl[0] == 'i';
      if (p.without_use && (!u.is_for_all || (has_sign && is_float(type))))
         continue;
      bytes = u.bytes;
      return u.glsl;
   }
}

/// A storage of scalars that are only read, or only written, or only changed by atomics.
Storage Generator::scalar_storage(Type type, Storage plain, bool input)
{
   if (!texels || !has_texels(type) || !one_in(2))
      return plain;
   const uint32_t form = draw(4);
   if (form < 2 && has_texel_buffers(type))
      return input && form ? Storage::fetched_texels : Storage::texels;
   // Formats of 64 bits are for storage images alone.
   return input && form % 2 && bits(type) < 64 ? Storage::sampled_image : Storage::image;
}

uint32_t Generator::add_memory(Storage storage, Type type, uint32_t elements, Contents contents)
{
   Memory m;
   m.storage = storage;
   m.type = type;
   m.elements = elements;
   m.contents = contents;
   m.seed = random();
   m.unit = glsl_name(type);
   m.unit_bytes = bits(type) / 8;
   if (is_image(storage)) {
      m.shape = Shape(draw(4));
      m.row = 8 << draw(4);
   }
   p.memories.push_back(m);
   return uint32_t(p.memories.size() - 1);
}

void Generator::make_inputs()
{
   const bool saturates =
      std::ranges::any_of(operations, [](const MatrixOperation &op) { return op.saturating; });
   const auto contents = [&](Type type) {
      if (is_float(type))
         return pick({Contents::tiny, Contents::tiny, Contents::tiny, Contents::small,
                      Contents::small, Contents::fine, Contents::any});
      if (saturates)
         return bits(type) >= 32 ? pick({Contents::bounds, Contents::bounds, Contents::any})
                                 : pick({Contents::small, Contents::any, Contents::any});
      return pick({Contents::tiny, Contents::small, Contents::bounds, Contents::any});
   };
   for (const MatrixType &t : types) {
      const Type type = type_of(t.type);
      if (inputs.count(type) && !one_in(4))
         continue;
      const uint32_t elements = (4 + draw(2)) * 512;
      const uint32_t m = add_memory(one_in(5) ? Storage::reference : Storage::buffer, type,
                                    elements, contents(type));
      if (one_in(3))
         p.memories[m].unit = choose_unit(type, p.memories[m].unit_bytes);
      inputs[type].push_back(m);
   }
   const auto buffer = [&](Type type) {
      return scalar_storage(type, one_in(3) ? Storage::uniform : Storage::buffer, true);
   };
   inputs[Type::u32].push_back(add_memory(buffer(Type::u32), Type::u32, 256, Contents::any));
   const Type real = doubles ? Type::f64 : Type::f32;
   inputs[real].push_back(add_memory(buffer(real), real, 128, Contents::small));
   // This memory is too small for matrices, so its type differs from theirs.
   const Type type = pick({Type::s8, Type::u16, Type::s32, Type::u64, Type::f16});
   if (one_in(2) && !inputs.count(type) && expressible(type)) {
      inputs[type].push_back(
         add_memory(buffer(type), type, 64, is_float(type) ? Contents::fine : Contents::any));
   }
}

uint32_t Generator::matrix_input(Type type)
{
   std::vector<uint32_t> list = inputs.at(type);
   std::erase_if(list, [&](uint32_t m) { return !holds_matrices(p.memories[m].storage); });
   return pick(list);
}

int64_t Generator::main_budget() const
{
   return scale == 0 ? 100 : scale == 1 ? 250 : 600;
}

void Generator::spend(uint32_t operations)
{
   // Subgroups of 64 take several vectors.
   budget -= operations / 8 * (p.subgroup_size == 64 ? 2 : 1);
}

uint32_t Generator::region(Type type) const
{
   uint32_t most = 64;
   for (const MatrixType &t : types) {
      if (type_of(t.type) == type)
         most = std::max(most, t.rows * t.cols);
   }
   return most * 2;
}

uint32_t Generator::output_memory(Type type, bool scalar)
{
   const auto [it, inserted] = outputs.try_emplace({type, scalar}, Output{0, 0});
   if (inserted) {
      const Storage plain = one_in(6) ? Storage::reference : Storage::buffer;
      it->second.memory =
         add_memory(scalar ? scalar_storage(type, plain, false) : plain, type, 0, Contents::none);
      Memory &m = p.memories[it->second.memory];
      if (!scalar && one_in(4))
         m.unit = choose_unit(type, m.unit_bytes);
   }
   return it->second.memory;
}

uint32_t Generator::shared_memory(Type type, bool scalar, bool own_regions)
{
   const uint32_t use = scalar ? 0 : own_regions ? 1 : 2;
   const auto [it, inserted] = shared.try_emplace({type, use}, 0);
   if (inserted) {
      it->second = add_memory(Storage::shared, type,
                              scalar ? p.invocations()
                                     : (p.workgroup_matrices ? 1 : p.subgroups) * region(type),
                              Contents::none);
      Memory &m = p.memories[it->second];
      if (!scalar && one_in(4))
         m.unit = choose_unit(type, m.unit_bytes);
   }
   return it->second;
}

void Generator::finish_memories()
{
   for (const auto &[key, output] : outputs) {
      const auto [type, scalar] = key;
      const uint32_t each = scalar ? p.invocations() : p.subgroups * region(type);
      p.memories[output.memory].elements = std::max(output.regions, 1u) * p.workgroups * each;
   }
}

void Generator::make_functions()
{
   for (size_t i = p.functions.size(); i-- > 1;) {
      f = &p.functions[i];
      scalars.clear();
      make_function();
   }
}

/// Makes a function whose parameters are the operands of a multiplication and a number. The result
/// has the accumulator's type.
void Generator::make_function()
{
   const MatrixOperation op = pick(operations);
   Flow flow;
   flow.level = scope;
   flow.in_function = true;
   flow.depth = 1;
   const auto parameter = [&](uint32_t v, bool in, bool out) {
      f->parameters.push_back({v, in, out});
   };
   parameter(add_matrix(a_type(op)), true, one_in(6));
   parameter(add_matrix(b_type(op)), true, false);
   const uint32_t c = add_matrix(c_type(op));
   const bool returns = one_in(2);
   parameter(c, returns || !one_in(5), !returns);
   parameter(add_scalar(pick({Type::u32, Type::s32, Type::boolean}), scope), true, false);
   if (returns)
      f->result = one_in(2) ? c : add_matrix(c_type(op));
   // A local array, so that functions other than main have arrays.
   if (one_in(4))
      add_matrix(c_type(op), 2);
   add_scalar(Type::u32, scope);
   muladd(f->body, flow);
   block(f->body, 1 + draw(3), flow);
   if (f->result && *f->result != c)
      f->body.push_back({Kind::matrix_copy, 0, 0, {}, {{*f->result, {}}, {c, {}}}, {}, {}});
}

void Generator::write_results(Block &body)
{
   const Flow flow;
   const size_t count = f->variables.size();
   // Sometimes subgroups end before the stores. No barrier follows that would wait for them.
   if (one_in(6)) {
      Stmt s{Kind::branch, 0, 0, {truth(wanted(scope, flow))}, {}, {}, {}};
      s.body.push_back({Kind::finish, 0, 0, {}, {}, {}, {}});
      body.push_back(std::move(s));
   }
   for (uint32_t v = 0; v < count; v++) {
      const Variable variable_copy = f->variables[v];
      if (variable_copy.matrix) {
         if (percent(variable_copy.unset ? 40 : 85))
            store_matrix(body, place_of(v, flow), *variable_copy.matrix, flow);
         continue;
      }
      Expr value = variable(v);
      if (variable_copy.array)
         value.args.push_back(below(variable_copy.array, {.depth = 1}));
      if (percent(80))
         store_scalar(body, value, flow);
   }
}

uint32_t Generator::add_scalar(Type type, Level level, uint32_t array)
{
   Variable v;
   v.type = type;
   v.array = array;
   f->variables.push_back(v);
   const auto number = uint32_t(f->variables.size() - 1);
   scalars.push_back({number, level, false});
   return number;
}

uint32_t Generator::add_matrix(const MatrixType &type, uint32_t array)
{
   Variable v;
   v.type = type_of(type.type);
   v.matrix = type;
   v.array = array;
   spend(array * type.rows * type.cols);
   v.global = f == &p.functions[0] && one_in(10);
   f->variables.push_back(v);
   return uint32_t(f->variables.size() - 1);
}

/// Two structs with the same members, so that statements can copy one to the other.
void Generator::add_structs()
{
   std::vector<MatrixType> members;
   for (uint32_t i = 0; i < 1 + draw(3); i++)
      members.push_back(pick(types));
   const uint32_t array = one_in(3) ? 2 : 0;
   for (uint32_t s = 1; s <= 2; s++) {
      for (const MatrixType &t : members) {
         const uint32_t v = add_matrix(t, array);
         f->variables[v].global = false;
         f->variables[v].structure = s;
      }
      const uint32_t number = add_scalar(Type::u32, scope);
      f->variables[number].structure = s;
   }
   f->structs = 2;
}

Type Generator::scalar_type()
{
   return pick(scalar_types);
}

std::optional<MatrixType> Generator::arithmetic_type()
{
   std::vector<MatrixType> list = types;
   std::erase_if(list, [](const MatrixType &t) { return e2e::is_small_float(t.type); });
   return list.empty() ? std::nullopt : std::optional(pick(list));
}

std::optional<uint32_t> Generator::find_scalar(Type type, Level at_most, bool array)
{
   std::vector<uint32_t> found;
   for (const Scalar &s : scalars) {
      const Variable &v = f->variables[s.variable];
      if (v.type == type && s.level <= at_most && (v.array != 0) == array)
         found.push_back(s.variable);
   }
   return found.empty() ? std::nullopt : std::optional(pick(found));
}

/// A variable that a statement in this flow may assign to.
std::optional<uint32_t> Generator::find_target(Level flow, bool array)
{
   std::vector<uint32_t> found;
   for (const Scalar &s : scalars) {
      if (!s.counter && s.level >= flow && (f->variables[s.variable].array != 0) == array)
         found.push_back(s.variable);
   }
   return found.empty() ? std::nullopt : std::optional(pick(found));
}

Place Generator::place_of(uint32_t variable, const Flow &flow)
{
   const uint32_t array = f->variables[variable].array;
   if (!array)
      return {variable, {}};
   if (one_in(2))
      return {variable, {literal(Type::u32, draw(array))}};
   (void)flow;
   return {variable, {below(array, {.level = scope, .depth = 1, .subgroup_operations = false})}};
}

Place Generator::matrix_place(const MatrixType &type, const Flow &flow)
{
   std::vector<uint32_t> found;
   for (uint32_t v = 0; v < f->variables.size(); v++) {
      if (f->variables[v].matrix == type && !f->variables[v].unset)
         found.push_back(v);
   }
   if (found.empty() || (found.size() < 3 && one_in(6)))
      found = {add_matrix(type)};
   return place_of(pick(found), flow);
}

/// Includes variables that are written only once, at any place: repair() removes uses before the
/// write.
Place Generator::matrix_source(const MatrixType &type, const Flow &flow)
{
   std::vector<uint32_t> kept;
   for (uint32_t v = 0; v < f->variables.size(); v++) {
      if (f->variables[v].matrix == type && f->variables[v].unset)
         kept.push_back(v);
   }
   return kept.empty() || !one_in(4) ? matrix_place(type, flow) : place_of(pick(kept), flow);
}

/// A new matrix variable, which only the caller writes.
Place Generator::unset_matrix(const MatrixType &type)
{
   const uint32_t v = add_matrix(type);
   f->variables[v].unset = true;
   f->variables[v].global = false;
   return {v, {}};
}

GeneratedProgram generate(uint64_t seed, const std::vector<MatrixOperation> &operations,
                          bool with_texels)
{
   constexpr int max_repairs = 300;
   for (uint64_t attempt = 0;; attempt++) {
      // Few programs need a second attempt.
      Program program =
         Generator(seed + attempt * 0x9e3779b97f4a7c15, operations, with_texels).run();
      program.seed = seed;
      fold_literals(program);
      for (int i = 0; i < max_repairs; i++) {
         std::variant<Expected, Invalid> result = interpret(program);
         if (Expected *expected = std::get_if<Expected>(&result))
            return {std::move(program), std::move(*expected)};
         const Invalid &invalid = std::get<Invalid>(result);
         if (!invalid.stmt)
            break;
         repair(program, invalid, uint32_t(i));
      }
   }
}

} // namespace weft::fuzz
