internal import Foundation
internal import HTTPTypes
internal import Hummingbird
internal import NIOCore
internal import Records
internal import Synchronization

/// Refuses requests that are not addressed to this server or are ambiguous, and closes their connections.
///
/// A page on a foreign site can point its own host name at this machine and then read answers as its own (DNS
/// rebinding). The `Host` header still has the foreign name. Ambiguous requests (two hosts, an absolute target) are
/// refused because two programs could read them differently.
final class HostGuard: Sendable {
    /// The maximum length of a request target, in bytes.
    static let targetLimit = 16 << 10
    /// The maximum number of hosts to remember.
    private static let knownLimit = 64

    private let trusted: TrustedSites
    /// The trusted hosts of earlier requests. Most requests name the same host.
    private let known = Mutex<Set<String>>([])

    init(trusting trusted: TrustedSites) {
        self.trusted = trusted
    }

    /// - Throws: ``Refusal`` for a malformed target, a missing or second host, or a foreign one.
    func check(_ request: Request) throws {
        try checkTarget(request.head.path ?? "")
        try checkHost(of: request)
    }

    /// True if the request came to a host that the server stands in for.
    func standIn(for request: Request) -> Bool {
        request.isSecure && request.head.authority.map(trusted.standIn) ?? false
    }

    private func checkTarget(_ target: String) throws {
        let bytes = target.utf8
        guard bytes.first == UInt8(ascii: "/") else {
            throw malformed(
                "The request target must begin with a slash; targets with a scheme and a host are for proxies")
        }
        guard bytes.count <= Self.targetLimit else {
            throw Refusal(
                .uriTooLong, .badRequest, "The request target is longer than \(Self.targetLimit) bytes",
                endsConnection: true)
        }
        var (isPath, isWellFormed, digitsDue) = (true, true, 0)
        var last: UInt8 = 0
        for byte in bytes {
            if isPath, byte == UInt8(ascii: "/"), byte == last {
                throw malformed("The path of the request target contains two slashes in a row; send one")
            }
            last = byte
            if byte == UInt8(ascii: "?") { isPath = false }
            if digitsDue > 0 {
                if Hexadecimal.value(of: byte) == nil { isWellFormed = false }
                digitsDue -= 1
            } else if byte == UInt8(ascii: "%") {
                digitsDue = 2
            } else if byte < 0x21 || byte > 0x7E || byte == UInt8(ascii: "#") {
                // Only visible ASCII, and no fragment.
                isWellFormed = false
            }
        }
        guard isWellFormed, digitsDue == 0 else {
            throw malformed(
                "The request target contains a character that must be percent-encoded, or an invalid percent-encoding")
        }
    }

    private func checkHost(of request: Request) throws {
        guard let host = request.head.authority else { throw malformed("The Host header is missing") }
        // The first `Host` header became the authority. Any further one is still among the headers.
        if request.headers.contains(.hostHeader) { throw malformed("There is more than one Host header") }
        if known.withLock({ $0.contains(host) }) { return }
        if standIn(for: request) {
            // Only CloudKit's paths: a browser may later send cookies of pages on this name to iCloud.
            guard ProtocolOnly.serves(request) else {
                throw Refusal(.notFound, .notFound, "The console is at the server's own address, not at '\(host)'")
            }
            return
        }
        guard trusted.trusts(authority: host) else {
            throw Refusal(
                .forbidden, .accessDenied,
                "This server does not accept the host '\(host.prefix(200))'; use localhost, or start the server with --allow-host",
                endsConnection: true)
        }
        known.withLock { if $0.count < Self.knownLimit { $0.insert(host) } }
    }

    private func malformed(_ reason: String) -> Refusal {
        Refusal(.badRequest, .badRequest, reason, endsConnection: true)
    }
}

// MARK: - Trusted sites

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
    /// Hosts of others that the server stands in for, over TLS alone. Pages on them are trusted only there, because
    /// elsewhere the same name is the other host.
    public var othersHosts: [String] = []

    /// - Parameters:
    ///   - hosts: names or addresses besides loopback, for any port (`skylight.local`)
    ///     or for one (`skylight.local:8080`). Invalid ones are ignored.
    ///   - origins: sites besides those on the hosts, as origins: `https://app.example.com`.
    public init(hosts: [String] = [], origins: [String] = []) {
        authorities = hosts.compactMap { Authority($0) }
        self.origins = Set(origins.map { $0.lowercased() })
    }

    /// True if the server stands in for the host of a `Host` header, over TLS.
    func standIn(for authority: String) -> Bool {
        !othersHosts.isEmpty && Authority(authority).map { othersHosts.contains($0.host) } ?? false
    }

    /// True if the server has this host name.
    /// - Parameter authority: the value of a `Host` header: a name or an address, with or without a port.
    public func trusts(authority: String) -> Bool {
        guard let asked = Authority(authority) else { return false }
        return asked.isLoopback
            || authorities.contains { $0.host == asked.host && ($0.port == nil || $0.port == asked.port) }
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

    /// - Returns: `nil` if the text is neither a name nor an address, or has an invalid port.
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
        guard portText.utf8.count <= 5, portText.utf8.allSatisfy(Self.isDigit), let port = Int(portText),
            (1...65535).contains(port)
        else { return nil }
        self.port = port
    }

    var isLoopback: Bool {
        if host == "localhost" || host == "[::1]" { return true }
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts[0] == "127"
            && parts.allSatisfy { part in
                part.utf8.allSatisfy(Self.isDigit) && UInt8(part).map { String($0) == part } ?? false
            }
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        isDigit(byte) || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
            || [UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_")].contains(byte)
    }

    private static func isAddressByte(_ byte: UInt8) -> Bool {
        isDigit(byte) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
            || [UInt8(ascii: ":"), UInt8(ascii: ".")].contains(byte)
    }
}

// MARK: - Names of this machine

extension TrustedSites {
    /// The host names of a server that listens on an address.
    ///
    /// For a wildcard address (`0.0.0.0`, `::`) they are the machine's addresses and host names. An IP address in
    /// `Host` cannot be DNS rebinding, because no foreign page has it as its name. Loopback names are always included.
    /// - Parameters:
    ///   - hostname: the address that the server listens on.
    ///   - hosts: further names, as for ``init(hosts:origins:)``.
    ///   - addresses: the addresses of this machine; `nil` to ask the system.
    ///   - machineName: the host name of this machine; `nil` to ask the system.
    public init(
        listeningOn hostname: String, hosts: [String] = [], origins: [String] = [], addresses: [String]? = nil,
        machineName: String? = nil
    ) {
        var names = hosts
        if Self.isWildcard(hostname) {
            names += (addresses ?? Self.machineAddresses()).map(Self.asHost)
            let machineName = machineName ?? ProcessInfo.processInfo.hostName
            let name = machineName.split(separator: ".").first.map(String.init) ?? machineName
            names += [machineName, name, "\(name).local"]
        } else {
            names.append(Self.asHost(hostname))
        }
        self.init(hosts: names, origins: origins)
    }

    /// True if the address means all addresses of the machine.
    public static func isWildcard(_ hostname: String) -> Bool {
        ["0.0.0.0", "::", "[::]"].contains(hostname)
    }

    /// An address or a name in the form of a `Host` header: IPv6 in brackets, without an interface name.
    public static func asHost(_ address: String) -> String {
        guard address.contains(":"), !address.hasPrefix("[") else { return address }
        return "[\(address.prefix { $0 != "%" })]"
    }

    /// The addresses of this machine's interfaces.
    public static func machineAddresses() -> [String] {
        // Without the list, the server only answers to the names that it was given.
        ((try? System.enumerateDevices()) ?? []).compactMap { $0.address?.ipAddress }
    }
}
