#include "check/component.hpp"

#include <array>

namespace assay::check {
namespace {

constexpr std::array<Component, 8> kComponents = {{
    {"core", measure_core},
    {"product", measure_product},
    {"stream", measure_stream},
    {"latency", measure_latency},
    {"random", measure_random},
    {"storage", measure_storage},
    {"message_latency", measure_message_latency},
    {"message_bandwidth", measure_message_bandwidth},
}};

}  // namespace

const Component* find_component(std::string_view name) {
  for (const Component& each : kComponents) {
    if (each.name == name) return &each;
  }
  return nullptr;
}

std::vector<std::string> component_names() {
  std::vector<std::string> names;
  for (const Component& each : kComponents) names.emplace_back(each.name);
  return names;
}

}  // namespace assay::check
