// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// weft-run --info.

#pragma once

#include "tools/weft_run/arguments.h"
#include "tools/weft_run/installation.h"
#include "tools/weft_run/probe.h"

#include <string>

namespace weft::weft_run {

/// A set of devices that one probe finds.
struct View {
   std::string key, title; ///< names in JSON and on the page
   Choice choice;
};

/// A view as a paragraph of the page, or as JSON.
std::string as_text(const View &, const Findings &);
std::string as_json(const Findings &);

/// Prints the page, or JSON.  Returns the exit status.
int print_info(const Arguments &, const Installation &);

} // namespace weft::weft_run
