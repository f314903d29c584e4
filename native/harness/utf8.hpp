// Text in UTF-8.
#pragma once

#include <cstddef>
#include <string_view>

namespace assay {

// Length of the valid UTF-8 sequence at the start of `text`, which isn't empty (RFC 3629, section
// 4); 0 if there is none.
std::size_t utf8_length(std::string_view text);

}  // namespace assay
