internal import NIOCore

extension ServingRequestContext {
    /// Whether the other end of the connection is on this machine.
    public var isFromThisMachine: Bool { Self.isThisMachine(channel.remoteAddress) }

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
