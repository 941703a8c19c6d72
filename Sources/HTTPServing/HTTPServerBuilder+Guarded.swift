public import HummingbirdCore
internal import HummingbirdTLS
public import NIOCore

extension HTTPServerBuilder {
    /// An HTTP/1.1 server whose connections are guarded: targets are passed on as they came, heads are at most 64 KiB, and a connection
    /// on which nothing moves is closed: after a minute in which nothing came in, after two in which the client took nothing of its answer.
    ///
    /// Goes with ``Hummingbird/Router/addGuards(trusting:tokensOf:isSecure:)``.
    /// - Parameters:
    ///   - uploadLimit: bytes that a body sent to `/assets/` may have. Clients that ask before they send it are told at once.
    ///   - idleTimeout: how long nothing may come in.
    public static func guardedHTTP1(uploadLimit: Int64 = 0, idleTimeout: TimeAmount = .seconds(60)) -> HTTPServerBuilder {
        // A reader who is slow and steady is noticed at the other end by the window alone, which opens in steps.
        let patience = TimeAmount.nanoseconds(2 * idleTimeout.nanoseconds)
        return .http1(
            configuration: HTTP1Channel.Configuration(
                additionalChannelHandlers: [ConnectionGuardInstaller(uploadLimit: uploadLimit, patience: patience)], idleTimeout: idleTimeout,
                httpDecoderConfiguration: .init(maxHeaderFieldSize: 32 << 10, maxHeaderListSize: 64 << 10, maxHeaderFieldCount: 200)))
    }

    /// The same server over TLS. Goes with `isSecure` of ``Hummingbird/Router/addGuards(trusting:tokensOf:isSecure:)``.
    /// - Parameter certificate: `nil` for the server as it is.
    /// - Throws: an error of the TLS library.
    public func encrypted(with certificate: ServerCertificate?) throws -> HTTPServerBuilder {
        guard let certificate else { return self }
        return try .tls(self, tlsConfiguration: certificate.configuration)
    }
}
