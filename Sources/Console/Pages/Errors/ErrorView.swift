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
        heading = "Nothing here"
        self.reason = reason
        code = nil
        remedy = nil
        retryAfter = nil
        back = nil
    }

    init(_ error: RecordError, back: Frame.Link? = nil) {
        title = "Error"
        status = error.code.httpStatus
        heading = status == .notFound ? "Not found" : status.code >= 500 ? "That did not work" : "Refused"
        reason = error.reason
        code = error.code.rawValue
        self.back = back
        retryAfter = error.retryAfter
        remedy = error.retryAfter.map { "It can succeed in \(Digits.count($0, "second"))." }
    }
}
