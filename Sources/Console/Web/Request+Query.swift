internal import Hummingbird

extension Request {
    /// What the query string says.
    var queryFields: FormFields {
        FormFields(encoded: (uri.query ?? "").utf8)
    }
}
