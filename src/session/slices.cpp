#include "session/slices.h"

#include <boost/asio/post.hpp>

namespace caisson::session {

Task<> Slices::turn() {
  co_await boost::asio::post(loop_.get_executor(), kAwait);
  begin_ = SteadyClock::now();
}

}  // namespace caisson::session
