internal import Foundation
internal import Text

/// The part of an address used to count attempts. For IPv6 it is the 64-bit network, because a host can use all its
/// addresses (RFC 4291, 2.5.4).
enum PeerPlace {
    static func of(_ peer: String) -> String {
        guard peer.utf8.contains(UInt8(ascii: ":")) else { return peer }
        var address = in6_addr()
        // Removes an interface name (zone ID).
        let text = String(decoding: peer.utf8.prefix { $0 != UInt8(ascii: "%") }, as: UTF8.self)
        guard inet_pton(AF_INET6, text, &address) == 1 else { return peer }
        let bytes = withUnsafeBytes(of: &address) { Array($0) }
        // An IPv4-mapped IPv6 address.
        let isMapped = bytes.prefix(10).allSatisfy { $0 == 0 } && bytes[10] == 0xFF && bytes[11] == 0xFF
        return isMapped ? bytes.suffix(4).map(String.init).joined(separator: ".") : Hexadecimal.text(of: bytes.prefix(8))
    }
}
