public import Hummingbird
internal import Text

extension Request {
    /// The target without its query, as sent. Unlike `uri.path`, it copies nothing.
    public var path: Substring {
        let target = head.path ?? ""
        guard let mark = target.utf8.firstIndex(of: UInt8(ascii: "?")) else { return target[...] }
        return target[..<mark]
    }

    /// True if the target has a query.
    public var hasQuery: Bool { head.path?.utf8.contains(UInt8(ascii: "?")) ?? false }

    /// The value of a query parameter, percent-decoded; `nil` if it is missing.
    public func queryParameter(_ name: String) -> String? {
        hasQuery ? uri.queryParameters[name[...]].map(String.init) : nil
    }

    /// The parts of the path between slashes, percent-decoded. Empty parts do not count. `nil` if one does not decode.
    public var pathParts: [Substring]? {
        let parts = rawPathParts
        guard path.utf8.contains(UInt8(ascii: "%")) else { return parts }
        let decoded = parts.compactMap { PercentEncoding.decoded($0)?[...] }
        return decoded.count == parts.count ? decoded : nil
    }

    /// The parts of the path as sent.
    public var rawPathParts: [Substring] {
        path.utf8.split(separator: UInt8(ascii: "/")).map { Substring($0) }
    }

    private static let webServiceRoots = ["/assets", "/database", "/device", "/skylight"]

    /// True for the paths of the web services and of assets. Clients of the web services only read JSON.
    public var isWebServiceRequest: Bool {
        let path = path.utf8
        return Self.webServiceRoots.contains { root in
            guard path.starts(with: root.utf8) else { return false }
            let next = path.dropFirst(root.utf8.count).first
            return next == nil || next == UInt8(ascii: "/")
        }
    }
}
