/// There is nothing to show at an address, and why.
struct MissingPage: Error {
    let reason: String

    init(_ reason: String) {
        self.reason = reason
    }
}
