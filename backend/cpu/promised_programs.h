// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The programs of a shader whose passes run on another thread, so that applications can create
/// their next pipeline and record commands meanwhile.

#pragma once

#include "backend/cpu/compiler.h"
#include "backend/cpu/specialize/shader_variants.h"

#include <atomic>
#include <cstddef>
#include <functional>
#include <future>
#include <list>
#include <memory>
#include <mutex>
#include <vector>

namespace weft::cpu {

/// One program for all dispatches, which is there, or an Error.
class OneProgram final : public Programs {
public:
   OneProgram(const ProgramInfo &info, ProgramResult found)
       : program_info(info), program(ready(std::move(found)))
   {
   }

   const ProgramInfo &info() const override { return program_info; }
   const FutureProgram &program_for(const DispatchFacts &) override { return program; }
   std::vector<std::byte> serialize() const override
   {
      const ProgramResult &result = program.get();
      return result ? (*result)->serialize() : std::vector<std::byte>();
   }

private:
   const ProgramInfo program_info;
   const FutureProgram program;
};

class PromisedPrograms final : public Programs {
public:
   /// Must be called once. The first dispatches now get their programs.
   void fulfil(std::shared_ptr<Programs>) noexcept;

   const ProgramInfo &info() const override { return promised().info(); }
   const FutureProgram &program_for(const DispatchFacts &) override;
   std::vector<std::byte> serialize() const override { return promised().serialize(); }

private:
   /// A dispatch that was recorded before the passes ended.
   struct Early {
      explicit Early(const DispatchFacts &);

      std::vector<std::byte> bytes;
      DispatchFacts facts; ///< in `bytes`, because the application may free its own
      std::promise<const FutureProgram *> choice;
      FutureProgram program;
   };

   /// Waits.
   Programs &promised() const;

   std::atomic<Programs *> made = nullptr;
   std::shared_ptr<Programs> owned; ///< once made is set
   std::mutex mutex;                ///< guards `early` until made is set
   std::list<Early> early;
   const FutureProgram without_memory = ready(Error{"no memory to choose a program"});
};

/// Calls `make` on another thread and promises its programs; an Error is the result of all
/// dispatches, which have this info then. Throws if there is no memory for the task.
std::shared_ptr<Programs> promise_programs(const ProgramInfo &,
                                           std::function<Result<std::shared_ptr<Programs>>()> make);

} // namespace weft::cpu
