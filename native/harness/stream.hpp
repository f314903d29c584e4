// The stream of records: written only by rank 0, one record per line, each line with one write(2).
#pragma once

#include <string>

namespace assay {

class Stream {
 public:
  // "-" is standard output. Reports an error on stderr if the file can't be opened or already holds
  // records; failed() is then true.
  explicit Stream(const std::string& path);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  // Appends the line and its end. After the first error (reported on stderr with the path and the
  // system's message) nothing more is written, and a partial line is truncated if the file allows
  // it, so that the remaining records are complete.
  void write(std::string line);

  bool failed() const { return failed_; }
  int descriptor() const { return descriptor_; }

 private:
  void fail(const std::string& what);

  std::string path_;
  int descriptor_ = -1;
  bool failed_ = false;
};

}  // namespace assay
