#include "device/library.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <sstream>

namespace assay::device {
namespace {

// The same files in the folders of the Python environment, which the launch names, after those that
// the loader finds.
std::vector<std::string> with_folders(const std::vector<std::string>& files) {
  std::vector<std::string> all = files;
  const char* const given = std::getenv("ASSAY_DEVICE_LIBRARIES");
  std::istringstream folders(given == nullptr ? "" : given);
  for (std::string folder; std::getline(folders, folder, ':');) {
    for (const std::string& file : files) {
      if (!folder.empty() && file.front() != '/') all.push_back(folder + "/" + file);
    }
  }
  return all;
}

}  // namespace

Library::Library(const std::vector<std::string>& files, const std::string& missing) {
  std::string damaged;
  for (const std::string& file : with_folders(files)) {
    handle_ = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle_ != nullptr) {
      file_ = file;
      return;
    }
    const char* const why = dlerror();
    const std::string text = why == nullptr ? "" : why;
    // A library that is there and can't be loaded is another problem than a missing one.
    if (text.find("No such file") == std::string::npos) damaged = text;
  }
  throw DeviceError(damaged.empty() ? missing : missing + " (" + damaged + ")");
}

bool Library::has(const char* name) const { return dlsym(handle_, name) != nullptr; }

void* Library::symbol(const char* name) const {
  void* const found = dlsym(handle_, name);
  if (found == nullptr) {
    throw DeviceError(file_ + " is too old: it lacks " + name + "; install a newer version");
  }
  return found;
}

}  // namespace assay::device
