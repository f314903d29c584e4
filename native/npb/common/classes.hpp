// Problem classes are tables of structs with a `name`; each benchmark's table is in its folder.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace assay::npb {

template <typename Table>
std::vector<std::string> class_names(const Table& table) {
  std::vector<std::string> names;
  for (const auto& entry : table) names.emplace_back(entry.name);
  return names;
}

// The entry of that name; the name must be one of class_names(table).
template <typename Table>
const auto& find_class(const Table& table, std::string_view name) {
  for (const auto& entry : table) {
    if (entry.name == name) return entry;
  }
  return table[0];
}

}  // namespace assay::npb
