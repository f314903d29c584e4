// Where CPython keeps what the sampler reads, by version. The numbers are offsets on 64-bit
// machines, from the headers of CPython: cpython/pystate.h, cpython/frameobject.h (3.9, 3.10),
// frameobject.h (3.8), internal/pycore_frame.h (3.11), cpython/code.h, code.h,
// cpython/unicodeobject.h. A test compares them with the headers that are installed.
#pragma once

#include <cstdint>

namespace assay::trace {

struct PythonLayout {
  int minor;  // of version 3
  // PyThreadState. From 3.10 on, each call of the interpreter in C has a structure on its stack, to
  // which `cframe` points.
  std::uint32_t thread_id, frame, cframe;
  // _PyCFrame (3.11: with the frame of Python that it runs), CFrame (3.10).
  std::uint32_t cframe_previous, cframe_frame;
  // _PyInterpreterFrame (3.11), PyFrameObject.
  std::uint32_t code, previous, is_entry;
  // PyCodeObject. Before 3.11 functions have no qualified name.
  std::uint32_t first_line, file, name;
};

constexpr std::uint32_t kNone = 0;  // no version has any of these at the beginning
constexpr PythonLayout kPythonLayouts[] = {
    {8, 176, 24, kNone, kNone, kNone, 32, 24, kNone, 40, 104, 112},
    {9, 176, 24, kNone, kNone, kNone, 32, 24, kNone, 40, 104, 112},
    {10, 176, 24, 48, 8, kNone, 32, 24, kNone, 40, 104, 112},
    {11, 152, kNone, 56, 16, 8, 32, 48, 68, 72, 112, 128},
};

// Objects: PyObject, PyASCIIObject and PyCompactUnicodeObject, alike in these versions.
constexpr std::uint32_t kType = 8, kLength = 16, kState = 32, kAscii = 48, kCompact = 72;
// The bits of a text's state: interned (2), kind (3), compact, ascii.
constexpr std::uint32_t kKindShift = 2, kKindMask = 7, kIsCompact = 1U << 5, kIsAscii = 1U << 6;

}  // namespace assay::trace
