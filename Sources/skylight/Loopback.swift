/// The names of this machine that no other machine can be reached by.
enum Loopback {
    /// Whether a host is `localhost`, an address of 127.0.0.0/8, or ::1.
    static func contains(_ host: String) -> Bool {
        if ["localhost", "::1", "[::1]"].contains(host.lowercased()) { return true }
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
    }
}
