// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/cpu/codegen/facts/loop_step.h"

#include "backend/cpu/codegen/facts/control_flow.h"

#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/SmallVector.h>

#include <bit>

namespace weft::cpu {

namespace {

using Step = std::optional<int64_t>;

/// The most operations that one query visits.
constexpr unsigned max_operations = 256;

nir_block *first_block(const nir_loop *loop)
{
   return nir_loop_first_block(const_cast<nir_loop *>(loop));
}

bool is_inside(const nir_block *block, const nir_loop *loop)
{
   const nir_block *after =
      nir_cf_node_as_block(nir_cf_node_next(&const_cast<nir_loop *>(loop)->cf_node));
   return block->index >= first_block(loop)->index && block->index < after->index;
}

class LoopSteps {
public:
   explicit LoopSteps(const nir_loop *loop) : loop(loop) {}

   Step step(const nir_scalar &s)
   {
      if (nir_scalar_is_const(s) || !is_inside(s.def->parent_instr->block, loop))
         return 0;
      if (operations++ == max_operations)
         return {};
      if (s.def->parent_instr->type == nir_instr_type_phi)
         return of_phi(nir_instr_as_phi(s.def->parent_instr));
      if (nir_scalar_is_alu(s))
         return of_alu(s);
      return s.def->parent_instr->type == nir_instr_type_intrinsic
                ? of_intrinsic(nir_instr_as_intrinsic(s.def->parent_instr))
                : Step();
   }

private:
   /// The step of a counter: a phi of a loop's initial value and of itself plus a constant. A
   /// counter of an inner loop has the step of its initial value.
   Step of_phi(nir_phi_instr *phi)
   {
      const nir_loop *own = innermost_loop(&phi->instr);
      if (phi->instr.block != first_block(own) || phi->def.num_components != 1)
         return {};
      Step beginning, count;
      nir_foreach_phi_src(src, phi)
      {
         const nir_scalar next = nir_scalar_chase_movs(nir_get_scalar(src->src.ssa, 0));
         const bool again = is_inside(src->pred, own);
         Step &result = again ? count : beginning;
         if (result)
            return {};
         result = again ? added(next, phi->def) : own == loop ? 0 : step(next);
         if (!result)
            return {};
      }
      return own == loop ? count : beginning;
   }

   /// The constant that `sum` adds to a value.
   static Step added(const nir_scalar &sum, const nir_def &value)
   {
      if (!nir_scalar_is_alu(sum) || nir_scalar_alu_op(sum) != nir_op_iadd)
         return {};
      for (unsigned i = 0; i < 2; i++) {
         const nir_scalar x = nir_scalar_chase_alu_src(sum, i),
                          y = nir_scalar_chase_alu_src(sum, 1 - i);
         if (x.def == &value && nir_scalar_is_const(y))
            return nir_scalar_as_int(y);
      }
      return {};
   }

   /// Intrinsics that return the same value for the same operands.
   Step of_intrinsic(nir_intrinsic_instr *instr)
   {
      if (!nir_intrinsic_can_reorder(instr))
         return {};
      for (unsigned i = 0; i < nir_intrinsic_infos[instr->intrinsic].num_srcs; i++) {
         for (unsigned c = 0; c < nir_src_num_components(instr->src[i]); c++) {
            if (step(nir_get_scalar(instr->src[i].ssa, c)) != 0)
               return {};
         }
      }
      return 0;
   }

   Step of_alu(const nir_scalar &s)
   {
      const nir_op op = nir_scalar_alu_op(s);
      if (nir_op_infos[op].num_inputs > 2)
         return {};
      const nir_scalar x = nir_scalar_chase_alu_src(s, 0),
                       y = nir_op_infos[op].num_inputs == 2 ? nir_scalar_chase_alu_src(s, 1) : x;
      const Step dx = step(x), dy = step(y);
      if (!dx || !dy)
         return {};
      if (*dx == 0 && *dy == 0)
         return 0;
      switch (op) {
      case nir_op_mov:
      case nir_op_u2u32:
      case nir_op_u2u64:
      case nir_op_i2i32:
      case nir_op_i2i64:
         return dx;
      case nir_op_iadd:
      case nir_op_ior: // of numbers without common bits
         return int64_t(uint64_t(*dx) + uint64_t(*dy));
      case nir_op_isub:
         return int64_t(uint64_t(*dx) - uint64_t(*dy));
      case nir_op_iand:
         if (!nir_scalar_is_const(y))
            return {};
         if (nir_scalar_as_int(y) < 0)
            return dx;
         // Low bits that no step changes.
         return *dx % int64_t(std::bit_ceil(nir_scalar_as_uint(y) + 1)) == 0 ? Step(0) : Step();
      case nir_op_imul:
         return nir_scalar_is_const(y)
                   ? Step(int64_t(uint64_t(*dx) * uint64_t(nir_scalar_as_int(y))))
                : nir_scalar_is_const(x)
                   ? Step(int64_t(uint64_t(*dy) * uint64_t(nir_scalar_as_int(x))))
                   : Step();
      case nir_op_ishl:
         return nir_scalar_is_const(y)
                   ? Step(int64_t(uint64_t(*dx) << (nir_scalar_as_uint(y) & 63)))
                   : Step();
      case nir_op_ushr:
         return nir_scalar_is_const(y) ? Step(*dx >> (nir_scalar_as_uint(y) & 63)) : Step();
      default:
         return {};
      }
   }

   const nir_loop *loop;
   unsigned operations = 0;
};

} // namespace

std::optional<int64_t> loop_step(const nir_scalar &s, const nir_loop *loop)
{
   return LoopSteps(loop).step(s);
}

bool depends_on_workgroup_x(const nir_scalar &s)
{
   llvm::SmallVector<nir_scalar, 32> open = {s};
   llvm::DenseSet<std::pair<const nir_def *, unsigned>> seen;
   while (!open.empty()) {
      const nir_scalar x = open.pop_back_val();
      if (!seen.insert({x.def, x.comp}).second)
         continue;
      if (seen.size() > max_operations)
         return true;
      nir_instr *instr = x.def->parent_instr;
      if (instr->type == nir_instr_type_phi) {
         nir_foreach_phi_src(src, nir_instr_as_phi(instr))
            open.push_back(nir_get_scalar(src->src.ssa, x.comp));
      } else if (nir_scalar_is_alu(x)) {
         const nir_op_info &info = nir_op_infos[nir_scalar_alu_op(x)];
         if (nir_op_is_vec(nir_scalar_alu_op(x))) {
            open.push_back(nir_scalar_chase_alu_src(x, x.comp));
            continue;
         }
         for (unsigned i = 0; i < info.num_inputs; i++) {
            const nir_alu_src &src = nir_instr_as_alu(instr)->src[i];
            if (info.input_sizes[i] == 0) {
               open.push_back(nir_get_scalar(src.src.ssa, src.swizzle[x.comp]));
               continue;
            }
            for (unsigned c = 0; c < info.input_sizes[i]; c++)
               open.push_back(nir_get_scalar(src.src.ssa, src.swizzle[c]));
         }
      } else if (nir_scalar_is_intrinsic(x) &&
                 nir_scalar_intrinsic_op(x) == nir_intrinsic_load_workgroup_id && x.comp == 0) {
         return true;
      }
   }
   return false;
}

} // namespace weft::cpu
