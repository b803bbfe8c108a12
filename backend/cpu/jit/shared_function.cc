// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/cpu/jit/shared_function.h"

#include "backend/cpu/jit/jit.h"
#include "backend/cpu/phase_log.h"

#include "threads/until_unload.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/FormatVariadic.h>
#include <llvm/Support/xxhash.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include <unistd.h>

#include <algorithm>
#include <exception>
#include <map>
#include <utility>

namespace weft::cpu {

namespace {

/// A dot and the digits of a hash follow the translator's name.
constexpr size_t hash_digits = 32;

/// The name that the function has in its own module and object.
std::string_view own_name(std::string_view symbol)
{
   return symbol.substr(0, symbol.size() - std::min(symbol.size(), hash_digits + 1));
}

/// A name is at least this long.
bool is_valid_name(std::string_view symbol)
{
   return !own_name(symbol).empty();
}

/// The process's function of this name, added if it is new.
std::shared_ptr<SharedFunction> find_or_add(std::string name, SharedFunction::Form form,
                                            std::vector<std::byte> bytes, const CpuFeatures &cpu)
{
   struct Table {
      std::mutex mutex;
      std::map<std::pair<const CpuFeatures *, std::string>, std::shared_ptr<SharedFunction>>
         functions;
   };
   // Threads use the table while the process ends.
   static Table &table = until_unload(new Table);
   const std::lock_guard lock(table.mutex);
   std::shared_ptr<SharedFunction> &found = table.functions[{&cpu, name}];
   // The caller of an object may have a small stack, on which LLVM must not compile.
   if (!found || (form == SharedFunction::Form::object && !found->is_compiled()))
      found = std::make_shared<SharedFunction>(std::move(name), form, std::move(bytes), cpu);
   return found;
}

template <typename Globals>
void erase_unused(Globals &&globals, const llvm::GlobalValue *except = nullptr)
{
   for (auto &global : llvm::make_early_inc_range(globals)) {
      if (&global != except && global.use_empty() &&
          (global.isDeclaration() || global.hasLocalLinkage()))
         global.eraseFromParent();
   }
}

/// A module with this function alone, and with the constants that it uses.
std::unique_ptr<llvm::Module> module_of(const llvm::Function &function)
{
   llvm::ValueToValueMapTy map;
   std::unique_ptr<llvm::Module> module =
      llvm::CloneModule(*function.getParent(), map, [&](const llvm::GlobalValue *global) {
         return global == &function || llvm::isa<llvm::GlobalVariable>(global);
      });
   auto *own = llvm::cast<llvm::Function>(&*map[&function]);
   own->setLinkage(llvm::GlobalValue::ExternalLinkage);
   erase_unused(module->functions(), own);
   erase_unused(module->globals());
   return module;
}

bool calls_only_declarations(const llvm::Function &function)
{
   return llvm::all_of(llvm::instructions(function), [](const llvm::Instruction &instruction) {
      return llvm::all_of(instruction.operands(), [](const llvm::Use &use) {
         const auto *callee = llvm::dyn_cast<llvm::Function>(use);
         return !callee || callee->isDeclaration();
      });
   });
}

/// The functions that need no other function of the module.
std::vector<llvm::Function *> internal_functions(llvm::Module &module)
{
   std::vector<llvm::Function *> found;
   for (llvm::Function &function : module) {
      if (!function.isDeclaration() && function.hasLocalLinkage() &&
          calls_only_declarations(function))
         found.push_back(&function);
   }
   return found;
}

class CodeWriter {
public:
   void add(uint64_t number) { append(&number, sizeof(number)); }
   void add(std::span<const std::byte> text)
   {
      add(text.size());
      append(text.data(), text.size());
   }

   std::vector<std::byte> bytes;

private:
   void append(const void *data, size_t size)
   {
      const auto *begin = static_cast<const std::byte *>(data);
      bytes.insert(bytes.end(), begin, begin + size);
   }
};

/// Behind the end, numbers are zero and texts empty.
class CodeReader {
public:
   explicit CodeReader(std::span<const std::byte> bytes) : rest(bytes) {}

   uint64_t number()
   {
      uint64_t value = 0;
      std::ranges::copy(take(sizeof(value)), std::as_writable_bytes(std::span(&value, 1)).begin());
      return value;
   }
   std::span<const std::byte> text() { return take(number()); }
   bool is_whole() const { return whole; }

private:
   std::span<const std::byte> take(uint64_t size)
   {
      if (size > rest.size())
         whole = false;
      if (!whole)
         return {};
      const std::span<const std::byte> taken = rest.first(size);
      rest = rest.subspan(size);
      return taken;
   }

   std::span<const std::byte> rest;
   bool whole = true;
};

std::vector<std::byte> copy_of(std::span<const std::byte> bytes)
{
   return {bytes.begin(), bytes.end()};
}

} // namespace

std::string SharedFunction::compile_and_link(Code &made) const
{
   if (form == Form::object) {
      made.object = bytes;
   } else {
      const LoggedPhase phase("function", this);
      llvm::LLVMContext context;
      const std::unique_ptr<llvm::Module> module = read_module(bytes, context);
      if (!module)
         return "no LLVM IR of " + symbol;
      Result<std::vector<std::byte>> object = compile_object(*module, {}, cpu);
      if (!object)
         return object.error().message;
      made.object = std::move(*object);
   }
   return made.linked.link(made.object, own_name(symbol), cpu);
}

std::string SharedFunction::compile()
{
   std::unique_lock lock(mutex);
   changed.wait(lock, [&] { return code || worker != getpid(); });
   if (code)
      return {};
   worker = getpid();
   lock.unlock();
   std::string error;
   auto made = std::make_unique<Code>();
   try {
      error = compile_and_link(*made);
   } catch (const std::exception &e) {
      error = e.what();
   }
   lock.lock();
   // After an error, such as a lack of memory, the next caller tries again.
   worker = 0;
   if (error.empty())
      code = std::move(made);
   changed.notify_all();
   return error;
}

bool SharedFunction::has_begun() const
{
   const std::lock_guard lock(mutex);
   return code || worker == getpid();
}

bool SharedFunction::is_compiled() const
{
   const std::lock_guard lock(mutex);
   return bool(code);
}

std::vector<std::shared_ptr<SharedFunction>> share_functions(llvm::Module &module,
                                                             const CpuFeatures &cpu)
{
   std::vector<std::shared_ptr<SharedFunction>> shared;
   for (llvm::Function *function : internal_functions(module)) {
      std::vector<std::byte> bytes = write_module(*module_of(*function));
      const llvm::XXH128_hash_t hash = llvm::xxh3_128bits(
         llvm::ArrayRef(reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()));
      const std::string name =
         llvm::formatv("{0}.{1:x-16}{2:x-16}", function->getName(), hash.high64, hash.low64);
      function->deleteBody(); // external from now on
      function->setName(name);
      function->setDSOLocal(false);
      shared.push_back(find_or_add(name, SharedFunction::Form::module, std::move(bytes), cpu));
   }
   erase_unused(module.globals());
   return shared;
}

std::vector<std::byte> write_code(const CompiledCode &code)
{
   CodeWriter writer;
   writer.add(code.functions.size());
   for (const std::shared_ptr<SharedFunction> &function : code.functions) {
      writer.add(std::as_bytes(std::span(function->name())));
      writer.add(function->object());
   }
   writer.add(code.object);
   return std::move(writer.bytes);
}

Result<CompiledCode> read_code(std::span<const std::byte> bytes, const CpuFeatures &cpu)
{
   CodeReader reader(bytes);
   CompiledCode code;
   for (uint64_t count = reader.number(); count && reader.is_whole(); count--) {
      const std::span<const std::byte> name = reader.text(), object = reader.text();
      std::string symbol(reinterpret_cast<const char *>(name.data()), name.size());
      if (!reader.is_whole() || !is_valid_name(symbol))
         return Error{"compiled program: damaged"};
      code.functions.push_back(
         find_or_add(std::move(symbol), SharedFunction::Form::object, copy_of(object), cpu));
   }
   code.object = copy_of(reader.text());
   if (!reader.is_whole())
      return Error{"compiled program: damaged"};
   return code;
}

std::vector<std::byte> write_module(const llvm::Module &module)
{
   llvm::SmallVector<char, 0> text;
   llvm::raw_svector_ostream stream(text);
   llvm::WriteBitcodeToFile(module, stream);
   return copy_of(std::as_bytes(std::span(text)));
}

std::unique_ptr<llvm::Module> read_module(std::span<const std::byte> bytes,
                                          llvm::LLVMContext &context)
{
   const llvm::MemoryBufferRef buffer(
      llvm::StringRef(reinterpret_cast<const char *>(bytes.data()), bytes.size()), "weft");
   llvm::Expected<std::unique_ptr<llvm::Module>> module = llvm::parseBitcodeFile(buffer, context);
   if (module)
      return std::move(*module);
   llvm::consumeError(module.takeError());
   return nullptr;
}

} // namespace weft::cpu
