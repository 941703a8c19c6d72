internal import Foundation
internal import Records
internal import Text

/// Validates URLs of API tokens.
enum WebAddress {
    private static let limit = 2048
    /// Schemes that a browser would execute, or that can't receive a token.
    private static let refusedSchemes: Set<String> = ["javascript", "data", "vbscript", "blob", "file", "about", "filesystem"]

    /// The origin in the form used by browsers: lowercase, without a default port. `nil` if the text is not an
    /// origin.
    static func origin(_ text: String) -> String? {
        guard text.utf8.count <= 255, let parts = URLComponents(string: text), let scheme = parts.scheme?.lowercased(), ["http", "https"].contains(scheme),
            let host = parts.encodedHost?.lowercased(), !host.isEmpty, ["", "/"].contains(parts.percentEncodedPath), parts.query == nil,
            parts.fragment == nil, parts.user == nil, parts.password == nil, (0...65535).contains(parts.port ?? 0),
            host.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "*") })
        else { return nil }
        let port = parts.port.flatMap { $0 == (scheme == "http" ? 80 : 443) ? nil : ":\($0)" } ?? ""
        return "\(scheme)://\(host)\(port)"
    }

    /// - Returns: the origins, each once; ``APIToken/anyOrigin`` alone if it is among them.
    /// - Throws: `RecordError` BAD_REQUEST if one of them is not an origin or there are too many.
    static func origins(_ texts: [String]) throws -> [String] {
        guard texts.count <= APIToken.originLimit else {
            throw RecordError(.badRequest, "An API token may list \(APIToken.originLimit) origins, not \(texts.count)")
        }
        var origins: [String] = []
        for text in texts.map(\.trimmingWhiteSpace) where !text.isEmpty {
            guard let origin = text == APIToken.anyOrigin ? text : origin(text) else {
                let rule = text.contains("*") ? "a * stands only alone; list each site" : "use scheme, host and a non-default port"
                throw RecordError(
                    .badRequest,
                    "'\(text.prefix(80))' is not an origin: \(rule), as in https://example.com or http://localhost:3000, or use * for the pages of every site")
            }
            if !origins.contains(origin) { origins.append(origin) }
        }
        return origins.contains(APIToken.anyOrigin) ? [APIToken.anyOrigin] : origins
    }

    /// - Throws: `RecordError` BAD_REQUEST if a browser can't be redirected to the URL.
    static func callback(_ text: String) throws -> String {
        let isPlain = text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
        guard isPlain, text.utf8.count <= limit, let parts = URLComponents(string: text), let scheme = parts.scheme?.lowercased() else {
            throw RecordError(
                .badRequest, "'\(text.prefix(80))' is not a callback address: use one such as https://example.com/signed-in")
        }
        let isWeb = ["http", "https"].contains(scheme)
        guard !refusedSchemes.contains(scheme), !isWeb || parts.host?.isEmpty == false else {
            throw RecordError(.badRequest, "The callback '\(text.prefix(80))' can't be opened: use https, http, or the scheme of an app")
        }
        guard parts.fragment == nil, parts.user == nil, parts.password == nil else {
            throw RecordError(.badRequest, "The callback '\(text.prefix(80))' contains a fragment or a password: remove it")
        }
        return text
    }
}
