public import HTTPTypes
public import Hummingbird

extension Response {
    /// An answer in JSON.
    public static func json(_ bytes: [UInt8], status: HTTPResponse.Status = .ok) -> Response {
        content(bytes, type: "application/json; charset=UTF-8", status: status)
    }

    /// A page.
    public static func html(_ text: String, status: HTTPResponse.Status = .ok) -> Response {
        content(text.utf8, type: "text/html; charset=utf-8", status: status)
    }

    /// A few words for people and logs.
    public static func text(_ text: String, status: HTTPResponse.Status = .ok) -> Response {
        content(text.utf8, type: "text/plain; charset=utf-8", status: status)
    }

    /// An answer of some bytes. It is not kept by caches: what the server says may be another thing a moment later.
    public static func content(_ bytes: some Sequence<UInt8>, type: String, status: HTTPResponse.Status = .ok) -> Response {
        Response(status: status, headers: [.contentType: type, .cacheControl: "no-store"], body: .pieces(of: Array(bytes)))
    }
}
