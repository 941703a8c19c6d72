import ArgumentParser
import Foundation

/// The address of a running Skylight, from `--url` or `SKYLIGHT_URL`.
struct ServerAddress: Sendable {
    let url: URL

    /// - Throws: `ValidationError` unless it is an https address, or an http address of
    ///   this machine: plain http would send the password unencrypted over the network.
    init(_ text: String) throws {
        try self.init(text, mayBeElsewhere: false)
    }

    /// The address from a server file in a data folder. It refers to this machine, whatever its host name.
    init(ofServerFile text: String) throws {
        try self.init(text, mayBeElsewhere: true)
    }

    private init(_ text: String, mayBeElsewhere: Bool) throws {
        guard let parts = URLComponents(string: text), let scheme = parts.scheme?.lowercased(), let host = parts.host, !host.isEmpty, let url = parts.url
        else {
            throw ValidationError("'\(text)' is not the address of a server; use one such as http://127.0.0.1:8080")
        }
        guard scheme == "http" || scheme == "https" else { throw ValidationError("'\(text)' is neither an http nor an https address.") }
        guard mayBeElsewhere || scheme == "https" || Loopback.contains(host) else {
            throw ValidationError(
                "'\(host)' is not this machine, and without TLS the password would be sent unencrypted. Use an https address, or an "
                    + "SSH tunnel.")
        }
        guard ["", "/"].contains(parts.path), parts.query == nil, parts.fragment == nil, parts.user == nil, parts.password == nil else {
            throw ValidationError("'\(text)' has more than an address; remove everything after the port, as in http://127.0.0.1:8080")
        }
        self.url = url
    }

    var description: String { url.absoluteString }
}

/// The host names and addresses that only this machine can reach.
enum Loopback {
    /// True for `localhost`, an address in 127.0.0.0/8, and ::1.
    static func contains(_ host: String) -> Bool {
        if ["localhost", "::1", "[::1]"].contains(host.lowercased()) { return true }
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
    }
}
