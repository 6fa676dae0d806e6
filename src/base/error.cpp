#include "base/error.h"

#include <string.h>

namespace caisson {

const char* errno_text(int errnum) {
  const char* text = ::strerrordesc_np(errnum);
  return text ? text : "unknown error";
}

Error Error::from_errno(std::string doing, int errnum) {
  doing += ": ";
  doing += errno_text(errnum);
  return {std::move(doing), {}, errnum};
}

}  // namespace caisson
