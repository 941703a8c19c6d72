internal import HTTPServing
internal import HTTPTypes
internal import Hummingbird
internal import Text

/// A notice appears once: a reload of its page does not repeat it. Scripts take the notice out of the address, and this does the same without them.
///
/// A cookie names the address whose notice was shown. Scripts end it at once. Without them the next change ends it, so an action that is repeated has
/// its notice again. A window that opens the address after another one has it, too: only a reload names an age that it accepts.
enum ShownNotice {
    private static let cookieName = "skylight-notice"

    static func handle(_ request: Request, _ answer: (Request) async throws -> Response) async throws -> Response {
        let shown = shownMark(in: request)
        guard request.method == .get else {
            var response = try await answer(request)
            if shown != nil { response.headers.append(cookie("", for: request, "; Max-Age=0")) }
            return response
        }
        guard let target = request.head.path, request.hasQuery, request.queryFields["notice"] != nil else { return try await answer(request) }
        let mark = FNV1a(target.utf8).text
        if shown == mark, isReload(request) { return try await answer(withoutNotice(request, target)) }
        var response = try await answer(request)
        if response.status == .ok { response.headers.append(cookie(mark, for: request)) }
        return response
    }

    private static func withoutNotice(_ request: Request, _ target: String) -> Request {
        let kept = target.dropFirst(request.path.count + 1).split(separator: "&").filter { !$0.hasPrefix("notice=") }
        var head = request.head
        head.path = request.path + (kept.isEmpty ? "" : "?\(kept.joined(separator: "&"))")
        return Request(head: head, body: request.body)
    }

    private static func isReload(_ request: Request) -> Bool {
        request.headers[.cacheControl].map { $0.contains("max-age=0") || $0.contains("no-cache") } ?? false
    }

    private static func shownMark(in request: Request) -> String? {
        let pairs = request.headers[values: .cookie].flatMap { $0.split(separator: ";") }.map(\.trimmingSpaces)
        return pairs.first { $0.hasPrefix("\(cookieName)=") }.map { String($0.dropFirst(cookieName.count + 1)) }
    }

    private static func cookie(_ value: String, for request: Request, _ more: String = "") -> HTTPField {
        HTTPField(
            name: .setCookie, value: "\(cookieName)=\(value); Path=/; SameSite=Strict\(request.isSecure ? "; Secure" : "")\(more)")
    }
}
