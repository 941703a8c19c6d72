internal import AssetStore
internal import Hummingbird

/// A request's target as it is noted: without what opens a door to whoever reads it.
///
/// Clients send their tokens in the address. They are good here or, where this server lets them pass unread, elsewhere; and notes are shown
/// and copied.
struct NotedTarget {
    /// With its query.
    let text: String
    /// The same without.
    let path: String

    static let hidden = "hidden"
    /// In small letters.
    private static let secrets: Set<String> = ["ckapitoken", "ckwebauthtoken", "cksession"]

    init(_ request: Request) {
        let target = request.head.path ?? request.uri.path
        let isAsset = request.uri.path.hasPrefix(AssetPath.root)
        path = isAsset ? Self.withoutTicket(request.uri.path) : request.uri.path
        guard let mark = target.utf8.firstIndex(of: UInt8(ascii: "?")) else {
            text = isAsset ? path : target
            return
        }
        let parameters = target[mark...].utf8.dropFirst().split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false)
        let query = parameters.map { Self.withoutSecret(Substring($0)) }.joined(separator: "&")
        text = "\(isAsset ? path : String(target[..<mark]))?\(query)"
    }

    /// A text with targets in it, without the tokens in their queries.
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
        guard secrets.contains((name.removingPercentEncodingStrictly ?? String(name)).lowercased()) else { return String(parameter) }
        return "\(name)=\(hidden)"
    }

    /// The page where a user signs in, and no ticket for it.
    static func withoutTicket(ofRedirect url: String) -> String {
        guard let value = url.firstRange(of: "ticket=")?.upperBound else { return url }
        return url[..<value] + hidden
    }

    /// `/assets/{container}/{environment}/upload` and no ticket after it: who has that may upload.
    private static func withoutTicket(_ path: String) -> String {
        let parts = path.utf8.split(separator: UInt8(ascii: "/"))
        let kept = parts.prefix(4).map { String(Substring($0)) }
        return "/" + (parts.count > 4 ? kept + [hidden] : kept).joined(separator: "/")
    }
}
