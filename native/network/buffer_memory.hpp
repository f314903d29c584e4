// Memory other than the host's in which the buffers of messages may lie.
#pragma once

#include <cstddef>
#include <memory>

namespace assay {

// A buffer there, with the content of a piece of the host's memory.
class BufferImage {
 public:
  virtual ~BufferImage() = default;

  // For MPI only: the host can't read it.
  virtual unsigned char* address() const = 0;
  // Copies all bytes there, or back from there, and waits.
  virtual void upload() const = 0;
  virtual void download() const = 0;
};

class BufferMemory {
 public:
  virtual ~BufferMemory() = default;

  // Of a piece of the host's memory that outlives it. Throws KernelError.
  virtual std::unique_ptr<BufferImage> image_of(unsigned char* host, std::size_t bytes) const = 0;
};

}  // namespace assay
