// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The result of a case, by a model of Vulkan that knows no driver.
///
/// The queue works through its batches in order, and the model runs each as soon as it may begin.
/// The host knows less: only a wait shows the end of a batch. Before that an answer may be either.
/// The model refuses cases that Vulkan forbids or leaves open: a refused command or step is to be
/// removed.

#pragma once

#include "tests/commands/program.h"

namespace weft::commands {

enum class Outcome { yes, no, either };

/// The result of a step. For a wait or a status: whether it is reached, set or signaled. For a
/// counter: its bounds. For bytes: their values; a byte of a timestamp is 8 × (its number + 1) +
/// the byte's place in it.
struct Observation {
   Outcome outcome = Outcome::yes;
   uint64_t low = 0, high = 0;
   std::vector<uint8_t> bytes;
   std::vector<uint32_t> tokens;
};

struct Refusal {
   size_t step, command; ///< of a submission: its command buffer; none: the whole step
   std::string why;
};

struct Interpretation {
   std::vector<Observation> steps;
   std::vector<Refusal> refusals; ///< if not empty, the other members are undefined
   uint32_t dispatches = 0;       ///< that ran
   /// Missing actions of the host before the queue's last wait, or at the end, without which the
   /// queue would wait for ever.
   std::vector<Step> missing;
   size_t blocked_at = 0; ///< the step before which they must happen
   bool idle_at_end = true;
};

Interpretation interpret(const Case &);

/// Removes refused parts until none is left, and lets the queue come to its end.
Interpretation make_valid(Case &);

} // namespace weft::commands
