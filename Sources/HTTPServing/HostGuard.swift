internal import HTTPTypes
internal import Hummingbird
internal import Records
internal import Synchronization
internal import Text

/// Refuses requests that are not addressed to this server or are ambiguous, and closes their connections.
///
/// A page on a foreign site can point its own host name at this machine and then read answers as its own (DNS rebinding). The `Host` header
/// still has the foreign name. Ambiguous requests (two hosts, an absolute target) are refused because two programs could read them differently.
final class HostGuard: Sendable {
    /// The maximum length of a request target, in bytes.
    static let targetLimit = 16 << 10
    /// The maximum number of hosts to remember.
    private static let knownLimit = 64

    private let trusted: TrustedSites
    /// Trusted hosts of earlier requests. Most requests have the same one.
    private let known = Mutex<Set<String>>([])

    init(trusting trusted: TrustedSites) {
        self.trusted = trusted
    }

    /// - Throws: ``Refusal`` for a malformed target, a missing or second host, or a foreign one.
    func check(_ request: Request) throws {
        try checkTarget(request.head.path ?? "")
        try checkHost(of: request)
    }

    private func checkTarget(_ target: String) throws {
        let bytes = target.utf8
        guard bytes.first == UInt8(ascii: "/") else {
            throw malformed("The request target must begin with a slash; targets with a scheme and a host are for proxies")
        }
        guard bytes.count <= Self.targetLimit else {
            throw Refusal(.uriTooLong, .badRequest, "The request target is longer than \(Self.targetLimit) bytes", endsConnection: true)
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
            throw malformed("The request target contains a character that must be percent-encoded, or an invalid percent-encoding")
        }
    }

    private func checkHost(of request: Request) throws {
        guard let host = request.head.authority else { throw malformed("The Host header is missing") }
        // The first Host header became the authority. Any other one is still among the headers.
        if request.headers.contains(.hostHeader) { throw malformed("There is more than one Host header") }
        if known.withLock({ $0.contains(host) }) { return }
        guard trusted.trusts(authority: host) else {
            throw Refusal(
                .forbidden, .accessDenied,
                "This server does not accept the host '\(host.prefix(200))'; use localhost, or start the server with --allow-host", endsConnection: true)
        }
        known.withLock { if $0.count < Self.knownLimit { $0.insert(host) } }
    }

    private func malformed(_ reason: String) -> Refusal {
        Refusal(.badRequest, .badRequest, reason, endsConnection: true)
    }
}
