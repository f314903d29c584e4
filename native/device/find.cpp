#include "device/find.hpp"

namespace assay::device {
namespace {

std::string listed(const std::vector<Info>& devices) {
  std::string text;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(i) + ": " + devices[i].name;
  }
  return text;
}

}  // namespace

std::map<std::string, Value> Chosen::facts() const {
  const Info& info = device->info();
  return {{"device_name", info.name},
          {"device_vendor", info.vendor},
          {"device_driver", info.driver},
          {"device_library", info.library},
          {"device_kind", info.kind},
          {"device_architecture", info.architecture},
          {"device_address", info.address},
          {"device_memory", static_cast<std::int64_t>(info.memory)},
          {"device_cache", static_cast<std::int64_t>(info.cache)},
          {"device_units", std::int64_t{info.units}},
          {"device_clock", info.clock}};
}

std::vector<std::string> Chosen::addresses() const {
  const std::string address = device ? device->info().address : std::string();
  return address.empty() ? std::vector<std::string>() : std::vector<std::string>{address};
}

Choice::Choice(const Context& context, Parameters& parameters)
    : place_(context.device_place), local_size_(context.local_size), parameters_(&parameters) {
  std::vector<std::string> names{"auto"};
  names.insert(names.end(), backend_names().begin(), backend_names().end());
  backend_ = parameters.choice("backend", "auto", names);
  device_ = parameters.integer("device", -1, -1, 1 << 16);
}

Chosen Choice::open() {
  std::string problems;
  for (const std::string& name : backend_names()) {
    if (backend_ != "auto" && backend_ != name) continue;
    try {
      Chosen chosen;
      chosen.backend = load_backend(name);
      const std::vector<Info> devices = chosen.backend->devices();
      const std::int64_t wanted = device_ < 0 ? place_ : device_;
      const auto count = static_cast<std::int64_t>(devices.size());
      if (wanted >= count && device_ < 0 && count > 0) {
        throw DeviceError("this node has " + std::to_string(count) +
                          (count == 1 ? " device" : " devices") + " of " + name + " for " +
                          std::to_string(local_size_) +
                          " ranks; use fewer ranks per node, or name one with 'device'");
      }
      if (wanted >= count) {
        throw DeviceError(
            "there is no device " + std::to_string(wanted) + " of " + name +
            (count == 0
                 ? ""
                 : "; " + std::string(count == 1 ? "there is " : "there are ") + listed(devices)));
      }
      chosen.place = static_cast<int>(wanted);
      chosen.device = chosen.backend->open(static_cast<std::size_t>(wanted));
      parameters_->resolve("backend", name);
      parameters_->resolve("device", wanted);
      return chosen;
    } catch (const DeviceError& error) {
      problems += (problems.empty() ? "" : "; ") + std::string(error.what());
    }
  }
  throw DeviceError(problems);
}

}  // namespace assay::device
