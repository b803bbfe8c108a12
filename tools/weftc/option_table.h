// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Options of a command line with CLI11: values are parsed by functions that return an Error, and
/// --help has the layout that tools/man/make_page.py reads.

#pragma once

#include "nir_passes/result.h"

#include <CLI/CLI.hpp>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace weft::weftc {

/// Takes an option's value; returns why it is wrong.
using TakeValue = std::function<std::optional<Error>(const std::string &value)>;

/// One value of an option for --help, on a line of its own: "--emit=nir  NIR for the back end".
struct ListedValue {
   std::string value, text;
};

class OptionTable {
public:
   OptionTable(std::string synopsis, std::string description, std::string footer);

   /// The group of the options that are added next.
   void begin_group(std::string name) { group = std::move(name); }
   /// `name` may have a short form: "-o,--output". Each occurrence is taken, in their order.
   void add_value(const std::string &name, const std::string &type, const std::string &text,
                  TakeValue);
   /// The same, with a line of --help for each value.
   void add_listed(const std::string &name, std::vector<ListedValue>, TakeValue);
   /// `no_name` clears the flag again.
   CLI::Option *add_flag(const std::string &name, bool &flag, const std::string &text,
                         const std::string &no_name = "");

   /// Options and files; the error is for the user.
   Result<std::vector<std::string>> parse(int argc, const char *const *argv);
   /// The options of a group that the command line has.
   std::vector<std::string> given_in(const std::string &group) const;

   std::string help() const { return app.help(); }

private:
   CLI::Option *add(CLI::Option *);
   std::string layout() const;

   CLI::App app;
   std::string synopsis, group;
   std::vector<std::string> files;
   std::map<const CLI::Option *, std::vector<ListedValue>> listed;
};

} // namespace weft::weftc
