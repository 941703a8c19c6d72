internal import AssetStore
internal import HTTPServing
internal import Hummingbird
internal import Text

/// The target of a request as it is logged, without secrets.
///
/// Clients send tokens in the address. The tokens are valid here, or on another
/// server if this one ignores them, and log entries are shown and copied.
struct NotedTarget {
    /// The target with its query.
    let text: String
    /// The path without the query.
    let path: String

    static let hidden = "hidden"
    /// Lower-case parameter names.
    private static let secrets: Set<String> = ["ckapitoken", "ckwebauthtoken", "cksession", "tok"]

    init(_ request: Request) {
        let target = request.head.path ?? "/"
        let isAsset = target.hasPrefix(AssetPath.root)
        path = isAsset ? Self.withoutTicket(String(request.path)) : String(request.path)
        guard let mark = target.utf8.firstIndex(of: UInt8(ascii: "?")) else {
            text = isAsset ? path : target
            return
        }
        let parameters = target[mark...].utf8.dropFirst().split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false)
        let query = parameters.map { Self.withoutSecret(Substring($0)) }.joined(separator: "&")
        text = "\(isAsset ? path : String(target[..<mark]))?\(query)"
    }

    /// Removes the tokens from the queries of all targets in a text.
    static func hidingSecrets(in text: String) -> String {
        let separators: Set<UInt8> = [UInt8(ascii: "?"), UInt8(ascii: "&"), UInt8(ascii: "'"), UInt8(ascii: "\"")]
        var (shown, start) = ("", text.startIndex)
        func show(upTo end: String.Index) {
            let piece = text[start..<end]
            shown += piece.utf8.contains(UInt8(ascii: "=")) ? withoutSecret(piece) : String(piece)
        }
        for index in text.utf8.indices where text.utf8[index] <= 0x20 || separators.contains(text.utf8[index]) {
            show(upTo: index)
            start = text.utf8.index(after: index)
            shown += text[index..<start]
        }
        show(upTo: text.endIndex)
        return shown
    }

    private static func withoutSecret(_ parameter: Substring) -> String {
        let name = parameter.utf8.firstIndex(of: UInt8(ascii: "=")).map { parameter[..<$0] } ?? parameter
        guard secrets.contains((PercentEncoding.decoded(name) ?? String(name)).lowercased()) else { return String(parameter) }
        return "\(name)=\(hidden)"
    }

    /// The address of the sign-in page without its ticket.
    static func withoutTicket(ofRedirect url: String) -> String {
        guard let value = url.firstRange(of: "ticket=")?.upperBound else { return url }
        return url[..<value] + hidden
    }

    /// The path `/assets/{container}/{environment}/upload` without the ticket after it, which authorizes the upload.
    private static func withoutTicket(_ path: String) -> String {
        let parts = path.utf8.split(separator: UInt8(ascii: "/"))
        let kept = parts.prefix(4).map { String(Substring($0)) }
        return "/" + (parts.count > 4 ? kept + [hidden] : kept).joined(separator: "/")
    }
}
