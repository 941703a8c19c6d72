internal import HTTPServing
internal import HTTPTypes
internal import Records

/// An API error with advice.
struct ErrorView: Page {
    static let template = "error"
    static let tab = Tab.home

    let title: String
    let status: HTTPResponse.Status
    let heading: String
    let reason: String
    let code: String?
    let remedy: String?
    /// Seconds until another try may succeed; `nil` if unknown.
    let retryAfter: Int?
    /// The link back to the page of the error; `nil` outside of any place.
    let back: Frame.Link?

    init(missing reason: String) {
        title = "Not found"
        status = .notFound
        heading = "Page not found"
        self.reason = reason
        code = nil
        remedy = nil
        retryAfter = nil
        back = nil
    }

    init(_ error: RecordError, back: Frame.Link? = nil) {
        title = "Error"
        status = error.code.httpStatus
        heading = status == .notFound ? "Not found" : status.code >= 500 ? "The server failed" : "Refused"
        reason = error.reason
        code = error.code.rawValue
        self.back = back
        retryAfter = error.retryAfter
        remedy = error.retryAfter.map { "Try again in \(Digits.count($0, "second"))." }
    }
}
