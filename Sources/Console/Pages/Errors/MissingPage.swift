/// An address without content, and the reason.
struct MissingPage: Error {
    let reason: String

    init(_ reason: String) {
        self.reason = reason
    }
}
