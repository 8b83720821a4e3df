// TLS by OpenSSL, on memory: lib/tenon/server/tls.so.
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <string>

#include "server/http/tls.h"

namespace tenon::server {
namespace {

// The oldest error of this thread, as OpenSSL says it; none is left.
std::string error_text() {
  const unsigned long code = ERR_get_error();
  char text[256] = "unknown error";
  if (code) ERR_error_string_n(code, text, sizeof text);
  ERR_clear_error();
  return text;
}

class OpensslSession : public TlsSession {
 public:
  explicit OpensslSession(SSL_CTX* context)
      : ssl_(SSL_new(context)), in_(BIO_new(BIO_s_mem())), out_(BIO_new(BIO_s_mem())) {
    SSL_set_bio(ssl_, in_, out_);  // which it owns from now on
    SSL_set_accept_state(ssl_);
  }
  ~OpensslSession() override { SSL_free(ssl_); }

  bool receive(std::string_view bytes, std::string* plain) override {
    if (BIO_write(in_, bytes.data(), static_cast<int>(bytes.size())) != static_cast<int>(bytes.size())) return false;
    while (true) {
      char buffer[16384];
      ERR_clear_error();
      const int n = SSL_read(ssl_, buffer, sizeof buffer);
      if (n > 0) {
        plain->append(buffer, static_cast<size_t>(n));
        continue;
      }
      const int error = SSL_get_error(ssl_, n);
      ERR_clear_error();
      return error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE;
    }
  }
  bool send(std::string_view plain) override {
    ERR_clear_error();
    while (!plain.empty()) {
      const int n = SSL_write(ssl_, plain.data(), static_cast<int>(std::min<size_t>(plain.size(), 1 << 20)));
      if (n <= 0) return ERR_clear_error(), false;
      plain.remove_prefix(static_cast<size_t>(n));
    }
    return true;
  }
  void close() override {
    if (SSL_is_init_finished(ssl_)) SSL_shutdown(ssl_);
    ERR_clear_error();
  }
  std::string take_output() override {
    std::string out(BIO_ctrl_pending(out_), '\0');
    if (!out.empty()) BIO_read(out_, out.data(), static_cast<int>(out.size()));
    return out;
  }

 private:
  SSL* ssl_;
  BIO *in_, *out_;
};

class OpensslContext : public TlsContext {
 public:
  OpensslContext() : context_(SSL_CTX_new(TLS_server_method())) {}
  ~OpensslContext() override { SSL_CTX_free(context_); }
  std::unique_ptr<TlsSession> session() override { return std::make_unique<OpensslSession>(context_); }

  // What is wrong, or nothing.
  std::string load(const char* certificate, const char* key) {
    if (!context_) return "OpenSSL: " + error_text();
    SSL_CTX_set_min_proto_version(context_, TLS1_2_VERSION);
    SSL_CTX_set_options(context_, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE);
    SSL_CTX_set_mode(context_, SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_default_passwd_cb(context_, [](char*, int, int, void*) { return 0; });  // nobody is asked
    if (SSL_CTX_use_certificate_chain_file(context_, certificate) != 1)
      return "'" + std::string(certificate) + "' is no certificate in PEM: " + error_text();
    if (SSL_CTX_use_PrivateKey_file(context_, key, SSL_FILETYPE_PEM) != 1)
      return "'" + std::string(key) + "' is no key in PEM, or not that of the certificate: " + error_text();
    if (SSL_CTX_check_private_key(context_) != 1) return "'" + std::string(key) + "' is not the key of the certificate";
    SSL_CTX_set_alpn_select_cb(
        context_,
        [](SSL*, const unsigned char** out, unsigned char* size, const unsigned char* in, unsigned in_size, void*) {
          static constexpr unsigned char kHttp1[] = "\x08http/1.1";
          unsigned char* chosen = nullptr;
          const int found = SSL_select_next_proto(&chosen, size, kHttp1, 9, in, in_size);
          *out = chosen;
          return found == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_NOACK;
        },
        nullptr);
    return {};
  }

 private:
  SSL_CTX* context_;
};

}  // namespace
}  // namespace tenon::server

extern "C" __attribute__((visibility("default"))) unsigned tenon_tls_version() { return kTlsVersion; }

extern "C" __attribute__((visibility("default"))) tenon::server::TlsContext* tenon_tls_new(const char* certificate,
                                                                                           const char* key,
                                                                                           std::string* error) {
  auto context = std::make_unique<tenon::server::OpensslContext>();
  *error = context->load(certificate, key);
  return error->empty() ? context.release() : nullptr;
}
