// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tools/weftc/option_table.h"

#include <algorithm>
#include <sstream>

namespace weft::weftc {

namespace {

constexpr size_t text_column = 23, columns = 100;

/// Breaks a text into lines that end before `columns` if they begin at a column.
std::string wrap(const std::string &text, size_t column)
{
   std::istringstream words(text);
   std::string wrapped, word;
   for (size_t at = column; words >> word; at += word.size()) {
      const bool first = wrapped.empty();
      if (!first && at + 1 + word.size() > columns) {
         wrapped += "\n" + std::string(column, ' ');
         at = column;
      } else if (!first) {
         wrapped += ' ';
         at++;
      }
      wrapped += word;
   }
   return wrapped;
}

std::string line_of(const std::string &name, const std::string &text)
{
   std::string line = "  " + name;
   line.resize(std::max(line.size() + 2, text_column), ' ');
   return line + wrap(text, text_column) + "\n";
}

/// "-o, --output FILE"
std::string name_of(const CLI::Option &option)
{
   std::string name;
   for (const std::string &letter : option.get_snames())
      name += "-" + letter + ", ";
   for (const std::string &word : option.get_lnames())
      name += "--" + word + ", ";
   name.resize(name.size() - 2);
   return option.get_type_name().empty() ? name : name + " " + option.get_type_name();
}

/// The user's words for an error of CLI11's.
std::string message_of(const CLI::ParseError &error)
{
   const std::string text = error.what();
   // "--entry: 1 required TEXT missing"
   if (dynamic_cast<const CLI::ArgumentMismatch *>(&error) && text.ends_with("missing"))
      return text.substr(0, text.find(':')) + " needs a value";
   // "The following argument was not expected: --teapot"
   if (dynamic_cast<const CLI::ExtrasError *>(&error))
      return "unknown option " + text.substr(text.find(": ") + 2);
   return text;
}

} // namespace

OptionTable::OptionTable(std::string synopsis, std::string description, std::string footer)
    : app(std::move(description)), synopsis(std::move(synopsis))
{
   app.footer(std::move(footer));
   app.set_help_flag();
   app.add_option("FILE", files)->group("");
   app.formatter_fn([this](const CLI::App *, std::string, CLI::AppFormatMode) { return layout(); });
}

CLI::Option *OptionTable::add(CLI::Option *option)
{
   return option->group(group);
}

void OptionTable::add_value(const std::string &name, const std::string &type,
                            const std::string &text, TakeValue take)
{
   const auto take_all = [take = std::move(take),
                          word = name.substr(name.find("--"))](const CLI::results_t &values) {
      for (const std::string &value : values) {
         if (const std::optional<Error> error = take(value))
            throw CLI::ValidationError(word + " " + value + ": " + error->message,
                                       CLI::ExitCodes::ValidationError);
      }
      return true;
   };
   add(app.add_option(name, take_all, text))
      ->type_name(type)
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false);
}

void OptionTable::add_listed(const std::string &name, std::vector<ListedValue> values,
                             TakeValue take)
{
   add_value(name, "", "", std::move(take));
   listed[app.get_option(name)] = std::move(values);
}

CLI::Option *OptionTable::add_flag(const std::string &name, bool &flag, const std::string &text,
                                   const std::string &no_name)
{
   return add(app.add_flag(no_name.empty() ? name : name + ",!" + no_name, flag, text))
      ->disable_flag_override();
}

Result<std::vector<std::string>> OptionTable::parse(int argc, const char *const *argv)
{
   try {
      app.parse(argc, argv);
   } catch (const CLI::ParseError &error) {
      return Error{message_of(error)};
   }
   return files;
}

std::vector<std::string> OptionTable::given_in(const std::string &wanted) const
{
   std::vector<std::string> names;
   for (const CLI::Option *option : app.get_options()) {
      if (option->get_group() == wanted && option->count())
         names.push_back("--" + option->get_lnames().front());
   }
   return names;
}

std::string OptionTable::layout() const
{
   std::string text = "usage: " + synopsis + "\n\n" + wrap(app.get_description(), 0) + "\n\n";
   std::string last_group;
   for (const CLI::Option *option : app.get_options()) {
      if (option->get_group().empty())
         continue;
      if (option->get_group() != last_group)
         text += option->get_group() + ":\n";
      last_group = option->get_group();
      const auto values = listed.find(option);
      if (values == listed.end())
         text += line_of(name_of(*option), option->get_description());
      else {
         for (const ListedValue &value : values->second)
            text += line_of(name_of(*option) + "=" + value.value, value.text);
      }
   }
   return text + "\n" + wrap(app.get_footer(), 0) + "\n";
}

} // namespace weft::weftc
