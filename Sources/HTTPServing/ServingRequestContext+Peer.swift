internal import HTTPTypes
public import Hummingbird
internal import NIOCore

extension ServingRequestContext {
    /// True if the request comes from this machine: the connection is local, and no reverse proxy forwarded the request (RFC 7239).
    public func isFromThisMachine(_ request: Request) -> Bool {
        Self.isThisMachine(channel.remoteAddress) && !request.isForwarded
    }

    /// The IP address of the client, without a port; empty if there is none.
    public var peer: String { channel.remoteAddress?.ipAddress ?? "" }

    /// True if an address is local: loopback (RFC 1122, 3.2.1.3; RFC 4291, 2.5.3) or a Unix domain socket.
    static func isThisMachine(_ address: SocketAddress?) -> Bool {
        switch address {
        case .v4?, .v6?:
            guard let text = address?.ipAddress else { return false }
            return text == "::1" || text.hasPrefix("127.") || text.hasPrefix("::ffff:127.")
        case .unixDomainSocket?: return true
        case nil: return false
        }
    }
}

extension Request {
    /// True if a proxy's header says that it forwarded the request.
    fileprivate var isForwarded: Bool {
        headers.contains(.forwarded) || headers.contains(.xForwardedFor)
    }
}
