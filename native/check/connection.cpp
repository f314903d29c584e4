#include "check/connection.hpp"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <memory>
#include <vector>

#include "harness/values.hpp"

namespace assay::check {
namespace {

using Addresses = std::unique_ptr<addrinfo, void (*)(addrinfo*)>;

constexpr Ticks kRetry = 10'000'000;  // ns between attempts to connect

Addresses addresses_of(const std::string& host, int port) {
  addrinfo wanted{};
  wanted.ai_family = AF_UNSPEC;
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &wanted, &found);
  if (error != 0) {
    throw KernelError("the address of the partner '" + host + "' is unknown: " +
                      (error == EAI_SYSTEM ? std::strerror(errno) : gai_strerror(error)));
  }
  return {found, freeaddrinfo};
}

// The address of this node towards an address; empty if there is no way to it.
std::string own_address_towards(const addrinfo& partner) {
  const Descriptor socket(::socket(partner.ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_storage own{};
  socklen_t size = sizeof own;
  if (!socket || connect(socket.get(), partner.ai_addr, partner.ai_addrlen) != 0 ||
      getsockname(socket.get(), reinterpret_cast<sockaddr*>(&own), &size) != 0) {
    return "";
  }
  std::array<char, NI_MAXHOST> text{};
  const int error = getnameinfo(reinterpret_cast<sockaddr*>(&own), size, text.data(), text.size(),
                                nullptr, 0, NI_NUMERICHOST);
  return error == 0 ? text.data() : "";
}

bool is_address(const std::string& host) {
  std::array<unsigned char, sizeof(in6_addr)> bytes{};
  return inet_pton(AF_INET, host.c_str(), bytes.data()) == 1 ||
         inet_pton(AF_INET6, host.c_str(), bytes.data()) == 1;
}

std::string in_seconds(double seconds) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%g s", seconds);
  return text.data();
}

int milliseconds_until(Ticks limit) {
  return static_cast<int>(std::max<Ticks>((limit - ticks() + 999'999) / 1'000'000, 0));
}

// Whether an event came before the limit.
bool wait_until(int descriptor, short events, Ticks limit) {
  for (;;) {
    pollfd one{descriptor, events, 0};
    const int found = poll(&one, 1, milliseconds_until(limit));
    if (found > 0) return true;
    if (found == 0 || errno != EINTR) return false;
  }
}

// The same host, whatever the port; an IPv4 address may come as an IPv6 one.
bool is_same_host(const sockaddr_storage& peer, const addrinfo& known) {
  if (known.ai_family == AF_INET) {
    in_addr expected = reinterpret_cast<const sockaddr_in*>(known.ai_addr)->sin_addr;
    if (peer.ss_family == AF_INET) {
      return reinterpret_cast<const sockaddr_in&>(peer).sin_addr.s_addr == expected.s_addr;
    }
    const auto& mapped = reinterpret_cast<const sockaddr_in6&>(peer).sin6_addr;
    return peer.ss_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&mapped) &&
           std::memcmp(mapped.s6_addr + 12, &expected, sizeof expected) == 0;
  }
  return peer.ss_family == AF_INET6 && known.ai_family == AF_INET6 &&
         std::memcmp(&reinterpret_cast<const sockaddr_in6&>(peer).sin6_addr,
                     &reinterpret_cast<const sockaddr_in6*>(known.ai_addr)->sin6_addr,
                     sizeof(in6_addr)) == 0;
}

// Listens on all addresses, of both families if the node has both; -1, with errno, if it can't.
Descriptor listener(int port) {
  for (const int family : {AF_INET6, AF_INET}) {
    Descriptor socket(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket) continue;
    const int on = 1;
    const int off = 0;
    setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    sockaddr_in6 six{};
    sockaddr_in four{};
    sockaddr* address = reinterpret_cast<sockaddr*>(&four);
    socklen_t size = sizeof four;
    four.sin_family = AF_INET;
    four.sin_port = htons(static_cast<std::uint16_t>(port));
    if (family == AF_INET6) {
      setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
      six.sin6_family = AF_INET6;
      six.sin6_addr = in6addr_any;
      six.sin6_port = four.sin_port;
      address = reinterpret_cast<sockaddr*>(&six);
      size = sizeof six;
    }
    if (bind(socket.get(), address, size) == 0 && ::listen(socket.get(), 4) == 0) return socket;
    if (errno != EADDRNOTAVAIL && errno != EAFNOSUPPORT) return {};
  }
  return {};
}

// Accepts the partner, and no other host; nothing if it doesn't come.
Descriptor accept_partner(int socket, const Addresses& known, Ticks limit) {
  while (wait_until(socket, POLLIN, limit)) {
    sockaddr_storage peer{};
    socklen_t size = sizeof peer;
    Descriptor found(
        accept4(socket, reinterpret_cast<sockaddr*>(&peer), &size, SOCK_CLOEXEC | SOCK_NONBLOCK));
    for (const addrinfo* each = known.get(); found && each != nullptr; each = each->ai_next) {
      if (is_same_host(peer, *each)) return found;
    }
  }
  return {};
}

// Tries all addresses until one answers; nothing if none does.
Descriptor connect_to(const Addresses& known, Ticks limit, int& error) {
  do {
    for (const addrinfo* each = known.get(); each != nullptr; each = each->ai_next) {
      Descriptor found(::socket(each->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
      if (!found) continue;
      error = connect(found.get(), each->ai_addr, each->ai_addrlen) == 0 ? 0 : errno;
      if (error == EINPROGRESS) {
        error = ETIMEDOUT;
        socklen_t size = sizeof error;
        if (wait_until(found.get(), POLLOUT, limit)) {
          getsockopt(found.get(), SOL_SOCKET, SO_ERROR, &error, &size);
        }
      }
      if (error == 0) return found;
    }
    const timespec pause{0, kRetry};
    nanosleep(&pause, nullptr);
  } while (ticks() < limit);
  return {};
}

}  // namespace

bool listens(const std::string& self, const std::string& partner) {
  const std::string mine = self.substr(0, self.find('.'));
  const std::string other = partner.substr(0, partner.find('.'));
  return mine != other ? mine < other : self < partner;
}

Connection::Connection(const Settings& settings, double seconds_of_all)
    : partner_(settings.partner) {
  const Ticks begin = ticks();
  const Addresses known = addresses_of(partner_, settings.port);
  const Ticks until = begin + static_cast<Ticks>(1e9 * settings.wait);
  connected_ = is_address(partner_) ? !(own_address_towards(*known) < partner_)
                                    : !listens(settings.self, partner_);
  if (connected_) {
    int error = 0;
    socket_ = connect_to(known, until, error);
    if (!socket_) fail("didn't answer within " + in_seconds(settings.wait), error);
  } else {
    const Descriptor open = listener(settings.port);
    if (!open) {
      throw KernelError("listening for the partner at port " + std::to_string(settings.port) +
                        " failed: " + std::strerror(errno));
    }
    socket_ = accept_partner(open.get(), known, until);
    if (!socket_) fail("didn't come within " + in_seconds(settings.wait), 0);
  }
  const int on = 1;
  setsockopt(socket_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  limit_ = ticks() + static_cast<Ticks>(1e9 * (settings.wait + 2.0 * seconds_of_all));
}

void Connection::fail(const std::string& words, int error) const {
  throw KernelError("the partner '" + partner_ + "' " + words +
                    (error == 0 ? "" : std::string(": ") + std::strerror(error)));
}

void Connection::wait_for(short events) {
  if (!wait_until(socket_.get(), events, limit_)) fail("became silent", 0);
}

void Connection::send(const void* from, std::size_t bytes) {
  const char* at = static_cast<const char*>(from);
  while (bytes > 0) {
    const ssize_t done = ::send(socket_.get(), at, bytes, MSG_NOSIGNAL);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      wait_for(POLLOUT);
      continue;
    }
    if (done < 0) fail("ended the connection", errno);
    at += done;
    bytes -= static_cast<std::size_t>(done);
  }
}

void Connection::receive(void* to, std::size_t bytes) {
  // Polls at first: a core that fell asleep needs longer to wake up than a message takes.
  constexpr int kPolls = 200;  // about 0.1 ms
  char* at = static_cast<char*>(to);
  int polls = 0;
  while (bytes > 0) {
    const ssize_t done = ::recv(socket_.get(), at, bytes, 0);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      if (++polls > kPolls) wait_for(POLLIN);
      continue;
    }
    if (done <= 0) fail("ended the connection", done < 0 ? errno : 0);
    polls = 0;
    at += done;
    bytes -= static_cast<std::size_t>(done);
  }
}

void Connection::finish() {
  shutdown(socket_.get(), SHUT_WR);
  char rest = 0;
  while (::recv(socket_.get(), &rest, 1, 0) < 0) {
    if (errno == EINTR) continue;
    if (errno != EAGAIN && errno != EWOULDBLOCK) return;
    if (!wait_until(socket_.get(), POLLIN, limit_)) return;
  }
}

}  // namespace assay::check
