// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The log of WEFT_DEBUG=times: a line on stderr for each phase of a compilation and for each wait
/// of the queue for a program. The lines of a process show its critical path.

#pragma once

#include <cstdint>

namespace weft::cpu {

/// A phase from the constructor to the destructor. Without the setting it costs a comparison.
class LoggedPhase {
public:
   /// `shader` is a number that the shader's lines share. A phase within another one on the same
   /// thread has that one's shader.
   explicit LoggedPhase(const char *name, const void *shader = nullptr);
   ~LoggedPhase();
   LoggedPhase(const LoggedPhase &) = delete;
   LoggedPhase &operator=(const LoggedPhase &) = delete;

   /// For a phase that creates the shader.
   void set_shader(const void *);

private:
   const char *const name;
   const void *outer = nullptr;
   uint64_t start_us = 0, start_cpu_us = 0;
};

} // namespace weft::cpu
