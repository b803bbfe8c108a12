// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/cpu/jit/jit.h"

#include "backend/cpu/cpu_features.h"
#include "backend/cpu/host/instructions.h"
#include "backend/cpu/jit/program_file.h"
#include "backend/cpu/kernels/tile_kernels.h"
#include "backend/cpu/llvm_versions.h"
#include "backend/cpu/options.h"
#include "backend/cpu/runtime/lane_memory.h"
#include "backend/cpu/runtime/runtime_symbols.h"

#include "nir_passes/compile_limits.h"

#include <llvm/ADT/SmallVector.h>
#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/ExecutionEngine/JITLink/JITLink.h>
#include <llvm/ExecutionEngine/JITLink/JITLinkMemoryManager.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Object/ELFObjectFile.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/LEB128.h>
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

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <mutex>

namespace weft::cpu {

namespace {

namespace jitlink = llvm::jitlink;

std::string to_text(llvm::Error error)
{
   return llvm::toString(std::move(error));
}

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

/// The sum of `count(section)` over an object's sections; 0 if the bytes are no object.
template <typename Count>
uint64_t sum_over_sections(llvm::MemoryBufferRef bytes, Count &&count)
{
   llvm::Expected<std::unique_ptr<llvm::object::ObjectFile>> object =
      llvm::object::ObjectFile::createELFObjectFile(bytes);
   if (!object) {
      llvm::consumeError(object.takeError());
      return 0;
   }
   uint64_t sum = 0;
   for (const llvm::object::SectionRef &section : (*object)->sections())
      sum += count(section);
   return sum;
}

/// The stack bytes of all functions of an object, added up, as the code generator recorded them
/// (section .stack_sizes: per function its address and a ULEB128 of its frame's bytes).
uint64_t stack_bytes(llvm::MemoryBufferRef bytes)
{
   return sum_over_sections(bytes, [](const llvm::object::SectionRef &section) -> uint64_t {
      llvm::Expected<llvm::StringRef> name = section.getName();
      if (!name || *name != ".stack_sizes") {
         llvm::consumeError(name.takeError());
         return 0;
      }
      llvm::Expected<llvm::StringRef> contents = section.getContents();
      if (!contents) {
         llvm::consumeError(contents.takeError());
         return 0;
      }
      uint64_t sum = 0;
      const uint8_t *at = contents->bytes_begin(), *end = contents->bytes_end();
      while (end - at > 8) {
         unsigned length = 0;
         sum += llvm::decodeULEB128(at + 8, &length, end);
         at += 8 + length;
      }
      return sum;
   });
}

/// Bytes of machine code in an object.
uint64_t code_bytes(llvm::MemoryBufferRef bytes)
{
   return sum_over_sections(bytes, [](const llvm::object::SectionRef &section) -> uint64_t {
      return section.isText() ? section.getSize() : 0;
   });
}

/// Writes the map for perf(1) (tools/perf/Documentation/jit-interface.txt in Linux).
void write_perf_map(llvm::jitlink::LinkGraph &graph)
{
   static std::mutex mutex;
   const std::lock_guard lock(mutex);
   const std::string path = "/tmp/perf-" + std::to_string(getpid()) + ".map";
   // O_NOFOLLOW: the name can be guessed and any user may create a link in /tmp.
   const int fd = open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644);
   std::FILE *file = fd >= 0 ? fdopen(fd, "a") : nullptr;
   if (!file)
      return;
   static unsigned count = 0;
   for (const jitlink::Symbol *symbol : graph.defined_symbols()) {
      if (symbol->hasName() && symbol->isCallable())
         std::fprintf(file, "%llx %llx %s.%u\n",
                      static_cast<unsigned long long>(symbol->getAddress().getValue()),
                      static_cast<unsigned long long>(symbol->getSize()),
                      text_of(symbol->getName()).str().c_str(), count);
   }
   count++;
   std::fclose(file);
}

/// The result of a link.
struct LinkedCode {
   jitlink::JITLinkMemoryManager::FinalizedAlloc allocation;
   uint64_t kernel = 0;
   bool needs_tile_configuration = false;
   std::string error;
};

/// Links one object against find_runtime_symbol(). JITLink owns the context and may destroy it
/// before link() returns, so LinkedCode holds all results.
class LinkContext final : public jitlink::JITLinkContext {
public:
   LinkContext(jitlink::JITLinkMemoryManager &memory, LinkedCode &code, const CpuFeatures &cpu)
       : JITLinkContext(nullptr), memory(memory), code(code), cpu(cpu)
   {
   }

   jitlink::JITLinkMemoryManager &getMemoryManager() override { return memory; }

   void notifyFailed(llvm::Error error) override { code.error += to_text(std::move(error)); }

   void lookup(const LookupMap &symbols,
               std::unique_ptr<jitlink::JITLinkAsyncLookupContinuation> continuation) override
   {
      jitlink::AsyncLookupResult found;
      std::string missing;
      for (const auto &[name, flags] : symbols) {
         const std::string_view text = text_of(name);
         void *address = find_runtime_symbol(text, cpu);
         code.needs_tile_configuration |= needs_tile_configuration(text, cpu);
         if (!address && flags == jitlink::SymbolLookupFlags::RequiredSymbol)
            missing += " " + std::string(text);
         found[name] = {llvm::orc::ExecutorAddr::fromPtr(address), llvm::JITSymbolFlags::Exported};
      }
      if (missing.empty())
         continuation->run(std::move(found));
      else
         continuation->run(llvm::make_error<llvm::StringError>(
            "generated code calls unknown functions:" + missing, llvm::inconvertibleErrorCode()));
   }

   llvm::Error notifyResolved(jitlink::LinkGraph &graph) override
   {
      for (const jitlink::Symbol *symbol : graph.defined_symbols()) {
         if (symbol->hasName() && std::string_view(text_of(symbol->getName())) == kernel_symbol)
            code.kernel = symbol->getAddress().getValue();
      }
      if (options().has_debug("perf"))
         write_perf_map(graph);
      return llvm::Error::success();
   }

   void notifyFinalized(jitlink::JITLinkMemoryManager::FinalizedAlloc allocation) override
   {
      code.allocation = std::move(allocation);
   }

private:
   jitlink::JITLinkMemoryManager &memory;
   LinkedCode &code;
   const CpuFeatures &cpu;
};

class JitProgram final : public Program {
public:
   JitProgram(const ProgramInfo &info, std::vector<std::byte> object)
       : memory(sysconf(_SC_PAGESIZE)), program_info(info), object(std::move(object))
   {
   }

   ~JitProgram() override
   {
      if (code.allocation)
         llvm::consumeError(memory.deallocate(std::move(code.allocation)));
   }

   /// Returns an error message, or an empty string.
   std::string link(const CpuFeatures &cpu)
   {
      const llvm::MemoryBufferRef buffer(
         llvm::StringRef(reinterpret_cast<const char *>(object.data()), object.size()), "weft");
      const uint64_t stack = stack_bytes(buffer);
      if (stack > max_stack_bytes)
         return "the shader needs " + std::to_string(stack) + " bytes of stack";
      program_info.stack_bytes = stack;

      llvm::Expected<std::unique_ptr<jitlink::LinkGraph>> graph = link_graph_of(buffer);
      if (!graph)
         return to_text(graph.takeError());
      jitlink::link(std::move(*graph), std::make_unique<LinkContext>(memory, code, cpu));
      if (code.error.empty() && !code.kernel)
         code.error = "the object has no kernel";
      program_info.needs_tile_configuration = code.needs_tile_configuration;
      return code.error;
   }

   const ProgramInfo &info() const override { return program_info; }
   Kernel kernel() const override { return reinterpret_cast<Kernel>(code.kernel); }
   std::vector<std::byte> serialize() const override
   {
      return write_program_file(FileKind::program, program_info, object);
   }

private:
   /// More than a subgroup's private memory with spills, and small enough not to overflow 32 bits.
   static constexpr uint64_t max_stack_bytes = 1u << 29;
   static_assert(max_stack_bytes >= 2 * uint64_t(limits::scratch_bytes) * 64);

   jitlink::InProcessMemoryManager memory;
   ProgramInfo program_info;
   std::vector<std::byte> object;
   LinkedCode code;
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
      statistics->code_bytes = code_bytes({{object.data(), object.size()}, "weft"});
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
   (void)compile_object(module, {}, cpu);
}

Result<std::shared_ptr<const Program>>
link_program(const ProgramInfo &info, std::vector<std::byte> object, const CpuFeatures &cpu)
{
   auto program = std::make_shared<JitProgram>(info, std::move(object));
   if (std::string error = program->link(cpu); !error.empty())
      return Error{"linking: " + error};
   return std::shared_ptr<const Program>(std::move(program));
}

} // namespace weft::cpu
