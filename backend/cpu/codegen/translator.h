// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// State that the files which emit LLVM IR share: the function, its values, its execution mask.
///
/// One subgroup is one SIMD value. With W invocations ("lanes") per subgroup, a component of a
/// divergent NIR value is a vector <W x T>, of a uniform one a scalar T. Booleans are i1. Inactive
/// lanes hold arbitrary values: code may compute with them, but they must not fault, reach memory
/// or decide a branch.
///
/// At least one lane is active wherever code is emitted: emit_control_flow.cc branches around code
/// that no lane executes, except arithmetic and masked loads. So a uniform load or store does not
/// check the mask.

#pragma once

#include "backend/cpu/codegen/nir_to_llvm.h"
#include "backend/cpu/codegen/plans/access_plans.h"
#include "backend/cpu/codegen/plans/table_plan.h"
#include "backend/cpu/codegen/products/plan_products.h"
#include "backend/cpu/codegen/vectors/lane_values.h"

#include "compiler/nir/nir.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/ScopeExit.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace weft::cpu {

/// The chunks of a LoadCluster, once they are emitted; null before.
struct LoadedChunks {
   llvm::Value *base = nullptr; ///< the first address
   std::vector<llvm::Value *> chunks;
};

/// The emission of one block, or of one copy of a guarded block.
struct BlockEmission {
   BlockEmission() = default;
   BlockEmission(const GuardPlan *guard, bool guard_holds)
       : guard(guard), guard_holds(guard_holds), clusters(guard->clusters.size())
   {
   }

   const GuardPlan *guard = nullptr; ///< null: the block is emitted once
   bool guard_holds = false;         ///< this is the copy with vector code
   std::vector<LoadedChunks> clusters;
};

class Translator {
public:
   Translator(nir_shader *, const TranslateOptions &, llvm::LLVMContext &);
   Result<Translation> run();

   // The function that is being built.
   llvm::LLVMContext &context;
   std::unique_ptr<llvm::Module> module;
   llvm::IRBuilder<> b;
   nir_shader *const shader;
   const TranslateOptions options;
   const unsigned W; ///< lanes per subgroup
   llvm::Function *function = nullptr;
   llvm::Value *dispatch_state = nullptr;  ///< const DispatchState *
   llvm::Value *workgroup_state = nullptr; ///< WorkgroupState *
   llvm::Value *subgroup_id = nullptr;     ///< i32
   // i32; null until the shader uses it. Defined at the latest use.
   llvm::Value *workgroup_x = nullptr, *next_workgroup_x = nullptr;
   llvm::Value *scratch =
      nullptr; ///< private memory: byte o of lane l's element of s bytes is at o * W + l * s
   std::optional<ShaderFacts> facts; ///< run() sets this and the next three members
   std::optional<AccessPlans> plans;
   std::optional<TablePlans> tables;
   ProductPlan products;
   ProgramInfo info{};
   AccessCounts accesses;

   llvm::Type *int_type(unsigned bits) { return b.getIntNTy(bits); }
   llvm::Type *float_type(unsigned bits);
   llvm::Type *scalar_type(const nir_def &def) { return int_type(def.bit_size); }
   llvm::Type *vector_of(llvm::Type *scalar) { return llvm::FixedVectorType::get(scalar, W); }

   // Values. A component is an integer of the def's bit size (bool: i1); as_float() converts it.
   bool is_uniform(const nir_def &def) const { return !def.divergent; }
   bool is_uniform(const nir_src &src) const { return !src.ssa->divergent; }
   /// The component as a scalar; the source must be uniform.
   llvm::Value *uniform(const nir_src &src, unsigned component = 0);
   /// The component as <W x iN>, a splat if the source is uniform.
   llvm::Value *varying(const nir_src &src, unsigned component = 0);
   /// The component as it is: a scalar if uniform, else a vector.
   llvm::Value *value(const nir_def &def, unsigned component = 0);
   llvm::Value *value(const nir_src &src, unsigned component = 0)
   {
      return value(*src.ssa, component);
   }
   /// The first active lane's component, as a scalar, for sources that analysis could not prove
   /// uniform.
   llvm::Value *first_active(const nir_src &src, unsigned component = 0);
   /// Lane 0's value of a vector.
   llvm::Value *first_lane(llvm::Value *vector) { return lane_values.first_lane(vector); }
   /// Defines a component: a scalar or a vector, int or float. A scalar becomes a splat if the def
   /// is divergent.
   void define(const nir_def &def, unsigned component, llvm::Value *value);
   /// Converts a scalar or vector of ints to the float type of the same width, and back.
   llvm::Value *as_float(llvm::Value *);
   llvm::Value *as_int(llvm::Value *);
   llvm::Value *splat(llvm::Value *scalar) { return lane_values.splat(scalar); }
   llvm::Value *lane_numbers(unsigned bits); ///< <W x iN> <0, 1, 2, …>

   // The execution mask: <W x i1>; null while all W lanes are active.
   llvm::Value *mask = nullptr;
   llvm::Value *mask_or_ones()
   {
      return mask ? mask : llvm::ConstantInt::getTrue(vector_of(b.getInt1Ty()));
   }
   /// The mask (or another <W x i1>) as iW, bit l for lane l.
   llvm::Value *bits_of(llvm::Value *lane_bools);
   llvm::Value *lanes_of(llvm::Value *bits);  ///< the inverse of bits_of
   llvm::Value *any(llvm::Value *lane_bools); ///< i1
   /// i32 number of the lowest active lane.
   llvm::Value *first_active_lane();
   /// Emits a loop that runs `body` once for every lane set in `lane_bools` (null: all), in order;
   /// `lane` is an i32. `body` may create blocks, and may be called for several lanes of an
   /// iteration. Values that must outlive an iteration go through variable().
   void for_each_lane(llvm::Value *lane_bools, const std::function<void(llvm::Value *lane)> &body);
   /// An alloca in the entry block of the current function. It becomes a register or part of the
   /// frame, which the code generator measures (stack_bytes of jit.cc).
   llvm::AllocaInst *variable(llvm::Type *, const char *name = "");

   /// Calls a function that find_runtime_symbol() knows.
   llvm::CallInst *call(const char *symbol, llvm::Type *result,
                        llvm::ArrayRef<llvm::Value *> arguments);

   /// Moves the insertion point to the prologue, which runs once before the body. Use it under an
   /// InsertPointGuard.
   void begin_prologue_code() { b.SetInsertPoint(entry->getTerminator()); }
   // Caches of region.cc: buffers (address, size) by (slot, descriptor), and pointers that
   // the first use creates.
   std::map<std::pair<uint32_t, uint32_t>, std::pair<llvm::Value *, llvm::Value *>> buffers;
   llvm::Value *shared_memory = nullptr, *push_constants = nullptr, *constant_data = nullptr;
   llvm::Value *zeros = nullptr, *sink = nullptr;
   /// Memory for a vector of this type, which all lanewise accesses of the type share.
   llvm::AllocaInst *lane_data(llvm::Type *vector) { return lane_memory(lane_data_of, vector); }
   llvm::AllocaInst *lane_offsets(llvm::Type *vector)
   {
      return lane_memory(lane_offsets_of, vector);
   }
   BlockEmission *emission = nullptr; ///< the current one
   /// Makes this the current emission for the lifetime of the result.
   [[nodiscard]] auto enter(BlockEmission &inner)
   {
      return llvm::make_scope_exit(
         [this, outer = std::exchange(emission, &inner)] { emission = outer; });
   }
   /// A value that the assumptions of a guard make known, as a vector of constants; else null.
   llvm::Value *assumed_value(const nir_def &def, unsigned component);
   LaneValues lane_values; ///< other forms of values

   llvm::BasicBlock *block(const char *name)
   {
      return llvm::BasicBlock::Create(context, name, function);
   }

   /// Records the first instruction that has no translation; run() reports it.
   void fail(const std::string &message);

   void emit_instruction(nir_instr *); ///< any instruction but phis and jumps

   /// The block that returns false (abi.h).
   llvm::BasicBlock *leave_block();

private:
   using MemoryOfTypes = llvm::DenseMap<llvm::Type *, llvm::AllocaInst *>;
   MemoryOfTypes lane_data_of, lane_offsets_of;
   llvm::AllocaInst *lane_memory(MemoryOfTypes &, llvm::Type *);
   struct Components {
      llvm::SmallVector<llvm::Value *, 4> values;
   };
   llvm::DenseMap<const nir_def *, Components> values;
   llvm::BasicBlock *entry = nullptr; ///< holds the allocas
   llvm::BasicBlock *leave = nullptr; ///< null: no guard leaves
   std::optional<Error> error;

   void begin_function();
   void for_all_lanes(const std::function<void(llvm::Value *lane)> &body);
};

// One function per group of instructions. The functions for intrinsics return false for an
// intrinsic of another group.
void emit_alu(Translator &, nir_alu_instr *);              // emit_alu.cc and its neighbours
bool emit_system(Translator &, nir_intrinsic_instr *);     // emit_system.cc: ids, sizes, barriers
bool emit_memory(Translator &, nir_intrinsic_instr *);     // emit_memory.cc
bool emit_atomic(Translator &, nir_intrinsic_instr *);     // emit_atomics.cc
bool emit_subgroup(Translator &, nir_intrinsic_instr *);   // emit_subgroup.cc
bool emit_texel(Translator &, nir_intrinsic_instr *);      // emit_texel.cc
bool emit_tile(Translator &, nir_intrinsic_instr *);       // emit_tile.cc
void emit_control_flow(Translator &, nir_function_impl *); // emit_control_flow.cc

/// A component that is a look-up by its plan; null for others (emit_table.cc).
llvm::Value *emit_table(Translator &, const nir_def &, unsigned component);

} // namespace weft::cpu
