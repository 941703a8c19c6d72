public import HTTPTypes
public import Hummingbird

extension Response {
    /// A JSON answer. Caches must not store it.
    public static func json(_ bytes: [UInt8], status: HTTPResponse.Status = .ok) -> Response {
        Response(status: status, headers: headersOfJSON, body: .pieces(of: bytes))
    }

    /// Made once, because making a header checks its text.
    private static let headersOfJSON: HTTPFields = [.contentType: "application/json; charset=UTF-8", .cacheControl: "no-store"]

    /// An HTML page. Caches must not store it.
    public static func html(_ text: String, status: HTTPResponse.Status = .ok) -> Response {
        content(text.utf8, type: "text/html; charset=utf-8", status: status)
    }

    /// A plain text answer. Caches must not store it.
    public static func text(_ text: String, status: HTTPResponse.Status = .ok) -> Response {
        content(text.utf8, type: "text/plain; charset=utf-8", status: status)
    }

    /// An answer with the given bytes. Caches must not store it, because it may soon be outdated.
    public static func content(_ bytes: some Sequence<UInt8>, type: String, status: HTTPResponse.Status = .ok) -> Response {
        Response(status: status, headers: [.contentType: type, .cacheControl: "no-store"], body: .pieces(of: Array(bytes)))
    }
}
