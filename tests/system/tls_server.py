"""A TLS server of OpenSSL's (Python's ssl) in a host of a test, and certificates for it."""
import contextlib
import itertools
import socket
import ssl
import threading

from certificate_authority import BEGIN, END

numbers = itertools.count(1)


def leaf(authority, names, usage="serverAuth", key="P-256", begin=BEGIN, end=END):
    """The files of a certificate of the authority's issuer, with the issuer's behind it, and of its key. names: such as
    DNS:syslog.example,IP:192.0.2.2"""
    name = "leaf%d" % next(numbers)
    extensions = "subjectAltName=%s\nextendedKeyUsage=%s\n" % (names, usage)
    authority.new_key(name, key)
    certificate = authority.sign(authority.request(name, "/CN=leaf"), extensions, begin=begin, end=end)
    return authority.file(name + ".crt", certificate + authority.issuer), authority.path(name + ".key")


class TlsServer:
    """A TLS server at a port of a host. `serve` is called with each connection whose handshake is complete; without it the
    connections are only accepted. `errors`: why handshakes failed."""

    def __init__(self, host, port, certificate, serve=None, server_version=None, raw=None):
        self.listener = host.socket(kind=socket.SOCK_STREAM)
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.listener.bind(("0.0.0.0", port))
        self.listener.listen(16)
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.set_ciphers("ALL:@SECLEVEL=0")  # it has also what no client should take
        if certificate:
            self.context.load_cert_chain(*certificate)
        if server_version:
            self.context.minimum_version = self.context.maximum_version = server_version
        self.serve, self.raw, self.errors, self.names, self.connections = serve, raw, [], [], []
        self.context.sni_callback = lambda connection, name, context: self.names.append(name)
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            connection.settimeout(60)
            self.connections.append(connection)
            try:
                if self.raw:
                    self.raw(connection)
                    continue
                encrypted = self.context.wrap_socket(connection, server_side=True)
                self.connections.append(encrypted)
                if self.serve:
                    self.serve(encrypted)
            except OSError as error:  # ssl.SSLError is one
                self.errors.append(str(error))

    def close(self):
        self.listener.shutdown(2)
        self.listener.close()
        for connection in self.connections:  # ends a recv() of the thread
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self.thread.join(10)
        assert not self.thread.is_alive()
        for connection in self.connections:
            connection.close()
