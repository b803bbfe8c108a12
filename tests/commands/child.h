// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Work in a child process, so that a crash and a hang are ordinary results.

#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace weft::commands {

/// A child's message to its parent.
class Channel {
public:
   explicit Channel(int pipe) : pipe(pipe) {}
   void send(uint64_t number, const std::string &text = "");

private:
   int pipe;
};

/// Runs work in a child, which ends after it. Calls `heard` with each message. Returns an empty
/// text for exit status 0. Otherwise the text names a signal, another status, or a kill after so
/// many seconds without a message.
std::string run_in_child(const std::function<void(Channel &)> &work,
                         const std::function<void(uint64_t, const std::string &)> &heard,
                         int silence_seconds);

} // namespace weft::commands
