// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/cpu/jit/jit.h"

#include "backend/cpu/cpu_features.h"
#include "backend/cpu/host/instructions.h"
#include "backend/cpu/jit/linked_object.h"
#include "backend/cpu/jit/lower_barriers.h"
#include "backend/cpu/jit/program_file.h"
#include "backend/cpu/jit/shared_function.h"
#include "backend/cpu/llvm_versions.h"
#include "backend/cpu/phase_log.h"
#include "backend/cpu/runtime/lane_memory.h"

#include "nir_passes/compile_limits.h"

#include <llvm/ADT/SmallVector.h>
#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/ADCE.h>
#include <llvm/Transforms/Scalar/DCE.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/GVN.h>
#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include <chrono>
#include <mutex>

namespace weft::cpu {

namespace {

std::string to_text(const llvm::Module &module)
{
   std::string text;
   llvm::raw_string_ostream(text) << module;
   return text;
}

/// Null if LLVM was built without its code generator for the CPU family.
std::unique_ptr<llvm::TargetMachine> create_target_machine(const HostTarget &host)
{
   static std::once_flag once;
   std::call_once(once, initialize_llvm_target);
   const std::string triple(host.triple);
   std::string error;
   const llvm::Target *target = find_target(triple.c_str(), error);
   if (!target)
      return nullptr;

   llvm::TargetOptions target_options;
   target_options.EmitStackSizeSection = true;
   target_options.MCOptions.AsmVerbose = true; // comments on spills, for readers of the assembly
   target_options.AllowFPOpFusion = llvm::FPOpFusion::Standard;
   // Position-independent with small offsets: calls to kernels, which may be at any address, go
   // through stubs. One optimisation level less can take LLVM 19 exponential time for scalarized
   // matrices (SelectionDAG::AddModifiedNodeToCSEMaps). One level more costs a tenth of a large
   // shader's compile time, without faster code. Scheduling for the exact CPU model ("tune-cpu")
   // gains nothing either.
   return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
      TargetTriple(triple), host.llvm_cpu, host.llvm_features, target_options, llvm::Reloc::PIC_,
      llvm::CodeModel::Small, llvm::CodeGenOptLevel::Less,
      /*JIT=*/true));
}

/// No function name has a meaning: a call that LLVM introduced could not be linked.
llvm::TargetLibraryInfoImpl library_info(const llvm::TargetMachine &machine)
{
   llvm::TargetLibraryInfoImpl info{machine.getTargetTriple()};
   info.disableAllFunctions();
   return info;
}

/// Collects LLVM's errors during a compilation; without a handler an error ends the process.
class DiagnosticCollector final : public llvm::DiagnosticHandler {
public:
   explicit DiagnosticCollector(std::string &errors) : errors(errors) {}

   bool handleDiagnostics(const llvm::DiagnosticInfo &info) override
   {
      if (info.getSeverity() == llvm::DS_Error) {
         llvm::raw_string_ostream stream(errors);
         llvm::DiagnosticPrinterRawOStream printer(stream);
         info.print(printer);
         stream << "; ";
      }
      return true;
   }

private:
   std::string &errors;
};

/// Hoists invariants out of innermost loops only. Invariants of outer loops would be spilled while
/// inner loops run: they are dozens of masks and addresses, which are cheaper to recompute.
class InnermostLicm : public llvm::PassInfoMixin<InnermostLicm> {
public:
   llvm::PreservedAnalyses run(llvm::Loop &loop, llvm::LoopAnalysisManager &analyses,
                               llvm::LoopStandardAnalysisResults &results,
                               llvm::LPMUpdater &updater)
   {
      return loop.isInnermost() ? licm.run(loop, analyses, results, updater)
                                : llvm::PreservedAnalyses::all();
   }

private:
   llvm::LICMPass licm = llvm::LICMPass(llvm::LICMOptions());
};

/// The translator emits simple code without redundant control flow, and vectors of a whole
/// subgroup. So the useful passes are promotion to registers, common subexpressions and loop
/// invariants.
void optimise(llvm::Module &module, llvm::TargetMachine &machine)
{
   const LoggedPhase phase("optimise");
   llvm::LoopAnalysisManager loops;
   llvm::FunctionAnalysisManager functions;
   llvm::CGSCCAnalysisManager call_graph;
   llvm::ModuleAnalysisManager modules;
   functions.registerPass([&] { return llvm::TargetLibraryAnalysis(library_info(machine)); });
   llvm::PassBuilder builder(&machine);
   builder.registerModuleAnalyses(modules);
   builder.registerCGSCCAnalyses(call_graph);
   builder.registerFunctionAnalyses(functions);
   builder.registerLoopAnalyses(loops);
   builder.crossRegisterProxies(loops, functions, call_graph, modules);

   llvm::FunctionPassManager passes;
   // First removes unused vectors of addresses: often code uses one lane's address, or recomputes
   // addresses in cold blocks. EarlyCSE would keep the first computation that it finds.
   passes.addPass(llvm::DCEPass());
   passes.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
   passes.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/true));
   passes.addPass(llvm::SimplifyCFGPass());
   passes.addPass(llvm::InstCombinePass());
   passes.addPass(llvm::createFunctionToLoopPassAdaptor(InnermostLicm(), /*UseMemorySSA=*/true));
   // GVN runs without MemDep, which visits all earlier stores for every load. That takes a third of
   // the passes' time, and EarlyCSE has found all redundant loads.
   passes.addPass(llvm::GVNPass(llvm::GVNOptions().setMemDep(false)));
   passes.addPass(llvm::SimplifyCFGPass());
   passes.addPass(llvm::ADCEPass());
   llvm::createModuleToFunctionPassAdaptor(std::move(passes)).run(module, modules);
}

void set_function_attributes(llvm::Module &module, const HostTarget &target)
{
   for (llvm::Function &function : module) {
      if (function.isDeclaration())
         continue;
      function.addFnAttr(llvm::Attribute::NoUnwind);
      set_target_attributes(function, target);
   }
}

/// The code generator's passes, except HostTarget::dropped_passes.
class CodePasses final : public llvm::legacy::PassManager {
public:
   explicit CodePasses(const HostTarget &target) : names(target.dropped_passes) {}

   std::vector<std::string> dropped; ///< names

   void add(llvm::Pass *pass) override
   {
      const std::string_view name = pass->getPassName();
      if (std::ranges::find(names, name) == names.end()) {
         llvm::legacy::PassManager::add(pass);
      } else {
         dropped.emplace_back(name);
         delete pass;
      }
   }

private:
   const std::span<const std::string_view> names;
};

/// False if the target cannot write this type of file.
bool emit(llvm::Module &module, llvm::TargetMachine &machine, const HostTarget &target,
          llvm::CodeGenFileType type, llvm::SmallVectorImpl<char> &bytes,
          CompileStatistics *statistics = nullptr)
{
   const LoggedPhase phase("code");
   llvm::raw_svector_ostream stream(bytes);
   CodePasses passes(target);
   passes.add(new llvm::TargetLibraryInfoWrapperPass(library_info(machine)));
   if (machine.addPassesToEmitFile(passes, stream, nullptr, type, /*DisableVerify=*/true))
      return false;
   passes.run(module);
   if (statistics)
      statistics->dropped_passes = std::move(passes.dropped);
   return true;
}

/// The machine code of a program: its own, and the functions that it shares with other programs.
class JitProgram final : public Program {
public:
   JitProgram(const ProgramInfo &info, CompiledCode code)
       : program_info(info), code(std::move(code))
   {
   }

   /// Returns an error message, or an empty string.
   std::string link(const CpuFeatures &cpu)
   {
      SymbolAddresses functions;
      uint64_t stack = 0;
      for (const std::shared_ptr<SharedFunction> &function : code.functions) {
         if (std::string error = function->compile(); !error.empty())
            return error;
         functions.emplace(function->name(), function->linked().address());
         stack += function->linked().stack_bytes();
      }
      if (std::string error = linked.link(code.object, kernel_symbol, cpu, functions);
          !error.empty())
         return error;
      stack += linked.stack_bytes();
      if (stack > max_stack_bytes)
         return "the shader needs " + std::to_string(stack) + " bytes of stack";
      program_info.stack_bytes = uint32_t(stack);
      program_info.frame_bytes = linked.frame_bytes();
      program_info.needs_tile_configuration = linked.needs_tile_configuration();
      return {};
   }

   const ProgramInfo &info() const override { return program_info; }
   Kernel kernel() const override { return reinterpret_cast<Kernel>(linked.address()); }
   std::vector<std::byte> serialize() const override
   {
      return write_program_file(FileKind::program, program_info, write_code(code));
   }

private:
   /// More than a subgroup's private memory with spills, and small enough not to overflow 32 bits.
   static constexpr uint64_t max_stack_bytes = 1u << 29;
   static_assert(max_stack_bytes >= 2 * uint64_t(limits::scratch_bytes) * 64);

   ProgramInfo program_info;
   const CompiledCode code;
   LinkedObject linked;
};

} // namespace

void prepare_module(llvm::Module &module)
{
   const HostTarget &target = host_features().target;
   module.setTargetTriple(TargetTriple(std::string(target.triple)));
   if (const auto machine = create_target_machine(target))
      module.setDataLayout(machine->createDataLayout());
}

Result<std::vector<std::byte>>
compile_object(llvm::Module &module,
               const std::function<void(const char *phase, const std::string &text)> &dump,
               const CpuFeatures &cpu, CompileStatistics *statistics)
{
   using Clock = std::chrono::steady_clock;
   const std::unique_ptr<llvm::TargetMachine> machine = create_target_machine(cpu.target);
   if (!machine)
      return Error{"LLVM has no code generator for " + std::string(cpu.target.triple)};
   if (const std::optional<std::string> missing = missing_instructions(cpu))
      return Error{*missing};

   std::string errors;
   module.getContext().setDiagnosticHandler(std::make_unique<DiagnosticCollector>(errors));
   if (dump)
      dump("llvm", to_text(module));

   // The passes assume the verifier's rules and may crash on invalid IR.
   llvm::raw_string_ostream stream(errors);
   if (llvm::verifyModule(module, &stream))
      return Error{"invalid LLVM IR: " + errors};

   set_function_attributes(module, cpu.target);
   const Clock::time_point start = Clock::now();
   optimise(module, *machine);
   lower_barriers(module, cpu.target);
   const Clock::time_point optimised = Clock::now();
   if (dump) {
      dump("llvm-opt", to_text(module));
      llvm::SmallVector<char, 0> text;
      if (emit(*llvm::CloneModule(module), *machine, cpu.target,
               llvm::CodeGenFileType::AssemblyFile, text))
         dump("asm", std::string(text.data(), text.size()));
   }

   llvm::SmallVector<char, 0> object;
   if (!emit(module, *machine, cpu.target, llvm::CodeGenFileType::ObjectFile, object, statistics))
      return Error{"LLVM cannot write objects for " + std::string(cpu.target.triple)};
   module.getContext().setDiagnosticHandler(nullptr);
   if (!errors.empty())
      return Error{"code generation: " + errors};
   if (statistics) {
      const auto ms = [](Clock::duration d) {
         return std::chrono::duration<double, std::milli>(d).count();
      };
      statistics->optimisation_ms = ms(optimised - start);
      statistics->code_generation_ms = ms(Clock::now() - optimised);
      statistics->code_bytes = code_bytes(std::as_bytes(std::span(object)));
   }
   const auto *bytes = reinterpret_cast<const std::byte *>(object.data());
   return std::vector<std::byte>(bytes, bytes + object.size());
}

void prepare_code_generation(const CpuFeatures &cpu)
{
   // A small module that makes LLVM create its tables. It has calls, vectors wider than registers,
   // and an instruction with a memory operand that would overwrite a register still in use.
   llvm::LLVMContext context;
   llvm::Module module("prepare", context);
   prepare_module(module);
   llvm::IRBuilder<> b(context);
   auto *type = llvm::FunctionType::get(b.getVoidTy(), {b.getPtrTy(), b.getInt32Ty()}, false);
   auto *function =
      llvm::Function::Create(type, llvm::Function::ExternalLinkage, kernel_symbol, module);
   b.SetInsertPoint(llvm::BasicBlock::Create(context, "", function));
   llvm::Value *memory = function->getArg(0), *number = function->getArg(1);
   llvm::Value *sum = b.CreateAdd(b.CreateLoad(number->getType(), memory), number),
               *product = b.CreateMul(sum, number);
   b.CreateStore(b.CreateVectorSplat(64, product), memory);
   b.CreateCall(module.getOrInsertFunction(load_lanes_symbol, type), {memory, number});
   b.CreateRetVoid();
   (void)read_module(write_module(module), context);
   (void)compile_object(module, {}, cpu);
}

Result<std::shared_ptr<const Program>> link_program(const ProgramInfo &info, CompiledCode code,
                                                    const CpuFeatures &cpu)
{
   auto program = std::make_shared<JitProgram>(info, std::move(code));
   if (std::string error = program->link(cpu); !error.empty())
      return Error{"linking: " + error};
   return std::shared_ptr<const Program>(std::move(program));
}

} // namespace weft::cpu
