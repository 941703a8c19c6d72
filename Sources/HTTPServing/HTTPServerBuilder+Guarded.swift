public import HummingbirdCore
internal import NIOCore

extension HTTPServerBuilder {
    /// An HTTP/1.1 server whose connections are guarded: targets are passed on as they came, heads are at most 64 KiB, and a connection
    /// on which nothing moves for a minute is closed.
    ///
    /// Goes with ``Hummingbird/Router/addGuards(trusting:)``.
    public static func guardedHTTP1() -> HTTPServerBuilder {
        .http1(
            configuration: HTTP1Channel.Configuration(
                additionalChannelHandlers: [ConnectionGuardInstaller()], idleTimeout: .seconds(60),
                httpDecoderConfiguration: .init(maxHeaderFieldSize: 32 << 10, maxHeaderListSize: 64 << 10, maxHeaderFieldCount: 200)))
    }
}
