internal import Foundation

/// What of an address says where somebody is, to count tries by: of IPv6 the network of 64 bits, as a host has all addresses of it (RFC 4291, 2.5.4).
enum PeerPlace {
    static func of(_ peer: String) -> String {
        guard peer.utf8.contains(UInt8(ascii: ":")) else { return peer }
        var address = in6_addr()
        // The name of an interface may stand behind it.
        let text = String(decoding: peer.utf8.prefix { $0 != UInt8(ascii: "%") }, as: UTF8.self)
        guard inet_pton(AF_INET6, text, &address) == 1 else { return peer }
        let bytes = withUnsafeBytes(of: &address) { Array($0) }
        // IPv4 in the form of IPv6.
        let isMapped = bytes.prefix(10).allSatisfy { $0 == 0 } && bytes[10] == 0xFF && bytes[11] == 0xFF
        return isMapped ? bytes.suffix(4).map(String.init).joined(separator: ".") : Array(bytes.prefix(8)).hexadecimal
    }
}
