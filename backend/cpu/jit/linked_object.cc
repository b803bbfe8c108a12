// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/cpu/jit/linked_object.h"

#include "backend/cpu/jit/lower_barriers.h"
#include "backend/cpu/kernels/tile_kernels.h"
#include "backend/cpu/llvm_versions.h"
#include "backend/cpu/options.h"
#include "backend/cpu/runtime/runtime_symbols.h"

#include <llvm/Object/ELFObjectFile.h>
#include <llvm/Support/LEB128.h>

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <mutex>

namespace weft::cpu {

namespace jitlink = llvm::jitlink;

namespace {

llvm::MemoryBufferRef buffer_of(std::span<const std::byte> object)
{
   return {llvm::StringRef(reinterpret_cast<const char *>(object.data()), object.size()), "weft"};
}

/// The sum of `count(section)` over an object's sections; 0 if the bytes are no object.
template <typename Count>
uint64_t sum_over_sections(std::span<const std::byte> bytes, Count &&count)
{
   llvm::Expected<std::unique_ptr<llvm::object::ObjectFile>> object =
      llvm::object::ObjectFile::createELFObjectFile(buffer_of(bytes));
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
uint64_t stack_bytes_of(std::span<const std::byte> bytes)
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

} // namespace

/// Links one object against find_runtime_symbol() and the functions of other objects. JITLink owns
/// the context and may destroy it before link() returns, so the LinkedObject holds all results.
class LinkContext final : public jitlink::JITLinkContext {
public:
   LinkContext(LinkedObject &linked, std::string_view symbol, const CpuFeatures &cpu,
               const SymbolAddresses &others)
       : JITLinkContext(nullptr), linked(linked), symbol(symbol), cpu(cpu), others(others)
   {
   }

   jitlink::JITLinkMemoryManager &getMemoryManager() override { return linked.memory; }

   void notifyFailed(llvm::Error error) override
   {
      linked.error += llvm::toString(std::move(error));
   }

   void lookup(const LookupMap &symbols,
               std::unique_ptr<jitlink::JITLinkAsyncLookupContinuation> continuation) override
   {
      jitlink::AsyncLookupResult found;
      std::string missing;
      for (const auto &[name, flags] : symbols) {
         const std::string_view text = text_of(name);
         const llvm::orc::ExecutorAddr address(address_of(text));
         linked.needs_tiles |= needs_tile_configuration(text, cpu);
         if (!address && flags == jitlink::SymbolLookupFlags::RequiredSymbol)
            missing += " " + std::string(text);
         found[name] = {address, llvm::JITSymbolFlags::Exported};
      }
      if (missing.empty())
         continuation->run(std::move(found));
      else
         continuation->run(llvm::make_error<llvm::StringError>(
            "generated code calls unknown functions:" + missing, llvm::inconvertibleErrorCode()));
   }

   llvm::Error notifyResolved(jitlink::LinkGraph &graph) override
   {
      for (const jitlink::Symbol *defined : graph.defined_symbols()) {
         if (!defined->hasName())
            continue;
         const std::string_view name = text_of(defined->getName());
         if (name == symbol)
            linked.symbol_address = defined->getAddress().getValue();
         else if (name == frame_symbol)
            linked.frame_address = defined->getAddress().getValue();
      }
      if (options().has_debug("perf"))
         write_perf_map(graph);
      return llvm::Error::success();
   }

   void notifyFinalized(jitlink::JITLinkMemoryManager::FinalizedAlloc allocation) override
   {
      linked.allocation = std::move(allocation);
   }

private:
   uint64_t address_of(std::string_view name) const
   {
      const auto other = others.find(name);
      return other != others.end() ? other->second : uint64_t(find_runtime_symbol(name, cpu));
   }

   LinkedObject &linked;
   const std::string_view symbol;
   const CpuFeatures &cpu;
   const SymbolAddresses &others;
};

LinkedObject::LinkedObject() : memory(uint64_t(sysconf(_SC_PAGESIZE))) {}

LinkedObject::~LinkedObject()
{
   if (allocation)
      llvm::consumeError(memory.deallocate(std::move(allocation)));
}

std::string LinkedObject::link(std::span<const std::byte> object, std::string_view symbol,
                               const CpuFeatures &cpu, const SymbolAddresses &others)
{
   stack = stack_bytes_of(object);
   llvm::Expected<std::unique_ptr<jitlink::LinkGraph>> graph = link_graph_of(buffer_of(object));
   if (!graph)
      return llvm::toString(graph.takeError());
   jitlink::link(std::move(*graph), std::make_unique<LinkContext>(*this, symbol, cpu, others));
   if (error.empty() && !symbol_address)
      error = "the object has no " + std::string(symbol);
   if (error.empty() && frame_address)
      frame = *reinterpret_cast<const uint32_t *>(frame_address);
   return error;
}

uint64_t code_bytes(std::span<const std::byte> object)
{
   return sum_over_sections(object, [](const llvm::object::SectionRef &section) -> uint64_t {
      return section.isText() ? section.getSize() : 0;
   });
}

} // namespace weft::cpu
