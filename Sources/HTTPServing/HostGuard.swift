internal import HTTPTypes
public import Hummingbird
internal import Records
internal import Text

/// Refuses requests that are not addressed to this server or are ambiguous, and closes their connections.
///
/// A page on a foreign site can point its own host name at this machine and then read answers as its own (DNS rebinding). The `Host` header
/// still has the foreign name. Ambiguous requests (two hosts, an absolute target) are refused because two programs could read them differently.
public struct HostGuard: RouterMiddleware {
    public typealias Context = ServingRequestContext

    /// The maximum length of a request target, in bytes.
    static let targetLimit = 16 << 10

    private let trusted: TrustedSites

    public init(trusting trusted: TrustedSites) {
        self.trusted = trusted
    }

    public func handle(
        _ request: Request, context: ServingRequestContext, next: (Request, ServingRequestContext) async throws -> Response
    ) async throws -> Response {
        try checkTarget(of: request)
        try checkHost(of: request)
        return try await next(request, context)
    }

    private func checkTarget(of request: Request) throws {
        let target = request.head.path ?? ""
        guard target.hasPrefix("/") else {
            throw malformed("The request target must begin with a slash; targets with a scheme and a host are for proxies")
        }
        guard target.utf8.count <= Self.targetLimit else {
            throw Refusal(.uriTooLong, .badRequest, "The request target is longer than \(Self.targetLimit) bytes", endsConnection: true)
        }
        guard !target.prefix(while: { $0 != "?" }).contains("//") else {
            throw malformed("The path of the request target holds two slashes in a row, which not everybody reads as the same path")
        }
        guard Self.isWellFormed(target) else {
            throw malformed("The request target holds a character that must be percent-encoded, or a percent sign that encodes none")
        }
    }

    private func checkHost(of request: Request) throws {
        guard let host = request.head.authority else { throw malformed("The Host header is missing") }
        // The first Host header became the authority. Any other one is still among the headers.
        if let name = HTTPField.Name("Host"), request.headers.contains(name) { throw malformed("There is more than one Host header") }
        guard trusted.trusts(authority: host) else {
            throw Refusal(
                .forbidden, .accessDenied,
                "This server does not answer to the host '\(host.prefix(200))'; use localhost or a name it was started with", endsConnection: true)
        }
    }

    private func malformed(_ reason: String) -> Refusal {
        Refusal(.badRequest, .badRequest, reason, endsConnection: true)
    }

    /// True if the target has only visible ASCII, no fragment, and valid percent-encoding.
    private static func isWellFormed(_ target: String) -> Bool {
        var digitsDue = 0
        for byte in target.utf8 {
            guard (0x21...0x7E).contains(byte), byte != UInt8(ascii: "#") else { return false }
            if digitsDue > 0 {
                guard Hexadecimal.value(of: byte) != nil else { return false }
                digitsDue -= 1
            } else if byte == UInt8(ascii: "%") {
                digitsDue = 2
            }
        }
        return digitsDue == 0
    }
}
