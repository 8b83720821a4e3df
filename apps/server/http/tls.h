// TLS for the server's connections. The library that speaks it is loaded only by who asks for it: lib/tenon/server/tls.so (Debian:
// libssl3), built where it has its headers.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "tenon/status.h"

namespace tenon::server {

// One connection: bytes go in and out of it, it does no input or output itself. One thread at a time.
class TlsSession {
 public:
  virtual ~TlsSession() = default;
  // Bytes that came from the peer; what they say is appended to `plain`. False: the peer broke the protocol; what is in take_output()
  // tells it.
  virtual bool receive(std::string_view bytes, std::string* plain) = 0;
  // False as above.
  virtual bool send(std::string_view plain) = 0;
  // Says that nothing more will be sent.
  virtual void close() = 0;
  // Bytes for the peer since the last call.
  virtual std::string take_output() = 0;
};

// Thread safe.
class TlsContext {
 public:
  virtual ~TlsContext() = default;
  virtual std::unique_ptr<TlsSession> session() = 0;
};

// Reads PEM files: a certificate with those that vouch for it, and its key. TLS 1.2 and 1.3.
Result<std::unique_ptr<TlsContext>> open_tls(const std::string& certificate, const std::string& key);

}  // namespace tenon::server

// What the library exports: version kTlsVersion, and a context, or nullptr, and *error says why.
inline constexpr unsigned kTlsVersion = 1;
extern "C" {
using tenon_tls_version_fn = unsigned();
using tenon_tls_new_fn = tenon::server::TlsContext*(const char* certificate, const char* key, std::string* error);
}
