// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Wrappers for LLVM functions that changed between the supported versions, 19 to 22.

#pragma once

#include <llvm/ExecutionEngine/JITLink/JITLink.h>
#include <llvm/ExecutionEngine/Orc/SymbolStringPool.h>
#include <llvm/IR/Attributes.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/TargetParser/Triple.h>

namespace weft::cpu {

/// Target triples were strings before LLVM 21; the registry takes strings until LLVM 22.
#if LLVM_VERSION_MAJOR >= 21
using TargetTriple = llvm::Triple;
#else
using TargetTriple = std::string;
#endif

inline const llvm::Target *find_target(const char *triple, std::string &error)
{
#if LLVM_VERSION_MAJOR >= 22
   return llvm::TargetRegistry::lookupTarget(llvm::Triple(triple), error);
#else
   return llvm::TargetRegistry::lookupTarget(triple, error);
#endif
}

/// The names of JITLink's symbols, which were strings before LLVM 20.
inline llvm::StringRef text_of(llvm::StringRef name)
{
   return name;
}
inline llvm::StringRef text_of(const llvm::orc::SymbolStringPtr &name)
{
   return *name;
}

inline llvm::Expected<std::unique_ptr<llvm::jitlink::LinkGraph>>
link_graph_of(llvm::MemoryBufferRef object)
{
#if LLVM_VERSION_MAJOR >= 20
   return llvm::jitlink::createLinkGraphFromObject(object,
                                                   std::make_shared<llvm::orc::SymbolStringPool>());
#else
   return llvm::jitlink::createLinkGraphFromObject(object);
#endif
}

/// A parameter's attribute: the function keeps no copy of the pointer.
inline llvm::Attribute no_capture([[maybe_unused]] llvm::LLVMContext &context)
{
#if LLVM_VERSION_MAJOR >= 21
   return llvm::Attribute::getWithCaptureInfo(context, llvm::CaptureInfo::none());
#else
   return llvm::Attribute::get(context, llvm::Attribute::NoCapture);
#endif
}

} // namespace weft::cpu
