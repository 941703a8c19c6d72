/// The host names and addresses that only this machine can reach.
enum Loopback {
    /// True for `localhost`, an address in 127.0.0.0/8, and ::1.
    static func contains(_ host: String) -> Bool {
        if ["localhost", "::1", "[::1]"].contains(host.lowercased()) { return true }
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
    }
}
