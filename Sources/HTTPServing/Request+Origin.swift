public import Hummingbird

extension Request {
    /// The origin that the request was sent to, `http://localhost:8080`; empty when it names no host. The host is one that the guards trust.
    public var ownOrigin: String {
        head.authority.map { "\(head.scheme ?? "http")://\($0)" } ?? ""
    }

    /// Whether the request came over TLS.
    public var isSecure: Bool { head.scheme == "https" }
}
