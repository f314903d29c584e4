// File descriptors that close themselves, and whole transfers at an offset.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace assay {

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { close(); }

  int get() const { return number_; }
  explicit operator bool() const { return number_ >= 0; }
  void close() noexcept;

 private:
  int number_ = -1;
};

// Throws KernelError: the failed action and the message of errno; for a full disk or a limit, how
// to fix it.
[[noreturn]] void fail_with_errno(const std::string& doing);
// The message of an errno; for a full disk or a limit, how to fix it.
std::string reason_and_fix(int error);

// A new file in a directory; follows no link and overwrites nothing. `flags`: such as O_DIRECT.
Descriptor create_file(int directory, const std::string& name, int flags);
Descriptor open_file(int directory, const std::string& name, int flags);
Descriptor open_to_read(int directory, const std::string& name);
// The same, but nothing if there is no such file.
Descriptor open_if_present(int directory, const std::string& name);

// All bytes, or KernelError.
void write_at(int file, const unsigned char* from, std::size_t bytes, std::uint64_t offset);
void read_at(int file, unsigned char* to, std::size_t bytes, std::uint64_t offset);

// Writes data through to the device, as far as the device reports correctly.
void flush(int file);
// The same, and removes the file's pages from this node's page cache, if the file system complies.
void drop_cache(int file);

// Flips the lowest bit of the byte at that offset of a file, and flushes it.
void damage_byte(int directory, const std::string& name, std::uint64_t offset);

}  // namespace assay
