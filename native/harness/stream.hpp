// The stream of records: rank 0 alone writes it, a record per line, each line with one write(2).
#pragma once

#include <string>

namespace assay {

class Stream {
 public:
  // "-" is standard output. Says on stderr what is wrong if it can't be opened or already holds
  // records; failed() is true from then on.
  explicit Stream(const std::string& path);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  // Appends the line and its end. After the first error (said on stderr with the path and the
  // system's words) nothing more is written, and the part of a line that got through is taken back
  // where the file allows it, so that what stands there is complete.
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
