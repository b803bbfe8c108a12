// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tests/modules/composites.h"

#include "tests/modules/shape.h"
#include "tests/oracle/component.h"

#include <algorithm>
#include <optional>

namespace weft::modules {

namespace {

/// Two values of a shape, v and w, and the assembly around them.
struct Operands {
   Assembly &a;
   const Shape &shape;
   std::string v, w;

   std::string type() const { return a.type(shape); }
   std::string condition(uint32_t flag) const
   {
      const std::string word =
         a.emit("OpLoad %uint " + a.emit("OpAccessChain %ptr_uint %flags %u0 " + a.uint(flag)));
      return a.emit("OpINotEqual %bool " + word + " %u0");
   }
   std::vector<Leaf> matrices() const
   {
      std::vector<Leaf> list = leaves(shape);
      std::erase_if(list, [](const Leaf &leaf) { return leaf.form != Shape::Form::matrix; });
      return list;
   }
};

/// The value of an operation, and the source of its leaves: "v", "w", "v+w" or a number.
struct Outcome {
   std::string value;
   std::vector<std::string> from; ///< one for all leaves, or one for each
   bool has_components = false;   ///< the buffers `got` and `want` are written
};

std::vector<std::string> alternating(const Shape &shape, const char *even, const char *odd)
{
   std::vector<std::string> from;
   for (size_t i = 0; i < leaves(shape).size(); i++)
      from.push_back(i % 2 == 0 ? even : odd);
   return from;
}

/* ---- making and copying ---- */

std::optional<Outcome> construct(const Operands &o)
{
   return Outcome{o.v, {"v"}};
}

std::optional<Outcome> copy_object(const Operands &o)
{
   return Outcome{o.a.emit("OpCopyObject " + o.type() + " " + o.v), {"v"}};
}

/// Copies to another type and back. Between the two copies, parts are extracted and inserted.
std::optional<Outcome> copy_logical(const Operands &o)
{
   if (!o.shape.is_composite())
      return std::nullopt;
   const std::string twin = o.a.type(o.shape, true);
   const auto to_twin = [&](const std::string &value) {
      return o.a.emit("OpCopyLogical " + twin + " " + value);
   };
   const std::string part = o.a.emit("OpCompositeExtract " + o.a.type(o.shape.parts[0], true) +
                                     " " + to_twin(o.w) + " 0");
   const std::string mixed =
      o.a.emit("OpCompositeInsert " + twin + " " + part + " " + to_twin(o.v) + " 0");
   std::vector<std::string> from;
   for (const Leaf &leaf : leaves(o.shape))
      from.push_back(leaf.path[0] == 0 ? "w" : "v");
   return Outcome{o.a.emit("OpCopyLogical " + o.type() + " " + mixed), from};
}

std::optional<Outcome> null(const Operands &o)
{
   return Outcome{o.a.null(o.shape), {"0"}};
}

std::optional<Outcome> constant(const Operands &o)
{
   return Outcome{o.a.constant(o.shape), {"3"}};
}

std::optional<Outcome> undefined(const Operands &o)
{
   std::string value = o.a.emit("OpUndef " + o.type());
   for (const Leaf &leaf : leaves(o.shape))
      value = o.a.insert(o.shape, value, o.a.extract(o.shape, o.v, leaf.path), leaf.path);
   return Outcome{value, {"v"}};
}

/* ---- parts ---- */

/// Step by step, from the outside to the leaves.
std::optional<Outcome> extract_in_steps(const Operands &o)
{
   const auto rebuild = [&](const auto &self, const Shape &s,
                            const std::string &value) -> std::string {
      if (!s.is_composite())
         return value;
      std::string parts;
      for (uint32_t i = 0; i < s.parts.size(); i++)
         parts += " " + self(self, s.parts[i], o.a.extract(s, value, {i}));
      return o.a.emit("OpCompositeConstruct " + o.a.type(s) + parts);
   };
   return Outcome{rebuild(rebuild, o.shape, o.v), {"v"}};
}

std::optional<Outcome> insert_leaves(const Operands &o)
{
   std::string value = o.v;
   const std::vector<Leaf> list = leaves(o.shape);
   for (size_t i = 0; i < list.size(); i += 2)
      value = o.a.insert(o.shape, value, o.a.extract(o.shape, o.w, list[i].path), list[i].path);
   return Outcome{value, alternating(o.shape, "w", "v")};
}

std::optional<Outcome> insert_part(const Operands &o)
{
   if (!o.shape.is_composite())
      return std::nullopt;
   std::vector<std::string> from;
   for (const Leaf &leaf : leaves(o.shape))
      from.push_back(leaf.path[0] == 0 ? "w" : "v");
   return Outcome{o.a.insert(o.shape, o.v, o.a.extract(o.shape, o.w, {0}), {0}), from};
}

/// Inserts a component of w, stores it, and restores v's component.
std::optional<Outcome> insert_component(const Operands &o)
{
   std::string value = o.v;
   for (const Leaf &leaf : o.matrices()) {
      std::vector<uint32_t> path = leaf.path;
      path.push_back(0);
      const auto component = [&](const std::string &of) {
         std::string text = "OpCompositeExtract %component " + of;
         for (const uint32_t index : path)
            text += " " + std::to_string(index);
         return o.a.emit(text);
      };
      const std::string of_v = component(value), of_w = component(o.w);
      const std::string changed = o.a.insert(o.shape, value, of_w, path);
      o.a.store_component(of_w, "want", leaf.number);
      o.a.store_component(component(changed), "got", leaf.number);
      value = o.a.insert(o.shape, changed, of_v, path);
   }
   return Outcome{value, {"v"}, true};
}

std::optional<Outcome> add(const Operands &o)
{
   if (!o.a.kind.add)
      return std::nullopt;
   std::string value = o.v;
   for (const Leaf &leaf : o.matrices()) {
      const std::string sum =
         o.a.emit(std::string(o.a.kind.add) + " %Matrix " + o.a.extract(o.shape, value, leaf.path) +
                  " " + o.a.extract(o.shape, o.w, leaf.path));
      value = o.a.insert(o.shape, value, sum, leaf.path);
   }
   std::vector<std::string> from;
   for (const Leaf &leaf : leaves(o.shape))
      from.push_back(leaf.form == Shape::Form::matrix ? "v+w" : "v");
   return Outcome{value, from};
}

/* ---- memory ---- */

std::optional<Outcome> through_variable(const Operands &o)
{
   const std::string variable = o.a.variable(o.shape);
   o.a.act("OpStore " + variable + " " + o.v);
   return Outcome{o.a.emit("OpLoad " + o.type() + " " + variable), {"v"}};
}

std::optional<Outcome> through_private(const Operands &o)
{
   const std::string variable =
      o.a.declare("OpVariable " + o.a.pointer(o.shape, "Private") + " Private");
   o.a.globals += " " + variable;
   o.a.act("OpStore " + variable + " " + o.v);
   return Outcome{o.a.emit("OpLoad " + o.type() + " " + variable), {"v"}};
}

std::optional<Outcome> copy_memory(const Operands &o)
{
   const std::string from = o.a.variable(o.shape), to = o.a.variable(o.shape);
   o.a.act("OpStore " + from + " " + o.v);
   o.a.act("OpCopyMemory " + to + " " + from);
   o.a.act("OpStore " + from + " " + o.w);
   return Outcome{o.a.emit("OpLoad " + o.type() + " " + to), {"v"}};
}

/// Copies every second leaf.
std::optional<Outcome> copy_memory_of_leaves(const Operands &o)
{
   const std::string from = o.a.variable(o.shape), to = o.a.variable(o.shape);
   o.a.act("OpStore " + from + " " + o.v);
   o.a.act("OpStore " + to + " " + o.w);
   const std::vector<Leaf> list = leaves(o.shape);
   for (size_t i = 0; i < list.size(); i += 2) {
      o.a.act("OpCopyMemory " + o.a.access(o.shape, to, "Function", list[i].path) + " " +
              o.a.access(o.shape, from, "Function", list[i].path));
   }
   return Outcome{o.a.emit("OpLoad " + o.type() + " " + to), alternating(o.shape, "v", "w")};
}

std::optional<Outcome> load_and_store_leaves(const Operands &o)
{
   const std::string from = o.a.variable(o.shape), to = o.a.variable(o.shape);
   o.a.act("OpStore " + from + " " + o.v);
   o.a.act("OpStore " + to + " " + o.w);
   const std::vector<Leaf> list = leaves(o.shape);
   for (size_t i = 1; i < list.size(); i += 2) {
      const std::string value = o.a.emit("OpLoad " + o.a.type(o.shape.at(list[i].path)) + " " +
                                         o.a.access(o.shape, from, "Function", list[i].path));
      o.a.act("OpStore " + o.a.access(o.shape, to, "Function", list[i].path) + " " + value);
   }
   return Outcome{o.a.emit("OpLoad " + o.type() + " " + to), alternating(o.shape, "w", "v")};
}

/// Changes component 0 through a pointer into the matrix, and restores it.
std::optional<Outcome> component_in_memory(const Operands &o)
{
   const std::string variable = o.a.variable(o.shape), of_w = o.a.variable(o.shape);
   o.a.act("OpStore " + variable + " " + o.v);
   o.a.act("OpStore " + of_w + " " + o.w);
   const std::string pointer = o.a.declare("OpTypePointer Function %component");
   for (const Leaf &leaf : o.matrices()) {
      const auto at = [&](const std::string &matrices) {
         return o.a.emit("OpAccessChain " + pointer + " " +
                         o.a.access(o.shape, matrices, "Function", leaf.path) + " %u0");
      };
      const std::string old = o.a.emit("OpLoad %component " + at(variable));
      o.a.store_component(o.a.emit("OpLoad %component " + at(of_w)), "want", leaf.number);
      o.a.act("OpCopyMemory " + at(variable) + " " + at(of_w));
      o.a.store_component(o.a.emit("OpLoad %component " + at(variable)), "got", leaf.number);
      o.a.act("OpStore " + at(variable) + " " + old);
   }
   return Outcome{o.a.emit("OpLoad " + o.type() + " " + variable), {"v"}, true};
}

std::optional<Outcome> initializer(const Operands &o)
{
   const std::string variable = o.a.variable(o.shape, o.a.constant(o.shape));
   const std::vector<Leaf> list = leaves(o.shape);
   for (size_t i = 0; i < list.size(); i += 2) {
      o.a.act("OpStore " + o.a.access(o.shape, variable, "Function", list[i].path) + " " +
              o.a.extract(o.shape, o.v, list[i].path));
   }
   return Outcome{o.a.emit("OpLoad " + o.type() + " " + variable), alternating(o.shape, "v", "3")};
}

std::optional<Outcome> null_initializer(const Operands &o)
{
   const std::string variable = o.a.declare("OpVariable " + o.a.pointer(o.shape, "Private") +
                                            " Private " + o.a.null(o.shape));
   o.a.globals += " " + variable;
   return Outcome{o.a.emit("OpLoad " + o.type() + " " + variable), {"0"}};
}

/* ---- choices ---- */

std::optional<Outcome> select(const Operands &o)
{
   const auto chosen = [&](uint32_t flag, const std::string &x, const std::string &y) {
      return o.a.emit("OpSelect " + o.type() + " " + o.condition(flag) + " " + x + " " + y);
   };
   return Outcome{chosen(1, o.w, chosen(0, o.v, o.w)), {"v"}};
}

std::optional<Outcome> select_constants(const Operands &o)
{
   const std::string null_or_constant =
      o.a.emit("OpSelect " + o.type() + " " + o.condition(0) + " " + o.a.constant(o.shape) + " " +
               o.a.null(o.shape));
   return Outcome{
      o.a.emit("OpSelect " + o.type() + " " + o.condition(1) + " " + o.v + " " + null_or_constant),
      {"3"}};
}

/// A phi of x, which is computed again on its side, if the flag is set, else of y.
std::string phi(const Operands &o, uint32_t flag, const std::string &x, const std::string &y)
{
   const std::string then = o.a.label(), otherwise = o.a.label(), merge = o.a.label();
   const std::string condition = o.condition(flag);
   o.a.act("OpSelectionMerge " + merge + " None");
   o.a.act("OpBranchConditional " + condition + " " + then + " " + otherwise);
   o.a.begin(then);
   const std::string copy = o.a.emit("OpCopyObject " + o.type() + " " + x);
   o.a.act("OpBranch " + merge);
   o.a.begin(otherwise);
   o.a.act("OpBranch " + merge);
   o.a.begin(merge);
   return o.a.emit("OpPhi " + o.type() + " " + copy + " " + then + " " + y + " " + otherwise);
}

std::optional<Outcome> phi_of_branches(const Operands &o)
{
   return Outcome{phi(o, 1, o.w, phi(o, 0, o.v, o.w)), {"v"}};
}

std::optional<Outcome> phi_of_constants(const Operands &o)
{
   const std::string undefined = o.a.emit("OpUndef " + o.type());
   return Outcome{phi(o, 0, phi(o, 1, o.v, o.a.constant(o.shape)), undefined), {"3"}};
}

/// A loop of three rounds; `round` gets the ids of two phis and gives the next two values.
template <typename Round>
std::string loop(const Operands &o, const Round &round)
{
   const std::string before = o.a.label(), head = o.a.label(), body = o.a.label(),
                     next = o.a.label(), after = o.a.label();
   const std::string x = "%x" + head.substr(1), y = "%y" + head.substr(1),
                     i = "%i" + head.substr(1), x2 = x + "_next", y2 = y + "_next",
                     i2 = i + "_next";
   o.a.act("OpBranch " + before);
   o.a.begin(before);
   o.a.act("OpBranch " + head);
   o.a.begin(head);
   const auto loop_phi = [&](const std::string &id, const std::string &type,
                             const std::string &first) {
      o.a.act(id + " = OpPhi " + type + " " + first + " " + before + " " + id + "_next " + next);
   };
   loop_phi(i, "%uint", "%u0");
   loop_phi(x, o.type(), o.v);
   loop_phi(y, o.type(), o.w);
   const std::string goes_on = o.a.emit("OpULessThan %bool " + i + " %u3");
   o.a.act("OpLoopMerge " + after + " " + next + " None");
   o.a.act("OpBranchConditional " + goes_on + " " + body + " " + after);
   o.a.begin(body);
   const auto [next_x, next_y] = round(x, y);
   o.a.act(x2 + " = OpCopyObject " + o.type() + " " + next_x);
   o.a.act(y2 + " = OpCopyObject " + o.type() + " " + next_y);
   o.a.act("OpBranch " + next);
   o.a.begin(next);
   o.a.act(i2 + " = OpIAdd %uint " + i + " %u1");
   o.a.act("OpBranch " + head);
   o.a.begin(after);
   return x;
}

/// Three swaps exchange the values.
std::optional<Outcome> phi_of_swaps(const Operands &o)
{
   const std::string x =
      loop(o, [](const std::string &x, const std::string &y) { return std::pair(y, x); });
   return Outcome{x, {"w"}};
}

std::optional<Outcome> phi_of_inserts(const Operands &o)
{
   const std::vector<uint32_t> path = leaves(o.shape)[0].path;
   const std::string x = loop(o, [&](const std::string &x, const std::string &y) {
      const std::string part = o.a.extract(o.shape, y, path);
      return std::pair(o.a.insert(o.shape, x, part, path), y);
   });
   std::vector<std::string> from(leaves(o.shape).size(), "v");
   from[0] = "w";
   return Outcome{x, from};
}

/* ---- functions ---- */

std::string parameter(const Operands &o, const std::string &type)
{
   return o.a.emit("OpFunctionParameter " + type);
}

std::optional<Outcome> function_of_values(const Operands &o)
{
   o.a.begin_function();
   const std::string x = parameter(o, o.type()), y = parameter(o, o.type());
   o.a.begin(o.a.label());
   const std::vector<uint32_t> path = leaves(o.shape)[0].path;
   o.a.act("OpReturnValue " + o.a.insert(o.shape, x, o.a.extract(o.shape, y, path), path));
   const std::string function =
      o.a.end_function("OpFunction " + o.type() + " None " +
                       o.a.declare("OpTypeFunction " + o.type() + " " + o.type() + " " + o.type()));
   std::vector<std::string> from(leaves(o.shape).size(), "v");
   from[0] = "w";
   return Outcome{o.a.emit("OpFunctionCall " + o.type() + " " + function + " " + o.v + " " + o.w),
                  from};
}

std::optional<Outcome> function_with_two_returns(const Operands &o)
{
   o.a.begin_function();
   const std::string condition = parameter(o, "%bool"), x = parameter(o, o.type()),
                     y = parameter(o, o.type());
   const std::string then = o.a.label(), merge = o.a.label();
   o.a.begin(o.a.label());
   o.a.act("OpSelectionMerge " + merge + " None");
   o.a.act("OpBranchConditional " + condition + " " + then + " " + merge);
   o.a.begin(then);
   o.a.act("OpReturnValue " + x);
   o.a.begin(merge);
   o.a.act("OpReturnValue " + y);
   const std::string function = o.a.end_function(
      "OpFunction " + o.type() + " None " +
      o.a.declare("OpTypeFunction " + o.type() + " %bool " + o.type() + " " + o.type()));
   const auto call = [&](uint32_t flag, const std::string &first, const std::string &second) {
      return o.a.emit("OpFunctionCall " + o.type() + " " + function + " " + o.condition(flag) +
                      " " + first + " " + second);
   };
   return Outcome{call(1, o.w, call(0, o.v, o.w)), {"v"}};
}

/// Exchanges the pointer's target, and returns it.
std::optional<Outcome> function_of_pointer(const Operands &o)
{
   const std::string pointer = o.a.pointer(o.shape);
   o.a.begin_function();
   const std::string at = parameter(o, pointer), y = parameter(o, o.type());
   o.a.begin(o.a.label());
   const std::string old = o.a.emit("OpLoad " + o.type() + " " + at);
   o.a.act("OpStore " + at + " " + y);
   o.a.act("OpReturnValue " + old);
   const std::string function =
      o.a.end_function("OpFunction " + o.type() + " None " +
                       o.a.declare("OpTypeFunction " + o.type() + " " + pointer + " " + o.type()));
   const std::string variable = o.a.variable(o.shape);
   o.a.act("OpStore " + variable + " " + o.v);
   const std::string old_v =
      o.a.emit("OpFunctionCall " + o.type() + " " + function + " " + variable + " " + o.w);
   const std::string now = o.a.emit("OpLoad " + o.type() + " " + variable);
   std::string value = old_v;
   const std::vector<Leaf> list = leaves(o.shape);
   for (size_t i = 0; i < list.size(); i += 2)
      value = o.a.insert(o.shape, value, o.a.extract(o.shape, now, list[i].path), list[i].path);
   return Outcome{value, alternating(o.shape, "w", "v")};
}

struct Operation {
   const char *name;
   std::optional<Outcome> (*apply)(const Operands &);
};

constexpr Operation operations[] = {
   {"construct", construct},
   {"copy_object", copy_object},
   {"copy_logical", copy_logical},
   {"null", null},
   {"constant", constant},
   {"undefined", undefined},
   {"extract_in_steps", extract_in_steps},
   {"insert_leaves", insert_leaves},
   {"insert_part", insert_part},
   {"insert_component", insert_component},
   {"add", add},
   {"through_variable", through_variable},
   {"through_private", through_private},
   {"copy_memory", copy_memory},
   {"copy_memory_of_leaves", copy_memory_of_leaves},
   {"load_and_store_leaves", load_and_store_leaves},
   {"component_in_memory", component_in_memory},
   {"initializer", initializer},
   {"null_initializer", null_initializer},
   {"select", select},
   {"select_constants", select_constants},
   {"phi_of_branches", phi_of_branches},
   {"phi_of_constants", phi_of_constants},
   {"phi_of_swaps", phi_of_swaps},
   {"phi_of_inserts", phi_of_inserts},
   {"function_of_values", function_of_values},
   {"function_with_two_returns", function_with_two_returns},
   {"function_of_pointer", function_of_pointer},
};

/* ---- the statement in the header ---- */

/// The value of a leaf from one buffer, of which element `v` is v's and `w` w's.
std::string formula(const std::string &from, const std::string &v, const std::string &w)
{
   return from == "v" ? v : from == "w" ? w : from == "v+w" ? v + " + " + w : from;
}

std::string header(const Kind &kind, const Shape &shape, const Outcome &outcome)
{
   uint32_t matrices = 0, words = 0;
   std::string of_matrices, of_words;
   const std::vector<Leaf> list = leaves(shape);
   const auto from = [&](size_t leaf) {
      return outcome.from[std::min(leaf, outcome.from.size() - 1)];
   };
   for (const Leaf &leaf : list) {
      matrices += leaf.form == Shape::Form::matrix;
      words += leaf.form == Shape::Form::number ? 1 : leaf.form == Shape::Form::vector ? 2 : 0;
   }
   const std::string word = "i / " + std::to_string(kind.invocations);
   const uint32_t all = matrices * kind.elements();
   for (size_t i = 0; i < list.size(); i++) {
      if (list[i].form == Shape::Form::matrix) {
         const uint32_t end = (list[i].number + 1) * kind.elements();
         of_matrices +=
            "i < " + std::to_string(end) + " ? " +
            formula(from(i), "matrices[i]", "matrices[i + " + std::to_string(all) + "]") + " : ";
      } else {
         const uint32_t end = list[i].number + (list[i].form == Shape::Form::vector ? 2 : 1);
         of_words += "i < " + std::to_string(end * kind.invocations) + " ? " +
                     formula(from(i), "words[" + word + "]",
                             "words[" + word + " + " + std::to_string(words) + "]") +
                     " : ";
      }
   }
   /* The second and the third set are v and w. */
   of_matrices += "matrices[i - " + std::to_string(all) + "]";
   of_words += "words[" + word + " - " + std::to_string(words) + "]";

   uint32_t number = 0;
   std::string text;
   const auto buffer = [&](const std::string &name, uint32_t count, const std::string &type,
                           const std::string &contents) {
      text += "; buffer " + std::to_string(number++) + ": " + name + ", " +
              std::to_string(std::max(count, 1u)) + " of " + type + (count > 0 ? contents : "") +
              "\n";
   };
   const std::string type = oracle::format(kind.type).name, written = ", written";
   const uint32_t components = outcome.has_components ? matrices * kind.invocations : 0;
   buffer("matrices", 2 * all, type, "");
   buffer("words", 2 * words, "u32", "");
   buffer("flags", 2, "u32", " = 1, 0");
   buffer("matrices_out", 3 * all, type, written);
   buffer("words_out", 3 * words * kind.invocations, "u32", written);
   buffer("got", components, type, written);
   buffer("want", components, type, written);
   text += "; matrices_out[i] = " + of_matrices + "\n";
   if (words)
      text += "; words_out[i] = " + of_words + "\n";
   if (components)
      text += "; got[i] = want[i]\n";
   return text;
}

} // namespace

std::vector<Module> composite_modules(uint32_t turn)
{
   std::vector<Module> modules;
   for (const NamedShape &named : shapes) {
      for (const Operation &operation : operations) {
         const Kind &kind = kinds[turn++ % kinds.size()];
         Assembly a(kind);
         Operands operands = {a, named.shape, a.load(named.shape, 0), a.load(named.shape, 1)};
         const std::optional<Outcome> outcome = operation.apply(operands);
         if (!outcome)
            continue;
         a.store(named.shape, outcome->value, 0);
         a.store(named.shape, operands.v, 1);
         a.store(named.shape, operands.w, 2);
         modules.push_back(
            parse_module(std::string(operation.name) + "_" + named.name + "_" + kind.name,
                         header(kind, named.shape, *outcome) + a.text()));
      }
      turn++; // otherwise an operation would get only half of the kinds
   }
   return modules;
}

} // namespace weft::modules
