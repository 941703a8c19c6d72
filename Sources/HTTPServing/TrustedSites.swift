/// The host names of a server, and the sites whose pages may call it.
///
/// Every page in a browser can reach a server on the same machine. Two headers that browsers set truthfully
/// protect it: `Host` (a foreign name means DNS rebinding: a foreign site points its name at this machine)
/// and `Origin` (the site of the sending page). Loopback names are always trusted, with any port.
public struct TrustedSites: Sendable {
    /// Trusts only this machine.
    public static let loopback = TrustedSites()

    private let authorities: [Authority]
    private let origins: Set<String>

    /// - Parameters:
    ///   - hosts: names or addresses besides loopback, for any port (`skylight.local`)
    ///     or for one (`skylight.local:8080`). Invalid ones are ignored.
    ///   - origins: sites besides those on the hosts, as origins: `https://app.example.com`.
    public init(hosts: [String] = [], origins: [String] = []) {
        authorities = hosts.compactMap { Authority($0) }
        self.origins = Set(origins.map { $0.lowercased() })
    }

    /// True if the server has this host name.
    /// - Parameter authority: the value of a `Host` header: a name or an address, with or without a port.
    public func trusts(authority: String) -> Bool {
        guard let asked = Authority(authority) else { return false }
        return asked.isLoopback || authorities.contains { $0.host == asked.host && ($0.port == nil || $0.port == asked.port) }
    }

    /// True if pages of the origin may call the server. `null`, the origin of files and sandboxes, is never trusted.
    public func trusts(origin: String) -> Bool {
        let origin = origin.lowercased()
        if origins.contains(origin) { return true }
        for scheme in ["http://", "https://"] where origin.hasPrefix(scheme) {
            return trusts(authority: String(origin.dropFirst(scheme.count)))
        }
        return false
    }
}

extension TrustedSites {
    /// True if a text is a name or an address, with or without a port, as for ``init(hosts:origins:)``.
    public static func isHost(_ text: String) -> Bool { Authority(text) != nil }

    /// True if a text is an origin: scheme, host, an optional port, and nothing after it.
    public static func isOrigin(_ text: String) -> Bool {
        ["http://", "https://"].contains { text.lowercased().hasPrefix($0) && isHost(String(text.dropFirst($0.count))) }
    }
}

/// A host with or without a port.
private struct Authority: Sendable {
    let host: String
    let port: Int?

    /// - Returns: `nil` if the text is no name or address, or has an invalid port.
    init?(_ text: String) {
        let text = text.lowercased()
        let portText: Substring?
        if text.hasPrefix("["), let bracket = text.firstIndex(of: "]") {
            let rest = text[text.index(after: bracket)...]
            guard rest.isEmpty || rest.hasPrefix(":") else { return nil }
            host = String(text[...bracket])
            portText = rest.isEmpty ? nil : rest.dropFirst()
            guard host.dropFirst().dropLast().utf8.allSatisfy(Self.isAddressByte) else { return nil }
        } else {
            let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            host = String(parts[0])
            portText = parts.count == 2 ? parts[1] : nil
            guard !host.isEmpty, host.utf8.allSatisfy(Self.isNameByte) else { return nil }
        }
        guard let portText else {
            port = nil
            return
        }
        guard portText.utf8.count <= 5, portText.utf8.allSatisfy(Self.isDigit), let port = Int(portText), (1...65535).contains(port) else { return nil }
        self.port = port
    }

    var isLoopback: Bool {
        if host == "localhost" || host == "[::1]" { return true }
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts[0] == "127"
            && parts.allSatisfy { part in part.utf8.allSatisfy(Self.isDigit) && UInt8(part).map { String($0) == part } ?? false }
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        isDigit(byte) || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) || [UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_")].contains(byte)
    }

    private static func isAddressByte(_ byte: UInt8) -> Bool {
        isDigit(byte) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte) || [UInt8(ascii: ":"), UInt8(ascii: ".")].contains(byte)
    }
}
