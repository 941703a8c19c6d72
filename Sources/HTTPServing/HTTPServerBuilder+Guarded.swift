public import HummingbirdCore
internal import HummingbirdTLS
public import NIOCore

extension HTTPServerBuilder {
    /// An HTTP/1.1 server with guarded connections. Targets are passed on unchanged, and heads are limited to 64 KiB. By default a
    /// connection is closed after one minute without input, or after two minutes in which the client took nothing of its answer.
    ///
    /// For use with ``Routes/addGuards(trusting:tokensOf:isSecure:memory:)``.
    /// - Parameters:
    ///   - uploadLimit: the maximum size in bytes of a body for `/assets/`. Larger bodies get no 100 Continue.
    ///   - idleTimeout: the maximum time without input.
    public static func guardedHTTP1(uploadLimit: Int64 = 0, idleTimeout: TimeAmount = .seconds(60)) -> HTTPServerBuilder {
        // Slow but steady readers open the TCP window in steps, so progress can be invisible for some time.
        let patience = TimeAmount.nanoseconds(2 * idleTimeout.nanoseconds)
        return .http1(
            configuration: HTTP1Channel.Configuration(
                additionalChannelHandlers: [ConnectionGuardInstaller(uploadLimit: uploadLimit, patience: patience)], idleTimeout: idleTimeout,
                httpDecoderConfiguration: .init(maxHeaderFieldSize: 32 << 10, maxHeaderListSize: 64 << 10, maxHeaderFieldCount: 200)))
    }

    /// The same server over TLS. For use with `isSecure` of ``Routes/addGuards(trusting:tokensOf:isSecure:memory:)``.
    /// - Parameter certificate: `nil` for no TLS.
    /// - Throws: an error of the TLS library.
    public func encrypted(with certificate: ServerCertificate?) throws -> HTTPServerBuilder {
        guard let certificate else { return self }
        return try .tls(self, tlsConfiguration: certificate.configuration)
    }
}
