// The entries of a directory.
#pragma once

#include <string>
#include <vector>

namespace assay {

// Reads a directory from its beginning, in parts, so that a large one needs little memory.
class Listing {
 public:
  // An empty listing if the directory can't be read; errno says why.
  explicit Listing(int directory);
  ~Listing();
  Listing(const Listing&) = delete;
  Listing& operator=(const Listing&) = delete;

  // The next name other than "." and ".."; nullptr at the end. Valid until the next call.
  const char* next();

 private:
  void* stream_ = nullptr;  // a DIR
};

std::vector<std::string> entries(int directory);

}  // namespace assay
