public import Hummingbird

extension Request {
    /// The origin that the request was sent to, such as `http://localhost:8080`; empty if it names no host. The guards have checked the host.
    public var ownOrigin: String {
        head.authority.map { "\(head.scheme ?? "http")://\($0)" } ?? ""
    }

    /// True if the request came over TLS.
    public var isSecure: Bool { head.scheme == "https" }
}
