internal import HTTPTypes
public import Hummingbird
internal import NIOCore

extension ServingRequestContext {
    /// Whether a request comes from this machine: the other end of the connection is here, and hands on nothing for somebody elsewhere, as a
    /// reverse proxy does (RFC 7239).
    public func isFromThisMachine(_ request: Request) -> Bool {
        Self.isThisMachine(channel.remoteAddress) && !request.isForwarded
    }

    /// Where the request comes from: the address of the other end of the connection, without its port.
    public var peer: String { channel.remoteAddress?.ipAddress ?? "" }

    /// Whether an address is this machine's own: loopback (RFC 1122, 3.2.1.3; RFC 4291, 2.5.3), or a socket in the file system.
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
    /// Whether a proxy says that it handed the request on.
    fileprivate var isForwarded: Bool {
        ["Forwarded", "X-Forwarded-For"].contains { HTTPField.Name($0).map { headers.contains($0) } ?? false }
    }
}
