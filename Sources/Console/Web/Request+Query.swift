internal import Hummingbird

extension Request {
    /// The parameters of the query string.
    package var queryFields: FormFields {
        FormFields(encoded: (uri.query ?? "").utf8)
    }
}
